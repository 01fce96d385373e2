"""Fusion that learns from judgements what a place in each system's list is worth."""

from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import TypeVar, cast

import polars as pl

from polars_rank.core.errors import ArgumentError, DataError, Setting, require_choice, require_columns
from polars_rank.core.frames import Frame, as_frames, as_lazy, as_list, named_apart, renamed
from polars_rank.core.ordering import ItemTies, OrderBy
from polars_rank.fusion.list_ranks import in_lists, placed, query_ids, sorted_sum
from polars_rank.fusion.runs import Columns, Duplicates, Ordering, all_eager, gather, require_number
from polars_rank.judging.judged_table import judge_lazily
from polars_rank.judging.options import JudgeOptions
from polars_rank.measures.binary import average_precision

F = TypeVar("F", pl.DataFrame, pl.LazyFrame)

TRAINED = ("mapfuse", "posfuse", "probfuse", "segfuse", "slidefuse", "bayesfuse")

# Last places of the segments: 10 * 2**(k - 1) - 5 (Shokouhi 2007); those that trec_eval cuts at.
_ENDS = {
    "segfuse": [10 * 2 ** (k - 1) - 5 for k in range(1, 11)],
    "bayesfuse": [5, 10, 15, 20, 30, 100, 200, 500, 1000],
}

# Estimates of 0 and 1 have no finite odds.
_LEAST = 0.001
_ABSENT = log(_LEAST / (1 - _LEAST))


def fit_fusion(
    runs: F | Mapping[str, F] | Sequence[F],
    qrels: Frame,
    method: str,
    *,
    segments: int = 10,
    min_relevance: float = 1,
    order_by: OrderBy | None = None,
    descending: bool = True,
    ties: ItemTies = "item-descending",
    rank_base: int = 1,
    duplicates: Duplicates | None = None,
    systems: Sequence[str] | None = None,
    keys: str | Sequence[str] = (),
    query: str = "query",
    item: str = "item",
    score: str = "score",
    rank: str = "rank",
    system: str = "system",
    relevance: str = "relevance",
) -> F:
    r"""Learn from judgements what a place in each system's list is worth, for a trained `fuse`.

    $mapfuse = \sum_i MAP_i / rank_i$, and so for the other methods, over the lists i with the item:

    =========  ===============================================================================
    mapfuse    mean average precision / rank
    posfuse    share of relevant items at the place, over the queries whose list reaches it
    slidefuse  mean of posfuse's over the places within `reach`, clipped to the list
    probfuse   mean share of relevant items in the segment / number of the segment; each list
               is cut into `segments` of equal size
    segfuse    the same for segments of 5, 10, 20, 40, … places, times (normalised score + 1)
    bayesfuse  ln of the odds of relevance between places 1, 6, 11, 16, 21, 31, 101, 201, 501
               and 1001; a list without the item counts as odds of 0.001
    =========  ===============================================================================

    Means are over the judged queries (with `keys`, over their rankings); one that a system did not answer
    counts as without a hit.

    Parameters
    ----------
    runs
        As for `fuse`.
    order_by, descending, ties, rank_base, duplicates, systems, keys
    query, item, score, rank, system, relevance
        As in `fuse`; `relevance` is the name of the grades' column.
    qrels
        One row a judgement: `query`, `item`, `relevance`.
    method
        One of the above.
    segments
        probfuse: how many parts a list is cut into.
    min_relevance
        The least grade that is relevant.

    Returns
    -------
    DataFrame or LazyFrame
        Lazy if a run is. `method`, `system`, `segment` (Int64, from 1), `value` (Float64): one row for
        each part of each system's list, for ``fuse(runs, method, fitted=...)``.

    Raises
    ------
    DataError
        If a table is at fault, as in `judge`.
    ValueError
        If an option has no such value.

    References
    ----------
    Lillis et al. 2010, doi:10.1145/1835449.1835508 (mapfuse, posfuse); 2008,
    doi:10.1007/978-3-540-78646-7_33 (slidefuse); 2006, doi:10.1145/1148170.1148197 (probfuse);
    Shokouhi 2007, doi:10.1007/978-3-540-71496-5_19 (segfuse); Aslam and Montague 2001,
    doi:10.1145/383952.384007 (bayesfuse). Where they leave room, as ranx 0.3.21.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> run = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [2.0, 1.0]})
    >>> qrels = pl.DataFrame({"query": ["q"], "item": ["b"], "relevance": [1]})
    >>> rank.fit_fusion({"bm25": run}, qrels, "posfuse").rows()
    [('posfuse', 'bm25', 1, 0.0), ('posfuse', 'bm25', 2, 1.0)]
    """
    runs, keys = as_frames(runs, "runs"), as_list(keys)
    require_choice("method", method, TRAINED)
    require_number("min_relevance", min_relevance, low=0)
    if not isinstance(segments, int) or isinstance(segments, bool) or segments < 1:
        raise ValueError(f"segments must be a whole number of at least 1, got {segments!r}")
    ordering = Ordering(order_by, descending, ties, rank_base, duplicates)
    columns = Columns(query, item, score, rank, system, keys)
    gathered = gather(runs, systems=systems, ordering=ordering, columns=columns)
    lists = in_lists(gathered)
    rows = placed(lists, gathered.ordering).rename({"query": "number"}).join(query_ids(lists), on="number")
    ranking = ["system", "query", *named_apart(keys, "keys").values()]
    if keys:
        rows = rows.unnest("query")
    grades = renamed(as_lazy(qrels, "qrels"), {query: "query", item: "item", relevance: "relevance"})
    judged = judge_lazily(
        rows.select(*ranking, "item", "rank", "length"),
        grades,
        JudgeOptions(keys=[name for name in ranking if name != "query"], order_by="rank"),
    )
    fitted = _fitted(judged, ranking, method, segments, min_relevance).select(
        pl.lit(method).alias("method"), "system", pl.col("segment").cast(pl.Int64), "value"
    )
    fitted = fitted.sort("system", "segment")
    return cast(F, fitted.collect() if all_eager(runs) else fitted)


