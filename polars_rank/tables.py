"""The table contract: which frames are taken, which ids, and what kind of frame is given back."""

from collections.abc import Iterable, Mapping, Sequence
from typing import overload

import polars as pl

from polars_rank.errors import DataError, require_columns

Frame = pl.DataFrame | pl.LazyFrame


def as_lazy(frame: object, table: str) -> pl.LazyFrame:
    """Take a Polars frame of either kind; say how to make one of anything else."""
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return frame.lazy()
    kind = f"{type(frame).__module__}.{type(frame).__name__}"
    raise TypeError(
        f"{table} must be a polars DataFrame or LazyFrame, got {kind}; "
        "use pl.from_pandas, pl.from_arrow, from_dict or from_lists, or read_run and read_qrels for a file"
    )


@overload
def like(original: pl.DataFrame, result: pl.LazyFrame) -> pl.DataFrame: ...
@overload
def like(original: pl.LazyFrame, result: pl.LazyFrame) -> pl.LazyFrame: ...
def like(original: Frame, result: pl.LazyFrame) -> Frame:
    """Give back the kind of frame that came in: lazy for lazy, eager for eager."""
    if isinstance(original, pl.LazyFrame):
        return result
    # A small table is done before the streaming engine has started.
    return result.collect(engine="in-memory" if original.height < 1000 else "auto")


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


_SLICE = "slice: "  # before the name of a slicing column, so that no column of our own is called alike


def named_apart(names: Sequence[str]) -> dict[str, str]:
    """Give slicing columns names for the time that we work with them; a name given twice is refused."""
    for name in names:
        if list(names).count(name) > 1:
            raise ValueError(f"by names {name!r} twice; once will do")
    return {name: f"{_SLICE}{name}" for name in names}


def own_name(name: str) -> str:
    """Give the name that a slicing column has outside."""
    return name.removeprefix(_SLICE)


def named_back(result: pl.LazyFrame) -> pl.LazyFrame:
    """Give slicing columns their own names back; one that is also a name of the result's is refused."""
    names = result.collect_schema().names()
    back = {name: own_name(name) for name in names if name.startswith(_SLICE)}
    refuse_names("by", list(back.values()), names)
    return result.rename(back)


def refuse_names(argument: str, names: Sequence[str], taken: Iterable[str]) -> None:
    """Refuse columns that are named twice, or called as a column that a result has beside them."""
    if isinstance(names, str):
        raise TypeError(f"{argument} must be a list of column names; write {argument}=[{names!r}]")
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ValueError(f"{argument} names {name!r} twice; once will do")
        if name in taken:
            raise ValueError(f"{argument}={name!r} is what a column of the result is called; rename it first")


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
        require_columns(schema.names(), columns, table)
    casts: list[pl.Expr] = []
    for column in columns:
        kinds = {table: id_kind(schema[column], column, table) for table, schema in schemas.items()}
        known = {table: kind for table, kind in kinds.items() if kind != "null"}
        if len(set(known.values())) > 1:
            types = ", ".join(f"{table}.{column} is {schemas[table][column]}" for table in known)
            raise DataError(f"id types differ: {types}; cast one of them, so that ids can match")
        casts.append(pl.col(column).cast(_common_id_type([schemas[table][column] for table in known])))
    return {table: frame.with_columns(casts) for table, frame in frames.items()}


def _common_id_type(dtypes: Sequence[pl.DataType]) -> pl.DataType:
    if not dtypes or not dtypes[0].is_integer():
        return dtypes[0] if dtypes and isinstance(dtypes[0], pl.Binary) else pl.String()
    distinct = set(dtypes)
    if len(distinct) == 1:
        return dtypes[0]
    wide = {pl.UInt64(), pl.Int128(), pl.UInt128()}
    return pl.Int128() if distinct & wide else pl.Int64()
