"""Places in ranked lists: what stands where, list by list."""

from collections.abc import Sequence
from functools import partial

import polars as pl

from polars_rank.core.errors import Clause, DataError, Setting
from polars_rank.core.frames import own_name
from polars_rank.core.ordering import item_key, tie_rule
from polars_rank.fusion.runs import Gathered, Ordering

LIST = ["list", "query"]


def in_lists(gathered: Gathered, *, scores: bool = True) -> pl.LazyFrame:
    """Make one row of each list: `number` of its query, what is known of the list, and its items in order.

    Equal keys are ordered by the item, so that no row order can change a place.
    """
    kept = ["item", *["score"] * scores, *["given"] * gathered.by_rank]
    listed = []
    for number, rows in enumerate(gathered.rows):
        schema = rows.collect_schema()
        known = [name for name in LIST if name in schema]
        grouped = rows.group_by(known).agg(best_first(kept, gathered.ordering, schema["item"]))
        if "list" not in known:
            grouped = grouped.with_columns(list=pl.lit(number, pl.UInt32))
        listed.append(grouped.with_columns(length=pl.col("item").list.len()))
    ordered = pl.concat(listed, how="diagonal").join(gathered.lists, on="list").sort("query", "list")
    return ordered.with_columns(number=pl.col("query").rle_id())


def best_first(kept: Sequence[str], ordering: Ordering, kind: pl.DataType, *, nulls: bool = True) -> pl.Expr:
    """Put the rows of a list in order; to look for `nulls` takes a third more time."""
    # Copies of an item that share a given rank may differ in score: the highest is first.
    by_score = [pl.col("score")] * ({"score", "given"} <= {*kept})
    by = [pl.col("key"), by_ties(ordering, kind), *by_score]
    down = [True, ordering.ties != "item-ascending", *[True] * len(by_score)]
    return pl.col(kept).sort_by(by, descending=down, nulls_last=nulls or bool(by_score))


def by_ties(ordering: Ordering, kind: pl.DataType) -> pl.Expr:
    """Give what orders the items of equal keys."""
    return item_key(pl.col("item"), tie_rule(ordering.ties, kind))


def placed(lists: pl.LazyFrame, ordering: Ordering) -> pl.LazyFrame:
    """Make one row of each item of a list, with its `place` (1, 2, ...) and `rank`; `query` is its number."""
    inner = [name for name in ("item", "score", "given") if name in lists.collect_schema()]
    rows = lists.with_columns(
        place=pl.int_ranges(1, pl.col("length") + 1),
        best=pl.col("item").list.eval(pl.element().is_first_distinct()),
    ).explode(*inner, "place", "best")
    best = with_best(rows, ordering, pl.col("query")).with_columns(query="number").drop("number")
    return ranked(best, given="given" in inner)


def with_best(rows: pl.LazyFrame, ordering: Ordering, query: pl.Expr) -> pl.LazyFrame:
    """Count a repeated item at its best, or refuse it, after places were given: none below it moves."""
    best = pl.col("best")
    if ordering.duplicates == "error":
        told = [best, pl.col("system"), query, pl.col("item")]
        refuse = partial(_refuse_repeat, others=ordering.others)
        best = pl.map_batches(told, refuse, return_dtype=pl.Boolean, is_elementwise=True)
    return rows.filter(best).drop("best")


def ranked(rows: pl.LazyFrame, *, given: bool) -> pl.LazyFrame:
    """Add the `rank` that a method goes by: the place, or the given rank."""
    place = pl.col("place").cast(pl.Float64)
    if not given:
        return rows.with_columns(rank=place).drop("by_rank")
    return rows.with_columns(rank=pl.when("by_rank").then("given").otherwise(place)).drop("by_rank", "given")


def _refuse_repeat(series: Sequence[pl.Series], others: Sequence[str]) -> pl.Series:
    best, system, query, item = series
    if not best.all():
        copies = pl.DataFrame([query.alias("query"), item.alias("item"), system.alias("system")])
        first = copies.filter(~best).sort("query", "item", "system").row(0, named=True)
        ids = first["query"] if isinstance(first["query"], dict) else {"query": first["query"]}
        where = ", ".join(f"{own_name(name)} {value!r}" for name, value in ids.items())
        keys = Clause(["name the columns that tell lists apart, as ", Setting("keys", list(others)), ", "])
        raise DataError(
            f"item {first['item']!r} of {where} is twice in {first['system']!r}",
            remedy=(
                *([keys] if others else []),
                *("remove the copies, or use ", Setting("duplicates", "first")),
                " to count the best-ranked one",
            ),
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
