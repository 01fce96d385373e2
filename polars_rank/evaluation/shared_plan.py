"""One plan for several core measures: the values of their expressions at about the cost of one group-by.

A sort or a list within an aggregation cannot stream, so the whole group-by would not. The plan groups only
the relevant rows, which are few, into sums and lists. It then works on the lists as columns of a table with
one row per ranking. All measures and cutoffs share the blocks that they have in common.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from polars_rank.core.frames import OURS
from polars_rank.measures.blocks import Blocks, Gain, Gains, Ideal
from polars_rank.measures.catalogue import IntoColumn
from polars_rank.measures.names import Call
from polars_rank.measures.rows import count, judged, number, relevant, returned

_RANK, _GRADE = f"{OURS}rank", f"{OURS}grade"
_rank, _grade = pl.col(_RANK), pl.col(_GRADE)
_element = pl.element()


class _NotSharedError(Exception):
    """A block that the plan lacks with these options."""


def is_flat(call: Call) -> bool:
    """Whether the plan has every block that the measure needs with these options."""
    if call.judged_only:
        return False
    try:
        _value(call, _Shared("rank", "relevance"))
    except _NotSharedError:
        return False
    return True


class SharedPlan:
    """Blocks of several measures as columns of one plan.

    Attributes
    ----------
    returned_counts : aggregates over all returned rows of a ranking, by the names of their columns.
    judged_counts : the same over all judged rows. These few aggregates stream, and `add_to` expects them.
    """

    def __init__(self, calls: Mapping[str, Call], columns: Mapping[str, str], schema: pl.Schema) -> None:
        rank, relevance = columns["rank"], columns["relevance"]
        asked = _Shared(rank, relevance)
        for call in calls.values():
            _value(call, asked)
        self._columns = columns
        # A grade between 0 and 1 has a gain but is not relevant; whole grades have no such value.
        self._whole = schema[relevance].is_integer()
        self._between = asked.gains and not self._whole
        self._least = min([*asked.leasts, 1]) if asked.gains else min(asked.leasts, default=1)
        depth = None if None in asked.depths else max((k for k in asked.depths if k), default=None)
        self._shared = _Shared(rank, relevance, sure=0 if self._between else self._least, depth=depth)
        self._values = {name: _value(call, self._shared) for name, call in calls.items()}
        self.returned_counts = self._shared.returned_counts
        self.judged_counts = self._shared.judged_counts

    def add_to(self, rankings: pl.LazyFrame, rows: pl.LazyFrame, ranking: Sequence[str]) -> pl.LazyFrame:
        """Add one column a measure to `rankings`, which hold the counts, from `rows`: all that are judged."""
        shared = self._shared
        if shared.groups or shared.imploded:
            # Lists are summed before the join, which would copy them.
            grouped = (
                self._relevant(rows, ranking)
                .with_columns(**shared.terms)
                .group_by(ranking)
                .agg(**shared.groups, **shared.imploded)
                .with_columns(**shared.lists)
                .with_columns(**shared.worked)
                .select(*ranking, *shared.groups, **shared.sums)
            )
            rankings = rankings.join(grouped, on=ranking, how="left", nulls_equal=True)
        return rankings.with_columns(value.alias(name) for name, value in self._values.items())

    def _relevant(self, rows: pl.LazyFrame, ranking: Sequence[str]) -> pl.LazyFrame:
        relevance = self._columns["relevance"]
        grade = pl.col(relevance) if self._whole else number(relevance)
        passes = grade > 0 if self._between and self._least > 0 else grade >= self._least
        r = number(self._columns["rank"])
        return rows.filter(passes if self._whole else passes & relevant(grade, 0)).select(
            *ranking,
            pl.when(returned(r)).then(r).alias(_RANK),
            grade.cast(pl.Float64).alias(_GRADE),
        )


def _value(call: Call, shared: "_Shared") -> pl.Expr:
    formula = call.measure.formula
    if formula is None:
        raise _NotSharedError
    return formula(shared, **call.measure.options | call.options)


class _Shared(Blocks):
    """Blocks made once for all measures: terms per row, sums and lists per ranking, results of lists.

    The rows are those of grades from `sure`, or above it if it is 0; the ideals have at most `depth` items.
    """

    def __init__(
        self, rank: str, relevance: str, *, sure: float = float("inf"), depth: int | None = None
    ) -> None:
        super().__init__(rank, relevance)
        self.sure, self.depth = sure, depth
        self.leasts: set[float] = set()
        self.depths: set[int | None] = set()
        self.gains = False
        self.returned_counts: dict[str, pl.Expr] = {}
        self.judged_counts: dict[str, pl.Expr] = {}
        self.terms: dict[str, pl.Expr] = {}
        self.groups: dict[str, pl.Expr] = {}
        self.imploded: dict[str, pl.Expr] = {}
        self.lists: dict[str, pl.Expr] = {}
        self.worked: dict[str, pl.Expr] = {}
        self.sums: dict[str, pl.Expr] = {}

    def returned(self, k: int | None) -> pl.Expr:
        return _once(self.returned_counts, f"returned {k}", count(returned(self.rank, k)))

    def judged(self, k: int | None) -> pl.Expr:
        rows = judged(self.grade) & returned(self.rank, k)
        return _once(self.judged_counts, f"judged {k}", count(rows))

    def hits(self, least: float, k: int | None) -> pl.Expr:
        within = _rank.is_not_null() if k is None else _rank <= k
        rows = within if self._all_pass(least) else within & (_grade >= least)
        return _once(self.groups, f"hits {least} {k}", count(rows)).fill_null(0.0)

    def hits_within(self, least: float, places: pl.Expr) -> pl.Expr:
        hits = (self._ranks(least) - places).list.eval(_element <= 0).list.sum().cast(pl.Float64)
        return _once(self.sums, f"hits {least} within {places}", hits).fill_null(0.0)

    def total(self, least: float, given: IntoColumn | float | None = None) -> pl.Expr:
        if given is not None:
            raise _NotSharedError
        rows = pl.len().cast(pl.Float64) if self._all_pass(least) else count(_grade >= least)
        return _once(self.groups, f"total {least}", rows).fill_null(0.0)

    def first(self, least: float, k: int | None) -> pl.Expr:
        first = _once(self.groups, f"first {least}", self._relevant_ranks(least).min())
        return first if k is None else pl.when(first <= k).then(first)

    def precisions(self, least: float, k: int | None) -> pl.Expr:
        ranks = self._ranks(least)
        precisions = pl.int_ranges(1, ranks.list.len() + 1) / ranks
        precisions = _once(self.worked, f"precisions {least}", precisions)
        # The ranks are in order, so those in the top k are the first ones; a sum leaves out nulls.
        within = precisions if k is None else precisions.list.head(self.hits(least, k))
        summed = within.list.sum().abs()
        return _once(self.sums, f"sum of precisions {least} {k}", summed).fill_null(0.0)

    def dcg(self, gain: Gain | Gains, k: int | None) -> pl.Expr:
        term = _once(self.terms, f"{gain}", self._gained(_grade, gain) / (_rank + 1).log(2))
        within = term if k is None else term.filter(_rank <= k)
        return _once(self.groups, f"dcg {gain} {k}", within.sum()).fill_null(0.0)

    def ideal(self, gain: Gain | Gains, k: int | None, of: Ideal = "judged") -> pl.Expr:
        if of != "judged":
            raise _NotSharedError
        self.depths.add(k)
        grades = _once(self.imploded, "grades", _grade.implode())
        best = grades.list.sort(descending=True)
        best = _once(self.lists, "best", best if self.depth is None else best.list.head(self.depth))
        amount = self._gained(_element, gain)
        gained = best if gain == "linear" else best.list.eval(amount)
        # Two flat columns and a division of lists: a count of places within each list is slow.
        places = pl.int_ranges(2, best.list.len() + 2)
        gains = _once(self.worked, f"ideal {gain}", gained / places.list.eval(_element.log(2)))
        within = gains if k is None else gains.list.head(k)
        return _once(self.sums, f"ideal {gain} {k}", within.list.sum()).fill_null(0.0)

    def gaining(self, gain: Gain | Gains) -> pl.Expr:
        self._gained(_grade, gain)
        return _once(self.groups, "gaining", count(_grade > 0)).fill_null(0.0)

    def _gained(self, grade: pl.Expr, gain: Gain | Gains) -> pl.Expr:
        if not isinstance(gain, str):
            raise _NotSharedError
        self.gains = True
        return grade if gain == "linear" else pl.lit(2.0).pow(grade) - 1

    def _ranks(self, least: float) -> pl.Expr:
        ranks = _once(self.imploded, f"ranks {least}", self._relevant_ranks(least).implode())
        return _once(self.lists, f"sorted ranks {least}", ranks.list.sort(nulls_last=True))

    def _relevant_ranks(self, least: float) -> pl.Expr:
        return _rank if self._all_pass(least) else _rank.filter(_grade >= least)

    def _all_pass(self, least: float) -> bool:
        # If the filter let only such grades through, a second test would only cost time.
        self.leasts.add(least)
        return least <= self.sure


def _once(step: dict[str, pl.Expr], name: str, expression: pl.Expr) -> pl.Expr:
    ours = f"{OURS}{name}"
    step.setdefault(ours, expression)
    return pl.col(ours)
