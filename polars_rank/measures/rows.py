"""Row tests (returned, judged, relevant) and the arithmetic on their counts.

Every test is an interval, since NaN is greater than all numbers in both engines: ``NaN >= 1`` is
true, while NaN lies in no interval that ends at infinity. A null fails it too.
"""

import sys
from math import ceil, inf, log

import polars as pl

from polars_rank.measures.catalogue import IntoColumn

_LEAST = sys.float_info.min


def number(column: IntoColumn | float) -> pl.Expr:
    """Cast a column to Float64 before any arithmetic: small integers wrap silently.

    A subtraction that is never made refuses dates and text, which the cast alone would take for numbers; the
    optimizer leaves nothing of it in the plan.
    """
    expression = pl.col(column) if isinstance(column, str) else column
    given = expression if isinstance(expression, pl.Expr) else pl.lit(expression)
    return pl.when(pl.lit(value=False)).then(given - 0.0).otherwise(given).cast(pl.Float64)


def returned(rank: pl.Expr, k: int | None = None) -> pl.Expr:
    """Ranks from 1 to `k`; null, NaN and ranks below 1 are items that were not returned."""
    return rank.is_between(1, inf if k is None else k)


def relevant(relevance: pl.Expr, min_relevance: float) -> pl.Expr:
    """Grades from `min_relevance`."""
    return relevance.is_between(min_relevance, inf)


def judged(relevance: pl.Expr) -> pl.Expr:
    """Grades from 0: a negative grade counts as neither relevant nor judged."""
    return relevance.is_between(0, inf)


def found(rank: pl.Expr, relevance: pl.Expr, k: int | None, min_relevance: float) -> pl.Expr:
    """Relevant items with ranks from 1 to `k`."""
    return relevant(relevance, min_relevance) & returned(rank, k)


def is_first(rank: pl.Expr, rows: pl.Expr) -> pl.Expr:
    """Passing rows at the lowest rank."""
    return rows & (rank == rank.filter(rows).min())


def count(rows: pl.Expr) -> pl.Expr:
    """Number of rows that pass."""
    return rows.sum().cast(pl.Float64)


def count_relevant(relevance: pl.Expr, min_relevance: float, given: IntoColumn | float | None) -> pl.Expr:
    """Relevant items of the group: counted, or `given` if a log holds only returned items."""
    counted = count(relevant(relevance, min_relevance))
    if given is None:
        return counted
    # As in SQL, where the greatest of no rows is null: even a number counts only where there is a row.
    return pl.coalesce(pl.when(pl.len() > 0).then(number(given).max()), counted)


def ratio(numerator: pl.Expr, size: pl.Expr) -> pl.Expr:
    """Divide by a size; 0 / 0 is 0.

    Not fill_nan or when, which compute an operand again within an aggregation, where nothing is shared.
    """
    return numerator / size.clip(lower_bound=_LEAST)


def unless_empty(value: pl.Expr, num_relevant: pl.Expr, empty: float | None, given: object = None) -> pl.Expr:
    """Replace the value by `empty` if nothing is relevant.

    The value is 0 there already, unless the number of relevant items was `given` and contradicts the rows.
    """
    if empty == 0 and given is None:
        return value
    return pl.when(num_relevant > 0).then(value).otherwise(empty)


def nan_beyond(value: pl.Expr, relevance: pl.Expr, max_relevance: float) -> pl.Expr:
    """NaN if any grade of the group is beyond the scale."""
    beyond = relevance.is_between(max_relevance, inf, closed="right").any()
    return pl.when(beyond).then(float("nan")).otherwise(value)


def places_above_zero(decay: float) -> float:
    """Number of places before ``decay ** (place - 1)`` underflows to 0."""
    return 1 if decay == 0 else inf if decay == 1 else ceil(746 / -log(decay))
