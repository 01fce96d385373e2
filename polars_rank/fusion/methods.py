"""The methods of fusion: what a list adds for an item, and what is made of the sum."""

from collections.abc import Callable, Mapping, Sequence
from math import frexp
from typing import NamedTuple

import polars as pl

from polars_rank.core.errors import ArgumentError, Setting
from polars_rank.fusion.condorcet import contested
from polars_rank.fusion.list_ranks import sorted_sum, with_absent
from polars_rank.fusion.normalization import normalized
from polars_rank.fusion.runs import Weights
from polars_rank.fusion.training import TRAINED, with_worth

# Methods whose terms are no larger than the weight times the items of a query, where ranks are places.
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


class Scale(NamedTuple):
    """How scores are brought to one scale."""

    normalize: str | None = None
    on_constant: float = 0
    ddof: int = 0


class Parameters(NamedTuple):
    """The numbers in the formulas."""

    k: float | pl.Expr = 60
    gamma: float = 1.0
    sigma: float = 0.01
    phi: float = 0.8
    weighting: str = "multiply"
    unit: float | None = 1.0
    by_place: bool = False
    some_weigh_0: bool = True


def numbers(weights: Weights | None) -> list[float]:
    """Give the weights without their names."""
    return [] if weights is None else list(weights.values() if isinstance(weights, Mapping) else weights)


# How small a weight, or 1 / k, may be beside 1 for exact sums to keep the digits of their terms.
_LEAST = 2.0**-30


def unit_of(k: Sequence[float], *weights: Weights | None) -> float | None:
    """Give a power of two above the sum of the weights, for exact sums; None if some terms are too small."""
    listed = [numbers(each) for each in weights]
    total = max((sum(each) for each in listed), default=0) or 0.5
    least = min((weight for each in listed for weight in each if weight > 0), default=total)
    large = least >= _LEAST * total and max(k, default=0) <= 1 / _LEAST
    return 2.0 ** frexp(total)[1] if large and 1e-200 < total < 1e200 else None


def scored(
    rows: pl.LazyFrame,
    method: str,
    parameters: Parameters,
    scale: Scale,
    *,
    fitted: pl.DataFrame | pl.LazyFrame | None = None,
    reach: int = 5,
    explain: bool = False,
    by_item: bool = False,
) -> pl.LazyFrame:
    """Fuse placed rows: one row an item of a query, with `score` and `first`, where it first came.

    Of rows that stand `by_item` already, `first` is the row.
    """
    if _needs_absent(method, scale.normalize):
        rows = with_absent(rows)
    if method in TRAINED:
        rows = with_worth(rows, method, fitted, reach)
    if method in (*BY_SCORE, "segfuse"):
        rows = _with_value(rows, method, scale)
    if method in ("condorcet", "copeland"):
        rows = contested(rows, method, shares=explain)
    else:
        term = _term(method, parameters)
        if parameters.some_weigh_0:
            term = pl.when(pl.col("weight") > 0).then(term)
        rows = rows.with_columns(term=term if method in BY_RANK else term.fill_nan(None))
    return _total(rows, method, parameters, explain=explain, by_item=by_item)


def _needs_absent(method: str, normalize: str | None) -> bool:
    return method in (*_BY_POINTS, "condorcet", "copeland", "bayesfuse") or normalize == "borda"


def joins(method: str, normalize: str | None) -> bool:
    """Tell whether rows are joined to others, after which they stand in no order."""
    return method in TRAINED or _needs_absent(method, normalize)


# Methods that are comb_sum over a normalisation of their own.
OWN_SCALE = {"dbsf": Scale("zscore", 0, 1), "relative_score": Scale("min_max", 1, 0)}


def _with_value(rows: pl.LazyFrame, method: str, scale: Scale) -> pl.LazyFrame:
    if method in OWN_SCALE:
        if scale != Scale():
            raise ArgumentError(
                f"{method} has a normalisation of its own",
                remedy=(
                    *("leave out normalize, on_constant and ddof, or use ", Setting("method", "comb_sum")),
                    " with them",
                ),
            )
        scale = OWN_SCALE[method]
    rows = normalized(rows, scale.normalize, on_constant=scale.on_constant, ddof=scale.ddof)
    if method == "dbsf":
        # (score - (mean - 3 deviations)) / (6 deviations)
        rows = rows.with_columns(value=(pl.col("value") + 3) / 6)
    return rows


