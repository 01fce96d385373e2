"""Rank fusion: several runs become one."""

from collections.abc import Callable, Mapping, Sequence
from math import frexp
from typing import Any, NamedTuple, TypeVar, cast

import polars as pl

from polars_rank.duels import contested
from polars_rank.errors import DataError, require_choice
from polars_rank.fusion_training import TRAINED, with_worth
from polars_rank.normalization import normalized, require_normalization
from polars_rank.places import (
    counted,
    in_lists,
    in_parts,
    placed,
    query_ids,
    sorted_sum,
    with_absent,
)
from polars_rank.ranked_lists import (
    Columns,
    Duplicates,
    Ordering,
    Weights,
    all_eager,
    gather,
    require_number,
)
from polars_rank.ranking import OrderBy, Ties
from polars_rank.tables import refuse_names

F = TypeVar("F", pl.DataFrame, pl.LazyFrame)

BY_RANK = ("rrf", "isr", "log_isr", "logn_isr", "rbc", "borda", "weighted_borda", "condorcet", "copeland")
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

FUSION_SETTINGS: Mapping[str, Mapping[str, object]] = {
    "qdrant_rrf": {"method": "rrf", "k": 1, "weighting": "stretch"},
    "qdrant_dbsf": {"method": "dbsf"},
    "weaviate_ranked": {"method": "rrf", "k": 59},
    "weaviate_relative_score": {"method": "relative_score"},
}
"""What two engines do, as arguments: ``fuse(runs, **FUSION_SETTINGS["qdrant_rrf"])``.

Both count ranks from 0. Weaviate adds w / (60 + rank - 1), so k = 59 for ranks from 1. Qdrant adds
1 / (2 + rank - 1), so k = 1 (its own k less 1), and a weight stretches its ranks to rank / w.
"""


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
    some_weigh_0: bool = True


def _checked(k: float, gamma: float, sigma: float, phi: float, weighting: str) -> Parameters:
    require_number("k", k, low=0)
    require_number("gamma", gamma)
    require_number("sigma", sigma, low=0)
    require_number("phi", phi, low=0, high=1)
    require_choice("weighting", weighting, ("multiply", "stretch"))
    return Parameters(k, gamma, sigma, phi, weighting)


def rrf(
    rank: str | pl.Expr = "rank", weight: str | float | pl.Expr | None = None, *, k: float = 60
) -> pl.Expr:
    r"""Reciprocal rank fusion of one item: the sum of weight / (k + rank) over the lists.

    $rrf = \sum_i w_i / (k + rank_i)$

    One row is an item in a list, as in ``group_by("query", "item").agg(rrf())``; the value is Float64.
    Terms are sorted before they are summed, so that items with equal terms tie exactly.

    Parameters
    ----------
    rank : column of the item's rank in the list, 1 is the top; integer or float. A null, NaN or a rank
        below 1 is a list without the item and adds nothing.
    weight : column of the list's weight, or a number; None is 1. A null or NaN adds nothing.
    k : what is added to each rank, at least 0. The larger, the less the top counts.

    Range [0, sum of weight / (k + 1)]; 0 where no list has the item, and for an empty group.

    Raises
    ------
    ValueError
        if `k` is below 0 or not finite.

    Source: Cormack, Clarke and Büttcher 2009, doi:10.1145/1571941.1572114.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> lists = pl.DataFrame({"query": "q", "item": ["a", "b", "b", "c"], "rank": [1, 2, 1, 2]})
    >>> lists.group_by("query", "item").agg(rank.rrf(k=1)).sort("item")
    shape: (3, 3)
    ┌───────┬──────┬──────────┐
    │ query ┆ item ┆ rrf      │
    │ ---   ┆ ---  ┆ ---      │
    │ str   ┆ str  ┆ f64      │
    ╞═══════╪══════╪══════════╡
    │ q     ┆ a    ┆ 0.5      │
    │ q     ┆ b    ┆ 0.833333 │
    │ q     ┆ c    ┆ 0.333333 │
    └───────┴──────┴──────────┘
    """
    require_number("k", k, low=0)
    position = _real(rank)
    share = pl.lit(1.0) if weight is None else _real(weight)
    return sorted_sum(pl.when(position >= 1).then(share / (k + position)).fill_nan(None)).alias("rrf")


