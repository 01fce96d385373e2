"""Several runs as one long table: whose list a row is in, its weight, and its place there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite
from numbers import Real
from typing import Any, Literal

import polars as pl

from polars_rank.errors import DataError, require_choice, require_columns
from polars_rank.ranking import OrderBy, Ties, given_rank, ordinal, score_key
from polars_rank.tables import Frame, as_lazy, unify_ids

Runs = Frame | Mapping[str, Frame] | Sequence[Frame]
Weights = Mapping[str, float] | Sequence[float]

Duplicates = Literal["first", "error"]

LIST = ["list", "query"]


@dataclass(frozen=True)
class Columns:
    """What the columns of a run are called."""

    query: str = "query"
    item: str = "item"
    score: str = "score"
    rank: str = "rank"
    system: str = "system"


@dataclass(frozen=True)
class Ordering:
    """How the items of a list are put in order, and what a repeated item does."""

    order_by: OrderBy | None = None
    descending: bool = True
    ties: Ties = "item-descending"
    rank_base: int = 1
    duplicates: Duplicates = "first"
    needs_score: bool = False

    def __post_init__(self) -> None:
        require_choice("order_by", self.order_by, (None, "score", "rank"))
        require_choice("descending", self.descending, (True, False))
        require_choice("ties", self.ties, ("item-descending", "item-ascending", "item-text-descending"))
        require_choice("rank_base", self.rank_base, (1, 0))
        require_choice("duplicates", self.duplicates, ("first", "error"))


def gather(
    runs: Runs,
    *,
    weights: Weights | None = None,
    systems: Sequence[str] | None = None,
    ordering: Ordering,
    columns: Columns,
) -> pl.LazyFrame:
    """Lay the runs under each other: `list, system, weight, query, item, score, given, by_rank, key`.

    `list` counts the lists from 0 in their order, `given` is the rank where `by_rank`, and `key` is
    what orders: higher is better, null is last.
    """
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
) -> pl.LazyFrame:
    weight_of = dict(zip(frames, resolve_weights(weights, list(frames)), strict=True))
    lazy = {
        name: _typed_if_empty(as_lazy(frame, f"runs[{name!r}]"), columns) for name, frame in frames.items()
    }
    lazy = unify_ids(lazy, [columns.query, columns.item])
    parts = []
    for position, (name, frame) in enumerate(lazy.items()):
        orders = _orders(frame, f"runs[{name!r}]", ordering, columns)
        parts.append(
            frame.select(
                pl.lit(position, pl.UInt32).alias("list"),
                pl.lit(name, pl.String).alias("system"),
                pl.lit(weight_of[name], pl.Float64).alias("weight"),
                pl.lit(_counted(weight_of.values()), pl.Float64).alias("systems"),
                pl.lit(_total(weight_of.values()), pl.Float64).alias("total_weight"),
                *orders,
            )
        )
    return pl.concat(parts)


def _from_long(
    runs: Frame,
    weights: Weights | None,
    systems: Sequence[str] | None,
    ordering: Ordering,
    columns: Columns,
) -> pl.LazyFrame:
    frame = as_lazy(runs, "runs")
    schema = frame.collect_schema()
    if columns.system not in schema:
        raise DataError(
            f"runs has no column {columns.system!r}; its columns are {schema.names()}. "
            "Name each run in a dict, {'bm25': run, ...}, or add the column"
        )
    frame = unify_ids({"runs": frame}, [columns.query, columns.item])["runs"]
    system = pl.col(columns.system)
    if isinstance(schema[columns.system], pl.Categorical | pl.Enum):
        frame = frame.with_columns(system.cast(pl.String))
    if systems is None and isinstance(weights, Mapping) and weights:
        systems = list(weights)
    if systems is None and isinstance(runs, pl.DataFrame):
        systems = frame.select(system.drop_nulls().unique().sort()).collect().to_series().to_list()
    if systems is None:
        if weights:
            raise ValueError(
                "weights is a list and runs a lazy table: give systems=[...] too, or weights as a dict, "
                "so that it is known whose weight is whose"
            )
        position = (system.rank("dense") - 1).cast(pl.UInt32)
        weight = pl.lit(1.0)
        count = total = system.n_unique().cast(pl.Float64)
    else:
        numbers = list(range(len(systems)))
        position = system.replace_strict(list(systems), numbers, default=None, return_dtype=pl.UInt32)
        resolved = resolve_weights(weights, list(systems))
        count, total = pl.lit(_counted(resolved), pl.Float64), pl.lit(_total(resolved), pl.Float64)
        weight = (
            pl.lit(resolved[0] if resolved else 1.0, pl.Float64)
            if len(set(resolved)) <= 1
            else system.replace_strict(list(systems), resolved, default=None, return_dtype=pl.Float64)
        )
    return frame.select(
        position.alias("list"),
        system.alias("system"),
        weight.alias("weight"),
        count.alias("systems"),
        total.alias("total_weight"),
        *_orders(frame, "runs", ordering, columns),
    ).filter(
        pl.map_batches(
            ["list", "system"], _check_systems(systems), return_dtype=pl.Boolean, is_elementwise=True
        )
    )


def _check_systems(systems: Sequence[str] | None) -> Any:
    def check(series: Sequence[pl.Series]) -> pl.Series:
        position, system = series
        if position.null_count():
            name = system.filter(position.is_null())[0]
            if name is None:
                raise DataError("runs has a null system; name the system of every row")
            raise DataError(
                f"runs has the system {name!r}, which is not among {list(systems or [])}: "
                "weights and systems name every system or none"
            )
        return position.is_not_null()

    return check


def resolve_weights(weights: Weights | None, systems: Sequence[str]) -> list[float]:
    """Give one weight a list, in the lists' order; nothing given means all 1."""
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
    return [float(weight) for weight in ordered]


