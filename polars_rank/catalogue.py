"""The catalogue of measures: what each is, what it is called elsewhere, and how its options are checked."""

import ast
import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple, ParamSpec

import polars as pl

from polars_rank.conventions import convention_of
from polars_rank.errors import nearest
from polars_rank.option_checks import check_option
from polars_rank.trec_eval_measures import ENTRIES

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
    needs_judgements : whether `evaluate` gives null for a ranking without a single judged row.
    source : DOI, or author and year.
    names : program to its names for the measure, each with the options that the name implies, and with
        ``aggregate`` where the program sums up otherwise; a name that ends in ``_k`` is followed by a
        cutoff, one that ends in ``_x`` by another number.
    """

    name: str
    function: Callable[..., pl.Expr]
    bounds: tuple[float, float]
    higher_is_better: bool
    empty: float | None
    aggregate: Aggregate
    needs_judgements: bool
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
    needs_judgements: bool = True,
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
            needs_judgements=needs_judgements,
            source=source,
            names=names,
            parameters=inspect.signature(function).parameters,
        )
        _names.cache_clear()
        return function

    return record


def label(name: str, **options: Any) -> str:
    """Check the options of a call and name its column: ``precision(min_relevance=2)@5``.

    The one place where options are checked: a measure calls it before it builds its expression.
    """
    parameters = MEASURES[name].parameters
    shown = []
    for option, value in options.items():
        check_option(option, value, parameters[option])
        if option != "k" and not _same(value, parameters[option].default):
            shown.append(f"{option}={_shown(value)}")
    cutoff = "" if options.get("k") is None else f"@{options['k']}"
    return f"{name}({', '.join(shown)}){cutoff}" if shown else f"{name}{cutoff}"


def _same(value: object, default: object) -> bool:
    if isinstance(value, pl.Expr) or isinstance(value, bool) != isinstance(default, bool):
        return False
    return value == default


def _shown(value: object) -> str:
    if isinstance(value, pl.Expr):
        return value.meta.output_name(raise_if_undetermined=False) or str(value)
    return str(value)


class Call(NamedTuple):
    """A measure with its options, as read from a text."""

    measure: Measure
    options: dict[str, Any]
    judged_only: bool = False
    aggregate: Aggregate = "mean"

    def expression(self, **columns: IntoColumn) -> pl.Expr:
        """Give the expression, over the columns named as the measure's column arguments."""
        chosen = {name: columns.get(name, name) for name in self.measure.columns}
        return self.measure.function(**chosen, **self.options)


def parse(text: str, *, convention: str | None = None) -> Call:
    """Read a measure from a text in any of the spellings that people bring.

    Parameters
    ----------
    text
        ir_measures' spelling (``nDCG@10``, ``AP(rel=2)@100``, ``RBP(p=0.8)``), trec_eval's (``map``,
        ``ndcg_cut_10``, ``P_5``), ranx's (``mrr@10``, ``precision@10-l2``, ``rbp.95``) or our own
        (``precision(min_relevance=2)@5``); upper and lower case are alike.
    convention
        A program, such as ``"ranx"``, whose ways are the defaults; it also decides a name that means
        different things elsewhere.

    Returns
    -------
    Call
        The measure and its options.

    Raises
    ------
    ValueError
        If the name is unknown (the nearest is named) or ambiguous, or an option is not the measure's.

    Examples
    --------
    >>> from polars_rank.catalogue import parse
    >>> call = parse("AP(rel=2)@100")
    >>> call.measure.name, call.options
    ('average_precision', {'k': 100, 'min_relevance': 2})
    """
    match = _SPELLING.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"measure {text!r} is not of the form name(option=value, …)@k")
    name, suffix = _known_name(match["name"], text)
    rules = convention_of(convention, programs())
    name = rules.names.get(name, name)
    measure, implied = _meaning(name, text, rules.program)
    written = _read_options(match["options"] or "", text)
    if "max_relevance" in measure.options:
        _drop_scale(name, written, text)
    given = [*suffix.items(), *written.items()]
    if match["k"]:
        given.append(("recall" if "recall" in measure.options else "k", _read_value(match["k"], text)))
    if match["level"] and ("min_relevance" not in measure.options or implied.get("max_relevance")):
        raise ValueError(
            f"measure {text!r}: it takes the grades as they are, so that -l has no meaning here; "
            "leave lower grades out of the judgements"
        )
    if match["level"]:
        given.append(("min_relevance", int(match["level"])))
    ours = [_our_option(name, option, value) for option, value in given]
    _refuse_twice([option for option, _ in ours], text)
    options = {**implied, **dict(ours)}
    judged_only = options.pop("judged_only", False)
    if not isinstance(judged_only, bool):
        raise ValueError(f"measure {text!r}: judged_only must be True or False, got {judged_only!r}")
    aggregate = options.pop("aggregate", measure.aggregate)
    if name == "numret" and "min_relevance" in options:
        # With a grade ir_measures counts the relevant ones among them.
        measure = MEASURES["num_relevant_returned"]
    options = rules.fill(measure.name, options)
    for option in options:
        if option not in measure.options:
            hint = nearest(option, measure.options)
            raise ValueError(
                f"measure {text!r}: {measure.name} has no option {option!r}{hint}; "
                f"it has {list(measure.options)}"
            )
    ordered = {option: options[option] for option in measure.options if option in options}
    label(measure.name, **ordered)
    return Call(measure, ordered, judged_only, aggregate)