def _fitted(
    judged: pl.LazyFrame, ranking: Sequence[str], method: str, segments: int, min_relevance: float
) -> pl.LazyFrame:
    """Estimate one value for each system and segment of its list."""
    if method == "mapfuse":
        precision = average_precision(min_relevance=min_relevance).alias("value")
        per_query = judged.group_by(ranking).agg(precision)
        return per_query.group_by("system").agg(pl.col("value").mean(), segment=pl.lit(1))

    hit = (pl.col("relevance") >= min_relevance).fill_null(value=False)
    returned = judged.filter(pl.col("rank").is_not_null()).with_columns(hit=hit.cast(pl.Float64))
    if method in ("posfuse", "slidefuse"):
        # Over the queries whose list reaches the place.
        by_place = returned.group_by("system", segment=pl.col("rank").floor())
        return by_place.agg(value=pl.col("hit").mean())

    if method == "probfuse":
        ends, count = None, segments
    else:
        ends = _ENDS[method]
        count = len(ends)
    found = returned.group_by(*ranking, segment=_segment(ends, segments)).agg(
        pl.col("hit").sum(), size=pl.len().cast(pl.Float64)
    )
    every = judged.group_by("system").agg(queries=pl.struct(ranking).n_unique())
    grid = every.join(pl.LazyFrame({"segment": range(1, count + 1)}), how="cross")
    if ends is not None:
        sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
        size = pl.LazyFrame({"segment": range(1, count + 1), "size": [float(size) for size in sizes]})
        found = found.drop("size").join(size, on="segment")
    share = found.group_by("system", "segment").agg(share=sorted_sum(pl.col("hit") / pl.col("size")))
    estimate = (pl.col("share") / pl.col("queries")).fill_null(0.0)
    values = grid.join(share, on=["system", "segment"], how="left").with_columns(value=estimate)
    if method == "bayesfuse":
        hits = pl.when(pl.col("value") == 0).then(_LEAST).otherwise("value")
        misses = pl.when(hits == 1).then(_LEAST).otherwise(1 - hits)
        values = values.with_columns(value=(hits / misses).log())
    return values


