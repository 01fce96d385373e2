"""Several runs as one long table: whose list a row is in, its weight, and its place there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import fsum, isfinite
from numbers import Real
from typing import Any, Literal, NamedTuple, get_args

import polars as pl

from polars_rank.core import checks as refusals
from polars_rank.core.errors import DataError, Setting, require_choice, require_columns
from polars_rank.core.frames import (
    Frame,
    as_lazy,
    column,
    columns_apart,
    named_apart,
    refuse_names,
    require_different,
    unify_ids,
)
from polars_rank.core.ordering import ItemTies, OrderBy, given_rank, score_key

Runs = Frame | Mapping[str, Frame] | Sequence[Frame]
Weights = Mapping[str, float] | Sequence[float]

Duplicates = Literal["first", "error"]


@dataclass(frozen=True)
class Columns:
    """What the columns of a run are called."""

    query: str = "query"
    item: str = "item"
    score: str = "score"
    rank: str = "rank"
    system: str = "system"
    keys: Sequence[str] = ()

    def __post_init__(self) -> None:
        parts = {"query": self.query, "item": self.item, "score": self.score, "rank": self.rank}
        require_different(parts)
        refuse_names("keys", self.keys, ())
        for name in self.keys:
            if name in (*parts.values(), self.system):
                raise ValueError(f"keys names {name!r}, which has a part in the fusion already; leave it out")

    def ids(self, query: pl.Expr) -> list[pl.Expr]:
        """Take a query of ours apart: its id and its keys, under their own names."""
        if not self.keys:
            return [query.alias(self.query)]
        fields = {self.query: "query", **named_apart(self.keys, "keys")}
        return [query.struct.field(field).alias(name) for name, field in fields.items()]


@dataclass(frozen=True)
class Ordering:
    """How the items of a list are put in order, and what a repeated item does.

    Without `duplicates`, a repeated item counts at its best where each list is given by itself, and is
    refused in one long table, since there it may be a sign of lists that were not told apart. `others` are
    the columns that could tell them apart.
    """

    order_by: OrderBy | None = None
    descending: bool = True
    ties: ItemTies = "item-descending"
    rank_base: int = 1
    duplicates: Duplicates | None = None
    needs_score: bool = False
    finite: bool = False
    others: Sequence[str] = ()

    def __post_init__(self) -> None:
        require_choice("order_by", self.order_by, (None, "score", "rank"))
        require_choice("descending", self.descending, (True, False))
        require_choice("ties", self.ties, get_args(ItemTies))
        require_choice("rank_base", self.rank_base, (1, 0))
        require_choice("duplicates", self.duplicates, (None, "first", "error"))


class Gathered(NamedTuple):
    """Runs under each other, what is known of each list, and how lists are put in order.

    `rows` has `query, item, score, given, key`: `given` is the rank where rank orders, and `key` is what
    orders: higher is better, null is last. It holds a frame a list, or one frame with a column `list`,
    which counts from 0 in the lists' order. With keys, a `query` is a struct of its id and them. `lists` has
    `list, system, weight, by_rank, systems, total_weight`; `by_rank` here tells whether rank orders any.
    """

    rows: Sequence[pl.LazyFrame]
    lists: pl.LazyFrame
    by_rank: bool
    ordering: Ordering


def gather(
    runs: Runs,
    *,
    weights: Weights | None = None,
    systems: Sequence[str] | None = None,
    ordering: Ordering,
    columns: Columns,
) -> Gathered:
    """Lay the runs under each other."""
    if systems is not None:
        refuse_names("systems", systems, ())
    if isinstance(runs, pl.DataFrame | pl.LazyFrame):
        return _from_long(runs, weights, systems, ordering, columns)
    if isinstance(runs, Mapping):
        frames = dict(runs)
        if systems is not None:
            _require_same(systems, frames, "systems")
            frames = {name: frames[name] for name in systems}
    else:
        as_list = list(runs)
        names = [str(i + 1) for i in range(len(as_list))] if systems is None else list(systems)
        if len(names) != len(as_list):
            raise ValueError(f"systems names {len(names)} lists, but there are {len(as_list)} runs")
        frames = dict(zip(names, as_list, strict=True))
    if not frames:
        raise ValueError("runs is empty; give at least one run")
    return _from_frames(frames, weights, ordering, columns)


def _from_frames(
    frames: Mapping[str, Frame], weights: Weights | None, ordering: Ordering, columns: Columns
) -> Gathered:
    if {type(name) for name in frames} not in ({str}, {int}):
        raise TypeError(f"runs must be named by text, got the names {list(frames)}")
    resolved = resolve_weights(weights, list(frames))
    alone = all(isinstance(frame, pl.DataFrame) and frame.is_empty() for frame in frames.values())
    lazy = {
        name: _typed_if_empty(frame, f"runs[{name!r}]", columns, alone=alone)
        for name, frame in frames.items()
    }
    lazy = _unify_keys(unify_ids(lazy, [columns.query, columns.item]), columns)
    ordering = replace(ordering, duplicates=ordering.duplicates or "first")
    parts, by_rank = [], []
    for name, frame in lazy.items():
        by, ordered = _orders(frame, f"runs[{name!r}]", ordering, columns)
        parts.append(frame.select(ordered))
        by_rank.append(by == "rank")
    return Gathered(parts, _about(list(frames), resolved, by_rank), any(by_rank), ordering)


def _from_long(
    runs: Frame,
    weights: Weights | None,
    systems: Sequence[str] | None,
    ordering: Ordering,
    columns: Columns,
) -> Gathered:
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
    ordering = replace(ordering, duplicates=ordering.duplicates or "error", others=others)
    system = column(columns.system)
    if isinstance(schema[columns.system], pl.Categorical | pl.Enum):
        frame = frame.with_columns(system.cast(pl.String))
    by, ordered = _orders(frame, "runs", ordering, columns)
    if systems is None and isinstance(weights, Mapping) and weights:
        systems = list(weights)
    if systems is None and isinstance(runs, pl.DataFrame):
        systems = frame.select(system.unique().sort()).collect().to_series().to_list()
        if None in systems:
            raise DataError(_NULL_SYSTEM)
    if systems is not None:
        numbers = list(range(len(systems)))
        position = system.replace_strict(list(systems), numbers, default=None, return_dtype=pl.UInt32)
        lists = _about(systems, resolve_weights(weights, systems), [by == "rank"] * len(systems))
    elif weights is not None and len(weights):
        raise ValueError(
            "weights is a list and runs a lazy table: give systems=[...] too, or weights as a dict, "
            "so that it is known whose weight is whose"
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
    return Gathered([rows], lists, by == "rank", ordering)


def _about(systems: Sequence[str], weights: Sequence[float], by_rank: Sequence[bool]) -> pl.LazyFrame:
    # Of no systems the type can't be told.
    names = pl.Series(systems, dtype=None if systems else pl.String)
    about = pl.LazyFrame(
        {"system": names, "weight": list(weights), "by_rank": list(by_rank)},
        schema_overrides={"weight": pl.Float64, "by_rank": pl.Boolean},
    )
    return about.with_row_index("list").with_columns(
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


def resolve_weights(weights: Weights | None, systems: Sequence[str]) -> list[float]:
    """Give one weight a list, in the lists' order; nothing given means all 1."""
    if weights is not None and (isinstance(weights, str) or not hasattr(weights, "__len__")):
        raise TypeError(f"weights must be a dict of system to number, or a list of numbers, got {weights!r}")
    if weights is None or len(weights) == 0:
        return [1.0] * len(systems)
    if isinstance(weights, Mapping):
        _require_same(weights, systems, "weights")
        ordered = [weights[name] for name in systems]
    else:
        ordered = list(weights)
        if len(ordered) != len(systems):
            raise ValueError(
                f"weights holds {len(ordered)} numbers, but there are {len(systems)} lists: {list(systems)}"
            )
    for name, weight in zip(systems, ordered, strict=True):
        if not isinstance(weight, Real) or isinstance(weight, bool) or not isfinite(weight) or weight < 0:
            raise ValueError(
                f"weights must be finite numbers of at least 0, got {weight!r} for {name!r}; "
                "0 takes a list out of the scores"
            )
    if not isfinite(sum(ordered)):
        raise ValueError(f"weights must have a finite sum, got {ordered}")
    return [float(weight) for weight in ordered]


