"""Rank fusion: `fuse` several runs into one."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar, cast

import polars as pl

from polars_rank.core.errors import DataError, DataWarning, Setting, require_choice
from polars_rank.core.frames import as_frames, as_list, refuse_names
from polars_rank.core.ordering import ItemTies, OrderBy
from polars_rank.fusion.arguments import ListOrder, RepeatedItems, RunColumns, require_finite
from polars_rank.fusion.in_memory import QueryBatch, in_batches, refuse_null_ids, rows_by_item, rows_by_list
from polars_rank.fusion.methods import (
    BY_SCORE,
    METHODS,
    MISSING_IS_0,
    MethodOptions,
    Normalization,
    fuse_rows,
    joins_rows,
)
from polars_rank.fusion.normalization import BY_POSITION, require_normalization
from polars_rank.fusion.ranking import query_ids, ranked_rows, sorted_lists, sorted_sum
from polars_rank.fusion.runs import all_eager, stack
from polars_rank.fusion.weights import Weights, exact_unit, weight_values
from polars_rank.measures.options import takes_columns
from polars_rank.measures.rows import number as real

F = TypeVar("F", pl.DataFrame, pl.LazyFrame)

FUSION_SETTINGS: Mapping[str, Mapping[str, object]] = {
    "qdrant_rrf": {"method": "rrf", "k": 1, "weighting": "stretch"},
    "qdrant_dbsf": {"method": "dbsf"},
    "weaviate_ranked": {"method": "rrf", "k": 59},
    "weaviate_relative_score": {"method": "relative_score"},
}
"""Arguments that reproduce two search engines: ``fuse(runs, **FUSION_SETTINGS["qdrant_rrf"])``.

