"""The core measures as one flat plan: the values of their expressions, near the cost of grouping.

A sort or a list within an aggregation leaves the streaming engine, and the whole group-by with it. So the
relevant rows alone, which are few, are grouped into sums and lists; lists are worked on as columns of a
table of one row a ranking; and all measures and cutoffs share what they have in common.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from polars_rank.catalogue import Call
from polars_rank.measures.rows import count, judged, number, ratio, relevant, returned, unless_empty
from polars_rank.tables import OURS

_RANK, _GRADE = f"{OURS}rank", f"{OURS}grade"
_rank, _grade = pl.col(_RANK), pl.col(_GRADE)
_element = pl.element()

# Before the cutoff, in the names of counts over all rows of a ranking.
RETURNED, JUDGED = f"{OURS}returned ", f"{OURS}judged "

_GAIN = ("dcg", "ideal_dcg", "ndcg")


def is_flat(call: Call) -> bool:
    """Tell whether the plan has the measure with these options."""
    options = call.options
    return (
        call.measure.name in _VALUES
        and not call.judged_only
        and options.get("num_relevant") is None
        and options.get("ideal", "judged") == "judged"
        and options.get("denominator") not in ("judged", "returned", "reachable")
        and isinstance(options.get("gain", ""), str)
        and options.get("multiple", 1) == 1
    )


def counts(calls: Mapping[str, Call], rank: str, relevance: str) -> dict[str, pl.Expr]:
    """Aggregates over all rows of a ranking that the measures need: few, and all of them stream."""
    r, g = number(rank), number(relevance)
    wanted: dict[str, pl.Expr] = {}
    for call in calls.values():
        name, k = call.measure.name, call.options.get("k")
        by_k = (
            name == "f_measure"
            or call.options.get("denominator", call.measure.options.get("denominator")) == "k"
        )
        if name in ("num_returned", "judged_share") or (by_k and k is None):
            wanted[f"{RETURNED}{k}"] = count(returned(r, k))
        if name == "judged_share":
            wanted[f"{JUDGED}{k}"] = count(judged(g) & returned(r, k))
    return wanted


def flat_plan(
    rows: pl.LazyFrame,
    rankings: pl.LazyFrame,
    calls: Mapping[str, Call],
    ranking: Sequence[str],
    columns: Mapping[str, str],
) -> pl.LazyFrame:
    """Add one column a measure to `rankings`, which holds the `counts`, from all rows that are judged."""
    options = [call.measure.options | call.options for call in calls.values()]
    least = min((o["min_relevance"] for o in options if "min_relevance" in o), default=1)
    whole = rows.collect_schema()[columns["relevance"]].is_integer()
    cutoffs = [o["k"] for call, o in zip(calls.values(), options, strict=True) if call.measure.name in _GAIN]
    # A grade between 0 and 1 gains, and is not relevant: whole grades have none.
    between = bool(cutoffs) and not whole
    least = min(least, 1) if cutoffs else least
    depth = None if None in cutoffs else max(cutoffs, default=None)
    shared = _Shared(sure=0 if between else least, depth=depth)
    values = {
        name: _VALUES[call.measure.name](shared, o)
        for (name, call), o in zip(calls.items(), options, strict=True)
    }
    if shared.groups or shared.imploded:
        grade = pl.col(columns["relevance"]) if whole else number(columns["relevance"])
        passes = grade > 0 if between and least > 0 else grade >= least
        r = number(columns["rank"])
        relevant_rows = rows.filter(passes if whole else passes & relevant(grade, 0)).select(
            *ranking,
            pl.when(returned(r)).then(r).alias(_RANK),
            grade.cast(pl.Float64).alias(_GRADE),
        )
        # Lists are summed before the join, which would copy them.
        grouped = (
            relevant_rows.with_columns(**shared.terms)
            .group_by(ranking)
            .agg(**shared.groups, **shared.imploded)
            .with_columns(**shared.lists)
            .with_columns(**shared.worked)
            .select(*ranking, *shared.groups, **shared.sums)
        )
        rankings = rankings.join(grouped, on=ranking, how="left", nulls_equal=True)
    return rankings.with_columns(value.alias(name) for name, value in values.items())


class _Shared:
    """What several measures want, made once: terms a row, sums and lists a ranking, worked lists."""

    def __init__(self, sure: float, depth: int | None) -> None:
        self.sure = sure
        self.depth = depth
        self.terms: dict[str, pl.Expr] = {}
        self.groups: dict[str, pl.Expr] = {}
        self.imploded: dict[str, pl.Expr] = {}
        self.lists: dict[str, pl.Expr] = {}
        self.worked: dict[str, pl.Expr] = {}
        self.sums: dict[str, pl.Expr] = {}

    def total(self, least: float) -> pl.Expr:
        rows = pl.len().cast(pl.Float64) if least <= self.sure else count(_grade >= least)
        return _once(self.groups, f"total {least}", rows).fill_null(0.0)

    def gaining(self) -> pl.Expr:
        return _once(self.groups, "gaining", count(_grade > 0)).fill_null(0.0)

    def hits(self, least: float, k: int | None) -> pl.Expr:
        within = _rank.is_not_null() if k is None else _rank <= k
        rows = within if least <= self.sure else within & (_grade >= least)
        return _once(self.groups, f"hits {least} {k}", count(rows)).fill_null(0.0)

    def first(self, least: float) -> pl.Expr:
        return _once(self.groups, f"first {least}", self._ranks(least).min())

    def ranks(self, least: float) -> pl.Expr:
        ranks = _once(self.imploded, f"ranks {least}", self._ranks(least).implode())
        return _once(self.lists, f"sorted ranks {least}", ranks.list.sort(nulls_last=True))

    def dcg(self, gain: str, k: int | None) -> pl.Expr:
        term = _once(self.terms, gain, _gained(_grade, gain) / (_rank + 1).log(2))
        within = term if k is None else term.filter(_rank <= k)
        return _once(self.groups, f"dcg {gain} {k}", within.sum()).fill_null(0.0)

    def ideal(self, gain: str, k: int | None) -> pl.Expr:
        grades = _once(self.imploded, "grades", _grade.implode())
        best = grades.list.sort(descending=True)
        best = _once(self.lists, "best", best if self.depth is None else best.list.head(self.depth))
        gained = best if gain == "linear" else best.list.eval(_gained(_element, gain))
        # Two flat columns and a division of lists: a count of places within each list is slow.
        places = pl.int_ranges(2, best.list.len() + 2)
        gains = _once(self.worked, f"ideal {gain}", gained / places.list.eval(_element.log(2)))
        within = gains if k is None else gains.list.head(k)
        return _once(self.sums, f"ideal {gain} {k}", within.list.sum()).fill_null(0.0)

    def _ranks(self, least: float) -> pl.Expr:
        # Where the filter has let only such grades through, asking again costs time.
        return _rank if least <= self.sure else _rank.filter(_grade >= least)


def _once(step: dict[str, pl.Expr], name: str, expression: pl.Expr) -> pl.Expr:
    ours = f"{OURS}{name}"
    step.setdefault(ours, expression)
    return pl.col(ours)


def _gained(grade: pl.Expr, gain: str) -> pl.Expr:
    return grade if gain == "linear" else pl.lit(2.0).pow(grade) - 1


def _dcg(shared: _Shared, o: Mapping[str, Any]) -> pl.Expr:
    return shared.dcg(o["gain"], o["k"])


def _ideal_dcg(shared: _Shared, o: Mapping[str, Any]) -> pl.Expr:
    return shared.ideal(o["gain"], o["k"])


def _ndcg(shared: _Shared, o: Mapping[str, Any]) -> pl.Expr:
    return unless_empty(ratio(_dcg(shared, o), _ideal_dcg(shared, o)), shared.gaining(), o["empty"])


def _size(shared: _Shared, o: Mapping[str, Any], least: float) -> pl.Expr:
    """What a measure divides by, named by its option `denominator`."""
    k, total = o["k"], shared.total(least)
    if o["denominator"] == "found":
        return shared.hits(least, k)
    if o["denominator"] == "k":
        return pl.col(f"{RETURNED}None") if k is None else pl.lit(float(k))
    return pl.min_horizontal(total, float(k)) if o["denominator"] == "min" and k is not None else total


def _precision(shared: _Shared, o: Mapping[str, Any]) -> pl.Expr:
    least = o["min_relevance"]
    return ratio(shared.hits(least, o["k"]), _size(shared, o, least))


def _recall(shared: _Shared, o: Mapping[str, Any]) -> pl.Expr:
    return unless_empty(_precision(shared, o), shared.total(o["min_relevance"]), o["empty"])


def _f_measure(shared: _Shared, o: Mapping[str, Any]) -> pl.Expr:
    least, weight = o["min_relevance"], o["beta"] ** 2
    total = shared.total(least)
    size = pl.col(f"{RETURNED}None") if o["k"] is None else float(o["k"])
    value = ratio((1 + weight) * shared.hits(least, o["k"]), weight * total + size)
    return unless_empty(value, total, o["empty"])


def _average_precision(shared: _Shared, o: Mapping[str, Any]) -> pl.Expr:
    least, k = o["min_relevance"], o["k"]
    ranks = shared.ranks(least)
    precisions = _once(shared.worked, f"precisions {least}", pl.int_ranges(1, ranks.list.len() + 1) / ranks)
    # The ranks are in order, so those in the top k are the first ones; a sum leaves out nulls.
    within = precisions if k is None else precisions.list.head(shared.hits(least, k))
    total = _once(shared.sums, f"sum of precisions {least} {k}", within.list.sum().abs()).fill_null(0.0)
    value = ratio(total, _size(shared, o, least))
    return unless_empty(value, shared.total(least), o["empty"])


def _r_precision(shared: _Shared, o: Mapping[str, Any]) -> pl.Expr:
    least = o["min_relevance"]
    total = shared.total(least)
    within = (shared.ranks(least) - total).list.eval(_element <= 0).list.sum().cast(pl.Float64)
    hits = _once(shared.sums, f"hits within the relevant {least}", within).fill_null(0.0)
    return unless_empty(ratio(hits, total), total, o["empty"])


def _success(shared: _Shared, o: Mapping[str, Any]) -> pl.Expr:
    found = (shared.hits(o["min_relevance"], o["k"]) > 0).cast(pl.Float64)
    return unless_empty(found, shared.total(o["min_relevance"]), o["empty"])


def _reciprocal_rank(shared: _Shared, o: Mapping[str, Any]) -> pl.Expr:
    first, k = shared.first(o["min_relevance"]), o["k"]
    within = first if k is None else pl.when(first <= k).then(first)
    return unless_empty((1 / within).fill_null(0.0), shared.total(o["min_relevance"]), o["empty"])


_VALUES: dict[str, Callable[[_Shared, Mapping[str, Any]], pl.Expr]] = {
    "dcg": _dcg,
    "ideal_dcg": _ideal_dcg,
    "ndcg": _ndcg,
    "precision": _precision,
    "recall": _recall,
    "f_measure": _f_measure,
    "average_precision": _average_precision,
    "r_precision": _r_precision,
    "success": _success,
    "reciprocal_rank": _reciprocal_rank,
    "judged_share": lambda _, o: ratio(pl.col(f"{JUDGED}{o['k']}"), pl.col(f"{RETURNED}{o['k']}")),
    "num_returned": lambda *_: pl.col(f"{RETURNED}None"),
    "num_relevant": lambda shared, o: shared.total(o["min_relevance"]),
    "num_relevant_returned": lambda shared, o: shared.hits(o["min_relevance"], o["k"]),
}
