"""Sort the items of each list and number them."""

from collections.abc import Sequence
from functools import partial

import polars as pl

from polars_rank.core.errors import Clause, DataError, Setting
from polars_rank.core.frames import own_name
from polars_rank.core.ordering import item_key, tie_rule
from polars_rank.fusion.arguments import ListOrder
from polars_rank.fusion.runs import StackedRuns

LIST = ["list", "query"]


def sorted_lists(stacked: StackedRuns, *, scores: bool = True) -> pl.LazyFrame:
    """Return one row per list: the `number` of its query, its weight and system, and its sorted items.

    Equal keys are ordered by the item, so the result does not depend on row order.
    """
    kept = ["item", *["score"] * scores, *["given"] * stacked.by_rank]
    listed = []
    for number, rows in enumerate(stacked.rows):
        schema = rows.collect_schema()
        known = [name for name in LIST if name in schema]
        grouped = rows.group_by(known).agg(sorted_items(kept, stacked.order, schema["item"]))
        if "list" not in known:
            grouped = grouped.with_columns(list=pl.lit(number, pl.UInt32))
        listed.append(grouped.with_columns(length=pl.col("item").list.len()))
    ordered = pl.concat(listed, how="diagonal").join(stacked.lists, on="list").sort("query", "list")
    return ordered.with_columns(number=pl.col("query").rle_id())


def sorted_items(kept: Sequence[str], order: ListOrder, kind: pl.DataType, *, nulls: bool = True) -> pl.Expr:
    """Columns of a list, sorted; `nulls` handles null keys, which takes a third longer."""
    # Of copies of an item at the same given rank, the highest score comes first.
    by_score = [pl.col("score")] * ({"score", "given"} <= {*kept})
    by = [pl.col("key"), tie_key(order, kind), *by_score]
    down = [True, order.ties != "item-ascending", *[True] * len(by_score)]
    return pl.col(kept).sort_by(by, descending=down, nulls_last=nulls or bool(by_score))


def tie_key(order: ListOrder, kind: pl.DataType) -> pl.Expr:
    """Sort key of items with equal keys."""
    return item_key(pl.col("item"), tie_rule(order.ties, kind))


def ranked_rows(lists: pl.LazyFrame, order: ListOrder) -> pl.LazyFrame:
    """Return one row per item of a list, with `position` (1, 2, ...) and `rank`; `query` is its number."""
    inner = [name for name in ("item", "score", "given") if name in lists.collect_schema()]
    rows = lists.with_columns(
        position=pl.int_ranges(1, pl.col("length") + 1),
        best=pl.col("item").list.eval(pl.element().is_first_distinct()),
    ).explode(*inner, "position", "best")
    best = keep_first_copies(rows, order, pl.col("query")).with_columns(query="number").drop("number")
    return with_rank(best, given="given" in inner)


def keep_first_copies(rows: pl.LazyFrame, order: ListOrder, query: pl.Expr) -> pl.LazyFrame:
    """Keep the best copy of a repeated item, or refuse it; items below keep their positions."""
    best = pl.col("best")
    if order.duplicates == "error":
        checked = [best, pl.col("system"), query, pl.col("item")]
        refuse = partial(_refuse_repeat, others=order.others)
        best = pl.map_batches(checked, refuse, return_dtype=pl.Boolean, is_elementwise=True)
    return rows.filter(best).drop("best")


def with_rank(rows: pl.LazyFrame, *, given: bool) -> pl.LazyFrame:
    """Add `rank`: the given rank if the list is ordered by rank, otherwise the position."""
    position = pl.col("position").cast(pl.Float64)
    if not given:
        return rows.with_columns(rank=position).drop("by_rank")
    return rows.with_columns(rank=pl.when("by_rank").then("given").otherwise(position)).drop(
        "by_rank", "given"
    )


def _refuse_repeat(series: Sequence[pl.Series], others: Sequence[str]) -> pl.Series:
    best, system, query, item = series
    if not best.all():
        copies = pl.DataFrame([query.alias("query"), item.alias("item"), system.alias("system")])
        first = copies.filter(~best).sort("query", "item", "system").row(0, named=True)
        ids = first["query"] if isinstance(first["query"], dict) else {"query": first["query"]}
        where = ", ".join(f"{own_name(name)} {value!r}" for name, value in ids.items())
        keys = Clause(["name the columns that separate the lists, as ", Setting("keys", list(others)), ", "])
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
    """Map the number of each query to its id."""
    return lists.select("query", "number").unique()


def with_missing_items(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Add a row without rank and score for each item that is missing from a list of its query.

    Adds `candidates`, the number of distinct items of the query. Lists with weight 0 are ignored.
    """
    names = rows.collect_schema().names()
    item_columns = [name for name in ("item", "score", "position", "rank") if name in names]
    list_columns = [name for name in names if name not in {*item_columns, *LIST}]
    counted = rows.filter(pl.col("weight") > 0)
    lists = counted.group_by(LIST).agg(pl.col(list_columns).first())
    items = counted.select("query", "item").unique().with_columns(candidates=pl.len().over("query"))
    returned = counted.select(*LIST, *item_columns)
    full = items.join(lists, on="query").join(returned, on=[*LIST, "item"], how="left")
    return pl.concat([full, rows.filter(pl.col("weight") == 0)], how="diagonal")


def sorted_sum(term: pl.Expr) -> pl.Expr:
    """Sum in ascending order, so that equal terms give equal sums in any order of the lists.

    The sort is inside a list because the optimizer removes a sort before a sum.
    """
    return term.implode().list.sort().list.sum()
