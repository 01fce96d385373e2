"""Bootstrap intervals for many slices: `summary_statistics` beside a loop over scipy.stats.bootstrap.

100,000 values of five measures in 1,000 slices, 2,000 resamples. The loop is timed on some of the slices, and
its time multiplied. Run: python benchmarks/intervals.py [slices of the loop]
"""

import resource
import sys
import time

import numpy as np
import polars as pl
from scipy import stats

from polars_rank.evaluation.summary import summary_statistics

ROWS, SLICES, MEASURES, SAMPLES = 100_000, 1000, 5, 2000


def main() -> None:
    looped = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    generator = np.random.default_rng(0)
    names = [f"measure_{i}" for i in range(MEASURES)]
    values = {name: generator.beta(0.5, 2, ROWS) for name in names}
    # Slices of very different sizes, so that hardly two have the same.
    slices = generator.choice(SLICES, ROWS, p=generator.dirichlet(np.ones(SLICES)))
    frame = pl.DataFrame({"slice": slices, **values})
    rows = []
    for interval in ("t", "bootstrap", "bca"):
        start = time.perf_counter()
        got = summary_statistics(
            frame.lazy(), dict.fromkeys(names, "mean"), "slice", interval=interval, samples=SAMPLES
        ).collect()
        rows.append((f"polars_rank, {interval}", time.perf_counter() - start))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    sizes = frame.group_by("slice").len()["len"]
    chosen = frame.filter(pl.col("slice").is_in(sorted(set(slices.tolist()))[:looped]))
    for interval, method in (("bootstrap", "percentile"), ("bca", "BCa")):
        start = time.perf_counter()
        for part in chosen.partition_by("slice"):
            for name in names:
                if len(part) > 1:
                    stats.bootstrap((part[name].to_numpy(),), np.mean, n_resamples=SAMPLES, method=method)
        rows.append((f"scipy loop, {interval}", (time.perf_counter() - start) * SLICES / looped))
    print(
        f"{ROWS:,} rows, {len(sizes)} slices: {sizes.min()} to {sizes.max()} rows ({sizes.n_unique()} sizes)"
    )
    print(
        f"{MEASURES} measures, {SAMPLES:,} resamples; {len(got):,} intervals; peak memory {memory:.1f} GB\n"
    )
    print("| way | seconds |\n| --- | --: |")
    for way, seconds in rows:
        print(f"| {way} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
