"""The measures of trec_eval: their order, their parameters, what each prints for its name."""

import re
from collections.abc import Mapping, Sequence
from math import isinf
from typing import Literal, NamedTuple

from polars_rank.errors import nearest

Version = Literal[9, 10]
Kind = Literal["text", "count", "mean", "geometric"]
Parameters = Literal["none", "cutoffs", "shares", "numbers", "gains", "persistence"]
Format = Literal["qrels", "qrels_jg", "prefs", "qrels_prefs"]

FORMATS: tuple[Format, ...] = ("qrels", "qrels_jg", "prefs", "qrels_prefs")
"""The values of ``-R``: one judge, several judges, preferences, and judgements read as preferences."""


class Entry(NamedTuple):
    """A measure of trec_eval: what it prints, what may follow its name, and which files it reads."""

    kind: Kind = "mean"
    parameters: Parameters = "none"
    defaults: tuple[float, ...] = ()
    versions: tuple[Version, ...] = (9, 10)
    formats: tuple[Format, ...] = ("qrels",)


_CUTOFFS = Entry("mean", "cutoffs", (5, 10, 15, 20, 30, 100, 200, 500, 1000))
_TENTHS = tuple(i / 10 for i in range(11))
_MULTIPLES = Entry("mean", "shares", tuple(i / 10 for i in range(2, 21, 2)))
_GAINS = Entry("mean", "gains")
_PREFERENCES = Entry(formats=("prefs", "qrels_prefs"))
_JUDGES: tuple[Format, ...] = ("qrels_jg",)

# In the order in which they are printed.
ENTRIES: dict[str, Entry] = {
    "runid": Entry("text", formats=FORMATS),
    "num_q": Entry("count", formats=FORMATS),
    "num_ret": Entry("count"),
    "num_rel": Entry("count"),
    "num_rel_ret": Entry("count"),
    "map": Entry(),
    "gm_map": Entry("geometric"),
    "Rprec": Entry(),
    "bpref": Entry(),
    "recip_rank": Entry(),
    "iprec_at_recall": Entry("mean", "shares", _TENTHS),
    "P": _CUTOFFS,
    "relstring": Entry("text", "numbers", (10,)),
    "recall": _CUTOFFS,
    "infAP": Entry(),
    "gm_bpref": Entry("geometric"),
    "Rprec_mult": _MULTIPLES,
    "utility": Entry("mean", "numbers", (1, -1, 0, 0)),
    "11pt_avg": Entry("mean", "numbers", _TENTHS),
    "binG": Entry(),
    "G": _GAINS,
    "dcg": Entry("mean", "gains", versions=(10,)),
    "ideal_dcg": Entry("mean", "gains", versions=(10,)),
    "ndcg": _GAINS,
    "ndcg_rel": _GAINS,
    "Rndcg": _GAINS,
    "ndcg_cut": _CUTOFFS,
    "map_cut": _CUTOFFS,
    "relative_P": _CUTOFFS,
    "success": Entry("mean", "cutoffs", (1, 5, 10)),
    "set_P": Entry(),
    "set_relative_P": Entry(),
    "set_recall": Entry(),
    "set_map": Entry(),
    "set_F": Entry("mean", "numbers", (1,)),
    "num_nonrel_judged_ret": Entry("count"),
    "prefs_num_prefs_poss": _PREFERENCES._replace(kind="count"),
    "prefs_num_prefs_ful": _PREFERENCES._replace(kind="count"),
    "prefs_num_prefs_ful_ret": _PREFERENCES._replace(kind="count"),
    "prefs_simp": _PREFERENCES,
    "prefs_pair": _PREFERENCES,
    "prefs_avgjg": _PREFERENCES,
    "prefs_avgjg_Rnonrel": _PREFERENCES,
    "prefs_simp_ret": _PREFERENCES,
    "prefs_pair_ret": _PREFERENCES,
    "prefs_avgjg_ret": _PREFERENCES,
    "prefs_avgjg_Rnonrel_ret": _PREFERENCES,
    "prefs_simp_imp": _PREFERENCES,
    "prefs_pair_imp": _PREFERENCES,
    "prefs_avgjg_imp": _PREFERENCES,
    "map_avgjg": Entry(formats=_JUDGES),
    "P_avgjg": _CUTOFFS._replace(formats=_JUDGES),
    "Rprec_mult_avgjg": _MULTIPLES._replace(formats=_JUDGES),
    "yaap": Entry(),
    "rbp": Entry("mean", "persistence", versions=(10,)),
    "rbp_resid": Entry("mean", "persistence", versions=(10,)),
    "unj": Entry("mean", "cutoffs", (5, 10, 20), versions=(10,)),
}

_NAMES, _ANY = tuple(ENTRIES), ("runid", "num_q")
_PREFS = tuple(name for name in ENTRIES if name.startswith("prefs_"))
NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": _NAMES[: _NAMES.index("P") + 1],
    "all_trec": tuple(
        name
        for name in ENTRIES
        if "qrels" in ENTRIES[name].formats and name not in ("dcg", "ideal_dcg", "yaap")
    ),
    "set": (*_NAMES[: _NAMES.index("map")], "utility", *(name for name in ENTRIES if name[:4] == "set_")),
    "all_prefs": (*_ANY, *_PREFS),
    "prefs": (*_ANY, *_PREFS[: _PREFS.index("prefs_avgjg") + 1]),
    "qrels_jg": (*_ANY, *(name for name in ENTRIES if ENTRIES[name].formats == _JUDGES)),
}


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
        return Wanted(name, [f"{name}_{k}" for k in cutoffs], cutoffs)
    if entry.parameters == "shares":
        shares = sorted(map(_number, parts)) or entry.defaults
        if len(set(shares)) < len(shares):
            raise ValueError("a cutoff is given twice")
        return Wanted(name, [f"{name}_{share:.2f}" for share in shares], shares)
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
