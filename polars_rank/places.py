"""Places in ranked lists: what stands where, list by list."""

from collections.abc import Iterator, Sequence

import polars as pl

from polars_rank.errors import DataError
from polars_rank.ranked_lists import Gathered, Ordering

LIST = ["list", "query"]

# Rows that are worked on at once: few enough that the tables of a group-by stay in the processor's cache.
PART = 2**18


def in_lists(gathered: Gathered, ordering: Ordering, *, scores: bool = True) -> pl.LazyFrame:
    """Make one row of each list: `number` of its query, what is known of the list, and its items in order.

    Equal keys are ordered by the item, so that no row order can change a place.
    """
    item = pl.col("item").cast(pl.String) if ordering.ties == "item-text-descending" else pl.col("item")
    kept = ["item", *["score"] * scores, *["given"] * gathered.by_rank]
    in_order = pl.col(kept).sort_by(
        pl.col("key"), item, descending=[True, ordering.ties != "item-ascending"], nulls_last=True
    )
    grouped = [
        rows.group_by(LIST).agg(in_order)
        if "list" in rows.collect_schema()
        else rows.group_by("query").agg(in_order).with_columns(list=pl.lit(number, pl.UInt32))
        for number, rows in enumerate(gathered.rows)
    ]
    lists = pl.concat(grouped, how="diagonal").sort("query", "list")
    return lists.with_columns(number=pl.col("query").rle_id(), length=pl.col("item").list.len()).join(
        gathered.lists, on="list"
    )


def in_parts(lists: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Cut the lists into parts of whole queries."""
    part = pl.col("length").cast(pl.Int64).cum_sum() // PART
    numbered = lists.sort("number", "list").with_columns(part=part)
    whole = numbered.with_columns(pl.col("part").first().over("number"))
    yield from whole.partition_by("part", maintain_order=True, include_key=False) or [lists]


def placed(lists: pl.LazyFrame, ordering: Ordering, *, repeats: bool = True) -> pl.LazyFrame:
    """Make one row of each item of a list, with its `place` (1, 2, ...) and `rank`; `query` is its number.

    Places are given over all rows, then a repeated item counts at its best, so that it does not move
    those below it. Where it is known that none is repeated, nothing need be looked for.
    """
    inner = [name for name in ("item", "score", "given") if name in lists.collect_schema()]
    rows = lists.with_columns(place=pl.int_ranges(1, pl.col("length") + 1))
    if repeats:
        best = pl.col("item").list.eval(pl.element().is_first_distinct())
        rows = rows.with_columns(best=best).explode(*inner, "place", "best").filter(_best(ordering))
    else:
        rows = rows.explode(*inner, "place")
    place = pl.col("place").cast(pl.Float64)
    rank = pl.when("by_rank").then("given").otherwise(place) if "given" in inner else place
    return rows.with_columns(query="number", rank=rank).drop(
        "number", "best", "by_rank", "given", strict=False
    )


def _best(ordering: Ordering) -> pl.Expr:
    if ordering.duplicates == "first":
        return pl.col("best")
    return pl.map_batches(
        ["best", "system", "query", "item"], _refuse_repeat, return_dtype=pl.Boolean, is_elementwise=True
    )


def have_repeats(lists: pl.DataFrame) -> bool:
    """Tell whether an item is in a list twice."""
    return not lists.select((pl.col("item").list.n_unique() == pl.col("length")).all()).item()


def _refuse_repeat(series: Sequence[pl.Series]) -> pl.Series:
    best, system, query, item = series
    if not best.all():
        row = best.to_list().index(False)
        raise DataError(
            f"item {item[row]!r} of query {query[row]!r} is twice in {system[row]!r}; "
            'remove the copies, or use duplicates="first" to count the best-ranked one'
        )
    return best


def query_ids(lists: pl.LazyFrame) -> pl.LazyFrame:
    """Tell the id of each query by its number."""
    return lists.select("query", "number").unique()


def with_absent(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Add a row, without rank or score, for each item that a list lacks though it answered the query.

    Adds `candidates`, the number of different items of the query. A list of weight 0 has no say.
    """
    names = rows.collect_schema().names()
    about_item = [name for name in ("item", "score", "place", "rank") if name in names]
    about_list = [name for name in names if name not in {*about_item, *LIST}]
    counted = rows.filter(pl.col("weight") > 0)
    lists = counted.group_by(LIST).agg(pl.col(about_list).first())
    items = counted.select("query", "item").unique().with_columns(candidates=pl.len().over("query"))
    returned = counted.select(*LIST, *about_item)
    full = items.join(lists, on="query").join(returned, on=[*LIST, "item"], how="left")
    return pl.concat([full, rows.filter(pl.col("weight") == 0)], how="diagonal")


def sorted_sum(term: pl.Expr) -> pl.Expr:
    """Sum from the smallest up: equal terms give equal sums, in whatever order the lists came.

    The optimiser takes a sort away that is followed by a sum, but not from within a list.
    """
    return term.implode().list.sort().list.sum()
