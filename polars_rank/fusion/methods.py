"""Fusion methods: the term that each list adds for an item, and how the terms combine."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from polars_rank.core.errors import ArgumentError, Setting
from polars_rank.fusion.condorcet import with_pairwise_wins
from polars_rank.fusion.normalization import normalized
from polars_rank.fusion.ranking import sorted_sum, with_missing_items
from polars_rank.fusion.trained import TRAINED, with_estimate

# Terms are at most the weight times the number of items of the query, if ranks are positions.
_BY_POINTS = ("borda", "weighted_borda")

BY_RANK = ("rrf", "isr", "log_isr", "logn_isr", "rbc", *_BY_POINTS, "condorcet", "copeland")
BY_SCORE = (
    "comb_sum",
    "comb_mean",
    "comb_mnz",
    "comb_anz",
    "comb_min",
    "comb_max",
    "comb_med",
    "comb_gmnz",
    "mixed",
    "wmnz",
    "weighted_sum",
    "convex",
    "dbsf",
    "relative_score",
)
METHODS = (*BY_RANK, *BY_SCORE, *TRAINED)


class Normalization(NamedTuple):
    """Normalization method and its options."""

    normalize: str | None = None
    on_constant: float = 0
    ddof: int = 0


class MethodOptions(NamedTuple):
    """Options in the formulas; `unit` is that of `exact_unit`, `by_position` if no list has given ranks."""

    k: float | pl.Expr = 60
    gamma: float = 1.0
    sigma: float = 0.01
    phi: float = 0.8
    weighting: str = "multiply"
    unit: float | None = 1.0
    by_position: bool = False
    has_zero_weights: bool = True


def fuse_rows(
    rows: pl.LazyFrame,
    method: str,
    options: MethodOptions,
    normalization: Normalization,
    *,
    fitted: pl.DataFrame | pl.LazyFrame | None = None,
    half_window: int = 5,
    explain: bool = False,
    by_item: bool = False,
) -> pl.LazyFrame:
    """Fuse ranked rows into one row per query and item, with `score` and `first`, its first appearance.

    With `by_item`, the rows are already sorted by `group`, and have `first`.
    """
    if _needs_missing_items(method, normalization.normalize):
        rows = with_missing_items(rows)
    if method in TRAINED:
        rows = with_estimate(rows, method, fitted, half_window)
    if method in (*BY_SCORE, "segfuse"):
        rows = _with_value(rows, method, normalization)
    if method in ("condorcet", "copeland"):
        rows = with_pairwise_wins(rows, method, shares=explain)
    else:
        term = _term(method, options)
        if options.has_zero_weights:
            term = pl.when(pl.col("weight") > 0).then(term)
        rows = rows.with_columns(term=term if method in BY_RANK else term.fill_nan(None))
    return _total(rows, method, options, explain=explain, by_item=by_item)


def _needs_missing_items(method: str, normalize: str | None) -> bool:
    return method in (*_BY_POINTS, "condorcet", "copeland", "bayesfuse") or normalize == "borda"


def joins_rows(method: str, normalize: str | None) -> bool:
    """Whether the method joins other rows, which loses the row order."""
    return method in TRAINED or _needs_missing_items(method, normalize)


# Methods that are comb_sum with a fixed normalization.
OWN_NORMALIZATION = {"dbsf": Normalization("zscore", 0, 1), "relative_score": Normalization("min_max", 1, 0)}


def _with_value(rows: pl.LazyFrame, method: str, given: Normalization) -> pl.LazyFrame:
    if method in OWN_NORMALIZATION:
        if given != Normalization():
            raise ArgumentError(
                f"{method} has a fixed normalization",
                remedy=(
                    *("leave out normalize, on_constant and ddof, or use ", Setting("method", "comb_sum")),
                    " with them",
                ),
            )
        given = OWN_NORMALIZATION[method]
    rows = normalized(rows, given.normalize, on_constant=given.on_constant, ddof=given.ddof)
    if method == "dbsf":
        # (score - (mean - 3 deviations)) / (6 deviations)
        rows = rows.with_columns(value=(pl.col("value") + 3) / 6)
    return rows


def _term(method: str, options: MethodOptions) -> pl.Expr:
    """Term that one list adds for an item, before the method's factor."""
    rank, weight, value = pl.col("rank"), pl.col("weight"), pl.col("value")
    if method == "rrf" and options.weighting == "stretch":
        return 1 / (options.k + rank / weight)
    if method in TRAINED:
        points = pl.col("estimate") * (value + 1) if method == "segfuse" else pl.col("estimate")
    elif method in ("isr", "log_isr", "logn_isr"):
        points = 1 / rank**2
    elif method == "rbc":
        points = (1 - options.phi) * options.phi ** (rank - 1)
    elif method in _BY_POINTS:
        candidates = pl.col("candidates").cast(pl.Float64)
        # A missing item gets the mean of the points that the list has not given out.
        points = (candidates - rank + 1).fill_null((candidates - pl.col("length") + 1) / 2)
    elif method == "rrf":
        return weight / (options.k + rank)
    else:
        points = value
    return points if method == "wmnz" else weight * points


