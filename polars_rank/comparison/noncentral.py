"""Power of the paired t test: the noncentral t distribution, and its equations solved for many rows."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import nctdtr, stdtrit

from polars_rank.comparison.pairs import Alternative
from polars_rank.core.resampling import Array

Mask = npt.NDArray[np.bool_]

_MOST = 2**40  # queries; who needs more sees nothing


def chance_to_see(effect: Array, n: Array, alpha: float, alternative: Alternative) -> Array:
    """Give the chance that a paired t test of n queries sees an effect, in standard deviations."""
    critical = stdtrit(n - 1, 1 - alpha / (2 if alternative == "two-sided" else 1))
    shift = np.abs(effect) * np.sqrt(n)
    # Far in the lower tail, SciPy gives NaN for 0.
    below: Array = np.nan_to_num(nctdtr(n - 1, shift, -critical))
    above: Array = np.nan_to_num(nctdtr(n - 1, shift, critical))
    if alternative == "two-sided":
        return 1 - above + below
    return np.where((effect > 0) == (alternative == "greater"), 1 - above, below)


def queries_needed(effect: Array, alpha: float, alternative: Alternative, chance: float) -> Array:
    """Give the fewest queries that show an effect, NaN where none suffice."""

    def enough(n: Array) -> Mask:
        return (n > 1) & (chance_to_see(effect, n, alpha, alternative) >= chance)

    # One query never is.
    few, many = np.ones_like(effect), np.full_like(effect, 2.0)
    while (more := ~enough(many) & (many < _MOST)).any():
        few, many = np.where(more, many, few), np.where(more, many * 2, many)
    hopeless = ~enough(many)
    return np.where(hopeless, np.nan, _bisected(enough, few, many, whole=True))


def smallest_effect(n: Array, alpha: float, alternative: Alternative, chance: float) -> Array:
    """Give the size of the least effect, in standard deviations, that n queries show."""
    sign = -1.0 if alternative == "less" else 1.0

    def enough(effect: Array) -> Mask:
        return chance_to_see(sign * effect, n, alpha, alternative) >= chance

    low, high = np.zeros_like(n), np.ones_like(n)
    while (more := ~enough(high)).any():
        high = np.where(more, high * 2, high)
    return _bisected(enough, low, high, whole=False)


def _bisected(enough: Callable[[Array], Mask], low: Array, high: Array, *, whole: bool) -> Array:
    """Find the least value for which `enough` is true: not for `low`, but for `high`."""
    for _ in range(60):
        middle = np.floor((low + high) / 2) if whole else (low + high) / 2
        yes = enough(middle)
        low, high = np.where(yes, low, middle), np.where(yes, middle, high)
    return high