def _term(method: str, parameters: Parameters) -> pl.Expr:
    """Give what one list adds for an item, before the method's factor."""
    rank, weight, value = pl.col("rank"), pl.col("weight"), pl.col("value")
    if method == "rrf" and parameters.weighting == "stretch":
        return 1 / (parameters.k + rank / weight)
    if method in TRAINED:
        worth = pl.col("worth") * (value + 1) if method == "segfuse" else pl.col("worth")
    elif method in ("isr", "log_isr", "logn_isr"):
        worth = 1 / rank**2
    elif method == "rbc":
        worth = (1 - parameters.phi) * parameters.phi ** (rank - 1)
    elif method in _BY_POINTS:
        candidates = pl.col("candidates").cast(pl.Float64)
        # An item that a list lacks gets the mean of the points that are left.
        worth = (candidates - rank + 1).fill_null((candidates - pl.col("length") + 1) / 2)
    elif method == "rrf":
        return weight / (parameters.k + rank)
    else:
        worth = value
    return worth if method == "wmnz" else weight * worth


# Methods whose terms are no larger than the weight, and fall no faster than the square of the rank.
_OF_KNOWN_SIZE = ("rrf", "isr", "log_isr", "logn_isr")

# ranx starts its maximum here. Scores get so low where "max" divides a list that has no positive one.
_FLOOR = -1e9

_TERM = pl.col("term")
_RETURNED = _TERM.count().cast(pl.Float64)

# What the sum of the terms is multiplied by.
_FACTORS: Mapping[str, Callable[[Parameters], pl.Expr]] = {
    "isr": lambda _: _RETURNED,
    "log_isr": lambda _: _RETURNED.log(),
    "logn_isr": lambda parameters: (_RETURNED + parameters.sigma).log(),
    "comb_mnz": lambda _: _RETURNED,
    "comb_gmnz": lambda parameters: _RETURNED**parameters.gamma,
    "comb_anz": lambda _: 1 / _RETURNED,
    "comb_mean": lambda _: 1 / pl.col("systems").first(),
    "convex": lambda _: 1 / pl.col("total_weight").first(),
    "mixed": lambda _: _RETURNED.sqrt(),
    "wmnz": lambda _: sorted_sum(pl.col("weight").filter(_TERM.is_not_null())),
}


# Methods in which a list that lacks an item counts as a score of 0.
ABSENT_IS_0 = ("comb_sum", "comb_mean", "comb_mnz", "comb_gmnz", "mixed", "wmnz", "weighted_sum", "convex")

# What picks one score, or the mean of two.
_CHOICES: Mapping[str, Sequence[pl.Expr]] = {
    "comb_min": [_TERM.min()],
    "comb_max": [_TERM.max()],
    "comb_med": [_TERM.quantile(0.5, "lower"), _TERM.quantile(0.5, "higher")],
}


def _total(
    rows: pl.LazyFrame, method: str, parameters: Parameters, *, explain: bool, by_item: bool
) -> pl.LazyFrame:
    """Make one row of each item of a query: its fused score, and where it came first."""
    summed = sorted_sum(_TERM)
    if method in (*_OF_KNOWN_SIZE, *_BY_POINTS * parameters.by_place) and parameters.unit:
        # Summed as whole numbers: exact, in whatever order the rows came.
        one = 2.0**100 / parameters.unit
        rows = rows.with_columns(exact=(_TERM * one).cast(pl.Int128))
        if by_item:
            upto = pl.col("exact").fill_null(0).cum_sum()
            rows = rows.with_columns(upto=upto, before=upto.shift(fill_value=0))
            summed = pl.col("upto").last() - pl.col("before").first()
        else:
            summed = pl.col("exact").sum()
        summed = summed.cast(pl.Float64) / one
    if method in ("condorcet", "copeland"):
        total, share = pl.col("decided").first(), _TERM
    elif method in _CHOICES:
        chosen = _CHOICES[method]
        total = pl.sum_horizontal(chosen) / len(chosen)
        if method == "comb_max":
            total = total.clip(_FLOOR)
        share = total * pl.sum_horizontal(_part_in(choice) for choice in chosen) / len(chosen)
    elif method in _FACTORS:
        factor = _FACTORS[method](parameters)
        total, share = pl.when(_RETURNED > 0).then(summed * factor), _TERM * factor
    else:
        total, share = summed, _TERM
    aggregates = {"score": total.fill_null(0.0)}
    if explain:
        part = pl.struct("system", "rank", "score", contribution=share.fill_nan(None).fill_null(0.0))
        aggregates["explain"] = part.sort_by("list")
    if by_item:
        known = pl.col("query", "item", "first", "collided").first()
        return rows.group_by("group", maintain_order=True).agg(known, **aggregates)
    # Where an item first comes: list by list, place by place.
    first = pl.col("list").cast(pl.Int64) * 2**32 + pl.col("place").cast(pl.Int64)
    rows = rows.with_columns(first=first)
    return rows.group_by("query", "item").agg(pl.col("first").min(), **aggregates)


def _part_in(choice: pl.Expr) -> pl.Expr:
    """Share a chosen score among the lists that gave it."""
    gave = choice == _TERM
    return gave.cast(pl.Float64) / gave.sum()
