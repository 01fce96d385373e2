"""Parse measure names in the spellings of many programs."""

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import polars as pl

from polars_rank.core.errors import ArgumentError, Setting, nearest
from polars_rank.measures.catalogue import (
    MEASURES,
    Aggregate,
    IntoColumn,
    Measure,
    Options,
    is_same,
    label,
    programs,
)
from polars_rank.measures.conventions import convention_of
from polars_rank.measures.trec_eval_names import ENTRIES, NICKNAMES, names_of_nickname


class AmbiguousMeasureError(ArgumentError):
    """A name that means different measures in different programs.

    Attributes
    ----------
    text : the name.
    choices : programs and their measures.
    """

    def __init__(self, text: str, choices: Sequence[tuple[str, str]]) -> None:
        self.text, self.choices = text, choices
        shown = " or ".join(f"{measure} ({program})" for program, measure in choices)
        problem = f"measure {text!r} is ambiguous: {shown}"
        remedy = ("give one of these names, or ", Setting("convention"))
        super().__init__(problem, remedy=remedy, argument="measure", value=text)


class Call(NamedTuple):
    """A measure with its options, parsed from a text."""

    measure: Measure
    options: dict[str, Any]
    judged_only: bool = False
    aggregate: Aggregate = "mean"

    def expression(self, **columns: IntoColumn) -> pl.Expr:
        """Expression over columns; by default they have the names of the column arguments."""
        chosen = {name: columns.get(name, name) for name in self.measure.columns}
        return self.measure.function(**chosen, **self.options)


