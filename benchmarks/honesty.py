"""Do the tests keep their level, and do the intervals cover? Simulated systems without a difference.

Prints two Markdown tables: the share of pairs in which a test at 5 % rejects, and in which the 95 % interval
holds the true difference, 0. Run: python benchmarks/honesty.py [pairs]
"""

import sys
import time
from collections.abc import Callable
from math import sqrt

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats

from polars_rank.comparison import compare

Shape = tuple[int, int]
Array = npt.NDArray[np.float64]
Draw = Callable[[Shape], Array]
Both = Callable[[Shape], tuple[Array, Array]]

QUERIES = 200
TESTS = ["t", "wilcoxon", "sign", "randomization", "bootstrap"]
INTERVALS = ["t", "bootstrap", "basic", "bca"]


def systems(pairs: int, draw: Both) -> pl.DataFrame:
    """Give a per-query table of pairs of systems, from a function that draws both systems' values."""
    x, y = draw((pairs, QUERIES))
    trial, query = np.divmod(np.arange(x.size), QUERIES)
    sides = [
        pl.DataFrame({"trial": trial, "query": query, "system": name, "AP": values.ravel()})
        for name, values in (("a", x), ("b", y))
    ]
    return pl.concat(sides)


def scenarios(generator: np.random.Generator) -> dict[str, Both]:
    def differences(draw: Draw) -> Both:
        return lambda shape: (draw(shape), np.zeros(shape))

    def both(draw: Draw) -> Both:
        return lambda shape: (draw(shape), draw(shape))

    return {
        "normal differences": differences(lambda shape: generator.normal(0, 1, shape)),
        "skewed values, equal systems": both(lambda shape: generator.lognormal(0, 1, shape)),
        "steps of 0.1, equal systems": both(lambda shape: generator.binomial(10, 0.2, shape) / 10),
        "skewed differences, mean 0": differences(lambda shape: generator.exponential(1, shape) - 1),
        "very skewed differences, mean 0": differences(
            lambda shape: generator.lognormal(0, 1, shape) - np.exp(0.5)
        ),
    }


def markdown(header: list[str], rows: list[list[str]]) -> None:
    print("|", " | ".join(header), "|")
    print("|", " | ".join(["---"] + ["--:"] * (len(header) - 1)), "|")
    for row in rows:
        print("|", " | ".join(row), "|")
    print()


def family(pairs: int, generator: np.random.Generator) -> tuple[float, float]:
    """Share of families of four equal systems in which Tukey's HSD finds any difference."""
    values = generator.lognormal(0, 1, (pairs, QUERIES, 4))
    trial, query, system = np.unravel_index(np.arange(values.size), values.shape)
    frame = pl.DataFrame({"trial": trial, "query": query, "system": system, "AP": values.ravel()})
    got = compare(frame, by="trial", tests="tukey", samples=1000)
    found = got.group_by("trial").agg(pl.col("p_tukey").min() <= 0.05)["p_tukey"].mean()
    holm = compare(frame, by="trial", tests="t", corrections=[])
    any_t = holm.group_by("trial").agg(pl.col("p_t").min() <= 0.05)["p_t"].mean()
    return found, any_t


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    generator, start = np.random.default_rng(2026), time.perf_counter()
    rejected, covered = [], []
    for name, draw in scenarios(generator).items():
        frame = systems(pairs, draw)
        got = compare(frame, by="trial", tests=TESTS, corrections=[], samples=2000)
        rejected.append([name, *(f"{(got[f'p_{test}'] <= 0.05).mean():.1%}" for test in TESTS)])
        shares = []
        for interval in INTERVALS:
            options = {"tests": [], "interval": interval, "samples": 2000}
            ends = got if interval == "t" else compare(frame, by="trial", **options)
            shares.append(f"{((ends['low'] <= 0) & (ends['high'] >= 0)).mean():.1%}")
        covered.append([name, *shares])
    error = sqrt(0.05 * 0.95 / pairs)
    print(f"{pairs:,} pairs of {QUERIES} queries, standard error of a share near 5 %: {error:.2%}\n")
    markdown(["rejected at 5 %", *TESTS], rejected)
    markdown(["covered by 95 %", *INTERVALS], covered)
    size = 2 * stats.binom.cdf(stats.binom.ppf(0.025, QUERIES, 0.5) - 1, QUERIES, 0.5)
    print(f"Exact size of the sign test without ties: {size:.1%}.")
    families = pairs // 5
    tukey, any_t = family(families, generator)
    print(f"Four equal systems, {families:,} families, any of six pairs: tukey {tukey:.1%}, t {any_t:.1%}.")
    print(f"Seconds: {time.perf_counter() - start:.0f}")


if __name__ == "__main__":
    main()
