"""Runs in memory: put in order, cut at the same queries, and each part sorted by item."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from polars_rank.core.errors import DataError
from polars_rank.fusion.list_ranks import LIST, best_first, by_ties, ranked, with_best
from polars_rank.fusion.runs import Gathered, Ordering

# Rows that are worked on at once: few enough that they stay in the processor's cache.
PART = 2**17


class Part(NamedTuple):
    """Some queries of all runs: their `lists`, and the `rows` of these under each other, best first."""

    lists: pl.DataFrame
    rows: pl.DataFrame


def in_parts(gathered: Gathered, *, scores: bool) -> tuple[list[Part], pl.Series]:
    """Put each run in order, where it is not, and cut all of them at the same queries.

    A list knows its query by number; the ids are given beside, in order.
    """
    kept, ordering = ["item", *["score"] * scores, *["given"] * gathered.by_rank], gathered.ordering
    marked = [_marked(rows, number, kept, ordering) for number, rows in enumerate(gathered.rows)]
    frames = pl.collect_all(marked, engine="in-memory")
    for frame in frames:
        refuse_null_ids(frame["query"], frame["item"])
    numbers, queries = _numbered(frames)
    ordered = [_in_order(*each, kept, ordering) for each in zip(frames, numbers, strict=True)]
    lists = _in_order_of_parts([lists for _, lists in ordered])
    lists = lists.join(gathered.lists.collect(), on="list", how="left", maintain_order="left")
    # What a part takes of a list is one slice.
    slices = lists.group_by("part", "list", maintain_order=True).agg(
        pl.col("frame", "start").first(), pl.col("length").sum()
    )
    rows = [
        pl.concat([ordered[frame][0].slice(start, length) for frame, start, length in part.rows()])
        for part in _by_part(slices.drop("list"))
    ]
    return [Part(*part) for part in zip(_by_part(lists.drop("frame", "start")), rows, strict=True)], queries


def _by_part(table: pl.DataFrame) -> list[pl.DataFrame]:
    return table.partition_by("part", maintain_order=True, include_key=False)


def _marked(rows: pl.LazyFrame, number: int, kept: Sequence[str], ordering: Ordering) -> pl.LazyFrame:
    """Tell where a list `starts`, and whether all rows that follow one of their list are `in_order`."""
    schema = rows.collect_schema()
    if "list" not in schema:
        rows = rows.with_columns(list=pl.lit(number, pl.UInt32))
    starts = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in LIST)
    key, above = pl.col("key"), pl.col("key").shift()
    tied = (~pl.col("starts") & key.eq_missing(above)).arg_true()
    item, item_above = (by_ties(ordering, schema["item"]).gather(row) for row in (tied, tied - 1))
    best_first = item > item_above if ordering.ties == "item-ascending" else item < item_above
    falling = pl.col("starts") | (key <= above).fill_null(key.is_null())
    marked = rows.select(*LIST, "key", *kept, starts=starts)
    return marked.with_columns(in_order=falling.all() & best_first.all())


def refuse_null_ids(*ids: pl.Series) -> None:
    """Refuse rows without a query or an item."""
    for column in ids:
        if column.null_count():
            raise DataError(f"a run has a null {column.name}; every row needs its id")


def _numbered(frames: Sequence[pl.DataFrame]) -> tuple[list[pl.Series], pl.Series]:
    """Number the queries in order, and the lists as they start: list by list, query by query."""
    heads = [frame.filter("starts").select(LIST) for frame in frames]
    queries = pl.concat([head["query"] for head in heads]).unique().sort()
    numbers = queries.to_frame().with_row_index("number")
    of = pl.col("list").cast(pl.Int64) * 2**32 + pl.col("number").cast(pl.Int64)
    joined = (head.join(numbers, on="query", how="left", maintain_order="left") for head in heads)
    return [lists.select(of=of).to_series() for lists in joined], queries


def _in_order(
    frame: pl.DataFrame, numbers: pl.Series, kept: Sequence[str], ordering: Ordering
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Put the rows in order; give them, and how long each list is."""
    starts = frame["starts"].arg_true().cast(pl.Int64)
    ascending = bool((numbers.diff() > 0).all())
    if ascending and frame["in_order"].all():
        lengths = starts.shift(-1, fill_value=frame.height) - starts
        return frame.select(kept), pl.DataFrame({"of": numbers, "length": lengths})
    sort = best_first(kept, ordering, frame.schema["item"], nulls=frame["key"].null_count() > 0)
    of = pl.lit(numbers).gather(pl.col("starts").cum_sum() - 1)
    grouped = (
        frame.lazy()
        .group_by(of=of.set_sorted() if ascending else of)
        .agg(sort)
        .sort("of")
        .collect(engine="in-memory")
    )
    lengths = grouped["item"].list.len().cast(pl.Int64)
    return grouped.select(kept).explode(kept), grouped.select("of", length=lengths)


