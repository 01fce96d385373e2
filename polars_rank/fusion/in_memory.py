"""Runs in memory: sort each list, split the queries into batches, and group each batch by item."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from polars_rank.core.errors import DataError
from polars_rank.fusion.arguments import ListOrder
from polars_rank.fusion.ranking import LIST, keep_first_copies, sorted_items, tie_key, with_rank
from polars_rank.fusion.runs import StackedRuns

# Rows per batch: few enough for the processor's cache.
BATCH_ROWS = 2**17


class QueryBatch(NamedTuple):
    """Some queries of all runs: their `lists`, and the `rows` of these lists, best first."""

    lists: pl.DataFrame
    rows: pl.DataFrame


def in_batches(stacked: StackedRuns, *, scores: bool) -> tuple[list[QueryBatch], pl.Series]:
    """Sort each run that is not sorted yet, and split all runs at the same queries.

    A list has the number of its query; the query ids are returned in the order of their numbers.
    """
    kept, order = ["item", *["score"] * scores, *["given"] * stacked.by_rank], stacked.order
    marked = [_with_list_starts(rows, number, kept, order) for number, rows in enumerate(stacked.rows)]
    frames = pl.collect_all(marked, engine="in-memory")
    for frame in frames:
        refuse_null_ids(frame["query"], frame["item"])
    list_ids, queries = _numbered(frames)
    ordered = [_in_order(*each, kept, order) for each in zip(frames, list_ids, strict=True)]
    lists = _list_table([lists for _, lists in ordered])
    lists = lists.join(stacked.lists.collect(), on="list", how="left", maintain_order="left")
    # A batch has one slice of each run.
    slices = lists.group_by("batch", "list", maintain_order=True).agg(
        pl.col("frame", "start").first(), pl.col("length").sum()
    )
    rows = [
        pl.concat([ordered[frame][0].slice(start, length) for frame, start, length in batch.rows()])
        for batch in _by_batch(slices.drop("list"))
    ]
    return [
        QueryBatch(*batch) for batch in zip(_by_batch(lists.drop("frame", "start")), rows, strict=True)
    ], queries


def _by_batch(table: pl.DataFrame) -> list[pl.DataFrame]:
    return table.partition_by("batch", maintain_order=True, include_key=False)


def _with_list_starts(rows: pl.LazyFrame, number: int, kept: Sequence[str], order: ListOrder) -> pl.LazyFrame:
    """Mark the row that `starts` each list, and whether the whole run is `in_order` already."""
    schema = rows.collect_schema()
    if "list" not in schema:
        rows = rows.with_columns(list=pl.lit(number, pl.UInt32))
    starts = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in LIST)
    key, above = pl.col("key"), pl.col("key").shift()
    tied = (~pl.col("starts") & key.eq_missing(above)).arg_true()
    item, item_above = (tie_key(order, schema["item"]).gather(row) for row in (tied, tied - 1))
    best_first = item > item_above if order.ties == "item-ascending" else item < item_above
    falling = pl.col("starts") | (key <= above).fill_null(key.is_null())
    marked = rows.select(*LIST, "key", *kept, starts=starts)
    return marked.with_columns(in_order=falling.all() & best_first.all())


def refuse_null_ids(*ids: pl.Series) -> None:
    """Refuse rows without a query or an item."""
    for column in ids:
        if column.null_count():
            raise DataError(f"a run has a null {column.name}; every row needs its id")


def _numbered(frames: Sequence[pl.DataFrame]) -> tuple[list[pl.Series], pl.Series]:
    """Number the queries in order, and return a `list_id` per list start: list and query in one number."""
    heads = [frame.filter("starts").select(LIST) for frame in frames]
    queries = pl.concat([head["query"] for head in heads]).unique().sort()
    numbers = queries.to_frame().with_row_index("number")
    list_id = pl.col("list").cast(pl.Int64) * 2**32 + pl.col("number").cast(pl.Int64)
    joined = (head.join(numbers, on="query", how="left", maintain_order="left") for head in heads)
    return [lists.select(list_id=list_id).to_series() for lists in joined], queries


def _in_order(
    frame: pl.DataFrame, list_ids: pl.Series, kept: Sequence[str], order: ListOrder
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the sorted rows, and the length of each list."""
    starts = frame["starts"].arg_true().cast(pl.Int64)
    ascending = bool((list_ids.diff() > 0).all())
    if ascending and frame["in_order"].all():
        lengths = starts.shift(-1, fill_value=frame.height) - starts
        return frame.select(kept), pl.DataFrame({"list_id": list_ids, "length": lengths})
    sort = sorted_items(kept, order, frame.schema["item"], nulls=frame["key"].null_count() > 0)
    list_id = pl.lit(list_ids).gather(pl.col("starts").cum_sum() - 1)
    grouped = (
        frame.lazy()
        .group_by(list_id=list_id.set_sorted() if ascending else list_id)
        .agg(sort)
        .sort("list_id")
        .collect(engine="in-memory")
    )
    lengths = grouped["item"].list.len().cast(pl.Int64)
    return grouped.select(kept).explode(kept), grouped.select("list_id", length=lengths)


