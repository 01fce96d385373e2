"""The measure names of trec_eval: their order, default parameters, and nicknames such as "official"."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

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


def printed_names(name: str, numbers: Sequence[float] | None = None) -> list[str]:
    """Names that trec_eval prints for a measure, one for each cutoff; default: its own cutoffs."""
    entry = ENTRIES[name]
    numbers = entry.defaults if numbers is None else numbers
    if entry.parameters == "cutoffs":
        return [f"{name}_{k}" for k in numbers]
    if entry.parameters == "shares":
        return [f"{name}_{share:.2f}" for share in numbers]
    return [name]


def names_of_nickname(nickname: str, version: Version) -> list[str]:
    """Names that a version of trec_eval prints for a nickname, in order."""
    chosen = NICKNAMES[nickname]
    names = [name for name, entry in ENTRIES.items() if name in chosen and version in entry.versions]
    return [printed for name in names for printed in printed_names(name)]
