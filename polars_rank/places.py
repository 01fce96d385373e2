"""Places in ranked lists: what stands where, list by list."""

from collections.abc import Iterator, Sequence

import polars as pl

from polars_rank.errors import DataError
from polars_rank.ranked_lists import Gathered, Ordering

LIST = ["list", "query"]

# Rows that are worked on at once: few enough that the tables of a group-by stay in the processor's cache.
PART = 2**16


def in_lists(gathered: Gathered, ordering: Ordering, *, scores: bool = True) -> pl.LazyFrame:
    """Make one row of each list: `number` of its query, what is known of the list, and its items in order.

    Equal keys are ordered by the item, so that no row order can change a place.
    """
    lists = _listed(gathered, ordering, scores=scores).sort("query", "list")
    return lists.with_columns(number=pl.col("query").rle_id())


def in_parts(gathered: Gathered, ordering: Ordering, *, scores: bool = True) -> Iterator[pl.DataFrame]:
    """Make the same of runs that are in memory, in parts of whole queries."""
    in_blocks = gathered._replace(rows=[_in_blocks(rows) for rows in gathered.rows])
    lists = _listed(in_blocks, ordering, scores=scores).collect(engine="in-memory")
    sizes = lists.select("query", "list", rows=pl.col("length").cast(pl.Int64)).with_row_index("at")
    cut = (
        sizes.sort("query", "list")
        .with_columns(number=pl.col("query").rle_id(), part=pl.col("rows").cum_sum() // PART)
        .with_columns(pl.col("part").first().over("number"))
    )
    for part in cut.partition_by("part", maintain_order=True) or [cut]:
        yield lists[part["at"]].with_columns(part["number"])


def _listed(gathered: Gathered, ordering: Ordering, *, scores: bool) -> pl.LazyFrame:
    item = pl.col("item").cast(pl.String) if ordering.ties == "item-text-descending" else pl.col("item")
    kept = ["item", *["score"] * scores, *["given"] * gathered.by_rank]
    in_order = pl.col(kept).sort_by(
        pl.col("key"), item, descending=[True, ordering.ties != "item-ascending"], nulls_last=True
    )
    listed = []
    for number, rows in enumerate(gathered.rows):
        names = rows.collect_schema().names()
        known = [name for name in LIST if name in names]
        if "block" in names:
            grouped = rows.group_by("block").agg(pl.col(known).first(), in_order).drop("block")
        else:
            grouped = rows.group_by(known).agg(in_order)
        listed.append(
            grouped if "list" in known else grouped.with_columns(list=pl.lit(number, pl.UInt32))
        )
    lists = pl.concat(listed, how="diagonal").with_columns(length=pl.col("item").list.len())
    return lists.join(gathered.lists, on="list")


def _in_blocks(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Number the lists where the rows of each stand together, which makes grouping cheap."""
    known = [pl.col(name) for name in LIST if name in rows.collect_schema()]
    starts = pl.any_horizontal(column.ne_missing(column.shift()) for column in known)
    blocks = rows.select(*known, block=starts.cum_sum()).collect()
    first = blocks.filter(pl.col("block").is_first_distinct())
    if first.drop("block").is_duplicated().any():
        return rows
    return rows.with_columns(blocks["block"].set_sorted())


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


def count_items(lists: pl.DataFrame) -> int:
    """Count the items of each query, together."""
    items = pl.col("item").explode().n_unique()
    return int(lists.group_by("number").agg(items)["item"].sum())


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
