"""Measures over all pairs of items, for many orderings of equal length at once."""

from collections.abc import Callable

import numpy as np
import polars as pl

from polars_rank.core.resampling import Array, matrices

_CELLS = 2**22  # pairs looked at together


def by_row(measure: Callable[[Array, Array], Array], first: pl.Series, second: pl.Series) -> pl.Series:
    """Apply a measure to every row of two columns of lists; NaN becomes null."""
    values = np.full(len(first), np.nan)
    for places, (a, b) in matrices(first, second):
        size = a.shape[1]
        step = max(1, _CELLS // size)
        if size > 1:
            for start in range(0, len(places), step):
                part = slice(start, start + step)
                values[places[part]] = measure(a[part], b[part])
    return pl.Series(values).fill_nan(None)


def tau_b(a: Array, b: Array) -> Array:
    """Kendall's tau-b of each row; NaN where one side is all tied."""
    agreed, untied_a, untied_b = np.zeros(len(a)), np.zeros(len(a)), np.zeros(len(a))
    # Item by item against all that come after it, so that memory stays that of the lists.
    for i in range(a.shape[1] - 1):
        sign_a, sign_b = np.sign(a[:, i + 1 :] - a[:, i, None]), np.sign(b[:, i + 1 :] - b[:, i, None])
        agreed += (sign_a * sign_b).sum(axis=1)
        untied_a += (sign_a != 0).sum(axis=1)
        untied_b += (sign_b != 0).sum(axis=1)
    untied = np.sqrt(untied_a * untied_b)
    return np.where(untied > 0, agreed / np.where(untied > 0, untied, 1.0), np.nan)


def tau_ap_of(a: Array, b: Array) -> Array:
    """AP correlation of each row of `a` with the reference `b`; NaN where two items tie."""
    order = np.argsort(a, axis=1)
    a, b = np.take_along_axis(a, order, axis=1), np.take_along_axis(b, order, axis=1)
    correct = np.zeros(len(a))
    for i in range(1, a.shape[1]):
        correct += (b[:, :i] < b[:, i, None]).sum(axis=1) / i
    tied = [(np.diff(np.sort(side, axis=1), axis=1) == 0).any(axis=1) for side in (a, b)]
    return np.where(tied[0] | tied[1], np.nan, 2 * correct / (a.shape[1] - 1) - 1)