def parse(text: str, *, convention: str | None = None) -> Call:
    """Parse a measure from a text in any known spelling.

    Parameters
    ----------
    text
        ir_measures' spelling (``nDCG@10``, ``AP(rel=2)@100``, ``RBP(p=0.8)``), trec_eval's (``map``,
        ``ndcg_cut_10``, ``P_5``), ranx's (``mrr@10``, ``precision@10-l2``, ``rbp.95``) or our own
        (``precision(min_relevance=2)@5``); upper and lower case are alike.
    convention
        Tool whose defaults to use, such as ``"ranx"``. It also decides a name that other tools use for
        another measure.

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
    >>> import polars_rank as rank
    >>> call = rank.parse("AP(rel=2)@100")
    >>> call.measure.name, call.options
    ('average_precision', {'k': 100, 'min_relevance': 2})
    """
    match = _SPELLING.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"measure {text!r} is not of the form name(option=value, …)@k")
    name, suffix = _known_name(match["name"], text)
    rules = convention_of(convention, programs())
    name = rules.names.get(name, name)
    measure, implied = _meaning(name, text, rules.program, cut=match["k"] is not None)
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
    _refuse_twice(ours, text)
    options = {**implied, **dict(ours)}
    if rules.program == "trec_eval" and "k" not in options:
        _refuse_all_cutoffs(match["name"], text, convention)
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
    """SQL macro call of a measure given as text.

    Parameters
    ----------
    text
        A measure in any spelling that `evaluate` takes.
    convention
        Tool whose defaults to use, such as ``"ranx"``. It also decides an ambiguous name.

    Returns
    -------
    str
        The call, over the columns of a judged table.

    Raises
    ------
    ValueError
        If the text is not a measure, or asks for ``judged_only``, which is an option of `judge`.

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
    named = [f"{o} := {_sql_value(o, v)}" for o, v in options.items() if not is_same(v, defaults[o])]
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
# Option that the number after a trec_eval name sets.
_NUMBERS = {"set_f_x": "beta", "iprec_at_recall_x": "recall", "rprec_mult_x": "multiple"}
_GAINS = {"log2": "linear", "exp-log2": "exponential"}


@cache
def _names() -> dict[str, list[tuple[str, Measure, Options]]]:
    """Meanings of each lower-case name: program, measure, implied options."""
    table: dict[str, list[tuple[str, Measure, Options]]] = {}
    for measure in MEASURES.values():
        for program, names in {"polars_rank": {measure.name: {}}, **measure.names}.items():
            for name, implied in names.items():
                table.setdefault(name.lower(), []).append((program, measure, implied))
    return table


def expand(text: str, *, convention: str | None = None) -> list[str]:
    """Expand a trec_eval name for several measures: ``P_5,10``, ``ndcg_cut.5,10`` or ``official``.

    Any other text is returned as it is.
    """
    known = _names()
    if text.lower() in NICKNAMES:
        names = names_of_nickname(text.lower(), 9 if convention == "trec_eval-9" else 10)
        return [name for name in names if _is_known(name)]
    several = re.fullmatch(r"(.+?)[._](\d*\.?\d+(?:,\d*\.?\d+)+)", text.strip())
    if several and {f"{several[1].lower()}_k", f"{several[1].lower()}_x"} & known.keys():
        return [f"{several[1]}_{number}" for number in several[2].split(",")]
    return [text]


def _is_known(name: str) -> bool:
    try:
        parse(name, convention="trec_eval")
    except ValueError:
        return False
    return True


def drop_in_alone() -> list[str]:
    """Measures of trec_eval that are only available through ``polars-rank trec-eval``."""
    known = _names()
    return [
        entry for entry in ENTRIES if not any(f"{entry.lower()}{end}" in known for end in ("", "_k", "_x"))
    ]


def _known_name(name: str, text: str) -> tuple[str, dict[str, Any]]:
    """Split a name from the number that trec_eval and ranx append to it."""
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
    several = expand(name)
    if several != [name]:
        return f"measure {text!r} means several, {', '.join(several)}: name one of them"
    for ending, example in (("_k", "10"), ("_x", "0.5")):
        stem = name[:-2] if name.lower().endswith(ending) else name
        if f"{stem.lower()}{ending}" in known:
            return f"measure {text!r} needs a number: {stem}_{example}"
    cut = re.fullmatch(r"(.*\D)(\d+)", name)
    if cut and cut[1].rstrip("_-").lower() in known:
        return f"unknown measure {text!r} (did you mean '{cut[1].rstrip('_-')}@{cut[2]}'?)"
    for entry in drop_in_alone():
        if re.fullmatch(rf"{entry}([._][\d.]+)?", name, flags=re.IGNORECASE):
            return f"measure {text!r} is only available through polars-rank trec-eval -m {entry}"
    spelled = [alias for m in MEASURES.values() for names in m.names.values() for alias in names]
    return f"unknown measure {text!r}{nearest(name, [*MEASURES, *spelled])}; polars-rank list shows them all"


def _meaning(name: str, text: str, program: str, *, cut: bool) -> tuple[Measure, Options]:
    meanings = [*_names()[name], *(_names().get(f"{name}@k", []) if cut else [])]
    chosen = [meaning for meaning in meanings if meaning[0] == program] or meanings
    _, measure, implied = chosen[0]
    if any(other is not measure or options != implied for _, other, options in chosen):
        raise AmbiguousMeasureError(text, [(program, other.name) for program, other, _ in chosen])
    return measure, implied


def _read_options(options: str, text: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"f({options})", mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call) or call.args or any(word.arg is None for word in call.keywords):
        raise ValueError(f"measure {text!r}: options are written name=value, separated by commas")
    read = [(str(word.arg), _read_value(ast.unparse(word.value), text)) for word in call.keywords]
    _refuse_twice(read, text)
    return dict(read)


def _refuse_twice(options: Sequence[tuple[str, Any]], text: str) -> None:
    for option, _ in options:
        values = [repr(value) for name, value in options if name == option]
        if len(values) > 1:
            raise ValueError(
                f"measure {text!r} gives {option} twice, as {' and '.join(values)}; give it once"
            )


def _refuse_all_cutoffs(name: str, text: str, convention: str | None) -> None:
    """Refuse a name that trec_eval prints at several cutoffs, such as ``P``."""
    known, lower = _names(), name.lower()
    if f"{lower}_k" in known and not any(program == "trec_eval" for program, *_ in known[lower]):
        several = f", where it means several cutoffs: {name}_10, or {name}_5,10"
        raise ArgumentError(
            (f"measure {text!r} needs a number under ", Setting("convention", convention), several),
            remedy=f"{name}(k=None) is the whole list",
            argument="measure",
            value=text,
        )


def _read_value(value: str, text: str) -> Any:
    if value.isidentifier() and value not in {"None", "True", "False"}:
        return value
    try:
        return ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        raise ValueError(f"measure {text!r}: {value!r} is neither a number nor a word") from None


def _drop_scale(name: str, given: dict[str, Any], text: str) -> None:
    """Drop ir_measures options that only repeat our grade scale."""
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
