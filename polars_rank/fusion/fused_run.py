"""Rank fusion: several runs become one."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import polars as pl

from polars_rank.core.errors import DataError, DataWarning, Setting, require_choice
from polars_rank.core.frames import as_frames, as_list, refuse_names
from polars_rank.core.ordering import ItemTies, OrderBy
from polars_rank.fusion.in_memory import Part, by_item, in_list_order, in_parts, refuse_null_ids
from polars_rank.fusion.list_ranks import in_lists, placed, query_ids, sorted_sum
from polars_rank.fusion.methods import (
    ABSENT_IS_0,
    BY_SCORE,
    METHODS,
    Parameters,
    Scale,
    joins,
    numbers,
    scored,
    unit_of,
)
from polars_rank.fusion.normalization import BY_PLACE, require_normalization
from polars_rank.fusion.runs import (
    Columns,
    Duplicates,
    Ordering,
    Weights,
    all_eager,
    gather,
    require_number,
)
from polars_rank.measures.options import takes_columns
from polars_rank.measures.rows import number as real

F = TypeVar("F", pl.DataFrame, pl.LazyFrame)

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


def _checked(k: float, gamma: float, sigma: float, phi: float, weighting: str) -> Parameters:
    require_number("k", k, low=0)
    require_number("gamma", gamma)
    require_number("sigma", sigma, low=0)
    require_number("phi", phi, low=0, high=1)
    require_choice("weighting", weighting, ("multiply", "stretch"))
    return Parameters(k, gamma, sigma, phi, weighting)


@takes_columns
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

    Range [0, sum of weight / (k + 1)]; 0 where no list has the item, and for an empty group; null where
    infinite weights cancel out.

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
    position = real(rank)
    share = pl.lit(1.0) if weight is None else real(weight)
    term = pl.when(position >= 1).then(share / (k + position)).fill_nan(None)
    return sorted_sum(term).fill_nan(None).alias("rrf")


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
    ties: ItemTies = "item-descending",
    rank_base: int = 1,
    duplicates: Duplicates | None = None,
    systems: Sequence[str] | None = None,
    keys: str | Sequence[str] = (),
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

    Methods that add scores refuse infinite ones. As a missing item adds 0, it comes before an item whose
    score is negative: there is a `DataWarning` where comb_sum and its relatives add up such scores as they
    are (a lazy plan warns of any negative score, when it is collected).

    Parameters
    ----------
    runs
        One table with a `system` column, a dict of a run a system, or a list of runs, which are then
        called "1", "2", … unless `systems` names them. Columns `query`, `item` (text, integers or
        binary), `score` or `rank` (numbers, taken as Float64). Equal fused scores stand in the order in
        which items first come, list by list, place by place; the lists' order is the dict's or list's,
        else that of `systems`, else of the keys of `weights`, else by name.
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
        An item that is twice in a list: ``"first"`` counts it at its best rank, of equal given ones with the
        highest score, and the places of others stay; ``"error"``. Default: ``"first"`` for a dict or a list
        of runs; ``"error"`` in one table, where the lists of different days may have been stacked.
    systems
        Order, or names, of the lists.
    keys
        Columns that tell rankings of a query apart, such as a day: each of them is fused by itself.
    explain
        Add `explain`: a list of ``{system, rank, score, contribution}`` in the lists' order. The
        contributions add up to the fused score.
    query, item, score, rank, system
        Names of the columns.

    Returns
    -------
    DataFrame or LazyFrame
        Lazy if a run is. One row a query and item: `query`, the `keys`, `item`, `score` (Float64, higher is
        better), `rank` (Int64, 1 to n), and `explain`; sorted by query, keys and rank.

    Raises
    ------
    DataError
        If a column is missing, ids are null or of different kinds, a system has no weight, a score that
        is added is infinite, an item of a long table is twice in a list, or a given rank is below its
        base. A lazy plan may raise when it is collected.
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
    runs, keys = as_frames(runs, "runs"), as_list(keys)
    require_choice("method", method, METHODS)
    require_choice("explain", explain, (True, False))
    parameters = _checked(k, gamma, sigma, phi, weighting)
    require_normalization(normalize, on_constant, ddof)
    columns = Columns(query, item, score, rank, system, keys)
    if explain:
        for argument, name in (("query", query), ("item", item), ("score", score), ("rank", rank)):
            refuse_names(argument, [name], ["explain"])
        refuse_names("keys", keys, ["explain"])
    adds_scores = method in (*BY_SCORE, "segfuse")
    ordering = Ordering(
        order_by,
        # A distance that becomes a score puts the nearest first, whatever the method.
        descending and normalize != "min_max_inverted",
        ties,
        rank_base,
        duplicates,
        needs_score=adds_scores,
        finite=adds_scores and normalize not in BY_PLACE,
    )
    scale = Scale(normalize, on_constant, ddof)
    gathered = gather(runs, weights=weights, systems=systems, ordering=ordering, columns=columns)
    ordering = gathered.ordering
    wanted = ordering.needs_score or explain
    parameters = parameters._replace(
        unit=unit_of([k], weights),
        by_place=not gathered.by_rank,
        some_weigh_0=0 in numbers(weights),
    )

    def fuse_rows(rows: pl.LazyFrame, *, by_item: bool = False) -> pl.LazyFrame:
        options: dict[str, Any] = {"fitted": fitted, "reach": reach, "explain": explain, "by_item": by_item}
        return scored(rows, method, parameters, scale, **options)

    eager = all_eager(runs)
    parts, queries = in_parts(gathered, scores=wanted) if eager else ([], pl.Series())
    favours_missing = method in ABSENT_IS_0 and normalize in (None, "max")
    if parts:
        if favours_missing and any((part.rows["score"] < 0).any() for part in parts):
            _warn_of_negative(in_list_order(parts, queries, ordering), method)
        fuse_parts = _in_list_order if joins(method, normalize) else _by_item
        result: pl.DataFrame | pl.LazyFrame = pl.concat(fuse_parts(parts, queries, ordering, fuse_rows))
    else:
        lists = in_lists(gathered, scores=wanted)
        rows = placed(lists, ordering)
        if favours_missing:
            rows = rows.with_columns(_warning_of_negative(method))
        plan = _finish(fuse_rows(rows), query_ids(lists)).filter(_ids_are_known())
        result = plan.collect() if eager else plan
    return cast(F, result.select(_named(columns, explain=explain)))


def _in_list_order(
    parts: Sequence[Part], queries: pl.Series, ordering: Ordering, fuse_rows: Callable[..., pl.LazyFrame]
) -> list[pl.DataFrame]:
    """Fuse part by part, grouping by query and item."""
    ids = pl.LazyFrame({"query": queries}).with_row_index("number")
    rows = in_list_order(parts, queries, ordering)
    # One after the other: a part of pairs of items is large, and the cost of all plans in one is quadratic.
    return [_finish(fuse_rows(part), ids).collect() for part in rows]


def _by_item(
    parts: Sequence[Part], queries: pl.Series, ordering: Ordering, fuse_rows: Callable[..., pl.LazyFrame]
) -> list[pl.DataFrame]:
    """Fuse part by part, the rows of an item together by its hash."""
    plans = [
        _finish_by_item(fuse_rows(by_item(part, queries, ordering), by_item=True), queries) for part in parts
    ]
    fused = pl.collect_all(plans, engine="in-memory")
    collided = [number for number, part in enumerate(fused) if part["collided"].any()]
    fused = [part.drop("collided") for part in fused]
    # Items that met under one hash are told apart by themselves.
    apart = _in_list_order([parts[number] for number in collided], queries, ordering, fuse_rows)
    for number, part in zip(collided, apart, strict=True):
        fused[number] = part.select(fused[number].columns)
    return fused


# Zero has two signs, and a sort tells them apart.
_KNOWN_SCORE = pl.col("score").fill_nan(None) + 0.0


def _finish_by_item(fused: pl.LazyFrame, ids: pl.Series) -> pl.LazyFrame:
    """Put each query's items in the order of their scores, and number them."""
    # The bits of a number are in its order, but for the sign of those below zero.
    bits = pl.col("score").reinterpret(dtype=pl.Int64)
    score = pl.when(bits < 0).then(-(bits & (2**63 - 1))).otherwise(bits).fill_null(-(2**63))
    # One number a row, sorted in a third of the time that three columns take: query, score, first.
    down = pl.col("query").cast(pl.Int128) * 2**96 - score.cast(pl.Int128) * 2**32 + pl.col("first")
    row = pl.int_range(1, pl.len() + 1)
    before = pl.when(pl.col("query") != pl.col("query").shift()).then(row - 1)
    return (
        fused.with_columns(score=_KNOWN_SCORE)
        .with_columns(down=down)
        .sort("down", multithreaded=False)
        .drop("down", "group", "first")
        .with_columns(rank=row - before.forward_fill().fill_null(0))
        .with_columns(query=pl.lit(ids).gather("query"))
    )