def _require_same(given: Sequence[str] | Mapping[str, float], have: Any, argument: str) -> None:
    missing = [name for name in have if name not in given]
    unknown = [name for name in given if name not in have]
    if missing or unknown or len(set(given)) != len(given):
        raise ValueError(
            f"{argument} must name every system once or none; missing {missing}, unknown {unknown}; "
            f"the systems are {list(have)}"
        )


def _typed_if_empty(frame: Frame, table: str, columns: Columns, *, alone: bool) -> pl.LazyFrame:
    """Let a run without rows fit the others, whatever types it was read with."""
    lazy = as_lazy(frame, table)
    ids, numbers = (columns.query, *columns.keys, columns.item), (columns.score, columns.rank)
    schema = lazy.collect_schema()
    without_rows = isinstance(frame, pl.DataFrame) and frame.is_empty() and {*ids} <= {*schema}
    if schema and not without_rows:
        return lazy
    kinds = {name: schema.get(name, pl.Null()) if alone else pl.Null() for name in ids}
    return pl.LazyFrame(schema={**kinds, **dict.fromkeys(numbers, pl.Float64())})


def _unify_keys(frames: Mapping[str, pl.LazyFrame], columns: Columns) -> dict[str, pl.LazyFrame]:
    """Bring each key to one type in all tables, and refuse nulls in it."""
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
            told = ", ".join(f"{table}.{name} is {dtype}" for table, dtype in types.items())
            raise DataError(f"types of the key differ: {told}; cast one of them, so that they can match")
    if not columns.keys:
        return frames
    return {
        table: refusals.no_nulls(frame, [columns.query, *columns.keys], table)
        for table, frame in frames.items()
    }


