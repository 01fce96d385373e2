"""Conventions of other programs: arguments of `judge` and options of measures.

A convention is nothing but defaults, below what a call says itself. What no argument can say stands in
`Convention.beyond`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from polars_rank.core.errors import require_choice

Options = Mapping[str, Any]


class Apart(NamedTuple):
    """A measure for which a program orders runs differently.

    Attributes
    ----------
    measure : the measure.
    when : the options that the call must have; ``...`` stands for any value but None.
    judging : arguments of `judge`, above those of the convention.
    """

    measure: str
    when: Options
    judging: Options

    def holds(self, measure: str, options: Options) -> bool:
        """Whether it applies to a call."""
        return measure == self.measure and all(
            options.get(name) is not None if value is ... else options.get(name) == value
            for name, value in self.when.items()
        )


@dataclass(frozen=True)
class Convention:
    """Defaults of a program, as arguments.

    Attributes
    ----------
    program : whose names decide what an ambiguous name means.
    judging : arguments of `judge`.
    measures : measure to options that the program has by default.
    apart : measures that it ranks otherwise.
    whole_list : the cutoff that means the whole list there.
    names : name, in lower case, to what it is called here, where others mean another measure by it.
    beyond : what it does that is not done here.
    """

    program: str
    judging: Options = field(default_factory=dict)
    measures: Mapping[str, Options] = field(default_factory=dict)
    apart: Sequence[Apart] = ()
    whole_list: int | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    beyond: str = ""

    def fill(self, measure: str, options: Options) -> dict[str, Any]:
        """Add the program's defaults to the given options of a measure."""
        filled = {**self.measures.get(measure, {}), **options}
        if self.whole_list is not None and filled.get("k") == self.whole_list:
            filled["k"] = None
        return filled

    def judging_of(self, measure: str, options: Options) -> dict[str, Any]:
        """Arguments of `judge` for the ranking that a measure scores."""
        judging = dict(self.judging)
        for each in self.apart:
            if each.holds(measure, options):
                judging.update(each.judging)
        return judging


# Ids are text in files: "9" stands above "10".
_TREC_EVAL = {"ties": "item-text-descending", "queries": "both"}
_PYTREC_EVAL = {**_TREC_EVAL, "score_dtype": "float32"}
_BY_SCORE = {"ties": "item-text-descending", "score_dtype": "float64"}
_ASCENDING = {"ties": "item-ascending", "score_dtype": "float64"}
_LIST = {"ideal": "list"}

CONVENTIONS: dict[str, Convention] = {
    "trec_eval-9": Convention("trec_eval", _PYTREC_EVAL),
    "trec_eval-10": Convention(
        "trec_eval",
        _TREC_EVAL,
        measures={
            "interpolated_precision": {"rounding": "nearest"},
            "eleven_point_precision": {"rounding": "nearest"},
            "rbp": {"persistence": 0.9, "max_relevance": "highest"},
            "rbp_residual": {"persistence": 0.9},
        },
        beyond="-c is queries='qrels'",
    ),
    "ir_measures": Convention(
        "ir_measures",
        {**_PYTREC_EVAL, "queries": "qrels"},
        apart=[
            Apart("judged_share", {}, _ASCENDING),
            Apart("reciprocal_rank", {"k": ...}, _ASCENDING),
            Apart("compatibility", {}, _ASCENDING),
            Apart("num_queries", {}, {"queries": "both"}),
            Apart("num_relevant", {}, {"queries": "both"}),
            Apart("ndcg", {"gain": "exponential"}, _BY_SCORE),
            Apart("err", {}, _BY_SCORE),
            *(Apart(name, {}, _BY_SCORE) for name in ("rbp", "sdcg", "bpm", "insq", "inst", "nerr")),
        ],
        beyond="Judged takes negative grades for judgements; Accuracy and user models keep equal scores as "
        "they came, the ideal of Compat keeps equal grades so; nDCG(dcg='exp-log2') and ERR have five digits",
    ),
    "ranx": Convention(
        "ranx",
        {"queries": "qrels"},
        whole_list=0,
        beyond="equal scores stand in no order; ndcg-l2 drops grades below 2; bpref is NaN where nothing is "
        "judged non-relevant, and takes negative grades for such",
    ),
    "gdeval": Convention(
        "gdeval",
        {**_BY_SCORE, "queries": "both"},
        measures={"ndcg": {"gain": "exponential"}},
        beyond="five digits",
    ),
    "beir": Convention(
        "beir",
        {**_PYTREC_EVAL, "drop_identical": True},
        apart=[
            Apart(name, when, {"queries": "qrels", "score_dtype": "float64"})
            for name, when in (
                ("reciprocal_rank", {}),
                ("recall", {"denominator": "min"}),
                ("success", {}),
                ("unjudged_share", {}),
            )
        ],
        names={"accuracy": "success"},
        beyond="means alone, of five digits; MRR, R_cap, Hole and Accuracy keep equal scores as they came; "
        "Hole counts items that no query at all judges, as help(rank.unjudged_share) tells; R_cap stops "
        "where nothing is relevant",
    ),
    "sklearn": Convention(
        "sklearn",
        {"queries": "run"},
        measures={"ndcg": _LIST, "expected_ndcg": _LIST},
        names={"ndcg": "expected_ndcg", "dcg": "expected_dcg"},
        beyond="items outside the list don't exist; AP of equal scores counts them as one step",
    ),
    "torchmetrics": Convention(
        "torchmetrics",
        {"queries": "run"},
        measures={"average_precision": {"denominator": "found"}, "ndcg": _LIST, "expected_ndcg": _LIST},
        names={"ndcg": "expected_ndcg"},
        beyond="float32; items outside the list don't exist; but for nDCG, equal scores have no order; "
        "an item with a score of 0 or less is relevant to ndcg, hit rate and r-precision alone",
    ),
    "gizai": Convention(
        "gizai",
        {"queries": "qrels", "duplicates": "first"},
        whole_list=0,
        beyond="it takes lists of ids: from_lists makes them rows",
    ),
}


def convention_of(name: str | None, programs: Iterable[str] = ()) -> Convention:
    """Convention with that name; other programs only decide ambiguous names."""
    if name is None:
        return Convention("polars_rank")
    if name in CONVENTIONS:
        return CONVENTIONS[name]
    known = [*CONVENTIONS, *sorted(set(programs) - set(CONVENTIONS))]
    require_choice("convention", name, known)
    return Convention(name)
