"""Fit trained fusion methods on judged queries."""

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

import polars as pl

from polars_rank.core.errors import require_choice
from polars_rank.core.frames import Frame, as_frames, as_lazy, as_list, named_apart, renamed
from polars_rank.core.ordering import ItemTies, OrderBy
from polars_rank.fusion.arguments import ListOrder, RepeatedItems, RunColumns, require_finite, require_whole
from polars_rank.fusion.ranking import query_ids, ranked_rows, sorted_lists, sorted_sum
from polars_rank.fusion.runs import all_eager, stack
from polars_rank.fusion.trained import LEAST_SHARE, SEGMENT_ENDS, TRAINED, segment_of
from polars_rank.judging.judged_table import judge_lazily
from polars_rank.judging.options import JudgeOptions
from polars_rank.measures.binary import average_precision

F = TypeVar("F", pl.DataFrame, pl.LazyFrame)


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
    duplicates: RepeatedItems | None = None,
    systems: Sequence[str] | None = None,
    keys: str | Sequence[str] = (),
    query: str = "query",
    item: str = "item",
    score: str = "score",
    rank: str = "rank",
    system: str = "system",
    relevance: str = "relevance",
) -> F:
    r"""Estimate how relevant each part of a system's list is, for a trained method of `fuse`.

    $mapfuse = \sum_i MAP_i / rank_i$, summed over the lists i that have the item; likewise:

    =========  ===============================================================================
    mapfuse    mean average precision / rank
    posfuse    share of relevant items at the rank, over the queries whose list reaches it
    slidefuse  mean of the posfuse values within `half_window` ranks, clipped to the list
    probfuse   mean share of relevant items in the segment / number of the segment; each list
               is cut into `segments` of equal size
    segfuse    the same for segments of 5, 10, 20, 40, … ranks, times (normalised score + 1)
    bayesfuse  ln of the odds of relevance in segments that start at ranks 1, 6, 11, 16, 21, 31,
               101, 201, 501 and 1001; a list without the item counts as odds of 0.001
    =========  ===============================================================================

    Means are over the judged queries (with `keys`, over their rankings). A query that a system did not
    answer counts as one without relevant items.

    Parameters
    ----------
    runs
        As for `fuse`.
    order_by, descending, ties, rank_base, duplicates, systems, keys
    query, item, score, rank, system, relevance
        As in `fuse`; `relevance` is the name of the grade column.
    qrels
        One row per judgement: `query`, `item`, `relevance`.
    method
        One of the above.
    segments
        probfuse: number of segments per list.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    DataFrame or LazyFrame
        Lazy if a run is. One row per system and segment of its list: `method`, `system`, `segment` (Int64,
        from 1), `value` (Float64). Pass it to ``fuse(runs, method, fitted=...)``.

    Raises
    ------
    DataError
        If a table is invalid, as in `judge`.
    ValueError
        If an option has an invalid value.

    References
    ----------
    Lillis et al. 2010, doi:10.1145/1835449.1835508 (mapfuse, posfuse); 2008,
    doi:10.1007/978-3-540-78646-7_33 (slidefuse); 2006, doi:10.1145/1148170.1148197 (probfuse);
    Shokouhi 2007, doi:10.1007/978-3-540-71496-5_19 (segfuse); Aslam and Montague 2001,
    doi:10.1145/383952.384007 (bayesfuse). Details that these leave open follow ranx 0.3.21.

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
    require_finite("min_relevance", min_relevance, low=0)
    require_whole("segments", segments, 1)
    order = ListOrder(order_by, descending, ties, rank_base, duplicates)
    columns = RunColumns(query, item, score, rank, system, keys)
    stacked = stack(runs, systems=systems, order=order, columns=columns)
    lists = sorted_lists(stacked)
    rows = ranked_rows(lists, stacked.order).rename({"query": "number"}).join(query_ids(lists), on="number")
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
    """Estimate one value per system and segment of its list."""
    if method == "mapfuse":
        precision = average_precision(min_relevance=min_relevance).alias("value")
        per_query = judged.group_by(ranking).agg(precision)
        return per_query.group_by("system").agg(pl.col("value").mean(), segment=pl.lit(1))

    hit = (pl.col("relevance") >= min_relevance).fill_null(value=False)
    returned = judged.filter(pl.col("rank").is_not_null()).with_columns(hit=hit.cast(pl.Float64))
    if method in ("posfuse", "slidefuse"):
        by_rank = returned.group_by("system", segment=pl.col("rank").floor())
        return by_rank.agg(value=pl.col("hit").mean())

    if method == "probfuse":
        ends, count = None, segments
    else:
        ends = SEGMENT_ENDS[method]
        count = len(ends)
    found = returned.group_by(*ranking, segment=segment_of(ends, segments)).agg(
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
        hits = pl.when(pl.col("value") == 0).then(LEAST_SHARE).otherwise("value")
        misses = pl.when(hits == 1).then(LEAST_SHARE).otherwise(1 - hits)
        values = values.with_columns(value=(hits / misses).log())
    return values
