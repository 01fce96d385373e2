"""Runs and qrels from nested data: lists in columns, dicts of dicts."""

from collections.abc import Callable, Iterable, Mapping, Set
from numbers import Integral
from typing import Any, Literal, overload

import polars as pl
import polars.selectors as cs

from polars_rank.core.errors import DataError, refuse_patterns, require_choice, require_columns
from polars_rank.core.frames import Frame, as_lazy, like

Value = Literal["score", "relevance"]


@overload
def from_lists(
    frame: pl.DataFrame,
    query: str = ...,
    items: str = ...,
    *,
    scores: str | None = ...,
    relevance: str | float | None = ...,
) -> pl.DataFrame: ...
@overload
def from_lists(
    frame: pl.LazyFrame,
    query: str = ...,
    items: str = ...,
    *,
    scores: str | None = ...,
    relevance: str | float | None = ...,
) -> pl.LazyFrame: ...
def from_lists(
    frame: Frame,
    query: str = "query",
    items: str = "items",
    *,
    scores: str | None = None,
    relevance: str | float | None = None,
) -> Frame:
    """Convert a table with one row per query and its items in a list to a run or qrels.

    The result has one row per item: ``query``, ``item`` and ``score`` (with `scores`), ``relevance`` (with
    `relevance`: qrels) or, with neither, ``rank`` (Int64): the position in the list, from 1. Values keep
    their types. Other columns, such as keys and attributes, are repeated for each item.

    Parameters
    ----------
    frame : DataFrame or LazyFrame; the result is of the same kind.
    query : column of query ids; a query may have several rows, for example one per system.
    items : column of lists of item ids. An item that is listed twice gets two rows.
    scores : column of lists with one score per item.
    relevance : column of lists with one grade per item, or one grade for all items, such as 1 if the lists
        contain the relevant items.

    Null and empty rule: a null or empty list has no rows, so its query is missing from the result. Nulls
    within a list are kept.

    Raises
    ------
    DataError
        If a column is missing or is not a list, or two lists differ in length (for a LazyFrame, raised by
        ``collect``).
    ValueError
        If both `scores` and `relevance` are given.

    Source: the layout of recommendation logs; no formula.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank.files.from_python import from_lists
    >>> lists = pl.DataFrame({"query": ["u", "v"], "items": [[7, 9], [9]]})
    >>> from_lists(lists).sort("query", "rank").rows()
    [('u', 7, 1), ('u', 9, 2), ('v', 9, 1)]
    """
    if scores is not None and relevance is not None:
        raise ValueError("give scores for a run or relevance for qrels, not both")
    lazy = as_lazy(frame, "frame")
    values = {"score": scores} if scores is not None else {}
    if isinstance(relevance, str):
        values = {"relevance": relevance}
    lists = [items, *values.values()]
    refuse_patterns("query", [query])
    refuse_patterns("items, scores or relevance", lists)
    schema = lazy.collect_schema()
    require_columns(schema, [query, *lists], "frame")
    for column in lists:
        if not isinstance(schema[column], pl.List | pl.Array):
            raise DataError(f"frame.{column} has type {schema[column]}; expected one list per row")
    made = {"query", "item", *(values or {"rank" if relevance is None else "relevance"})}
    taken = sorted(made & (set(schema.names()) - {query, *lists}))
    if taken:
        raise DataError(f"frame already has a column {taken[0]!r}; rename or drop it")
    arrays = [name for name in lists if isinstance(schema[name], pl.Array)]
    lazy = lazy.with_columns(pl.col(arrays).arr.to_list())
    if values:
        lazy = lazy.map_batches(_check_lengths(query, lists), streamable=True, validate_output_schema=False)
    else:
        places = pl.int_ranges(1, pl.col(items).list.len() + 1)
        values = {"rank": "rank"} if relevance is None else {}
        lazy = lazy.with_columns(rank=places) if values else lazy
    exploded = lazy.explode([items, *values.values()], empty_as_null=False, keep_nulls=False)
    ours = {query: "query", items: "item"} | {theirs: name for name, theirs in values.items()}
    others = [name for name in schema.names() if name not in ours]
    result = exploded.select(
        *(pl.col(theirs).alias(name) for theirs, name in ours.items()), cs.by_name(*others)
    )
    if relevance is not None and not values:
        grade = pl.lit(relevance, dtype=pl.Float64 if isinstance(relevance, float) else pl.Int64)
        result = result.with_columns(relevance=grade)
    return like(frame, result)


