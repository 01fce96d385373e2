"""Do the tests keep their level, and do the intervals cover? Simulated systems without a difference.

Prints a Markdown table: the share of pairs of systems for which a test at 5 % rejects, and for which the 95 %
interval holds the true mean difference. A share in parentheses is no error: what the test asks about does
differ there. Run: python benchmarks/honesty.py [pairs]
"""

import sys
import time
from collections.abc import Callable
from math import log, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats

import polars_rank as rank
from polars_rank.comparison.compared_systems import compare

Shape = tuple[int, int]
Array = npt.NDArray[np.float64]
Draw = Callable[[Shape], Array]

QUERIES = 200
TESTS = ["t", "wilcoxon", "sign", "randomization", "bootstrap"]
INTERVALS = ["t", "bootstrap", "basic", "bca"]
OF_MEAN = {"t", "randomization", "bootstrap"}


class Scenario(NamedTuple):
    """How both systems' values are drawn, the true mean difference, and the tests that have none to find."""

    draw: Callable[[Shape], tuple[Array, Array]]
    mean: float = 0.0
    level: frozenset[str] = frozenset(TESTS)


def systems(pairs: int, scenario: Scenario) -> pl.DataFrame:
    """Draw a per-query table of pairs of systems."""
    x, y = scenario.draw((pairs, QUERIES))
    trial, query = np.divmod(np.arange(x.size), QUERIES)
    sides = [
        pl.DataFrame({"trial": trial, "query": query, "system": name, "AP": values.ravel()})
        for name, values in (("a", x), ("b", y))
    ]
    return pl.concat(sides)


def scenarios(generator: np.random.Generator) -> dict[str, Scenario]:
    """Name what is simulated, from the tamest to the wildest."""

    def equal(draw: Draw) -> Scenario:
        # Two systems that might trade places: their differences are symmetric, however skewed the values.
        return Scenario(lambda shape: (draw(shape), draw(shape)))

    def skewed(draw: Draw, mean: float, tests: set[str]) -> Scenario:
        return Scenario(lambda shape: (draw(shape), np.zeros(shape)), mean, frozenset(tests))

    exponential, lognormal = generator.exponential, generator.lognormal
    return {
        "normal differences": Scenario(lambda shape: (generator.normal(0, 1, shape), np.zeros(shape))),
        "equal systems, skewed values": equal(lambda shape: lognormal(0, 1, shape)),
        "equal systems, values in steps of 0.1": equal(lambda shape: generator.binomial(10, 0.2, shape) / 10),
        "skewed differences, mean 0": skewed(lambda shape: exponential(1, shape) - 1, 0.0, OF_MEAN),
        "skewed differences, median 0": skewed(
            lambda shape: exponential(1, shape) - log(2), 1 - log(2), {"sign"}
        ),
        "very skewed differences, mean 0": skewed(
            lambda shape: lognormal(0, 1, shape) - np.exp(0.5), 0.0, OF_MEAN
        ),
    }


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


def wilson(pairs: int, generator: np.random.Generator) -> float:
    """Share of Wilson's intervals that hold the true share of hits, 0.2."""
    trial, query = np.divmod(np.arange(pairs * QUERIES), QUERIES)
    hits = generator.binomial(1, 0.2, trial.size).astype(float)
    frame = pl.DataFrame({"trial": trial, "query": query, "Success@1": hits})
    return rank.summarize(frame, by="trial", interval="wilson").select(holding(0.2)).item()


def holding(value: float) -> pl.Expr:
    """Share of intervals that hold a value."""
    return ((pl.col("low") <= value) & (pl.col("high") >= value)).mean()


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    generator, start = np.random.default_rng(2026), time.perf_counter()
    print("|", " | ".join(["%", *TESTS, *(f"interval: {name}" for name in INTERVALS)]), "|")
    print("|", " | ".join(["---"] + ["--:"] * (len(TESTS) + len(INTERVALS))), "|")
    for name, scenario in scenarios(generator).items():
        frame = systems(pairs, scenario)
        got = compare(frame, by="trial", tests=TESTS, corrections=[], samples=2000)
        cells = []
        for test in TESTS:
            share = f"{100 * (got[f'p_{test}'] <= 0.05).mean():.1f}"
            cells.append(share if test in scenario.level else f"({share})")
        for interval in INTERVALS:
            options = {"tests": [], "interval": interval, "samples": 2000}
            ends = got if interval == "t" else compare(frame, by="trial", **options)
            cells.append(f"{100 * ends.select(holding(scenario.mean)).item():.1f}")
        print("|", " | ".join([name, *cells]), "|", flush=True)
    error = sqrt(0.05 * 0.95 / pairs)
    print(f"\n{pairs:,} pairs of {QUERIES} queries, standard error of a share near 5 %: {error:.2%}")
    size = 2 * stats.binom.cdf(stats.binom.ppf(0.025, QUERIES, 0.5) - 1, QUERIES, 0.5)
    print(f"Exact size of the sign test without ties: {size:.1%}.")
    families = pairs // 5
    tukey, any_t = family(families, generator)
    print(f"Four equal systems, {families:,} families, any of six pairs: tukey {tukey:.1%}, t {any_t:.1%}.")
    print(f"Wilson's interval of a share of 0.2: {wilson(pairs, generator):.1%}.")
    print(f"Seconds: {time.perf_counter() - start:.0f}")


if __name__ == "__main__":
    main()
