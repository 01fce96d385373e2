"""The catalogue of measures: what each is, what it is called elsewhere, and how its options are checked."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite
from numbers import Real
from typing import Any, Literal, ParamSpec, TypeGuard, get_args, get_origin

import polars as pl

from polars_rank.errors import require_choice

Aggregate = Literal["mean", "sum", "geometric"]
IntoColumn = str | pl.Expr
Options = Mapping[str, Any]
P = ParamSpec("P")


@dataclass(frozen=True)
class Measure:
    """What the catalogue knows of a measure beside its formula.

    Attributes
    ----------
    name : the name, in Python and in SQL.
    function : gives the expression.
    bounds : the least and the greatest value, for distinct whole ranks from 1.
    higher_is_better : direction.
    empty : the value for a query without a row.
    aggregate : how values of queries make one of the whole.
    source : DOI, or author and year.
    names : program to its names for the measure, each with the options that the name implies;
        a name that ends in ``_k`` is followed by a cutoff.
    """

    name: str
    function: Callable[..., pl.Expr]
    bounds: tuple[float, float]
    higher_is_better: bool
    empty: float | None
    aggregate: Aggregate
    source: str
    names: Mapping[str, Mapping[str, Options]]
    parameters: Mapping[str, inspect.Parameter] = field(repr=False)

    @property
    def columns(self) -> list[str]:
        """The column arguments, in order."""
        return [name for name, p in self.parameters.items() if p.kind is not p.KEYWORD_ONLY]

    @property
    def options(self) -> dict[str, Any]:
        """The options with their defaults, in order."""
        return {name: p.default for name, p in self.parameters.items() if p.kind is p.KEYWORD_ONLY}


MEASURES: dict[str, Measure] = {}


def measure(
    *,
    source: str,
    names: Mapping[str, Mapping[str, Options]],
    bounds: tuple[float, float] = (0.0, 1.0),
    higher_is_better: bool = True,
    empty: float | None = 0.0,
    aggregate: Aggregate = "mean",
) -> Callable[[Callable[P, pl.Expr]], Callable[P, pl.Expr]]:
    """Record a measure in the catalogue and return its function unchanged."""

    def record(function: Callable[P, pl.Expr]) -> Callable[P, pl.Expr]:
        MEASURES[function.__name__] = Measure(
            name=function.__name__,
            function=function,
            bounds=bounds,
            higher_is_better=higher_is_better,
            empty=empty,
            aggregate=aggregate,
            source=source,
            names=names,
            parameters=inspect.signature(function).parameters,
        )
        return function

    return record


def label(name: str, **options: Any) -> str:
    """Check the options of a call and name its column: ``precision(min_relevance=2)@5``.

    The one place where options are checked: a measure calls it before it builds its expression.
    """
    parameters = MEASURES[name].parameters
    shown = []
    for option, value in options.items():
        _check_option(option, value, parameters[option].annotation)
        if option != "k" and not _same(value, parameters[option].default):
            shown.append(f"{option}={_shown(value)}")
    cutoff = "" if options.get("k") is None else f"@{options['k']}"
    return f"{name}({', '.join(shown)}){cutoff}" if shown else f"{name}{cutoff}"


def _same(value: object, default: object) -> bool:
    return not isinstance(value, pl.Expr) and type(value) is not bool and value == default


def _shown(value: object) -> str:
    if isinstance(value, pl.Expr):
        return value.meta.output_name(raise_if_undetermined=False) or str(value)
    return str(value)


def _check_option(option: str, value: object, annotation: object) -> None:
    if get_origin(annotation) is Literal:
        require_choice(option, value, get_args(annotation))
    elif option in _CHECKS:
        _CHECKS[option](option, value)


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


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "k": _check_cutoff,
    "min_relevance": _check_number(0, inf, closed=True),
    "max_relevance": _check_number(0, inf, closed=False, none=True),
    "persistence": _check_number(0, 1, closed=True),
    "beta": _check_number(0, inf, closed=False),
    "empty": _check_empty,
    "num_relevant": _check_column_or_number,
    "not_found": _check_column_or_number,
}
