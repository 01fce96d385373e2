"""One way to ask for a measure, whichever engine answers: the tests run the same calls through each.

A call is the name of a measure with its options, written ``ndcg(k=10, gain='exponential')``. Groups are
small frames, each one ranking; an engine gives the values of every call for every group it can see (a
group without rows is seen only where nothing is grouped).
"""

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import duckdb
import polars as pl
import reference
from polars import selectors as cs

from polars_rank.measures.catalogue import MEASURES
from polars_rank.sql import install

_WORDS = ("zero", "skip")
Values = dict[int, list[float | None]]


class Call(NamedTuple):
    name: str
    options: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{option}={value!r}' for option, value in self.options.items())})"


def parse_call(text: str) -> Call:
    node = ast.parse(text, mode="eval").body
    return Call(node.func.id, {word.arg: ast.literal_eval(word.value) for word in node.keywords})


def is_column(option: str, value: object) -> bool:
    """Tell whether the value of an option is the name of a column."""
    return isinstance(value, str) and option in ("num_relevant", "not_found") and value not in _WORDS


def as_expression(call: Call, **columns: str | pl.Expr) -> pl.Expr:
    """Give the Polars expression; `columns` renames column arguments."""
    named = {name: columns.get(name, name) for name in MEASURES[call.name].columns}
    return MEASURES[call.name].function(**named, **call.options)


def as_macro(call: Call, **columns: str) -> str:
    """Give the SQL text of the call."""
    named = [columns.get(name, name) for name in MEASURES[call.name].columns]
    options = [
        f"{option} := {value if is_column(option, value) else as_literal(value)}"
        for option, value in call.options.items()
    ]
    return f"rank.{call.name}({', '.join(named + options)})"


def as_literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, Mapping):
        return f"MAP {value}"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _stack(groups: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(
        [group.with_columns(pl.lit(place, pl.Int64).alias("group")) for place, group in enumerate(groups)]
    )


def _numbered(calls: Sequence[Call]) -> list[pl.Expr]:
    return [as_expression(call).alias(str(place)) for place, call in enumerate(calls)]


def _by_group(rows: Sequence[Sequence[Any]]) -> Values:
    return {row[0]: list(row[1:]) for row in rows}


def eager(groups: Sequence[pl.DataFrame], calls: Sequence[Call]) -> Values:
    return _by_group(_stack(groups).group_by("group").agg(_numbered(calls)).rows())


def streaming(groups: Sequence[pl.DataFrame], calls: Sequence[Call]) -> Values:
    plan = _stack(groups).lazy().group_by("group").agg(_numbered(calls))
    return _by_group(plan.collect(engine="streaming").rows())


def over(groups: Sequence[pl.DataFrame], calls: Sequence[Call]) -> Values:
    wide = _stack(groups).select("group", *(value.over("group") for value in _numbered(calls)))
    distinct = wide.unique()
    assert distinct["group"].is_unique().all(), "one value a group, on each of its rows"
    return _by_group(distinct.rows())


def select(groups: Sequence[pl.DataFrame], calls: Sequence[Call]) -> Values:
    answers = [group.select(_numbered(calls)) for group in groups]
    assert all(answer.height == 1 for answer in answers), "one row for a whole frame"
    return {place: list(answer.row(0)) for place, answer in enumerate(answers)}


def sql(groups: Sequence[pl.DataFrame], calls: Sequence[Call]) -> Values:
    chosen = ", ".join(as_macro(call) for call in calls)
    return _by_group(ask(f'SELECT "group", {chosen} FROM judged GROUP BY "group"', _stack(groups)))


def sql_whole(groups: Sequence[pl.DataFrame], calls: Sequence[Call]) -> Values:
    chosen = ", ".join(as_macro(call) for call in calls)
    return {place: list(ask(f"SELECT {chosen} FROM judged", g)[0]) for place, g in enumerate(groups)}


def slow_loops(groups: Sequence[pl.DataFrame], calls: Sequence[Call]) -> Values:
    return {place: [by_reference(call, group) for call in calls] for place, group in enumerate(groups)}


ENGINES: dict[str, Callable[[Sequence[pl.DataFrame], Sequence[Call]], Values]] = {
    function.__name__: function for function in (eager, streaming, over, select, sql, sql_whole)
}


def by_reference(call: Call, group: pl.DataFrame) -> float | None:
    """Give the value that tests/reference.py has for one group."""
    columns = MEASURES[call.name].columns
    floats = {
        name: (group[name] if name == "subtopic" else group[name].cast(pl.Float64)).to_list()
        for name in group.columns
        if name != "group"
    }
    options = dict(call.options)
    for option, value in call.options.items():
        if is_column(option, value):
            options[option] = floats[value]
    if isinstance(options.get("num_relevant"), list):
        options["num_relevant"] = next((n for n in options["num_relevant"] if n is not None), None)
    function = getattr(reference, call.name)
    if columns == ["rank"] and call.name not in ("num_returned", "num_queries"):
        return function(floats["rank"], **options)
    if columns == ["prediction", "actual"]:
        return function(list(zip(floats["prediction"], floats["actual"], strict=True)), **options)
    if "subtopic" in columns or "score" in columns:
        return function(list(zip(*(floats[name] for name in columns), strict=True)), **options)
    nothing = [None] * group.height
    pairs = [floats[name] if name in columns else nothing for name in ("rank", "relevance")]
    return function(list(zip(*pairs, strict=True)), **options)


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    database = duckdb.connect()
    install(database)
    return database


def ask(query: str, judged: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Give the rows of a query over a table called judged, in a database that has the macros."""
    # A cursor each: after an error DuckDB 2 holds a connection's unfinished result against it.
    with _connection().cursor() as cursor:
        if "min_relevance := 0.5" in query:
            # DuckDB's binder compares a Boolean with whole numbers only: refused, never a wrong value.
            judged = judged.with_columns(cs.boolean().cast(pl.UInt8))
        cursor.register("judged", judged.to_arrow())
        return cursor.execute(query).fetchall()


def same(left: float | None, right: float | None, tolerance: float = 1e-12) -> bool:
    """Tell whether two values are one, null and NaN included."""
    if left is None or right is None:
        return left is right
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return math.isclose(left, right, rel_tol=tolerance, abs_tol=tolerance)
