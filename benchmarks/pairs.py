"""Paired timing: two works in turn, round by round, and the median of their ratios."""

import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple


class Ratio(NamedTuple):
    seconds: float
    base_seconds: float
    ratio: float
    low: float
    high: float


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def paired(work: Callable[[], object], base: Callable[[], object], rounds: int) -> Ratio:
    """Ratio of `work` to `base`: both once to warm up, then in turn."""
    base(), work()
    times = [(timed(base), timed(work)) for _ in range(rounds)]
    ratios = sorted(ours / theirs for theirs, ours in times)
    return Ratio(
        median(ours for _, ours in times),
        median(theirs for theirs, _ in times),
        median(ratios),
        ratios[0],
        ratios[-1],
    )