def _check_lengths(query: str, lists: list[str]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    def check(frame: pl.DataFrame) -> pl.DataFrame:
        first, second = (pl.col(column).list.len().fill_null(0) for column in lists)
        wrong = frame.filter(first != second)
        if wrong.height:
            lengths = wrong.select(first.alias("first"), second.alias("second")).row(0)
            raise DataError(
                f"query {wrong[query][0]!r} has {lengths[0]} {lists[0]}, but {lengths[1]} {lists[1]}; "
                "lists of one row must have the same length"
            )
        return frame

    return check


def from_dict(mapping: Mapping[Any, Any], value: Value = "score") -> pl.DataFrame:
    """Convert ``{query: {item: number}}``, as used by pytrec_eval and ranx, to a run or qrels.

    The result has one row per item of a query: ``query``, ``item`` (text or Int64; UInt64 for larger ids) and
    ``score`` (Float64), or ``relevance`` (Int64, Float64 if a grade has a fraction or is NaN). Instead of a
    dict, a query may have bare items: a list or tuple is a run with a ``rank`` (from 1) in place of a score;
    a list, tuple or set is qrels with ``relevance`` 1.

    Parameters
    ----------
    mapping : dict of numbers, or bare items, by query id; the same kind for every query.
    value : ``"score"`` for a run, ``"relevance"`` for qrels.

    Null and empty rule: None is null; a query without items has no rows, so it is missing from the result.

    Raises
    ------
    DataError
        If ids are neither all text nor all integers, a value is not a number, dicts and bare items are
        mixed, or a run has a set, which has no order.

    Source: the dictionaries of pytrec_eval (Van Gysel and de Rijke 2018, doi:10.1145/3209978.3210065).

    Examples
    --------
    >>> from polars_rank.files.from_python import from_dict
    >>> from_dict({"q": {"a": 2.5, "b": 1}}).rows()
    [('q', 'a', 2.5), ('q', 'b', 1.0)]
    >>> from_dict({"q": ["a", "b"]}).rows()
    [('q', 'a', 1), ('q', 'b', 2)]
    """
    require_choice("value", value, ("score", "relevance"))
    if not isinstance(mapping, Mapping):
        raise TypeError(f"mapping must be a dict of query to items, got {type(mapping).__name__}")
    dicts = {isinstance(entry, Mapping) for entry in mapping.values()}
    if len(dicts) > 1:
        raise DataError("some queries have a dict of numbers and others bare items; use the same for all")
    bare = dicts == {False}
    rows = [
        (query, item, number)
        for query, entry in mapping.items()
        for item, number in (_bare(query, entry, value) if bare else entry.items())
    ]
    name = "rank" if bare and value == "score" else value
    numbers = [_number(number, query, item) for query, item, number in rows]
    whole = name != "score" and all(
        number is None or (number.is_integer() and abs(number) < 2.0**63) for number in numbers
    )
    return pl.DataFrame(
        [
            _ids("query", [query for query, _, _ in rows]),
            _ids("item", [item for _, item, _ in rows]),
            pl.Series(name, numbers, dtype=pl.Float64).cast(pl.Int64 if whole else pl.Float64),
        ]
    )


def _bare(query: object, entry: object, value: Value) -> Iterable[tuple[Any, float]]:
    if isinstance(entry, str | bytes) or not isinstance(entry, Iterable):
        raise DataError(
            f"query {query!r} has {entry!r}; expected a dict of item to number, or a list of items"
        )
    if value == "relevance":
        return ((item, 1) for item in entry)
    if isinstance(entry, Set):
        raise DataError(f"query {query!r} has a set, which has no order: give a list, or value='relevance'")
    return ((item, place) for place, item in enumerate(entry, 1))


def _number(number: object, query: object, item: object) -> float | None:
    if number is None:
        return None
    if hasattr(number, "__float__"):
        return float(number)
    raise DataError(f"query {query!r}, item {item!r} has {number!r}; expected a number")


def _ids(column: str, ids: list[Any]) -> pl.Series:
    if all(isinstance(value, str) for value in ids):
        # Null ids match those of any other table.
        return pl.Series(column, ids, dtype=pl.String if ids else pl.Null)
    if all(isinstance(value, Integral) and not isinstance(value, bool) for value in ids):
        whole = [int(value) for value in ids]
        if all(-(2**63) <= value < 2**63 for value in whole):
            return pl.Series(column, whole, dtype=pl.Int64)
        if all(0 <= value < 2**64 for value in whole):
            return pl.Series(column, whole, dtype=pl.UInt64)
        widest = max(whole, key=abs)
        raise DataError(f"{column} ids must fit in 64 bits, but there is {widest}; make all of them text")
    first = next((value for value in ids if type(value) is not type(ids[0])), ids[0])
    kinds = f"{ids[0]!r} and {first!r}" if first is not ids[0] else f"{first!r}"
    raise DataError(f"{column} ids must be all text or all integers, got {kinds}")