# Terms are at most the weight, and fall no faster than the square of the rank.
_BOUNDED = ("rrf", "isr", "log_isr", "logn_isr")

# ranx starts its maximum here. normalize="max" gives scores as low as this in a list without a positive one.
_FLOOR = -1e9

_TERM = pl.col("term")
_RETURNED = _TERM.count().cast(pl.Float64)

# Factor of the sum of the terms.
_FACTORS: Mapping[str, Callable[[MethodOptions], pl.Expr]] = {
    "isr": lambda _: _RETURNED,
    "log_isr": lambda _: _RETURNED.log(),
    "logn_isr": lambda options: (_RETURNED + options.sigma).log(),
    "comb_mnz": lambda _: _RETURNED,
    "comb_gmnz": lambda options: _RETURNED**options.gamma,
    "comb_anz": lambda _: 1 / _RETURNED,
    "comb_mean": lambda _: 1 / pl.col("systems").first(),
    "convex": lambda _: 1 / pl.col("total_weight").first(),
    "mixed": lambda _: _RETURNED.sqrt(),
    "wmnz": lambda _: sorted_sum(pl.col("weight").filter(_TERM.is_not_null())),
}


# Methods in which a missing item counts as a score of 0.
MISSING_IS_0 = ("comb_sum", "comb_mean", "comb_mnz", "comb_gmnz", "mixed", "wmnz", "weighted_sum", "convex")

# Methods that select one term, or the mean of two.
_SELECTIONS: Mapping[str, Sequence[pl.Expr]] = {
    "comb_min": [_TERM.min()],
    "comb_max": [_TERM.max()],
    "comb_med": [_TERM.quantile(0.5, "lower"), _TERM.quantile(0.5, "higher")],
}


def _total(
    rows: pl.LazyFrame, method: str, options: MethodOptions, *, explain: bool, by_item: bool
) -> pl.LazyFrame:
    """Combine the terms of each item of a query; `first` is its first appearance."""
    summed = sorted_sum(_TERM)
    if method in (*_BOUNDED, *_BY_POINTS * options.by_position) and options.unit:
        # Sum whole numbers: exact in any row order.
        one = 2.0**100 / options.unit
        rows = rows.with_columns(exact=(_TERM * one).cast(pl.Int128))
        if by_item:
            upto = pl.col("exact").fill_null(0).cum_sum()
            rows = rows.with_columns(upto=upto, before=upto.shift(fill_value=0))
            summed = pl.col("upto").last() - pl.col("before").first()
        else:
            summed = pl.col("exact").sum()
        summed = summed.cast(pl.Float64) / one
    if method in ("condorcet", "copeland"):
        total, contribution = pl.col("points").first(), _TERM
    elif method in _SELECTIONS:
        selected = _SELECTIONS[method]
        total = pl.sum_horizontal(selected) / len(selected)
        if method == "comb_max":
            total = total.clip(_FLOOR)
        contribution = total * pl.sum_horizontal(_part_of(choice) for choice in selected) / len(selected)
    elif method in _FACTORS:
        factor = _FACTORS[method](options)
        total, contribution = pl.when(_RETURNED > 0).then(summed * factor), _TERM * factor
    else:
        total, contribution = summed, _TERM
    aggregates = {"score": total.fill_null(0.0)}
    if explain:
        part = pl.struct("system", "rank", "score", contribution=contribution.fill_nan(None).fill_null(0.0))
        aggregates["explain"] = part.sort_by("list")
    if by_item:
        known = pl.col("query", "item", "first", "collided").first()
        return rows.group_by("group", maintain_order=True).agg(known, **aggregates)
    # First appearance: list by list, rank by rank.
    first = pl.col("list").cast(pl.Int64) * 2**32 + pl.col("position").cast(pl.Int64)
    rows = rows.with_columns(first=first)
    return rows.group_by("query", "item").agg(pl.col("first").min(), **aggregates)


def _part_of(selected: pl.Expr) -> pl.Expr:
    """Split a selected term evenly among the lists that have it."""
    has_it = selected == _TERM
    return has_it.cast(pl.Float64) / has_it.sum()