def _segment(ends: Sequence[int] | None, segments: int | pl.Expr) -> pl.Expr:
    """Tell which segment of its list a place is in, from 1; null for an item that the list lacks."""
    rank = pl.col("rank")
    if ends is not None:
        passed = pl.sum_horizontal((rank > end).cast(pl.Int64) for end in ends)
        return pl.when(rank.is_not_null()).then(1 + passed)
    return (rank / (pl.col("length") / segments).ceil()).ceil().cast(pl.Int64)


def with_worth(rows: pl.LazyFrame, method: str, fitted: Frame | None, reach: int) -> pl.LazyFrame:
    """Add `worth`, what the judgements say of a row's place."""
    if fitted is None:
        needed = f" needs fitted=, the table of fit_fusion(runs, qrels, {method!r})"
        raise ArgumentError((Setting("method", method), needed))
    if not isinstance(reach, int) or isinstance(reach, bool) or reach < 0:
        raise ValueError(f"reach must be a whole number of at least 0, got {reach!r}")
    table = as_lazy(fitted, "fitted")
    require_columns(table.collect_schema().names(), ["method", "system", "segment", "value"], "fitted")
    for_method = pl.col("method").map_batches(
        _refuse_other(method), return_dtype=pl.Boolean, is_elementwise=True
    )
    table = table.filter(for_method).select("system", "segment", worth="value")
    systems = table.group_by("system").agg(segments=pl.col("segment").max())
    known = pl.map_batches(
        ["segments", "system"], _refuse_unfitted, return_dtype=pl.Boolean, is_elementwise=True
    )
    rows = rows.join(systems, on="system", how="left").filter(known)
    if method == "slidefuse":
        return _windowed(rows, table, reach)
    rank, worth = pl.col("rank"), pl.col("worth")
    segment = {
        "mapfuse": pl.lit(1, pl.Int64),
        "posfuse": rank.floor().cast(pl.Int64),
        "probfuse": _segment(None, pl.col("segments")),
    }
    rows = rows.with_columns(
        segment=segment[method] if method in segment else _segment(_ENDS[method], 0)
    ).join(table, on=["system", "segment"], how="left")
    scaled = {"mapfuse": worth / rank, "probfuse": worth / pl.col("segment")}.get(method, worth)
    return rows.with_columns(worth=scaled.fill_null(_ABSENT if method == "bayesfuse" else 0.0))


def _windowed(rows: pl.LazyFrame, table: pl.LazyFrame, reach: int) -> pl.LazyFrame:
    """Average over the places around a row, clipped to its list."""
    first = (pl.col("rank") - reach).clip(1)
    last = pl.min_horizontal(pl.col("rank") + reach, "length")
    rows = rows.with_columns(before=first.ceil() - 1, last=last.floor())
    sums = table.sort("segment").select(
        "system", pl.col("segment").cast(pl.Float64), worth=pl.col("worth").cum_sum().over("system")
    )
    for end in ("before", "last"):
        rows = rows.sort(end, nulls_last=True).join_asof(
            sums.rename({"worth": f"up_to_{end}", "segment": f"at_{end}"}).sort(f"at_{end}"),
            left_on=end,
            right_on=f"at_{end}",
            by="system",
            check_sortedness=False,
        )
    total = pl.col("up_to_last").fill_null(0.0) - pl.col("up_to_before").fill_null(0.0)
    return rows.with_columns(worth=(total / (pl.col("last") - pl.col("before"))).fill_null(0.0))


def _refuse_other(method: str) -> Callable[[pl.Series], pl.Series]:
    def check(methods: pl.Series) -> pl.Series:
        others = [name for name in methods.unique() if name != method]
        if others:
            raise DataError(f"fitted was made for method {others[0]!r}, not for {method!r}; fit it anew")
        return methods.is_not_null()

    return check


def _refuse_unfitted(series: Sequence[pl.Series]) -> pl.Series:
    segments, system = series
    if segments.null_count():
        name = system.filter(segments.is_null())[0]
        raise DataError(f"fitted has no row for the system {name!r}; fit it on runs of every system")
    return segments.is_not_null()
