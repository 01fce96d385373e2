"""The measures of trec_eval: their order, their parameters, what each prints for its name."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from polars_rank.errors import nearest

Version = Literal[9, 10]
Kind = Literal["text", "count", "mean", "geometric"]
Parameters = Literal["none", "cutoffs", "shares", "numbers", "gains", "persistence"]


class Entry(NamedTuple):
    """A measure of trec_eval: what it prints, and what may follow its name."""

    kind: Kind = "mean"
    parameters: Parameters = "none"
    defaults: tuple[float, ...] = ()
    versions: tuple[Version, ...] = (9, 10)


_CUTOFFS = Entry("mean", "cutoffs", (5, 10, 15, 20, 30, 100, 200, 500, 1000))
_TENTHS = tuple(i / 10 for i in range(11))
_GAINS = Entry("mean", "gains")

# In the order in which they are printed.
ENTRIES: dict[str, Entry] = {
    "runid": Entry("text"),
    "num_q": Entry("count"),
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
    "Rprec_mult": Entry("mean", "shares", tuple(i / 10 for i in range(2, 21, 2))),
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
    "yaap": Entry(),
    "rbp": Entry("mean", "persistence", versions=(10,)),
    "rbp_resid": Entry("mean", "persistence", versions=(10,)),
    "unj": Entry("mean", "cutoffs", (5, 10, 20), versions=(10,)),
}

_SET = (
    "runid",
    "num_q",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "utility",
    *(n for n in ENTRIES if n[:4] == "set_"),
)
NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": tuple(ENTRIES)[: tuple(ENTRIES).index("P") + 1],
    "all_trec": tuple(name for name in ENTRIES if name not in ("dcg", "ideal_dcg", "yaap")),
    "set": _SET,
}
_OUT = ("prefs", "all_prefs", "qrels_jg", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg")


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
        if name in _OUT or name.startswith("prefs_"):
            raise StopError(1, f"illegal measure {name!r}: preferences and several judges are left out here")
        for each in NICKNAMES.get(name, (name,)):
            if each not in ENTRIES or (version not in ENTRIES[each].versions and name not in NICKNAMES):
                of = f"; trec_eval {version} has no such" if each in ENTRIES else nearest(name, ENTRIES)
                raise StopError(1, f"illegal measure {text!r}{of}")
            if version in ENTRIES[each].versions:
                names.add(each)
        if dot:
            parameters.setdefault(name, given)
    return [_wanted(name, ENTRIES[name], parameters.get(name)) for name in ENTRIES if name in names]


def _wanted(name: str, entry: Entry, given: str | None) -> Wanted:
    printed = name if given is None else f"{name}_{given}"
    if entry.parameters in ("cutoffs", "shares"):
        whole = entry.parameters == "cutoffs"
        numbers = entry.defaults
        if given is not None:
            numbers = tuple(sorted(_c_number(part, whole) for part in given.split(",")))
        if whole and numbers[0] < 1:
            raise StopError(2, f"measure {name}.{given}: cutoffs must be whole numbers of at least 1")
        if len(set(numbers)) < len(numbers):
            raise StopError(2, f"measure {name}.{given}: a cutoff is given twice")
        return Wanted(name, [f"{name}_{k:.0f}" if whole else f"{name}_{k:.2f}" for k in numbers], numbers)
    if entry.parameters in ("gains", "persistence"):
        pairs = [pair.partition("=") for pair in (given or "").split(",")] if given is not None else []
        if any(not key or not equals for key, equals, _ in pairs):
            raise StopError(
                2, f"measure {name}.{given}: parameters are written name=value, separated by commas"
            )
        gains: dict[int, float] = {}
        persistence = 0.9
        for key, _, number in pairs:
            if re.fullmatch(r"[+-]?\d+", key):
                gains.setdefault(int(key), _c_number(number))
            elif key == "p":
                persistence = _c_number(number)
        return Wanted(name, [printed], (), gains, persistence)
    if entry.parameters == "numbers":
        numbers = entry.defaults if given is None else tuple(_c_number(part) for part in given.split(","))
        if name == "11pt_avg":
            numbers = tuple(sorted(numbers))
        if name == "utility" and len(numbers) != 4:
            raise StopError(4, f"measure utility takes four numbers, got {given!r}")
        return Wanted(name, [printed], numbers)
    # What takes no parameters passes over any.
    return Wanted(name, [name])


def _c_number(text: str, whole: bool = False) -> float:
    """Read a number as C does: what it begins with, else 0."""
    pattern = r"\s*[+-]?\d+" if whole else r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
    match = re.match(pattern, text)
    return float(match[0]) if match else 0.0