def _is_id(dtype: pl.DataType) -> bool:
    return dtype.is_integer() or isinstance(dtype, pl.String | pl.Categorical | pl.Enum | pl.Binary)


def _orders(
    frame: pl.LazyFrame, table: str, ordering: Ordering, columns: Columns
) -> tuple[str, list[pl.Expr]]:
    schema = frame.collect_schema()
    names = schema.names()
    by = ordering.order_by or ("score" if columns.score in names else "rank")
    if by == "score" or ordering.needs_score:
        require_columns(names, [columns.score], table)
    if by == "rank" and columns.rank not in names:
        wanted = (
            f"{columns.score!r} nor {columns.rank!r}" if ordering.order_by is None else repr(columns.rank)
        )
        raise DataError(f"{table} has no column {wanted}; its columns are {names}")
    for name in (columns.score, *[columns.rank] * (by == "rank")):
        refusals.require_number(schema.get(name, pl.Null()), f"{table}.{name}")
    nothing = pl.lit(None, pl.Float64)
    query, item = column(columns.query), column(columns.item)
    score = column(columns.score).cast(pl.Float64).fill_nan(None) if columns.score in names else nothing
    if ordering.finite and columns.score in names:
        # Polars takes even a series for a pattern, if its name looks like one.
        told = [score.alias("score"), query, item]
        refuse = partial(_refuse_infinite, table=table)
        score = pl.map_batches(told, refuse, return_dtype=pl.Float64, is_elementwise=True)
    given = given_rank(column(columns.rank), columns.rank, ordering.rank_base) if by == "rank" else nothing
    key = (
        score_key(column(columns.score), descending=ordering.descending, score_dtype="float64")
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
            remedy=("drop or replace it, or use a method by rank, as ", Setting("method", "rrf")),
        )
    return score


def all_eager(runs: Runs) -> bool:
    """Tell whether no run is lazy."""
    frames = [runs] if isinstance(runs, pl.DataFrame | pl.LazyFrame) else _values(runs)
    return not any(isinstance(frame, pl.LazyFrame) for frame in frames)


def _values(runs: Mapping[str, Frame] | Sequence[Frame]) -> Iterable[Frame]:
    return runs.values() if isinstance(runs, Mapping) else runs


def require_number(argument: str, value: object, low: float | None = None, high: float | None = None) -> None:
    """Refuse what is no finite number within the bounds."""
    if isinstance(value, Real) and not isinstance(value, bool) and isfinite(value):
        number = float(value)
        if (low is None or number >= low) and (high is None or number <= high):
            return
    bounds = "" if low is None else f" of at least {low}" + ("" if high is None else f" and at most {high}")
    raise ValueError(f"{argument} must be a finite number{bounds}, got {value!r}")