def _in_order_of_parts(lists_of: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Tell of each list whose it is, in which part it goes, and where it starts in its frame."""
    lists = (lists.with_columns(frame=pl.lit(frame)) for frame, lists in enumerate(lists_of))
    known = pl.concat(lists).select(
        "frame",
        "length",
        list=(pl.col("of") // 2**32).cast(pl.UInt32),
        query=(pl.col("of") % 2**32).cast(pl.UInt32),
        start=(pl.col("length").cum_sum() - pl.col("length")).over("frame"),
    )
    per_query = known.group_by("query").agg(pl.col("length").sum()).sort("query")
    parts = per_query.select("query", part=pl.col("length").cum_sum() // PART)
    return known.join(parts, on="query").sort("part", "list", "query")


def in_list_order(parts: Sequence[Part], queries: pl.Series, ordering: Ordering) -> list[pl.LazyFrame]:
    """Give the rows as they stand, without those of repeated items."""
    # Rows of different hashes are different; to look at the ids themselves takes far longer.
    different = (pl.col("item").hash(0) ^ pl.col("at").hash(1)).is_first_distinct().all()
    found = pl.collect_all([_placed(part).select(different) for part in parts], engine="in-memory")
    plans = []
    for part, hashes_differ in zip(parts, found, strict=True):
        best = pl.lit(True) if hashes_differ.item() else pl.struct("at", "item").is_first_distinct()
        rows = _told(_placed(part).with_columns(best=best), part.lists)
        plans.append(_ranked(rows.drop("at"), part, queries, ordering))
    return plans


def by_item(part: Part, queries: pl.Series, ordering: Ordering) -> pl.LazyFrame:
    """Put the rows of an item of a query together, list by list: a `group`, whose `first` row was there.

    Where `collided`, two items met in a group, and nothing that is made of it is right.
    """
    query = pl.lit(part.lists["query"]).gather("at").alias("query")
    # Sorted in half the time of grouping; by one processor, since parts are worked on side by side.
    rows = (
        _placed(part)
        .with_columns(query, first=pl.int_range(pl.len(), dtype=pl.UInt32))
        .with_columns(hash=hashed())
        .sort("hash", maintain_order=True, multithreaded=False)
        .with_columns(group=pl.col("hash").rle_id())
        .with_columns(pl.col("group").set_sorted())
    )
    same = {name: pl.col(name) == pl.col(name).shift() for name in ("group", "query", "item", "at")}
    rows = rows.with_columns(
        collided=(same["group"] & ~(same["query"] & same["item"])).any(),
        best=~(same["at"] & same["item"]).fill_null(value=False),
    )
    return _ranked(_told(rows, part.lists), part, queries, ordering)


def hashed() -> pl.Expr:
    """Give one number an item of a query, which two of them may share."""
    # Of two seeds, or item 1 of query 2 would be item 2 of query 1.
    return pl.col("item").hash(0) ^ pl.col("query").hash(1)


def _placed(part: Part) -> pl.LazyFrame:
    """Tell each row where its list stands `at`, and its `place` there."""
    places = part.lists.lazy().select(
        at=pl.int_range(pl.len(), dtype=pl.UInt32),
        place=pl.int_ranges(1, pl.col("length") + 1, dtype=pl.UInt32),
    )
    return pl.concat([part.rows.lazy(), places.explode("place")], how="horizontal")


def _told(rows: pl.LazyFrame, lists: pl.DataFrame) -> pl.LazyFrame:
    """Tell each row what is known of its list."""
    return rows.with_columns(pl.lit(known).gather("at").alias(known.name) for known in lists)


def _ranked(rows: pl.LazyFrame, part: Part, queries: pl.Series, ordering: Ordering) -> pl.LazyFrame:
    query_id = pl.lit(queries).gather("query").alias("query")
    return ranked(with_best(rows, ordering, query_id), given="given" in part.rows.columns)