def _finish(fused: pl.LazyFrame, queries: pl.LazyFrame) -> pl.LazyFrame:
    """Do the same of rows that come in no order."""
    names = [name for name in fused.collect_schema().names() if name not in ("query", "first")]
    best_first = pl.struct(names).sort_by("score", "first", descending=[True, False], nulls_last=True)
    return (
        fused.with_columns(score=_KNOWN_SCORE)
        .group_by(number="query")
        .agg(entry=best_first)
        .join(queries, on="number")
        .sort("number")
        .with_columns(rank=pl.int_ranges(1, pl.col("entry").list.len() + 1))
        .explode("entry", "rank")
        .unnest("entry")
    )


def _named(columns: Columns, *, explain: bool) -> list[pl.Expr]:
    score = pl.map_batches(["score", "item"], _refuse_unknown, return_dtype=pl.Float64, is_elementwise=True)
    named = {columns.item: pl.col("item"), columns.score: score, columns.rank: pl.col("rank")}
    others = [value.alias(name) for name, value in named.items()]
    return [*columns.ids(pl.col("query")), *others, *[pl.col("explain")] * explain]


def _refuse_unknown(series: Sequence[pl.Series]) -> pl.Series:
    score, item = series
    if score.null_count():
        name = item.filter(score.is_null())[0]
        raise DataError(
            f"the fused score of item {name!r} is not a number: what is added is beyond the range of floats",
            remedy=(
                *("bring the scores to one scale, as ", Setting("normalize", "min_max")),
                ", or use smaller weights",
            ),
        )
    return score


