"""Places in ranked lists: what stands where, list by list."""

from collections.abc import Sequence

import polars as pl

from polars_rank.errors import DataError
from polars_rank.ranked_lists import Gathered, Ordering
from polars_rank.ranking import tie_rule

LIST = ["list", "query"]

# Rows that are worked on at once: few enough that the tables of a group-by stay in the processor's cache.
PART = 2**17


def in_lists(gathered: Gathered, ordering: Ordering, *, scores: bool = True) -> pl.LazyFrame:
    """Make one row of each list: `number` of its query, what is known of the list, and its items in order.

    Equal keys are ordered by the item, so that no row order can change a place.
    """
    lists = pl.concat(_listed(gathered, ordering, [True] * len(gathered.rows), scores=scores), how="diagonal")
    ordered = lists.join(gathered.lists, on="list").sort("query", "list")
    return ordered.with_columns(number=pl.col("query").rle_id())


def in_parts(
    gathered: Gathered, ordering: Ordering, *, scores: bool = True
) -> tuple[list[pl.DataFrame], pl.Series]:
    """Make the same of runs that are in memory, in parts of whole queries; and the queries in order."""
    in_blocks = gathered._replace(rows=[_in_blocks(rows) for rows in gathered.rows])
    # nulls_last is slow where nothing is null.
    nulls = [rows.select(pl.col("key").null_count()).collect().item() > 0 for rows in gathered.rows]
    grouped = _listed(in_blocks, ordering, nulls, scores=scores)
    lists = pl.concat(pl.collect_all(grouped, engine="in-memory"), how="diagonal", rechunk=True)
    cut = (
        lists.lazy()
        .select("query", "list", "length")
        .with_row_index("at")
        .join(gathered.lists, on="list")
        .sort("query", "list")
        .with_columns(number=pl.col("query").rle_id(), part=pl.col("length").cast(pl.Int64).cum_sum() // PART)
        .with_columns(pl.col("part").first().over("number"))
        .collect()
    )
    # Each list is moved once, into its part; what is known of it is put beside.
    inner = lists.select(pl.exclude("query", "list", "length"))
    parts = cut.partition_by("part", maintain_order=True, include_key=False) or [cut.drop("part")]
    known = [part.drop("at").hstack(inner[part["at"]]) for part in parts]
    return known, cut["query"].unique(maintain_order=True)


def _listed(
    gathered: Gathered, ordering: Ordering, nulls: Sequence[bool], *, scores: bool
) -> list[pl.LazyFrame]:
    kind = gathered.rows[0].collect_schema()["item"]
    by_text = tie_rule(ordering.ties, kind) == "item-text-descending"
    item = pl.col("item").cast(pl.String) if by_text else pl.col("item")
    kept = ["item", *["score"] * scores, *["given"] * gathered.by_rank]
    listed = []
    for number, (rows, some_null) in enumerate(zip(gathered.rows, nulls, strict=True)):
        in_order = pl.col(kept).sort_by(
            pl.col("key"), item, descending=[True, ordering.ties != "item-ascending"], nulls_last=some_null
        )
        names = rows.collect_schema().names()
        known = [name for name in LIST if name in names]
        if "block" in names:
            grouped = rows.group_by("block").agg(pl.col(known).first(), in_order).drop("block")
        else:
            grouped = rows.group_by(known).agg(in_order)
        if "list" not in known:
            grouped = grouped.with_columns(list=pl.lit(number, pl.UInt32))
        listed.append(grouped.with_columns(length=pl.col("item").list.len()))
    return listed


def _in_blocks(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Number the lists where the rows of each stand together, which makes grouping cheap."""
    known = [pl.col(name) for name in LIST if name in rows.collect_schema()]
    starts = pl.any_horizontal(column.ne_missing(column.shift()) for column in known)
    starting, lists = pl.collect_all([rows.select(block=starts), rows.filter(starts).select(known)])
    if lists.is_duplicated().any():
        return rows
    return rows.with_columns(starting.to_series().cum_sum().set_sorted())


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


def counted(lists: pl.LazyFrame) -> pl.LazyFrame:
    """Count the different items of all queries, and tell whether one `repeats` in a list."""
    item = pl.col("item")
    per_query = lists.group_by("number").agg(
        items=item.explode().n_unique(), repeats=(item.list.n_unique() != pl.col("length")).any()
    )
    return per_query.select(pl.col("items").sum(), pl.col("repeats").any())


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