def fuse(
    runs: F | Mapping[str, F] | Sequence[F],
    method: str = "rrf",
    *,
    k: float = 60,
    weights: Weights | None = None,
    normalize: str | None = None,
    on_constant: float = 0,
    ddof: int = 0,
    gamma: float = 1.0,
    sigma: float = 0.01,
    phi: float = 0.8,
    weighting: str = "multiply",
    fitted: pl.DataFrame | pl.LazyFrame | None = None,
    reach: int = 5,
    order_by: OrderBy | None = None,
    descending: bool = True,
    ties: Ties = "item-descending",
    rank_base: int = 1,
    duplicates: Duplicates = "first",
    systems: Sequence[str] | None = None,
    explain: bool = False,
    query: str = "query",
    item: str = "item",
    score: str = "score",
    rank: str = "rank",
    system: str = "system",
) -> F:
    r"""Fuse several runs into one.

    $rrf = \sum_i w_i / (k + rank_i)$, and so for the other methods, over the lists i that have the item:

    ==================  =====================================================================
    rrf                 sum of w / (k + rank)
    isr                 c · sum of w / rank²; c is the number of lists that have the item
    log_isr, logn_isr   the same sum times ln(c), ln(c + sigma)
    rbc                 sum of w · (1 - phi) · phi^(rank - 1)
    borda               sum of w · (C - rank + 1), C different items of the query; an item that a
                        list of n lacks gets (C - n + 1) / 2. Also called weighted_borda
    condorcet           items that it beats: more than half of the lists (by weight) put it above
    copeland            items that more lists put below it than above it, less the opposite
    comb_sum            sum of w · score. Also called weighted_sum
    comb_mean           comb_sum / number of all lists; comb_anz is comb_sum / c
    comb_mnz            comb_sum · c; comb_gmnz · c^gamma; mixed · √c
    comb_min, comb_max  least and greatest w · score (not below -1e9), comb_med their median
    wmnz                (sum of score) · (sum of w)
    convex              comb_sum / sum of all weights
    dbsf                sum of w · (score - mean + 3 sd) / (6 sd), sd with n - 1, 0.5 if constant
    relative_score      sum of w · (score - min) / (max - min), 1 if constant
    mapfuse, …          trained: see `fit_fusion`
    ==================  =====================================================================

    One row of a run is an item that a system returned for a query. Ranks are those of `score`, where
    there is one: highest first, equal scores by `ties`, null and NaN last; the rank column is then not
    read. A list without the query, and a null score in a method that adds scores, adds nothing. An item
    whose lists all weigh 0, or add nothing, stays with score 0.

    Parameters
    ----------
    runs
        One table with a `system` column, a dict of a run a system, or a list of runs, which are then
        called "1", "2", … unless `systems` names them. Columns `query`, `item` (text, integers or
        binary), `score` or `rank` (numbers). Equal fused scores stand in the order in which items first
        come, list by list, place by place; the lists' order is the dict's or list's, else that of
        `systems`, else of the keys of `weights`, else by name.
    method
        One of the above. Those of the first five rows and condorcet, copeland go by ranks alone.
    k
        rrf: added to each rank, at least 0.
    weights
        Name to number, or numbers in the lists' order, at least 0. Every list or none; empty is all 1. A
        weight of 0 takes a list out of the scores; its own items stay, with score 0.
    normalize
        Scores to one scale, list by list, before they are added: ``"min_max"``, ``"min_max_inverted"``
        (distances: nearest first, for methods by rank too), ``"max"``, ``"sum"``, ``"zscore"``,
        ``"rank"``, ``"borda"``, ``"sigmoid"``, ``"quantile"``; formulas at `normalize_scores`.
    on_constant
        The normalised score in a list whose scores are all equal, or that holds one item.
    ddof
        zscore: deviation with n (0) or n - 1 (1).
    gamma, sigma, phi
        comb_gmnz, logn_isr, rbc.
    weighting
        rrf: ``"multiply"``, or ``"stretch"`` for 1 / (k + rank / w), as Qdrant.
    fitted
        The table of `fit_fusion`, for trained methods.
    reach
        slidefuse: places on either side.
    order_by
        ``"score"`` or ``"rank"``; default: the score if there is one. Given ranks are used by value.
    descending
        False where a low score is good.
    ties
        ``"item-descending"`` (bytes of text; integers by value), ``"item-ascending"``,
        ``"item-text-descending"``.
    rank_base
        0 for given ranks that count from 0.
    duplicates
        ``"first"`` counts an item at its best rank, and the places of others stay; ``"error"``.
    systems
        Order, or names, of the lists.
    explain
        Add `explain`: a list of ``{system, rank, score, contribution}`` in the lists' order. The
        contributions add up to the fused score.
    query, item, score, rank, system
        Names of the columns.

    Returns
    -------
    DataFrame or LazyFrame
        Lazy if a run is. One row a query and item: `query`, `item`, `score` (Float64, higher is better),
        `rank` (Int64, 1 to n), and `explain`; sorted by query and rank.

    Raises
    ------
    DataError
        If a column is missing, ids are null or of different kinds, a system has no weight, or a given
        rank is below its base. A lazy plan may raise when it is collected.
    ValueError
        If an option has no such value.

    References
    ----------
    Cormack et al. 2009, doi:10.1145/1571941.1572114 (rrf); Fox and Shaw 1993 (comb_*); Lee 1997,
    doi:10.1145/258525.258587 (comb_gmnz); Mourão et al. 2015, doi:10.1016/j.compmedimag.2014.05.006
    (isr); Aslam and Montague 2001, doi:10.1145/383952.384007 (borda, bayesfuse); Bailey et al. 2017,
    doi:10.1145/3077136.3080839 (rbc); Wu and Crestani 2002, doi:10.1145/584792.584908 (mixed, wmnz);
    Montague and Aslam 2002, doi:10.1145/584792.584881 (condorcet).

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> bm25 = pl.DataFrame({"query": "q", "item": ["a", "b"], "score": [12.5, 11.0]})
    >>> dense = pl.DataFrame({"query": "q", "item": ["b", "c"], "score": [0.9, 0.8]})
    >>> rank.fuse({"bm25": bm25, "dense": dense}, weights={"bm25": 1, "dense": 2})
    shape: (3, 4)
    ┌───────┬──────┬──────────┬──────┐
    │ query ┆ item ┆ score    ┆ rank │
    │ ---   ┆ ---  ┆ ---      ┆ ---  │
    │ str   ┆ str  ┆ f64      ┆ i64  │
    ╞═══════╪══════╪══════════╪══════╡
    │ q     ┆ b    ┆ 0.048916 ┆ 1    │
    │ q     ┆ c    ┆ 0.032258 ┆ 2    │
    │ q     ┆ a    ┆ 0.016393 ┆ 3    │
    └───────┴──────┴──────────┴──────┘
    """
    require_choice("method", method, METHODS)
    require_choice("explain", explain, (True, False))
    parameters = _checked(k, gamma, sigma, phi, weighting)
    require_normalization(normalize, on_constant, ddof)
    columns = Columns(query, item, score, rank, system)
    if explain:
        for argument, name in (("query", query), ("item", item), ("score", score), ("rank", rank)):
            refuse_names(argument, [name], ["explain"])
    ordering = Ordering(
        order_by,
        # A distance that becomes a score puts the nearest first, whatever the method.
        descending and normalize != "min_max_inverted",
        ties,
        rank_base,
        duplicates,
        needs_score=method in (*BY_SCORE, "segfuse"),
    )
    scale = Scale(normalize, on_constant, ddof)
    gathered = gather(runs, weights=weights, systems=systems, ordering=ordering, columns=columns)
    wanted = ordering.needs_score or explain
    parameters = parameters._replace(
        unit=unit_of([k], weights),
        some_weigh_0=0 in _numbers(weights),
    )

    def fuse_part(part: pl.LazyFrame, ids: pl.Series | None = None, *, repeats: bool = True) -> pl.LazyFrame:
        rows = placed(part, ordering, repeats=repeats)
        options: dict[str, Any] = {"fitted": fitted, "reach": reach, "explain": explain}
        if ids is None:
            fused = scored(rows, method, parameters, scale, **options)
            return _finish(fused, query_ids(part), columns)
        return _finish_in_order(
            scored(rows, method, parameters, scale, in_order=True, **options), ids, columns
        )

    result: pl.DataFrame | pl.LazyFrame
    if all_eager(runs):
        parts, ids = in_parts(gathered, ordering, scores=wanted)
        joined = method in _JOINED or scale.normalize == "borda"
        result = _in_memory(parts, None if joined else ids, fuse_part)
    else:
        result = fuse_part(in_lists(gathered, ordering, scores=wanted))
    return cast(F, result)