def to_sql(text: str, *, convention: str | None = None) -> str:
    """Write the macro call of a measure given as text, so that names serve SQL users too.

    Parameters
    ----------
    text
        A measure in any spelling that `evaluate` takes.
    convention
        A program, such as ``"ranx"``: decides a name that means different things elsewhere.

    Returns
    -------
    str
        The call, over the columns of a judged table.

    Raises
    ------
    ValueError
        If the text is no measure, or asks for ``judged_only``, which is not a measure's but `judge`'s.

    Examples
    --------
    >>> import polars_rank as rank
    >>> rank.to_sql("AP(rel=2)@100")
    'rank.average_precision(rank, relevance, k := 100, min_relevance := 2)'
    """
    measure, options, judged_only, _ = parse(text, convention=convention)
    if judged_only:
        raise ValueError(
            f"measure {text!r}: judged_only changes the ranking; give it to judge(..., judged_only := true)"
        )
    defaults = measure.options
    named = [f"{o} := {_sql_value(o, v)}" for o, v in options.items() if not _same(v, defaults[o])]
    return f"rank.{measure.name}({', '.join([*measure.columns, *named])})"


_SPELLING = re.compile(
    r"(?P<name>[^@()\s]+?)(?:\((?P<options>.*)\))?(?:@(?P<k>[^@()-]+))?(?:-l(?P<level>\d+))?"
)
_OPTION_NAMES = {
    "rel": "min_relevance",
    "p": "persistence",
    "cutoff": "k",
    "max_rel": "max_relevance",
    "gains": "gain",
    "T": "target",
    "normalize": "normalized",
}
# What the number behind a name of trec_eval is.
_NUMBERS = {"set_f_x": "beta", "iprec_at_recall_x": "recall", "rprec_mult_x": "multiple"}
_GAINS = {"log2": "linear", "exp-log2": "exponential"}


@cache
def _names() -> dict[str, list[tuple[str, Measure, Options]]]:
    """Lower-case name to its meanings: program, measure, implied options."""
    table: dict[str, list[tuple[str, Measure, Options]]] = {}
    for measure in MEASURES.values():
        for program, names in {"polars_rank": {measure.name: {}}, **measure.names}.items():
            for name, implied in names.items():
                table.setdefault(name.lower(), []).append((program, measure, implied))
    return table


def programs() -> set[str]:
    """Name the programs whose names of measures are known."""
    return {program for measure in MEASURES.values() for program in measure.names}


def drop_in_alone() -> list[str]:
    """Name the measures of trec_eval that ``polars-rank trec-eval`` alone has."""
    known = _names()
    return [
        entry for entry in ENTRIES if not any(f"{entry.lower()}{end}" in known for end in ("", "_k", "_x"))
    ]


