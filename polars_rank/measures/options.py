"""Checks of measure arguments: columns, and one rule per option name."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from math import inf, isfinite
from numbers import Real
from typing import Any, Literal, ParamSpec, TypeGuard, get_args, get_origin

import polars as pl

from polars_rank.core.errors import require_choice

P = ParamSpec("P")


def takes_columns(function: Callable[P, pl.Expr]) -> Callable[P, pl.Expr]:
    """Refuse column arguments of the decorated function that are not columns."""
    parameters = inspect.signature(function).parameters
    columns = [name for name, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> pl.Expr:
        for name, value in {**dict(zip(columns, args, strict=False)), **kwargs}.items():
            if name in columns:
                _check_column(name, value, parameters)
        return function(*args, **kwargs)

    return call


def _check_column(name: str, value: object, parameters: Mapping[str, inspect.Parameter]) -> None:
    kinds = get_args(parameters[name].annotation)
    is_series = isinstance(value, pl.Expr) and value.meta.is_literal() and pl.select(value).height != 1
    if isinstance(value, str | pl.Expr) and not is_series:
        return
    if (value is None and type(None) in kinds) or (_is_number(value) and float in kinds):
        return
    wanted = f"{name} must be the name of a column or an expression, got"
    if value is None or isinstance(value, Real):
        is_cutoff = "k" in parameters and _is_number(value) and value >= 1 and value % 1 == 0
        hint = f" (did you mean k={value}?)" if is_cutoff else "; options are given by name"
        raise TypeError(f"{wanted} {value!r}{hint}")
    kind = "Series" if is_series else type(value).__name__
    raise TypeError(
        f"{wanted} a value of type {kind}, which would be the same for every group: add it to the frame as a "
        "column, and give the name of that column"
    )


def check_option(option: str, value: object, parameter: inspect.Parameter) -> None:
    """Refuse an invalid value of a measure option."""
    if value is None and parameter.default is not None and option != "empty":
        raise ValueError(f"{option} must not be None; its default is {parameter.default!r}")
    words, others = _choices(parameter.annotation)
    if words and (isinstance(value, str) or not others):
        require_choice(option, value, words)
    elif option in _CHECKS:
        _CHECKS[option](option, value)


def _choices(annotation: Any) -> tuple[list[Any], bool]:
    """Words that an option takes, and whether it takes other values too."""
    kinds = [annotation] if get_origin(annotation) is Literal else get_args(annotation)
    literal = [kind for kind in kinds if get_origin(kind) is Literal]
    return [word for kind in literal for word in get_args(kind)], len(literal) < len(kinds)


def _check_cutoff(option: str, value: object) -> None:
    if value is None:
        return
    if not _is_number(value) or value < 1 or value % 1:
        raise ValueError(
            f"{option} must be a whole number of at least 1, got {value!r}; "
            f"use {option}=None for the whole list"
        )


def _check_number(
    low: float, high: float, *, closed: bool, none: bool = False
) -> Callable[[str, object], None]:
    edge = "from" if closed else "above"
    wanted = (
        f"a number {edge} {low:g}" + ("" if high == inf else f" and below {high:g}") + (" or None" * none)
    )

    def check(option: str, value: object) -> None:
        if none and value is None:
            return
        if not _is_number(value) or not (low <= value < high) or (value == low and not closed):
            raise ValueError(f"{option} must be {wanted}, got {value!r}")

    return check


def _check_empty(option: str, value: object) -> None:
    if value is not None and not (_is_number(value) and isfinite(value)):
        raise ValueError(f"{option} must be a number or None, got {value!r}")


def _check_column_or_number(option: str, value: object) -> None:
    if value is not None and not isinstance(value, str | pl.Expr) and not (_is_number(value) and value >= 0):
        raise ValueError(f"{option} must be a column or a number of at least 0, got {value!r}")


def _check_share(option: str, value: object) -> None:
    if not (_is_number(value) and 0 <= value <= 1):
        raise ValueError(f"{option} must be a number from 0 to 1, got {value!r}")


def _check_worth(option: str, value: object) -> None:
    if not (_is_number(value) and isfinite(value)):
        raise ValueError(f"{option} must be a number, got {value!r}")


def _check_switch(option: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{option} must be true or false, got {value!r}")


def _check_gains(option: str, value: object) -> None:
    if not isinstance(value, Mapping) or not all(
        _is_number(number) and isfinite(number) for pair in value.items() for number in pair
    ):
        raise ValueError(
            f"{option} must be 'linear', 'exponential' or a mapping of grades to gains, got {value!r}"
        )


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "k": _check_cutoff,
    "min_relevance": _check_number(0, inf, closed=True),
    "max_relevance": _check_number(0, inf, closed=False, none=True),
    "persistence": _check_number(0, 1, closed=True),
    "beta": _check_number(0, inf, closed=False),
    "target": _check_number(0, inf, closed=False),
    "multiple": _check_number(0, inf, closed=False),
    "recall": _check_share,
    "alpha": _check_share,
    "relevant_returned": _check_worth,
    "others_returned": _check_worth,
    "relevant_missed": _check_worth,
    "gain": _check_gains,
    "normalized": _check_switch,
    "empty": _check_empty,
    "num_relevant": _check_column_or_number,
    "not_found": _check_column_or_number,
}
