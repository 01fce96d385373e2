"""Tests of paired differences on matrices: one row per pair of systems, one column per query.

Every function takes a matrix of finite differences and returns one p value per row.

The randomization and bootstrap tests are not SciPy's permutation_test and bootstrap: those sum floats in
varying order, so that equal sums count as different, double the smaller tail, and draw anew for each row.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
from scipy import stats

from polars_rank.comparison.pairs import Alternative
from polars_rank.core.resampling import (
    EXACT_SIZE,
    Array,
    Places,
    on_grid,
    product,
    random_counts,
    random_orders,
    random_signs,
    row_slices,
    sign_patterns,
)

ROUNDING = 1e-12  # relative; smaller differences are equal values that were computed in another order
_WILCOXON_TABLE = 50  # queries up to which the exact distribution is used, as in SciPy


def differences(x: Array, y: Array) -> Array:
    """Subtract; a difference as small as a rounding error becomes zero."""
    difference = x - y
    difference[np.abs(difference) <= ROUNDING * np.maximum(np.abs(x), np.abs(y))] = 0.0
    return difference


def varies(differences: Array, scale: Array) -> Places:
    """Rows whose differences vary by more than the rounding of values as large as `scale`."""
    return np.flatnonzero(np.ptp(differences, axis=1) > ROUNDING * scale)


def paired_t(differences: Array, alternative: Alternative, level: float) -> tuple[Array, ...]:
    """Compute statistic, p value and the ends of the interval; every row must vary."""
    result = stats.ttest_1samp(differences, 0.0, axis=1, alternative=alternative)
    interval = result.confidence_interval(level)
    return result.statistic, result.pvalue, interval.low, interval.high


def sign_test(differences: Array, alternative: Alternative) -> Array:
    """Binomial test of wins against losses; ties are left out (Conover 1999)."""
    wins, losses = (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)
    side = {"less": wins, "greater": losses, "two-sided": np.minimum(wins, losses)}[alternative]
    tail: Array = stats.binom.cdf(side, wins + losses, 0.5)
    return np.minimum(1.0, 2 * tail) if alternative == "two-sided" else tail


def wilcoxon(
    differences: Array, alternative: Alternative, zero_method: str, method: str, *, continuity: bool
) -> tuple[Array, Array]:
    """Compute statistic and p value of the signed-rank test; p is 1 if all differences are zero."""
    statistic, p = np.zeros(len(differences)), np.ones(len(differences))
    some = np.flatnonzero(differences.any(axis=1))
    groups = _without_zeros(differences) if zero_method == "wilcox" else [(some, differences[some])]
    for places, rows in groups:
        distributions = _distributions(rows) if method == "auto" else np.full(len(rows), method)
        for name in np.unique(distributions):
            part = distributions == name
            result = stats.wilcoxon(
                rows[part],
                axis=1,
                zero_method=zero_method,
                correction=continuity,
                alternative=alternative,
                method="asymptotic" if name == "patterns" else name,
            )
            statistic[places[part]] = result.statistic
            by_rank = np.sign(rows[part]) * stats.rankdata(np.abs(rows[part]), axis=1)
            exact = name == "patterns"
            p[places[part]] = (
                _flipped(by_rank, sign_patterns(rows.shape[1]), alternative, 0.25) if exact else result.pvalue
            )
    return statistic, p


def _distributions(differences: Array) -> npt.NDArray[np.str_]:
    """Choose a distribution for each row: the exact one where it is quick to compute."""
    size = differences.shape[1]
    magnitudes = np.sort(np.abs(differences), axis=1)
    zeros_or_ties = (magnitudes[:, 0] == 0) | (np.diff(magnitudes, axis=1) == 0).any(axis=1)
    return np.where(
        zeros_or_ties,
        "patterns" if size <= EXACT_SIZE else "asymptotic",
        "exact" if size <= _WILCOXON_TABLE else "asymptotic",
    )


def randomization(
    differences: Array, scale: Array, alternative: Alternative, samples: int, seed: int
) -> Array:
    """Fisher's test by sign flips: all of them if few queries differ, else random ones; p is 1 for zeros."""
    p = np.ones(len(differences))
    for places, rows in _without_zeros(differences):
        size = rows.shape[1]
        grid, unit = on_grid(rows, size)
        tolerance = _tolerance(scale[places, None], unit, size)
        if size <= EXACT_SIZE:
            p[places] = _flipped(grid, sign_patterns(size), alternative, tolerance)
        else:
            p[places] = _flipped(grid, random_signs(size, samples, seed), alternative, tolerance, observed=1)
    return p