def _ids_are_known() -> pl.Expr:
    def check(series: Sequence[pl.Series]) -> pl.Series:
        refuse_null_ids(*series)
        return series[0].is_not_null()

    return pl.map_batches(["query", "item"], check, return_dtype=pl.Boolean, is_elementwise=True)


def _warn_of_negative(parts: Sequence[pl.LazyFrame], method: str) -> None:
    """Warn if a list has a negative score, and lacks an item of the query."""
    everything = pl.col("item").n_unique().over("query")
    for rows in parts:
        counted = rows.filter(pl.col("weight") > 0).with_columns(everything=everything)
        lists = counted.group_by("list", "query").agg(
            pl.col("system", "everything").first(), lowest=pl.col("score").min(), items=pl.len()
        )
        lacking = (pl.col("lowest") < 0) & (pl.col("items") < pl.col("everything"))
        systems = lists.filter(lacking).select(pl.col("system").sort()).collect(engine="in-memory")
        if not systems.is_empty():
            _warn(method, systems.item(0, 0))
            return


def _warning_of_negative(method: str) -> pl.Expr:
    def check(series: Sequence[pl.Series]) -> pl.Series:
        score, weight, system = series
        negative = (score < 0) & (weight > 0)
        if negative.any():
            _warn(method, system.filter(negative)[0])
        return score

    return pl.map_batches(
        ["score", "weight", "system"], check, return_dtype=pl.Float64, is_elementwise=True
    ).alias("score")


def _warn(method: str, system: object) -> None:
    below = f"{system!r} has scores below 0, and {method} counts an item that a list lacks as 0"
    remedy = ("bring the scores to one scale first, as by ", Setting("normalize", "min_max"))
    warnings.warn(DataWarning(f"{below}, which is better", remedy=remedy), stacklevel=4)
