"""The catalogue of measures: properties, names in other programs, and checked options."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, ParamSpec

import polars as pl

from polars_rank.measures.options import check_option, takes_columns

Aggregate = Literal["mean", "sum", "geometric"]
IntoColumn = str | pl.Expr
Options = Mapping[str, Any]
Terms = Callable[[pl.Expr, pl.Expr, Options], pl.Expr]
Formula = Callable[..., pl.Expr]
P = ParamSpec("P")


@dataclass(frozen=True)
class Measure:
    """A measure and its properties.

    Attributes
    ----------
    name : the name, in Python and in SQL.
    function : gives the expression.
    bounds : the least and the greatest value, for distinct whole ranks from 1.
    higher_is_better : direction.
    empty : the value for a query without a row.
    aggregate : how values of queries make one of the whole.
    needs_judgements : whether `evaluate` gives null for a ranking without a single judged row.
    ignores_unjudged : whether rows without a judgement never change the value; not set for a measure with a
        formula, where it depends on the options.
    source : DOI, or author and year.
    names : program to its names for the measure, each with the options that the name implies, and with
        ``aggregate`` where the program sums up otherwise; a name that ends in ``_k`` is followed by a
        cutoff, one that ends in ``_x`` by another number; one that ends in ``@k`` needs a cutoff.
    formula : for a core measure, the value from the building blocks of a ranking (`measures.blocks`) and
        all options of the measure.
    terms : for a measure that is a sum over items, the term of each item, up to a factor that all items of
        a ranking share. It takes rank and grade as Float64, in order of rank and with the higher grade first
        among equal ranks, and all options of the measure; null is 0.
    """

    name: str
    function: Callable[..., pl.Expr]
    bounds: tuple[float, float]
    higher_is_better: bool
    empty: float | None
    aggregate: Aggregate
    needs_judgements: bool
    ignores_unjudged: bool
    source: str
    names: Mapping[str, Mapping[str, Options]]
    formula: Formula | None = field(repr=False)
    terms: Terms | None = field(repr=False)
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
    needs_judgements: bool = True,
    ignores_unjudged: bool = False,
    formula: Formula | None = None,
    terms: Terms | None = None,
) -> Callable[[Callable[P, pl.Expr]], Callable[P, pl.Expr]]:
    """Register a measure in the catalogue; its function then refuses arguments that are not columns."""

    def record(function: Callable[P, pl.Expr]) -> Callable[P, pl.Expr]:
        checked = takes_columns(function)
        MEASURES[function.__name__] = Measure(
            name=function.__name__,
            function=checked,
            bounds=bounds,
            higher_is_better=higher_is_better,
            empty=empty,
            aggregate=aggregate,
            needs_judgements=needs_judgements,
            ignores_unjudged=ignores_unjudged,
            source=source,
            names=names,
            formula=formula,
            terms=terms,
            parameters=inspect.signature(function).parameters,
        )
        return checked

    return record


def label(name: str, **options: Any) -> str:
    """Check the options of a call and return its column name: ``precision(min_relevance=2)@5``.

    Every measure calls this before it builds its expression; options are checked nowhere else.
    """
    parameters = MEASURES[name].parameters
    shown = []
    for option, value in options.items():
        check_option(option, value, parameters[option])
        if option != "k" and not is_same(value, parameters[option].default):
            shown.append(f"{option}={_shown(value)}")
    cutoff = "" if options.get("k") is None else f"@{options['k']}"
    return f"{name}({', '.join(shown)}){cutoff}" if shown else f"{name}{cutoff}"


def is_same(value: object, default: object) -> bool:
    """Whether an option has its default; True is not 1, and an expression is never the default."""
    if isinstance(value, pl.Expr) or isinstance(value, bool) != isinstance(default, bool):
        return False
    return value == default


def _shown(value: object) -> str:
    if isinstance(value, pl.Expr):
        return value.meta.output_name(raise_if_undetermined=False) or str(value)
    return str(value)


def programs() -> set[str]:
    """Programs whose measure names are known."""
    return {program for measure in MEASURES.values() for program in measure.names}