def _in_memory(
    parts: Sequence[pl.DataFrame], ids: pl.Series | None, fuse_part: Callable[..., pl.LazyFrame]
) -> pl.DataFrame:
    """Fuse part by part; with the `ids` of the queries, on hashed keys."""
    counts = pl.concat(pl.collect_all([counted(part.lazy()) for part in parts], engine="in-memory"))
    repeats = bool(counts["repeats"].any())
    plans = [fuse_part(part.lazy(), ids, repeats=repeats) for part in parts]
    if ids is None:
        return pl.concat(pl.collect_all(plans))
    fused = pl.collect_all(plans, engine="in-memory")
    for number, (part, items) in enumerate(zip(parts, counts["items"], strict=True)):
        # Where two items met under one key, they are told apart by both.
        if fused[number].height != items:
            fused[number] = fuse_part(part.lazy(), repeats=repeats).collect()
    return pl.concat(fused)


def _numbers(weights: Weights | None) -> list[float]:
    return [] if weights is None else list(weights.values() if isinstance(weights, Mapping) else weights)


# How small a weight, or 1 / k, may be beside 1 for exact sums to keep the digits of their terms.
_LEAST = 2.0**-30


def unit_of(k: Sequence[float], *weights: Weights | None) -> float | None:
    """Give a power of two above the sum of the weights, for exact sums; None if some terms are too small."""
    numbers = [_numbers(each) for each in weights]
    total = max((sum(each) for each in numbers), default=0) or 0.5
    least = min((weight for each in numbers for weight in each if weight > 0), default=total)
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
    in_order: bool = False,
) -> pl.LazyFrame:
    """Fuse placed rows: one row an item of a query, with `score` and `first`, where it first came.

    Rows that stand in order, in memory, give rows in the order in which items first come, without `first`.
    """
    if method in _NEED_ABSENT or scale.normalize == "borda":
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
    return _total(rows, method, parameters, explain=explain, in_order=in_order)