Both count ranks from 0. Weaviate adds w / (60 + rank - 1), so k = 59 for ranks from 1. Qdrant adds
1 / (2 + rank - 1), so k = 1 (its own k less 1), and a weight stretches its ranks to rank / w.
"""


@takes_columns
def rrf(
    rank: str | pl.Expr = "rank", weight: str | float | pl.Expr | None = None, *, k: float = 60
) -> pl.Expr:
    r"""Reciprocal rank fusion of one item: the sum of weight / (k + rank) over the lists.

    $rrf = \sum_i w_i / (k + rank_i)$

    One row is an item in a list, as in ``group_by("query", "item").agg(rrf())``; the value is Float64.
    Terms are sorted before the sum, so that items with equal terms tie exactly.

    Parameters
    ----------
    rank : column of the item's rank in the list, 1 is the top; integer or float. A null, NaN or a rank
        below 1 means that the list lacks the item, and adds nothing.
    weight : column of the list's weight, or a number; None is 1. A null or NaN adds nothing.
    k : constant added to each rank, at least 0. A larger k gives top ranks less weight.

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
    require_finite("k", k, low=0)
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
    half_window: int = 5,
    order_by: OrderBy | None = None,
    descending: bool = True,
    ties: ItemTies = "item-descending",
    rank_base: int = 1,
    duplicates: RepeatedItems | None = None,
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

    $rrf = \sum_i w_i / (k + rank_i)$ over the lists i that have the item; likewise:

    ==================  ======================================================================
    rrf                 sum of w / (k + rank)
    isr                 c · sum of w / rank²; c is the number of lists that have the item
    log_isr, logn_isr   the same sum times ln(c), ln(c + sigma)
    rbc                 sum of w · (1 - phi) · phi^(rank - 1)
    borda               sum of w · (C - rank + 1), C distinct items of the query; an item missing
                        from a list of n gets (C - n + 1) / 2. Also called weighted_borda
    condorcet           number of items that it beats: more than half of the lists (by weight) rank it
                        higher
    copeland            number of items that more lists rank below it than above it, minus the reverse
    comb_sum            sum of w · score. Also called weighted_sum
    comb_mean           comb_sum / number of all lists; comb_anz is comb_sum / c
    comb_mnz            comb_sum · c; comb_gmnz · c^gamma; mixed · √c
    comb_min, comb_max  least and greatest w · score (not below -1e9), comb_med their median
    wmnz                (sum of score) · (sum of w)
    convex              comb_sum / sum of all weights
    dbsf                sum of w · (score - mean + 3 sd) / (6 sd), sd with n - 1, 0.5 if constant
    relative_score      sum of w · (score - min) / (max - min), 1 if constant
    mapfuse, …          trained: see `fit_fusion`
    ==================  ======================================================================

    One row of a run is an item that a system returned for a query. Items are ranked by `score` if there is
    such a column: highest first, equal scores by `ties`, null and NaN last; the rank column is then ignored.
    A list without the query, and a null score in a method that adds scores, adds nothing. An item whose
    lists all have weight 0, or add nothing, is kept with score 0.

    Methods that add scores refuse infinite ones. A missing item adds 0, which is more than a negative score:
    comb_sum and similar methods emit a `DataWarning` if a list has negative scores and lacks an item, and
    the scores are not normalized. A lazy plan warns when it is collected.

    Parameters
    ----------
    runs
        One table with a `system` column, a dict of system name to run, or a list of runs, which are named
        "1", "2", … unless `systems` names them. Columns `query`, `item` (text, integers or binary), `score`
        or `rank` (numbers, cast to Float64). Items with equal fused scores are ordered by first appearance,
        list by list, rank by rank. The order of the lists is that of the dict or list, otherwise of
        `systems`, otherwise of the keys of `weights`, otherwise by name.
    method
        One of the above. Methods up to copeland use only ranks.
    k
        rrf: constant added to each rank, at least 0.
    weights
        Dict of system to number, or numbers in the order of the lists, at least 0. For every list or none;
        None is all 1. A weight of 0 takes a list out of the scores; its items are kept, with score 0.
    normalize
        Normalize the scores of each list before they are added: ``"min_max"``, ``"min_max_inverted"``
        (for distances: smallest first, also in methods by rank), ``"max"``, ``"sum"``, ``"zscore"``,
        ``"rank"``, ``"borda"``, ``"sigmoid"``, ``"quantile"``; formulas at `normalize_scores`.
    on_constant
        Normalized score if all scores of a list are equal, or it has one item.
    ddof
        zscore: standard deviation with n (0) or n - 1 (1).
    gamma, sigma, phi
        Parameters of comb_gmnz, logn_isr and rbc.
    weighting
        rrf: ``"multiply"``, or ``"stretch"`` for 1 / (k + rank / w), as in Qdrant.
    fitted
        Table from `fit_fusion`, for trained methods.
    half_window
        slidefuse: number of ranks on each side to average over.
    order_by
        ``"score"`` or ``"rank"``; default: the score if there is one. Given ranks are used as they are.
    descending
        False if a low score is better.
    ties
        ``"item-descending"`` (bytes of text; integers by value), ``"item-ascending"``,
        ``"item-text-descending"``.
    rank_base
        0 if the given ranks count from 0.
    duplicates
        An item that is twice in a list: ``"first"`` counts it at its best rank (of equal given ranks, the
        highest score) and leaves other ranks unchanged; ``"error"``. Default: ``"first"`` for a dict or list
        of runs; ``"error"`` for one table, which may hold several lists under one name.
    systems
        Order or names of the lists.
    keys
        Columns that separate rankings of one query, such as a day: each ranking is fused separately.
    explain
        Add `explain`: a list of ``{system, rank, score, contribution}`` in the order of the lists. The
        contributions add up to the fused score.
    query, item, score, rank, system
        Names of the columns.

    Returns
    -------
    DataFrame or LazyFrame
        Lazy if a run is. One row per query and item: `query`, the `keys`, `item`, `score` (Float64, higher is
        better), `rank` (Int64, 1 to n), and `explain`; sorted by query, keys and rank.

    Raises
    ------
    DataError
        If a column is missing, ids are null or of different kinds, a system has no weight, an added score
        is infinite, a long table has an item twice in a list, or a given rank is below `rank_base`. A lazy
        plan may raise when it is collected.
    ValueError
        If an option has an invalid value.

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
    require_finite("k", k, low=0)
    require_finite("gamma", gamma)
    require_finite("sigma", sigma, low=0)
    require_finite("phi", phi, low=0, high=1)
    require_choice("weighting", weighting, ("multiply", "stretch"))
    require_normalization(normalize, on_constant, ddof)
    columns = RunColumns(query, item, score, rank, system, keys)
    if explain:
        for argument, name in (("query", query), ("item", item), ("score", score), ("rank", rank)):
            refuse_names(argument, [name], ["explain"])
        refuse_names("keys", keys, ["explain"])
    adds_scores = method in (*BY_SCORE, "segfuse")
    order = ListOrder(
        order_by,
        # Distances become scores, so the smallest is best, whatever the method.
        descending and normalize != "min_max_inverted",
        ties,
        rank_base,
        duplicates,
        needs_score=adds_scores,
        finite=adds_scores and normalize not in BY_POSITION,
    )
    stacked = stack(runs, weights=weights, systems=systems, order=order, columns=columns)
    order = stacked.order
    with_scores = order.needs_score or explain
    options = MethodOptions(
        k=k,
        gamma=gamma,
        sigma=sigma,
        phi=phi,
        weighting=weighting,
        unit=exact_unit([k], weights),
        by_position=not stacked.by_rank,
        has_zero_weights=0 in weight_values(weights),
    )
    fuse_plan = partial(
        fuse_rows,
        method=method,
        options=options,
        normalization=Normalization(normalize, on_constant, ddof),
        fitted=fitted,
        half_window=half_window,
        explain=explain,
    )
    eager = all_eager(runs)
    batches, queries = in_batches(stacked, scores=with_scores) if eager else ([], pl.Series())
    may_warn = method in MISSING_IS_0 and normalize in (None, "max")
    if batches:
        if may_warn and any((batch.rows["score"] < 0).any() for batch in batches):
            _warn_of_negative(rows_by_list(batches, queries, order), method)
        fuse_batches = _by_list if joins_rows(method, normalize) else _by_item
        result: pl.DataFrame | pl.LazyFrame = pl.concat(fuse_batches(batches, queries, order, fuse_plan))
    else:
        lists = sorted_lists(stacked, scores=with_scores)
        rows = ranked_rows(lists, order)
        if may_warn:
            rows = _with_warning(rows, method)
        plan = _finish(fuse_plan(rows), query_ids(lists)).filter(_ids_are_known())
        result = plan.collect() if eager else plan
    return cast(F, result.select(_user_columns(columns, explain=explain)))