def _counted(weights: Iterable[float]) -> int:
    return sum(weight > 0 for weight in weights)


def _total(weights: Iterable[float]) -> float:
    return fsum(weights)


def _require_same(given: Sequence[str] | Mapping[str, float], have: Any, argument: str) -> None:
    missing = [name for name in have if name not in given]
    unknown = [name for name in given if name not in have]
    if missing or unknown or len(set(given)) != len(given):
        raise ValueError(
            f"{argument} must name every system once or none; missing {missing}, unknown {unknown}; "
            f"the systems are {list(have)}"
        )


def _typed_if_empty(frame: pl.LazyFrame, columns: Columns) -> pl.LazyFrame:
    if frame.collect_schema().names():
        return frame
    return pl.LazyFrame(schema={columns.query: pl.Null, columns.item: pl.Null, columns.score: pl.Float64})


def _orders(frame: pl.LazyFrame, table: str, ordering: Ordering, columns: Columns) -> list[pl.Expr]:
    names = frame.collect_schema().names()
    by = ordering.order_by or ("score" if columns.score in names else "rank")
    if by == "score" or ordering.needs_score:
        require_columns(names, [columns.score], table)
    if by == "rank" and columns.rank not in names:
        wanted = (
            f"{columns.score!r} nor {columns.rank!r}" if ordering.order_by is None else repr(columns.rank)
        )
        raise DataError(f"{table} has no column {wanted}; its columns are {names}")
    nothing = pl.lit(None, pl.Float64)
    score = pl.col(columns.score).cast(pl.Float64).fill_nan(None) if columns.score in names else nothing
    given = given_rank(pl.col(columns.rank), columns.rank, ordering.rank_base) if by == "rank" else nothing
    key = (
        score_key(pl.col(columns.score), descending=ordering.descending, score_dtype="float64")
        if by == "score"
        else -given
    )
    return [
        pl.col(columns.query).alias("query"),
        pl.col(columns.item).alias("item"),
        score.alias("score"),
        given.alias("given"),
        pl.lit(by == "rank").alias("by_rank"),
        key.alias("key"),
    ]


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


def place(rows: pl.LazyFrame, ordering: Ordering) -> pl.LazyFrame:
    """Add `place` (1, 2, ... within a list), `rank` and `length`, and leave each item's best row.

    Places are given over all rows first, so that a repeated item does not move those below it.
    """
    position = ordinal(pl.col("key"), pl.col("item"), ordering.ties)
    placed = rows.with_columns(place=position.over(LIST), length=pl.len().over(LIST)).with_columns(
        rank=pl.when("by_rank").then("given").otherwise(pl.col("place").cast(pl.Float64))
    )
    best = pl.col("place") == pl.col("place").min().over(*LIST, "item")
    if ordering.duplicates == "error":
        best = pl.map_batches(
            [best, "system", "query", "item"], _refuse_repeat, return_dtype=pl.Boolean, is_elementwise=True
        )
    return placed.filter(best).drop("given", "by_rank", "key")


def _refuse_repeat(series: Sequence[pl.Series]) -> pl.Series:
    best, system, query, item = series
    if not best.all():
        row = best.to_list().index(False)
        raise DataError(
            f"item {item[row]!r} of query {query[row]!r} is twice in {system[row]!r}; "
            'remove the copies, or use duplicates="first" to count the best-ranked one'
        )
    return best


def with_absent(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Add a row, without rank or score, for each item that a list lacks though it answered the query.

    Adds `candidates`, the number of different items of the query. A list of weight 0 has no say.
    """
    counted = rows.filter(pl.col("weight") > 0)
    about_list = [
        name for name in rows.collect_schema().names() if name not in _ABOUT_ITEM and name not in LIST
    ]
    lists = counted.group_by(LIST).agg(pl.col(about_list).first())
    items = counted.select("query", "item").unique().with_columns(candidates=pl.len().over("query"))
    returned = counted.select(*LIST, *_ABOUT_ITEM)
    full = items.join(lists, on="query").join(returned, on=[*LIST, "item"], how="left")
    return pl.concat([full, rows.filter(pl.col("weight") == 0)], how="diagonal")


_ABOUT_ITEM = ["item", "score", "place", "rank"]