def _list_table(lists_of: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the system, query, batch and first row of each list."""
    lists = (lists.with_columns(frame=pl.lit(frame)) for frame, lists in enumerate(lists_of))
    known = pl.concat(lists).select(
        "frame",
        "length",
        list=(pl.col("list_id") // 2**32).cast(pl.UInt32),
        query=(pl.col("list_id") % 2**32).cast(pl.UInt32),
        start=(pl.col("length").cum_sum() - pl.col("length")).over("frame"),
    )
    per_query = known.group_by("query").agg(pl.col("length").sum()).sort("query")
    batches = per_query.select("query", batch=pl.col("length").cum_sum() // BATCH_ROWS)
    return known.join(batches, on="query").sort("batch", "list", "query")


def rows_by_list(batches: Sequence[QueryBatch], queries: pl.Series, order: ListOrder) -> list[pl.LazyFrame]:
    """Return the rows of each batch list by list, without copies of an item."""
    # Compare hashes first: comparing the ids takes far longer.
    different = (pl.col("item").hash(0) ^ pl.col("at").hash(1)).is_first_distinct().all()
    found = pl.collect_all(
        [_with_positions(batch).select(different) for batch in batches], engine="in-memory"
    )
    plans = []
    for batch, hashes_differ in zip(batches, found, strict=True):
        best = pl.lit(True) if hashes_differ.item() else pl.struct("at", "item").is_first_distinct()
        rows = _with_list_columns(_with_positions(batch).with_columns(best=best), batch.lists)
        plans.append(_ranked(rows.drop("at"), batch, queries, order))
    return plans


def rows_by_item(batch: QueryBatch, queries: pl.Series, order: ListOrder) -> pl.LazyFrame:
    """Sort the rows by the hash of query and item, equal hashes in one `group`; `first` is the row number.

    If `collided`, different items share a hash, and the batch must be fused without hashes.
    """
    query = pl.lit(batch.lists["query"]).gather("at").alias("query")
    # Sorting takes half the time of grouping; one thread, because batches run in parallel.
    rows = (
        _with_positions(batch)
        .with_columns(query, first=pl.int_range(pl.len(), dtype=pl.UInt32))
        .with_columns(hash=item_hash())
        .sort("hash", maintain_order=True, multithreaded=False)
        .with_columns(group=pl.col("hash").rle_id())
        .with_columns(pl.col("group").set_sorted())
    )
    same = {name: pl.col(name) == pl.col(name).shift() for name in ("group", "query", "item", "at")}
    rows = rows.with_columns(
        collided=(same["group"] & ~(same["query"] & same["item"])).any(),
        best=~(same["at"] & same["item"]).fill_null(value=False),
    )
    return _ranked(_with_list_columns(rows, batch.lists), batch, queries, order)


def item_hash() -> pl.Expr:
    """Hash of query and item."""
    # Two seeds, because with one, item 1 of query 2 would equal item 2 of query 1.
    return pl.col("item").hash(0) ^ pl.col("query").hash(1)


def _with_positions(batch: QueryBatch) -> pl.LazyFrame:
    """Add the row of its list in `lists` (`at`) and its `position` in the list."""
    positions = batch.lists.lazy().select(
        at=pl.int_range(pl.len(), dtype=pl.UInt32),
        position=pl.int_ranges(1, pl.col("length") + 1, dtype=pl.UInt32),
    )
    return pl.concat([batch.rows.lazy(), positions.explode("position")], how="horizontal")


def _with_list_columns(rows: pl.LazyFrame, lists: pl.DataFrame) -> pl.LazyFrame:
    """Add the columns of `lists` to each row."""
    return rows.with_columns(pl.lit(known).gather("at").alias(known.name) for known in lists)


def _ranked(rows: pl.LazyFrame, batch: QueryBatch, queries: pl.Series, order: ListOrder) -> pl.LazyFrame:
    query_id = pl.lit(queries).gather("query").alias("query")
    return with_rank(keep_first_copies(rows, order, query_id), given="given" in batch.rows.columns)