def _by_list(
    batches: Sequence[QueryBatch],
    queries: pl.Series,
    order: ListOrder,
    fuse_plan: Callable[..., pl.LazyFrame],
) -> list[pl.DataFrame]:
    """Fuse batch by batch, grouping by query and item."""
    ids = pl.LazyFrame({"query": queries}).with_row_index("number")
    # One at a time: the pairs of items of a batch need much memory, and planning all at once is quadratic.
    return [_finish(fuse_plan(rows), ids).collect() for rows in rows_by_list(batches, queries, order)]


def _by_item(
    batches: Sequence[QueryBatch],
    queries: pl.Series,
    order: ListOrder,
    fuse_plan: Callable[..., pl.LazyFrame],
) -> list[pl.DataFrame]:
    """Fuse batch by batch, grouping by the hash of query and item.

    With `benchmarks/fusion.py` on 4,000 queries, `_by_list` takes 1.6 times the CPU time of this (1.3 to 1.5
    times with unsorted runs), and the plan of a LazyFrame 2.5 times.
    """
    plans = [
        _finish_by_item(fuse_plan(rows_by_item(batch, queries, order), by_item=True), queries)
        for batch in batches
    ]
    fused = pl.collect_all(plans, engine="in-memory")
    collided = [number for number, batch in enumerate(fused) if batch["collided"].any()]
    fused = [batch.drop("collided") for batch in fused]
    # Fuse batches with a hash collision again, without hashes.
    again = _by_list([batches[number] for number in collided], queries, order, fuse_plan)
    for number, batch in zip(collided, again, strict=True):
        fused[number] = batch.select(fused[number].columns)
    return fused


