"""Building blocks of the core measures: counts and sums of one ranking.

A core measure writes its formula once, over `Blocks`, which are expressions of an aggregation. A subclass in
`polars_rank.evaluation.shared_plan` computes the same blocks as columns that several measures share.
"""

import math
from collections.abc import Mapping
from typing import Any, Literal

import polars as pl

from polars_rank.measures.catalogue import MEASURES, IntoColumn, label
from polars_rank.measures.rows import count, count_relevant, found, judged, number, relevant, returned

Gain = Literal["linear", "exponential"]
Gains = Mapping[float, float]
Ideal = Literal["judged", "list", "k"]


class Blocks:
    """Counts and sums of one ranking. `k` is a cutoff or None; `least` is the lowest relevant grade."""

    def __init__(self, rank: IntoColumn, relevance: IntoColumn) -> None:
        self.rank, self.grade = number(rank), number(relevance)

    def returned(self, k: int | None) -> pl.Expr:
        """Items returned in the top k."""
        return count(returned(self.rank, k))

    def judged(self, k: int | None) -> pl.Expr:
        """Judged items in the top k."""
        return count(judged(self.grade) & returned(self.rank, k))

    def hits(self, least: float, k: int | None) -> pl.Expr:
        """Relevant items in the top k."""
        return count(found(self.rank, self.grade, k, least))

    def hits_within(self, least: float, places: pl.Expr) -> pl.Expr:
        """Relevant items in a number of places that differs between rankings."""
        return count(found_within(self.rank, self.grade, least, places))

    def total(self, least: float, given: IntoColumn | float | None = None) -> pl.Expr:
        """Relevant items, returned or not: counted, unless `given`."""
        return count_relevant(self.grade, least, given)

    def first(self, least: float, k: int | None) -> pl.Expr:
        """Rank of the first relevant item in the top k, or null."""
        return self.rank.filter(found(self.rank, self.grade, k, least)).min()

    def precisions(self, least: float, k: int | None) -> pl.Expr:
        """Sum of the precisions at the relevant items in the top k."""
        ranks = self.rank.filter(found(self.rank, self.grade, k, least)).implode().list.sort()
        element = pl.element()
        return _positive(ranks.list.eval(element.cum_count() / element).list.sum())

    def dcg(self, gain: Gain | Gains, k: int | None) -> pl.Expr:
        """Sum of the discounted gains in the top k."""
        return _positive(discounted(self.rank, gains_of(self.grade, gain), k).sum())

    def ideal(self, gain: Gain | Gains, k: int | None, of: Ideal = "judged") -> pl.Expr:
        """DCG of the best possible ranking."""
        gains = gains_of(self.grade, gain)
        if of != "k":
            return best_first(pl.when(returned(self.rank)).then(gains) if of == "list" else gains, k)
        if k is None:
            discounts = (1 / pl.int_range(2, returned(self.rank).sum() + 2).log(2)).sum()
        else:
            discounts = pl.lit(sum_of_discounts(k))
        return gains.max().fill_null(0.0) * discounts

    def gaining(self, gain: Gain | Gains) -> pl.Expr:
        """Items with a gain, returned or not."""
        return count(gains_of(self.grade, gain).is_not_null())


def aggregation(
    name: str, *, rank: IntoColumn = "rank", relevance: IntoColumn = "relevance", **options: Any
) -> pl.Expr:
    """Expression of a measure that has a formula: checked options, computed within an aggregation."""
    column, formula = label(name, **options), MEASURES[name].formula
    if formula is None:
        raise TypeError(f"{name} has no formula over building blocks")
    return formula(Blocks(rank, relevance), **options).alias(column)


def found_within(rank: pl.Expr, grade: pl.Expr, least: float, places: pl.Expr) -> pl.Expr:
    """Relevant rows in a number of places that differs between rankings."""
    return found(rank, grade, None, least) & (rank <= places)


def gains_of(relevance: pl.Expr, gain: Gain | Gains) -> pl.Expr:
    """Gains of grades; null where there is none."""
    if isinstance(gain, Mapping):
        relevance = relevance.replace({float(grade): float(gained) for grade, gained in gain.items()})
    amount = pl.lit(2.0).pow(relevance) - 1 if gain == "exponential" else relevance
    return pl.when(relevant(relevance, 0) & (relevance != 0)).then(amount)


def discounted(rank: pl.Expr, gains: pl.Expr, k: int | None) -> pl.Expr:
    """Gains of the top k, divided by the logarithm of their ranks."""
    return pl.when(returned(rank, k)).then(gains / (rank + 1).log(2))


def best_first(gains: pl.Expr, k: int | None) -> pl.Expr:
    """Sum of the k highest gains, discounted."""
    # A list sorted once a group is far cheaper than an expression sorted a group.
    best = gains.drop_nulls().implode().list.sort(descending=True)
    best = best if k is None else best.list.head(k)
    element = pl.element()
    return _positive(best.list.eval(element / (element.cum_count() + 1).log(2)).list.sum())


def sum_of_discounts(k: float) -> float:
    """DCG of `k` items of gain 1, in constant time and memory.

    From 1000 items on by Euler and Maclaurin: the constant is Euler's plus the limit of the sum of 1 / ln(i)
    less li(m), and the series is li(m) less Euler's constant. From ln(m) = 44 on the asymptotic series of li
    needs fewer terms. The error is below 1e-14 of the sum.
    """
    if k < 1000:
        return math.fsum(1 / math.log2(place + 1) for place in range(1, int(k) + 1))
    m = float(k) + 1
    log = math.log(m)
    correction = 1 / (2 * log) - 1 / (12 * m * log**2)
    if log < 44:
        series = math.fsum(log**n / n / math.gamma(n + 1) for n in range(1, 160))
        return math.log(2) * (0.33397732201055210519 + math.log(log) + series + correction)
    return math.log(2) * (m * math.fsum(math.gamma(n) / log**n for n in range(1, 44)) + correction)


def _positive(total: pl.Expr) -> pl.Expr:
    # The sum of no floats is -0.0 in Polars.
    return total.abs()