def _tolerance(scale: Array, unit: Array, size: int) -> Array:
    """Largest rounding error, in units of the grid, between equal sums of values as large as `scale`."""
    return size * (1 + ROUNDING * scale / unit)


def _flipped(
    rows: Array,
    blocks: Iterable[Array],
    alternative: Alternative,
    tolerance: Array | float,
    observed: int = 0,
) -> Array:
    """Share of sign patterns whose sum is at least as extreme as the observed one.

    `observed` is 1 for random patterns, which the observed pattern joins, and 0 for all patterns.
    """
    sign = {"two-sided": 0.0, "less": -1.0, "greater": 1.0}[alternative]
    bound = rows.sum(axis=1, keepdims=True)
    bound = (np.abs(bound) if sign == 0 else sign * bound) - tolerance
    hits, drawn = np.zeros(len(rows)), 0
    for signs in blocks:
        drawn += len(signs)
        for part in row_slices(len(rows), len(signs)):
            sums = product(rows[part], signs)
            extreme = np.abs(sums) if sign == 0 else sign * sums
            hits[part] += (extreme >= bound[part]).sum(axis=1)
    return (hits + observed) / (drawn + observed)


def bootstrap_test(differences: Array, alternative: Alternative, samples: int, seed: int) -> Array:
    """Bootstrap of Student's t over centred differences (Sakai 2006); every row must vary."""
    size = differences.shape[1]
    centred = differences - differences.mean(axis=1, keepdims=True)
    grid, unit = on_grid(centred, size)
    squares, square_unit = on_grid(centred**2, size)
    t = _student(differences.sum(axis=1), (differences**2).sum(axis=1), size)[:, None]
    hits = np.zeros(len(differences))
    for counts in random_counts(size, samples, seed):
        for part in row_slices(len(hits), len(counts)):
            sums = product(grid[part], counts) * unit[part]
            drawn = _student(sums, product(squares[part], counts) * square_unit[part], size)
            extreme = {
                "two-sided": np.abs(drawn) >= np.abs(t[part]),
                "less": drawn <= t[part],
                "greater": drawn >= t[part],
            }[alternative]
            hits[part] += extreme.sum(axis=1)
    return (hits + 1) / (samples + 1)


def _student(sums: Array, squares: Array, size: int) -> Array:
    """Student's t up to a constant factor; infinite for a sample without variance."""
    variance = squares - sums**2 / size
    flat = variance <= ROUNDING * squares
    t = sums / np.sqrt(np.where(flat, 1.0, variance))
    return np.where(flat, np.where(sums == 0, 0.0, np.copysign(np.inf, sums)), t)


def tukey(blocks: Array, pairs: Places, samples: int, seed: int) -> Array:
    """Randomised Tukey HSD (Carterette 2012): permute the systems within each query.

    `blocks` has the axes slice, query, system; `pairs` has the two systems of each pair. The p value of a
    pair is the share of samples in which the best and the worst system differ at least as much as the pair.
    """
    rows, size, width = blocks.shape
    flat = blocks.reshape(rows, -1)
    multiples, unit = on_grid(flat, size)
    grid = multiples.reshape(blocks.shape)
    totals = grid.sum(axis=1)
    tolerance = 2 * _tolerance(np.abs(flat).max(axis=1, keepdims=True), unit, size)
    bounds = np.abs(totals[:, pairs[:, 0]] - totals[:, pairs[:, 1]]) - tolerance
    hits = np.zeros(bounds.shape)
    queries = np.arange(size)[:, None]
    for orders in random_orders(size, width, samples, seed):
        for part in row_slices(rows, orders.size):
            drawn = grid[part][:, queries, orders].sum(axis=2)
            span = np.ptp(drawn, axis=-1)
            hits[part] += (span[:, :, None] >= bounds[part][:, None, :]).sum(axis=1)
    return (hits + 1) / (samples + 1)


def _without_zeros(differences: Array) -> Iterator[tuple[Places, Array]]:
    """Drop zeros: rows with equally many other differences, and these differences."""
    kept = differences != 0
    sizes = kept.sum(axis=1)
    for size in np.unique(sizes[sizes > 0]):
        places = np.flatnonzero(sizes == size)
        yield places, differences[places][kept[places]].reshape(len(places), int(size))