# Adding 0.0 turns -0.0 into 0.0, which would otherwise sort lower.
_KNOWN_SCORE = pl.col("score").fill_nan(None) + 0.0


def _finish_by_item(fused: pl.LazyFrame, ids: pl.Series) -> pl.LazyFrame:
    """Sort the items of each query by score, and add their ranks."""
    # The bits of floats sort like the floats, except that negative ones are reversed.
    bits = pl.col("score").reinterpret(dtype=pl.Int64)
    score = pl.when(bits < 0).then(-(bits & (2**63 - 1))).otherwise(bits).fill_null(-(2**63))
    # Query, score and first in one number: sorts in a third of the time of three columns.
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
    """Sort the items of each query by score, and add their ranks; for unsorted rows."""
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


def _user_columns(columns: RunColumns, *, explain: bool) -> list[pl.Expr]:
    score = pl.map_batches(["score", "item"], _refuse_unknown, return_dtype=pl.Float64, is_elementwise=True)
    named = {columns.item: pl.col("item"), columns.score: score, columns.rank: pl.col("rank")}
    others = [value.alias(name) for name, value in named.items()]
    return [*columns.ids(pl.col("query")), *others, *[pl.col("explain")] * explain]


def _refuse_unknown(series: Sequence[pl.Series]) -> pl.Series:
    score, item = series
    if score.null_count():
        name = item.filter(score.is_null())[0]
        raise DataError(
            f"the fused score of item {name!r} is not a number: the sum is beyond the range of floats",
            remedy=(
                *("normalize the scores, for example with ", Setting("normalize", "min_max")),
                ", or use smaller weights",
            ),
        )
    return score


def _ids_are_known() -> pl.Expr:
    def check(series: Sequence[pl.Series]) -> pl.Series:
        refuse_null_ids(*series)
        return series[0].is_not_null()

    return pl.map_batches(["query", "item"], check, return_dtype=pl.Boolean, is_elementwise=True)


def _with_warning(rows: pl.LazyFrame, method: str) -> pl.LazyFrame:
    def check(collected: pl.DataFrame) -> pl.DataFrame:
        if (collected["score"] < 0).any():
            _warn_of_negative([collected.lazy()], method)
        return collected

    return rows.map_batches(check, predicate_pushdown=False, projection_pushdown=False)


def _warn_of_negative(batches: Sequence[pl.LazyFrame], method: str) -> None:
    """Warn if a list has a negative score, and lacks an item of the query."""
    all_items = pl.col("item").n_unique().over("query")
    for rows in batches:
        counted = rows.filter(pl.col("weight") > 0).with_columns(all_items=all_items)
        lists = counted.group_by("list", "query").agg(
            pl.col("system", "all_items").first(), lowest=pl.col("score").min(), items=pl.len()
        )
        lacking = (pl.col("lowest") < 0) & (pl.col("items") < pl.col("all_items"))
        systems = lists.filter(lacking).select(pl.col("system").sort()).collect(engine="in-memory")
        if not systems.is_empty():
            below = f"{systems.item(0, 0)!r} has scores below 0, and {method} counts a missing item as 0"
            remedy = ("normalize the scores first, for example with ", Setting("normalize", "min_max"))
            warnings.warn(DataWarning(f"{below}, which is higher", remedy=remedy), stacklevel=3)
            return
