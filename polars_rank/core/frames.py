"""The table contract: which frames are taken, which ids, and what kind of frame is given back."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast, overload

import polars as pl
import polars.selectors as cs

from polars_rank.core.errors import DataError, require_columns

Frame = pl.DataFrame | pl.LazyFrame
FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)
Name = TypeVar("Name", bound=str)
T = TypeVar("T")

_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")


@overload
def as_frame(frame: FrameT, table: str) -> FrameT: ...
@overload
def as_frame(frame: object, table: str) -> Frame: ...
def as_frame(frame: object, table: str) -> Frame:
    """Return a Polars frame as it is, and any other Arrow table as a Polars DataFrame.

    Arrow tables are objects with the Arrow PyCapsule interface: pandas, pyarrow, DuckDB, Ibis.
    """
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return frame
    if is_frame(frame):
        import pyarrow as pa  # noqa: PLC0415 - takes long to import

        try:
            taken = pl.DataFrame(pa.RecordBatchReader.from_stream(frame).read_all())
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise DataError(f"{table} can't be read as an Arrow table: {error}") from error
        # pandas writes an index without a name as such a column.
        return taken.drop(name for name in taken.columns if _UNNAMED_INDEX.fullmatch(name))
    kind = f"{type(frame).__module__}.{type(frame).__name__}"
    raise TypeError(
        f"{table} must be a Polars frame or another Arrow table (pandas, pyarrow, DuckDB), got {kind}; "
        "use from_dict or from_lists for Python objects, read_run or read_qrels for a file"
    )


def is_frame(value: object) -> bool:
    """Whether a value is a Polars frame or has the Arrow PyCapsule interface."""
    if isinstance(value, pl.DataFrame | pl.LazyFrame):
        return True
    return hasattr(value, "__arrow_c_stream__") and not isinstance(value, pl.Series)


def as_frames(frames: T, argument: str) -> T:
    """Convert a frame, a mapping of names to frames or a sequence of frames with `as_frame`."""
    taken: Any
    if is_frame(frames):
        taken = as_frame(frames, argument)
    elif isinstance(frames, Mapping):
        taken = {name: as_frame(frame, f"{argument}[{name!r}]") for name, frame in frames.items()}
    elif isinstance(frames, Iterable) and not isinstance(frames, str):
        taken = [as_frame(frame, f"{argument}[{place}]") for place, frame in enumerate(frames)]
    else:
        taken = as_frame(frames, argument)
    return cast(T, taken)


def as_lazy(frame: object, table: str) -> pl.LazyFrame:
    """Return any frame as a LazyFrame."""
    return as_frame(frame, table).lazy()


@overload
def like(original: pl.DataFrame, result: pl.LazyFrame) -> pl.DataFrame: ...
@overload
def like(original: pl.LazyFrame, result: pl.LazyFrame) -> pl.LazyFrame: ...
def like(original: Frame, result: pl.LazyFrame) -> Frame:
    """Return a LazyFrame if the original is one, else a DataFrame."""
    if isinstance(original, pl.LazyFrame):
        return result
    # The streaming engine takes longer to start than a small table takes.
    small = isinstance(original, pl.DataFrame) and original.height < 1000
    return result.collect(engine="in-memory" if small else "auto")


def id_kind(dtype: pl.DataType, column: str, table: str) -> str:
    """Name the kind of an id column: text, integer, binary, or null (a column with no value yet)."""
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        return "text"
    if dtype.is_integer():
        return "integer"
    if isinstance(dtype, pl.Binary):
        return "binary"
    if isinstance(dtype, pl.Null):
        return "null"
    raise DataError(
        f"{table}.{column} has type {dtype}; ids are text, integers or binary: cast it first "
        f"(for whole floats .cast(pl.Int64), for others .cast(pl.String))"
    )


def as_list(names: Name | Sequence[Name] | None) -> list[Name]:
    """Return a list of names, given one name, several, or None."""
    return [names] if isinstance(names, str) else list(names or [])


# Before the name of a user's column, so that no column of our own is called alike.
_APART = "column: "
# Before the name of a column of ours that stands beside a user's under their own names.
OURS = "polars_rank: "


def named_apart(names: Sequence[str], argument: str = "by") -> dict[str, str]:
    """Give a user's columns names for the time that we work with them; a name given twice is refused."""
    refuse_names(argument, names, ())
    return {name: f"{_APART}{name}" for name in names}


def column(name: str) -> pl.Expr:
    """Take a column by its name, even if the name looks like a pattern: ``*``, ``^a.*$``."""
    return cs.by_name(name).as_expr()


