"""The measures that a call of trec_eval asks for, with their parameters."""

import re
from collections.abc import Mapping, Sequence
from math import isinf
from typing import NamedTuple

from polars_rank.core.errors import nearest
from polars_rank.measures.trec_eval_names import ENTRIES, NICKNAMES, Entry, Format, Version, printed_names


class Wanted(NamedTuple):
    """A measure, what is printed for its name, one a number, and its parameters."""

    measure: str
    names: Sequence[str]
    numbers: Sequence[float] = ()
    gains: Mapping[int, float] = {}
    persistence: float = 0.9


class StopError(Exception):
    """The end of a run: what is said, and the exit code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def wanted_measures(measures: Sequence[str], version: Version) -> list[Wanted]:
    """Read the measures, put them into their order, and name what each prints.

    A measure that is named twice takes the parameters that came first.
    """
    names: set[str] = set()
    parameters: dict[str, str] = {}
    for text in measures:
        name, dot, given = text.partition(".")
        if dot and not given:
            raise StopError(1, f"illegal measure {text!r}: parameters must follow the dot")
        for each in NICKNAMES.get(name, (name,)):
            if each not in ENTRIES or (version not in ENTRIES[each].versions and name not in NICKNAMES):
                of = f"; trec_eval {version} has no such" if each in ENTRIES else nearest(name, ENTRIES)
                raise StopError(1, f"illegal measure {text!r}{of}")
            if version in ENTRIES[each].versions:
                names.add(each)
        if dot:
            parameters.setdefault(name, given)
    return [_wanted(name, ENTRIES[name], parameters.get(name)) for name in ENTRIES if name in names]


def refuse_other_files(wanted: Sequence[Wanted], given: Format) -> None:
    """Refuse a measure of other files than those that ``-R`` names."""
    for measure in (each.measure for each in wanted):
        formats = ENTRIES[measure].formats
        if given not in formats:
            fitting = " or ".join(f"-R {name}" for name in formats)
            nickname = next(name for name, names in NICKNAMES.items() if given in ENTRIES[names[-1]].formats)
            raise StopError(
                4, f"measure {measure} needs {fitting}; -R {given} has other measures: -m {nickname}"
            )


def _wanted(name: str, entry: Entry, given: str | None) -> Wanted:
    try:
        wanted = _with_parameters(name, entry, given)
    except ValueError as error:
        raise StopError(2, f"measure {name}.{given}: {error}") from None
    if len(set(wanted.names)) < len(wanted.names):
        raise StopError(2, f"measure {name}.{given}: two cutoffs would print as one name")
    return wanted


def _with_parameters(name: str, entry: Entry, given: str | None) -> Wanted:
    printed = name if given is None else f"{name}_{given}"
    parts = [] if given is None else given.split(",")
    if entry.parameters == "cutoffs":
        cutoffs = sorted(map(whole_number, parts)) or entry.defaults
        if cutoffs[0] < 1:
            raise ValueError("cutoffs must be whole numbers of at least 1")
        if len(set(cutoffs)) < len(cutoffs):
            raise ValueError("a cutoff is given twice")
        return Wanted(name, printed_names(name, cutoffs), cutoffs)
    if entry.parameters == "shares":
        shares = sorted(map(_number, parts)) or entry.defaults
        if len(set(shares)) < len(shares):
            raise ValueError("a cutoff is given twice")
        return Wanted(name, printed_names(name, shares), shares)
    if entry.parameters in ("gains", "persistence"):
        return Wanted(name, [printed], (), *_gains(parts))
    if entry.parameters == "numbers":
        numbers = tuple(map(_number, parts)) or entry.defaults
        if name == "11pt_avg":
            numbers = tuple(sorted(numbers))
        if name == "utility" and len(numbers) != 4:
            raise StopError(4, f"measure utility takes four numbers, got {given!r}")
        return Wanted(name, [printed], numbers)
    # What takes no parameters passes over any.
    return Wanted(name, [name])


def _gains(parts: Sequence[str]) -> tuple[dict[int, float], float]:
    """Read the gains of grades, and the persistence."""
    gains: dict[int, float] = {}
    persistence = 0.9
    for key, equals, number in (part.partition("=") for part in parts):
        if not key or not equals:
            raise ValueError("parameters are written name=value, separated by commas")
        if re.fullmatch(r"[+-]?[0-9]+", key):
            gains.setdefault(whole_number(key), _number(number))
        elif key == "p":
            persistence = _number(number)
    return gains, persistence


MOST = 2**63 - 1
"""The greatest whole number of C, and of a column."""

_BLANKS = r"[ \t\n\v\f\r]*"


def whole_number(text: str) -> int:
    """Read a whole number as C's atol does: the digits that the text begins with, else 0."""
    match = re.match(rf"{_BLANKS}([+-]?)0*([0-9]*)", text)
    assert match is not None
    sign, digits = match.groups()
    # Python doesn't convert thousands of digits, and C stops at its greatest number.
    size = min(int(digits[:20] or 0), MOST)
    return -size if sign == "-" else size


def _number(text: str) -> float:
    """Read a number as C's atof does: what the text begins with, else 0."""
    match = re.match(rf"{_BLANKS}[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text)
    number = float(match[0]) if match else 0.0
    if isinf(number) or re.match(rf"{_BLANKS}[+-]?(0x|inf|nan)", text, re.IGNORECASE):
        raise ValueError(f"numbers must be finite and decimal, got {text!r}")
    return number