_NEED_ABSENT = ("borda", "weighted_borda", "condorcet", "copeland", "bayesfuse")

# Methods that join, after which rows stand in no order.
_JOINED = (*_NEED_ABSENT, *TRAINED)

# Methods that are comb_sum over a normalisation of their own.
OWN_SCALE = {"dbsf": Scale("zscore", 0, 1), "relative_score": Scale("min_max", 1, 0)}


def _with_value(rows: pl.LazyFrame, method: str, scale: Scale) -> pl.LazyFrame:
    if method in OWN_SCALE:
        if scale != Scale():
            raise ValueError(
                f"{method} has a normalisation of its own; leave out normalize, on_constant and ddof, "
                'or use method="comb_sum" with them'
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
    elif method in ("borda", "weighted_borda"):
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


# What picks one score, or the mean of two.
_CHOICES: Mapping[str, Sequence[pl.Expr]] = {
    "comb_min": [_TERM.min()],
    "comb_max": [_TERM.max()],
    "comb_med": [_TERM.quantile(0.5, "lower"), _TERM.quantile(0.5, "higher")],
}


def _total(
    rows: pl.LazyFrame, method: str, parameters: Parameters, *, explain: bool, in_order: bool
) -> pl.LazyFrame:
    """Make one row of each item of a query: its fused score, and where it came first."""
    unit = parameters.unit if method in _OF_KNOWN_SIZE else None
    summed = sorted_sum(_TERM) if unit is None else _exact_sum(_TERM, unit)
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
        part = pl.struct("system", "rank", "score", contribution=share.fill_null(0.0))
        aggregates["explain"] = part.sort_by("list")
    if in_order:
        grouped = rows.group_by(key=_hashed(), maintain_order=True)
        return grouped.agg(pl.col("query", "item").first(), **aggregates).drop("key")
    # Where an item first comes: list by list, place by place.
    first = pl.col("list").cast(pl.Int64) * 2**32 + pl.col("place").cast(pl.Int64)
    rows = rows.with_columns(first=first)
    return rows.group_by("query", "item").agg(pl.col("first").min(), **aggregates)


def _hashed() -> pl.Expr:
    """Give one number an item of a query: grouped by in half the time of two keys.

    Two items may share it, so whoever groups by it counts the groups.
    """
    return pl.col("item").hash() ^ pl.col("query").hash()


def _part_in(choice: pl.Expr) -> pl.Expr:
    """Share a chosen score among the lists that gave it."""
    gave = choice == _TERM
    return gave.cast(pl.Float64) / gave.sum()


def _finish_in_order(fused: pl.LazyFrame, ids: pl.Series, columns: Columns) -> pl.LazyFrame:
    """Put each query's items, which come in order, in that of their scores, and number them."""
    names = [name for name in fused.collect_schema().names() if name != "query"]
    best_first = pl.col(names).sort_by("score", descending=True, nulls_last=True, maintain_order=True)
    ordered = (
        fused.with_columns(pl.col("score").fill_nan(None), pl.col("query").set_sorted())
        .group_by("query", maintain_order=True)
        .agg(best_first)
        .with_columns(rank=pl.int_ranges(1, pl.col("item").list.len() + 1))
        .explode(*names, "rank")
        .with_columns(query=pl.lit(ids).gather("query"))
    )
    return _named(ordered, columns)


def _finish(fused: pl.LazyFrame, queries: pl.LazyFrame, columns: Columns) -> pl.LazyFrame:
    """Do the same of rows that come in no order."""
    names = [name for name in fused.collect_schema().names() if name not in ("query", "first")]
    best_first = pl.struct(names).sort_by("score", "first", descending=[True, False], nulls_last=True)
    ordered = (
        fused.with_columns(pl.col("score").fill_nan(None))
        .group_by(number="query")
        .agg(entry=best_first)
        .join(queries, on="number")
        .sort("number")
        .with_columns(rank=pl.int_ranges(1, pl.col("entry").list.len() + 1))
        .explode("entry", "rank")
        .unnest("entry")
    )
    return _named(ordered, columns)


def _named(ordered: pl.LazyFrame, columns: Columns) -> pl.LazyFrame:
    checked = ordered.filter(
        pl.map_batches(["query", "item"], _refuse_null_ids, return_dtype=pl.Boolean, is_elementwise=True)
    )
    renamed = {name: getattr(columns, name) for name in ("query", "item", "score", "rank")}
    explained = [name for name in ordered.collect_schema().names() if name == "explain"]
    return checked.select(*(pl.col(old).alias(new) for old, new in renamed.items()), *explained)


def _refuse_null_ids(series: Sequence[pl.Series]) -> pl.Series:
    for ids in series:
        if ids.null_count():
            raise DataError(f"a run has a null {ids.name}; every row needs its id")
    return series[0].is_not_null()


def _real(column: str | float | pl.Expr) -> pl.Expr:
    if isinstance(column, pl.Expr):
        return column.cast(pl.Float64)
    return pl.col(column).cast(pl.Float64) if isinstance(column, str) else pl.lit(float(column))


def _exact_sum(term: pl.Expr, unit: float) -> pl.Expr:
    """Sum terms of known size as whole numbers: exact, in whatever order the rows came, and it streams."""
    return (term * (2.0**100 / unit)).cast(pl.Int128).sum().cast(pl.Float64) * (unit * 2.0**-100)