def columns_apart(apart: Mapping[str, str]) -> list[pl.Expr]:
    """Take the columns that `named_apart` has named; a name that looks like a pattern is a name."""
    return [column(name).alias(other) for name, other in apart.items()]


def renamed(frame: pl.LazyFrame, names: Mapping[str, str]) -> pl.LazyFrame:
    """Take the columns that there are of `names`, which maps their names to ours."""
    have = frame.collect_schema().names()
    return frame.select(column(old).alias(new) for old, new in names.items() if old in have)


def set_apart(frame: pl.LazyFrame, names: Sequence[str], table: str) -> tuple[pl.LazyFrame, list[str]]:
    """Add a user's columns under names that are apart, and give these."""
    require_columns(frame.collect_schema(), names, table)
    apart = named_apart(names)
    return frame.with_columns(columns_apart(apart)), list(apart.values())


def own_name(name: str) -> str:
    """Give the name that a column has outside."""
    return name.removeprefix(_APART)


def named_back(result: pl.LazyFrame, argument: str = "by") -> pl.LazyFrame:
    """Give a user's columns their own names back; one that is also a name of the result's is refused."""
    names = result.collect_schema().names()
    back = {name: own_name(name) for name in names if name.startswith(_APART)}
    refuse_names(argument, list(back.values()), names)
    return result.rename(back)


def long(per_query: FrameT, measures: Sequence[str], index: Sequence[str], value: str) -> FrameT:
    """Give a row for each of the measures, whatever they are called: the index, `measure` and its value."""
    prefix = "measure: "
    apart = [column(name).cast(pl.Float64).alias(f"{prefix}{name}") for name in measures]
    rows = per_query.select(*index, *apart).unpivot(index=index, variable_name="measure", value_name=value)
    return rows.with_columns(pl.col("measure").str.strip_prefix(prefix))


def with_system(by: Sequence[str], system: str | None, columns: Iterable[str]) -> list[str]:
    """Put the column of the systems before those to slice by, so that systems are never pooled unasked.

    A table need not have a column ``"system"``; None pools systems.
    """
    absent = system is None or system in by or (system == "system" and system not in columns)
    return [*by] if absent or system is None else [system, *by]


def refuse_names(argument: str, names: Sequence[str], taken: Iterable[str]) -> None:
    """Refuse names that are given twice, or that a column of the result beside them has."""
    if isinstance(names, str):
        raise TypeError(f"{argument} must be a list of names; write {argument}=[{names!r}]")
    for name in names:
        if list(names).count(name) > 1:
            raise ValueError(f"{argument} names {name!r} twice; once will do")
    for name in names:
        if name in taken:
            raise ValueError(f"{argument}={name!r} is what a column of the result is called; rename it first")


def require_different(columns: Mapping[str, str]) -> None:
    """Refuse one column for two parts; `columns` maps each part to its column."""
    names = list(columns.values())
    for name in names:
        if names.count(name) > 1:
            *most, last = columns
            raise ValueError(f"{', '.join(most)} and {last} must be different columns, got {name!r} twice")


def unify_ids(frames: Mapping[str, pl.LazyFrame], columns: Sequence[str]) -> dict[str, pl.LazyFrame]:
    """Cast the id columns of several tables to one type each, so that joins match by value.

    Categories become text, since engines order them by code; integers of any width become one
    width; a column of type null takes the others' type. Text against integer is refused.

    Parameters
    ----------
    frames : table name to frame; the name is used in errors.
    columns : the id columns that every frame has.
    """
    schemas = {table: frame.collect_schema() for table, frame in frames.items()}
    for table, schema in schemas.items():
        require_columns(schema, columns, table)
    casts: list[pl.Expr] = []
    for name in columns:
        kinds = {table: id_kind(schema[name], name, table) for table, schema in schemas.items()}
        known = {table: kind for table, kind in kinds.items() if kind != "null"}
        if len(set(known.values())) > 1:
            types = ", ".join(f"{table}.{name} is {schemas[table][name]}" for table in known)
            raise DataError(f"id types differ: {types}; cast one of them, so that ids can match")
        casts.append(column(name).cast(_common_id_type([schemas[table][name] for table in known])))
    return {table: frame.with_columns(casts) for table, frame in frames.items()}


def _common_id_type(dtypes: Sequence[pl.DataType]) -> pl.DataType:
    if not dtypes or not dtypes[0].is_integer():
        return dtypes[0] if dtypes and isinstance(dtypes[0], pl.Binary) else pl.String()
    distinct = set(dtypes)
    if len(distinct) == 1:
        return dtypes[0]
    wide = {pl.UInt64(), pl.Int128(), pl.UInt128()}
    return pl.Int128() if distinct & wide else pl.Int64()