def _known_name(name: str, text: str) -> tuple[str, dict[str, Any]]:
    """Split a name off the number that trec_eval and ranx write behind it."""
    known, lower = _names(), name.lower()
    if lower in known and (lower in MEASURES or not lower.endswith(("_k", "_x"))):
        return lower, {}
    numbered = re.fullmatch(r"(.+?)([._])(\d*\.?\d+)", lower)
    stem, separator, number = numbered.groups() if numbered else (lower, "", "")
    if f"{stem}_k" in known and number.isdigit():
        return f"{stem}_k", {"k": int(number)}
    if stem == "rbp" and separator == ".":
        return "rbp", {"persistence": float(f"0.{number}")}
    if number and f"{stem}_x" in known:
        return f"{stem}_x", {_NUMBERS[f"{stem}_x"]: float(number)}
    raise ValueError(_why_unknown(name, text, known))


def _why_unknown(name: str, text: str, known: Collection[str]) -> str:
    for ending, example in (("_k", "10"), ("_x", "0.5")):
        stem = name[:-2] if name.lower().endswith(ending) else name
        if f"{stem.lower()}{ending}" in known:
            return f"measure {text!r} needs a number: {stem}_{example}"
    cut = re.fullmatch(r"(.*\D)(\d+)", name)
    if cut and cut[1].rstrip("_-").lower() in known:
        return f"unknown measure {text!r} (did you mean '{cut[1].rstrip('_-')}@{cut[2]}'?)"
    for entry in drop_in_alone():
        if re.fullmatch(rf"{entry}([._][\d.]+)?", name, flags=re.IGNORECASE):
            return f"measure {text!r} is trec_eval's alone: polars-rank trec-eval -m {entry} prints it"
    spelled = [alias for m in MEASURES.values() for names in m.names.values() for alias in names]
    return f"unknown measure {text!r}{nearest(name, [*MEASURES, *spelled])}; polars-rank list shows them all"


def _meaning(name: str, text: str, program: str) -> tuple[Measure, Options]:
    meanings = _names()[name]
    chosen = [meaning for meaning in meanings if meaning[0] == program] or meanings
    _, measure, implied = chosen[0]
    if any(other is not measure or options != implied for _, other, options in chosen):
        choices = " or ".join(f"{other.name} ({program})" for program, other, _ in chosen)
        raise ValueError(f"measure {text!r} is ambiguous: {choices}; give one of these names, or convention=")
    return measure, implied


def _read_options(options: str, text: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"f({options})", mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call) or call.args or any(word.arg is None for word in call.keywords):
        raise ValueError(f"measure {text!r}: options are written name=value, separated by commas")
    _refuse_twice([str(word.arg) for word in call.keywords], text)
    return {str(word.arg): _read_value(ast.unparse(word.value), text) for word in call.keywords}


def _refuse_twice(options: Sequence[str], text: str) -> None:
    for option in options:
        if options.count(option) > 1:
            raise ValueError(f"measure {text!r} gives {option} twice; once will do")


def _read_value(value: str, text: str) -> Any:
    if value.isidentifier() and value not in {"None", "True", "False"}:
        return value
    try:
        return ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        raise ValueError(f"measure {text!r}: {value!r} is neither a number nor a word") from None


def _drop_scale(name: str, given: dict[str, Any], text: str) -> None:
    """Take out what user models of ir_measures say of the scale, where it is ours anyway."""
    least = given.pop("min_rel", 0)
    if least != 0:
        raise ValueError(
            f"measure {text!r}: grades count from 0 here; for others subtract the least, and give the "
            f'expression: pl.col("relevance") - {least} as the column, max_relevance less {least}'
        )
    if name == "sdcg" and given.get("dcg") == "log2":
        del given["dcg"]


def _our_option(name: str, option: str, value: Any) -> tuple[str, Any]:
    if option == "dcg" and isinstance(value, str) and value in _GAINS:
        return "gain", _GAINS[value]
    if option == "beta" and name in {"setf", "set_f", "set_f_x"} and isinstance(value, int | float):
        # The parameter of trec_eval's set_F is the square of beta, and ir_measures hands it on.
        return "beta", value**0.5
    if option == "beta" and name in {"nrbp", "nnrbp"}:
        return "persistence", value
    if option == "relative" and name in {"setp", "setrelp"}:
        return "denominator", "reachable" if value else "k"
    return _OPTION_NAMES.get(option, option), value


def _sql_value(option: str, value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str) and not (
        option == "num_relevant" or (option == "not_found" and value not in {"zero", "skip"})
    ):
        return f"'{value}'"
    if isinstance(value, Mapping):
        return f"MAP {{{', '.join(f'{grade}: {gained}' for grade, gained in value.items())}}}"
    return str(value)
