"""Judged tables of the user's own, such as evaluation logs: what would be misread is refused."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import polars as pl
import polars.selectors as cs

from polars_rank.errors import DataError, require_columns
from polars_rank.ranking import refuse_infinite_rank
from polars_rank.refusals import apart_by_keys, refuse_infinite, refuse_repeats, require_number
from polars_rank.tables import Frame

_REMEDY = "keep one row of each item, or let judge join the run with its judgements"


def refuse_run(schema: pl.Schema, columns: Mapping[str, str]) -> None:
    """Refuse a table that lacks a column, such as a run, and ranks or grades that are no numbers."""
    if columns["relevance"] not in schema:
        raise DataError(
            f"table has no column {columns['relevance']!r}; its columns are {schema.names()}. "
            "For a run, give its judgements: evaluate(run, measures, qrels=qrels)"
        )
    require_columns(schema.names(), columns.values(), "table")
    for name in ("rank", "relevance"):
        require_number(schema[columns[name]], f"table.{columns[name]}")


def readable(table: Frame, rank: str, relevance: str, rank_base: int) -> pl.LazyFrame:
    """Refuse ranks and grades that would be misread, and let ranks count from 1."""
    looks = {
        rank: partial(_refuse_ranks, name=f"table.{rank}", rank_base=rank_base),
        relevance: partial(_refuse_grades, name=f"table.{relevance}"),
    }
    rows = table.lazy()
    if isinstance(table, pl.DataFrame):
        for name, look in looks.items():
            look(table[name])
    else:
        # Batch by batch as they pass: it streams, and nothing is collected.
        rows = rows.with_columns(
            pl.col(name).map_batches(look, return_dtype=pl.self_dtype(), is_elementwise=True)
            for name, look in looks.items()
        )
    return rows if rank_base == 1 else rows.with_columns(pl.col(rank).cast(pl.Float64) + 1)


def _refuse_ranks(ranks: pl.Series, name: str, rank_base: int) -> pl.Series:
    if rank_base == 1 and (ranks == 0).any():
        raise DataError(
            f"{name} holds 0, and a rank below 1 means not returned; use rank_base=0 if ranks count from 0, "
            "or write null for items that were not returned"
        )
    if ranks.dtype.is_float():
        refuse_infinite_rank(ranks, name)
    return ranks


def _refuse_grades(grades: pl.Series, name: str) -> pl.Series:
    if grades.dtype.is_float():
        refuse_infinite(grades, name)
    return grades


def without_repeats(
    table: Frame, ranking: Sequence[str], item: str, relevance: str, read: Collection[str]
) -> pl.LazyFrame | None:
    """Refuse an item twice in a ranking, or an item and subtopic where the measures `read` subtopics.

    A DataFrame is looked at now. For a lazy table it is a plan without rows that refuses when it runs, and
    looks at the judged rows alone, which are few.
    """
    rows = table.lazy()
    schema = rows.collect_schema()
    if item not in schema and item == "item":
        return None
    place = list(dict.fromkeys([*ranking, item, *({"subtopic"} & {*read})]))
    require_columns(schema.names(), place, "table")
    way_out = apart_by_keys(rows, ranking, item, ["score", "rank", "relevance", relevance], _REMEDY)
    known = rows.filter(pl.col(item).is_not_null())
    if isinstance(table, pl.DataFrame):
        refuse_repeats(known.select(cs.by_name(place)).collect(), "table", way_out=way_out)
        return None
    known = known.filter(pl.col(relevance).cast(pl.Float64).is_not_nan())

    def check(rows: pl.DataFrame) -> pl.DataFrame:
        refuse_repeats(rows, "table", way_out=way_out)
        return rows.select(cs.by_name(ranking)).clear()

    return known.select(cs.by_name(place)).map_batches(
        check, schema=pl.Schema({name: schema[name] for name in ranking})
    )
