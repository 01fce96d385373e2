"""Stack several runs into rows of one shape, with the weight of each list and the key that sorts it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import fsum
from typing import Any, NamedTuple

import polars as pl

from polars_rank.core.checks import no_nulls, require_number
from polars_rank.core.errors import DataError, Setting, require_columns
from polars_rank.core.frames import (
    Frame,
    as_lazy,
    column,
    columns_apart,
    named_apart,
    refuse_names,
    unify_ids,
)
from polars_rank.core.ordering import given_rank, score_key
from polars_rank.fusion.arguments import ListOrder, RunColumns
from polars_rank.fusion.weights import Weights, require_every_system, resolve_weights

Runs = Frame | Mapping[str, Frame] | Sequence[Frame]


class StackedRuns(NamedTuple):
    """Rows of all runs, a table of the lists, and the order of items.

    `rows` has the columns `query, item, score, given, key`. `given` is the given rank, null if the score
    orders; `key` is the sort key: higher is better, null is last. `rows` holds one frame per list, or one
    frame with a column `list`, which counts from 0. With keys, `query` is a struct of the query and its keys.
    `lists` has `list, system, weight, by_rank, systems, total_weight`; `by_rank` is true if any list is
    ordered by rank.
    """

    rows: Sequence[pl.LazyFrame]
    lists: pl.LazyFrame
    by_rank: bool
    order: ListOrder


def stack(
    runs: Runs,
    *,
    weights: Weights | None = None,
    systems: Sequence[str] | None = None,
    order: ListOrder,
    columns: RunColumns,
) -> StackedRuns:
    """Stack the runs, from one long table, a dict or a list."""
    if systems is not None:
        refuse_names("systems", systems, ())
    if isinstance(runs, pl.DataFrame | pl.LazyFrame):
        return _from_long(runs, weights, systems, order, columns)
    if isinstance(runs, Mapping):
        frames = dict(runs)
        if systems is not None:
            require_every_system("systems", systems, frames)
            frames = {name: frames[name] for name in systems}
    else:
        as_list = list(runs)
        names = [str(i + 1) for i in range(len(as_list))] if systems is None else list(systems)
        if len(names) != len(as_list):
            raise ValueError(f"systems names {len(names)} lists, but there are {len(as_list)} runs")
        frames = dict(zip(names, as_list, strict=True))
    if not frames:
        raise ValueError("runs is empty; give at least one run")
    return _from_frames(frames, weights, order, columns)


def _from_frames(
    frames: Mapping[str, Frame], weights: Weights | None, order: ListOrder, columns: RunColumns
) -> StackedRuns:
    if {type(name) for name in frames} not in ({str}, {int}):
        raise TypeError(f"runs must be named by text, got the names {list(frames)}")
    resolved = resolve_weights(weights, list(frames))
    alone = all(isinstance(frame, pl.DataFrame) and frame.is_empty() for frame in frames.values())
    lazy = {
        name: _typed_if_empty(frame, f"runs[{name!r}]", columns, alone=alone)
        for name, frame in frames.items()
    }
    lazy = _unify_keys(unify_ids(lazy, [columns.query, columns.item]), columns)
    order = replace(order, duplicates=order.duplicates or "first")
    parts, by_rank = [], []
    for name, frame in lazy.items():
        by, ordered = _sort_columns(frame, f"runs[{name!r}]", order, columns)
        parts.append(frame.select(ordered))
        by_rank.append(by == "rank")
    return StackedRuns(parts, _list_table(list(frames), resolved, by_rank), any(by_rank), order)


def _from_long(
    runs: Frame,
    weights: Weights | None,
    systems: Sequence[str] | None,
    order: ListOrder,
    columns: RunColumns,
) -> StackedRuns:
    frame = as_lazy(runs, "runs")
    schema = frame.collect_schema()
    if columns.system not in schema:
        raise DataError(
            f"runs has no column {columns.system!r}; its columns are {schema.names()}. "
            "Name each run in a dict, {'bm25': run, ...}, or add the column"
        )
    refuse_names("system", [columns.system], [columns.query, columns.item, columns.score, columns.rank])
    frame = _unify_keys(unify_ids({"runs": frame}, [columns.query, columns.item]), columns)["runs"]
    used = {columns.query, columns.item, columns.score, columns.rank, columns.system, *columns.keys}
    others = [name for name in schema if name not in used]
    order = replace(order, duplicates=order.duplicates or "error", others=others)
    system = column(columns.system)
    if isinstance(schema[columns.system], pl.Categorical | pl.Enum):
        frame = frame.with_columns(system.cast(pl.String))
    by, ordered = _sort_columns(frame, "runs", order, columns)
    if systems is None and isinstance(weights, Mapping) and weights:
        systems = list(weights)
    if systems is None and isinstance(runs, pl.DataFrame):
        systems = frame.select(system.unique().sort()).collect().to_series().to_list()
        if None in systems:
            raise DataError(_NULL_SYSTEM)
    if systems is not None:
        numbers = list(range(len(systems)))
        position = system.replace_strict(list(systems), numbers, default=None, return_dtype=pl.UInt32)
        lists = _list_table(systems, resolve_weights(weights, systems), [by == "rank"] * len(systems))
    elif weights is not None and len(weights):
        raise ValueError(
            "weights is a list and runs a lazy table: give systems=[...] too, or weights as a dict, "
            "so that each weight has a system"
        )
    else:
        position = (system.rank("dense") - 1).cast(pl.UInt32)
        count = pl.len().cast(pl.Float64)
        lists = (
            frame.select(position.alias("list"), system.alias("system"))
            .unique()
            .with_columns(weight=1.0, by_rank=pl.lit(by == "rank"), systems=count, total_weight=count)
        )
    known = pl.map_batches(
        [position.alias("list"), system],
        _check_systems(systems),
        return_dtype=pl.Boolean,
        is_elementwise=True,
    )
    rows = frame.filter(known).select(position.alias("list"), *ordered)
    return StackedRuns([rows], lists, by == "rank", order)


def _list_table(systems: Sequence[str], weights: Sequence[float], by_rank: Sequence[bool]) -> pl.LazyFrame:
    # An empty list has no type.
    names = pl.Series(systems, dtype=None if systems else pl.String)
    table = pl.LazyFrame(
        {"system": names, "weight": list(weights), "by_rank": list(by_rank)},
        schema_overrides={"weight": pl.Float64, "by_rank": pl.Boolean},
    )
    return table.with_row_index("list").with_columns(
        systems=pl.lit(sum(weight > 0 for weight in weights), pl.Float64),
        total_weight=pl.lit(fsum(weights), pl.Float64),
    )


_NULL_SYSTEM = "runs has a null system; name the system of every row"


def _check_systems(systems: Sequence[str] | None) -> Any:
    def check(series: Sequence[pl.Series]) -> pl.Series:
        position, system = series
        if position.null_count():
            name = system.filter(position.is_null())[0]
            if name is None:
                raise DataError(_NULL_SYSTEM)
            raise DataError(
                f"runs has the system {name!r}, which is not among {list(systems or [])}: "
                "weights and systems name every system or none"
            )
        return position.is_not_null()

    return check


def _typed_if_empty(frame: Frame, table: str, columns: RunColumns, *, alone: bool) -> pl.LazyFrame:
    """Ignore the column types of a run without rows, so that it fits the others."""
    lazy = as_lazy(frame, table)
    ids, numbers = (columns.query, *columns.keys, columns.item), (columns.score, columns.rank)
    schema = lazy.collect_schema()
    without_rows = isinstance(frame, pl.DataFrame) and frame.is_empty() and {*ids} <= {*schema}
    if schema and not without_rows:
        return lazy
    kinds = {name: schema.get(name, pl.Null()) if alone else pl.Null() for name in ids}
    return pl.LazyFrame(schema={**kinds, **dict.fromkeys(numbers, pl.Float64())})


def _unify_keys(frames: Mapping[str, pl.LazyFrame], columns: RunColumns) -> dict[str, pl.LazyFrame]:
    """Cast each key to one type in all tables, and refuse nulls."""
    frames = dict(frames)
    for name in columns.keys:
        types = {}
        for table, frame in frames.items():
            schema = frame.collect_schema()
            require_columns(schema, [name], table)
            types[table] = schema[name]
            if types[table].is_nested():
                raise DataError(
                    f"{table}.{name} has type {types[table]}, which can't be a key: cast it first"
                )
        known = [dtype for dtype in types.values() if not isinstance(dtype, pl.Null)]
        if known and all(map(_is_id, known)):
            frames = unify_ids(frames, [name])
        elif len({*known}) <= 1:
            cast = column(name).cast(known[0] if known else pl.Null)
            frames = {table: frame.with_columns(cast) for table, frame in frames.items()}
        else:
            types_text = ", ".join(f"{table}.{name} is {dtype}" for table, dtype in types.items())
            raise DataError(f"types of the key differ: {types_text}; cast one of them")
    if not columns.keys:
        return frames
    return {table: no_nulls(frame, [columns.query, *columns.keys], table) for table, frame in frames.items()}


def _is_id(dtype: pl.DataType) -> bool:
    return dtype.is_integer() or isinstance(dtype, pl.String | pl.Categorical | pl.Enum | pl.Binary)


def _sort_columns(
    frame: pl.LazyFrame, table: str, order: ListOrder, columns: RunColumns
) -> tuple[str, list[pl.Expr]]:
    schema = frame.collect_schema()
    names = schema.names()
    by = order.order_by or ("score" if columns.score in names else "rank")
    if by == "score" or order.needs_score:
        require_columns(names, [columns.score], table)
    if by == "rank" and columns.rank not in names:
        wanted = f"{columns.score!r} nor {columns.rank!r}" if order.order_by is None else repr(columns.rank)
        raise DataError(f"{table} has no column {wanted}; its columns are {names}")
    for name in (columns.score, *[columns.rank] * (by == "rank")):
        require_number(schema.get(name, pl.Null()), f"{table}.{name}")
    nothing = pl.lit(None, pl.Float64)
    query, item = column(columns.query), column(columns.item)
    score = column(columns.score).cast(pl.Float64).fill_nan(None) if columns.score in names else nothing
    if order.finite and columns.score in names:
        # Aliases, because Polars may read a column name as a pattern.
        checked = [score.alias("score"), query, item]
        refuse = partial(_refuse_infinite, table=table)
        score = pl.map_batches(checked, refuse, return_dtype=pl.Float64, is_elementwise=True)
    given = given_rank(column(columns.rank), columns.rank, order.rank_base) if by == "rank" else nothing
    key = (
        score_key(column(columns.score), descending=order.descending, score_dtype="float64")
        if by == "score"
        else -given
    )
    if columns.keys:
        query = pl.struct(query.alias("query"), *columns_apart(named_apart(columns.keys, "keys")))
    return by, [
        query.alias("query"),
        item.alias("item"),
        score.alias("score"),
        given.alias("given"),
        key.alias("key"),
    ]


def _refuse_infinite(series: Sequence[pl.Series], table: str) -> pl.Series:
    score, query, item = series
    infinite = score.is_infinite()
    if infinite.any():
        row = infinite.to_list().index(True)
        raise DataError(
            f"{table} has the score {score[row]} for item {item[row]!r} of query {query[row]!r}: an infinite "
            "score can't be added or scaled",
            remedy=("drop or replace it, or fuse by rank, as with ", Setting("method", "rrf")),
        )
    return score


def all_eager(runs: Runs) -> bool:
    """Whether no run is lazy."""
    if isinstance(runs, pl.DataFrame | pl.LazyFrame):
        return isinstance(runs, pl.DataFrame)
    frames = runs.values() if isinstance(runs, Mapping) else runs
    return not any(isinstance(frame, pl.LazyFrame) for frame in frames)
