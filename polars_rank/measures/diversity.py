"""Diversity measures: items cover subtopics of a query, and repeats of a subtopic are worth less.

They take a table of one row an item and subtopic, which `judge_subtopics` makes.
"""

from collections.abc import Callable

import polars as pl

from polars_rank.measures.catalogue import IntoColumn, label, measure
from polars_rank.measures.rows import count, number, ratio, relevant, returned

_CLARKE = "doi:10.1145/1390334.1390446 (Clarke et al. 2008)"
_CHAPELLE = "doi:10.1145/1645953.1646033 (Chapelle et al. 2009)"
_NRBP = "doi:10.1007/978-3-642-04417-5_17 (Clarke et al. 2009)"
_AGRAWAL = "doi:10.1145/1498759.1498766 (Agrawal et al. 2009)"
_ZHAI = "doi:10.1145/860435.860440 (Zhai et al. 2003)"


@measure(
    source=_CLARKE,
    names={"ir_measures": {"alpha_DCG": {}, "α_DCG": {}}, "ndeval": {"alpha-DCG": {}}},  # noqa: RUF001
)
def alpha_dcg(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    subtopic: IntoColumn = "subtopic",
    *,
    k: int | None = None,
    alpha: float = 0.5,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Novelty DCG, divided by that of a list whose every item covers every subtopic.

    $\sum_{rank \le k} \frac{n}{\log_2(rank + 1)} \;/ \sum_{i \le k} \frac{S (1 - \alpha)^{i - 1}}{\log_2(i +
    1)}$; n = an item's novelty, $(1 - \alpha)^{seen}$ summed over its subtopics, seen = items of the subtopic
    above; S = subtopics with a relevant item, returned or not. Without k, up to the last item returned.

    One row per item and subtopic that the item is judged for, as `judge_subtopics` makes it. An item of two
    subtopics has two rows with the same rank. A rank that is null, NaN or below 1 was not returned. A null or
    NaN grade, or a null subtopic, belongs to no subtopic. Nothing returned, or no subtopic, gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade of the item for the subtopic: any number or Boolean.
    subtopic
        Name of the subtopic: text or a number.
    k
        Cutoff; None for the whole list.
    alpha
        How much of its worth a subtopic loses each time that it is met: 0 nothing, 1 all.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole, alpha is not in [0, 1], or min_relevance is negative.

    References
    ----------
    doi:10.1145/1390334.1390446 (Clarke et al. 2008), as ndeval computes it.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame(
    ...     {
    ...         "rank": [1, 1, 2, 3, None],
    ...         "relevance": [1, 1, 1, 1, 1],
    ...         "subtopic": ["a", "b", "a", "c", "d"],
    ...     }
    ... )
    >>> round(judged.select(rank.alpha_dcg(k=3)).item(), 4)
    0.4886
    """
    name = label("alpha_dcg", k=k, alpha=alpha, min_relevance=min_relevance)
    table = _Table(rank, relevance, subtopic, min_relevance)
    i = table.places(k)
    highest = table.subtopics * (pl.lit(1.0 - alpha).pow(i - 1) / (i + 1).log(2)).sum()
    return ratio(table.gained(rank, k, alpha, _by_log), highest).alias(name)


@measure(
    source=_CLARKE,
    names={"ir_measures": {"alpha_nDCG": {}, "α_nDCG": {}}, "ndeval": {"alpha-nDCG": {}}},  # noqa: RUF001
    bounds=(0.0, float("inf")),
)
def alpha_ndcg(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    subtopic: IntoColumn = "subtopic",
    ideal_rank: IntoColumn = "ideal_rank",
    *,
    k: int | None = None,
    alpha: float = 0.5,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Novelty DCG, divided by that of an ideal ranking.

    $\sum_{rank \le k} \frac{n}{\log_2(rank + 1)}$ over the same sum by ideal_rank; n = an item's novelty,
    $(1 - \alpha)^{seen}$ summed over its subtopics, seen = items of the subtopic above it.

    One row per item and subtopic that the item is judged for, as `judge_subtopics` makes it. An item of two
    subtopics has two rows with the same rank. A rank that is null, NaN or below 1 was not returned. A null or
    NaN grade, or a null subtopic, belongs to no subtopic. Nothing returned, or no subtopic, gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade of the item for the subtopic: any number or Boolean.
    subtopic
        Name of the subtopic: text or a number.
    ideal_rank
        Place of the item in an ideal ranking, as `judge_subtopics` finds it; null for none.
    k
        Cutoff; None for the whole list.
    alpha
        How much of its worth a subtopic loses each time that it is met: 0 nothing, 1 all.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, inf): up to 1, save where the greedy ideal is surpassed.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, alpha is not in [0, 1], or min_relevance is negative.

    References
    ----------
    doi:10.1145/1390334.1390446 (Clarke et al. 2008), as ndeval computes it.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame(
    ...     {
    ...         "rank": [1, 1, 2, 3, None],
    ...         "relevance": [1, 1, 1, 1, 1],
    ...         "subtopic": ["a", "b", "a", "c", "d"],
    ...         "ideal_rank": [1, 1, 4, 2, 3],
    ...     }
    ... )
    >>> round(judged.select(rank.alpha_ndcg(k=3)).item(), 4)
    0.8992
    """
    name = label("alpha_ndcg", k=k, alpha=alpha, min_relevance=min_relevance)
    table = _Table(rank, relevance, subtopic, min_relevance)
    return table.over_ideal(rank, ideal_rank, k, alpha, _by_log).alias(name)


@measure(
    source=_CHAPELLE,
    names={"ir_measures": {"ERR_IA": {}}, "ndeval": {"ERR-IA": {}}},
)
def err_ia(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    subtopic: IntoColumn = "subtopic",
    *,
    k: int | None = None,
    alpha: float = 0.5,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Intent-aware ERR, divided by that of a list whose every item covers every subtopic.

    $\sum_{rank \le k} \frac{n}{rank} \;/ \sum_{i \le k} \frac{S (1 - \alpha)^{i - 1}}{i}$; n = an item's
    novelty, $(1 - \alpha)^{seen}$ summed over its subtopics, seen = items of the subtopic above; S =
    subtopics with a relevant item, returned or not. Without k, up to the last item returned.

    One row per item and subtopic that the item is judged for, as `judge_subtopics` makes it. An item of two
    subtopics has two rows with the same rank. A rank that is null, NaN or below 1 was not returned. A null or
    NaN grade, or a null subtopic, belongs to no subtopic. Nothing returned, or no subtopic, gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade of the item for the subtopic: any number or Boolean.
    subtopic
        Name of the subtopic: text or a number.
    k
        Cutoff; None for the whole list.
    alpha
        How much of its worth a subtopic loses each time that it is met: 0 nothing, 1 all.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole, alpha is not in [0, 1], or min_relevance is negative.

    References
    ----------
    doi:10.1145/1645953.1646033 (Chapelle et al. 2009), as ndeval computes it.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame(
    ...     {
    ...         "rank": [1, 1, 2, 3, None],
    ...         "relevance": [1, 1, 1, 1, 1],
    ...         "subtopic": ["a", "b", "a", "c", "d"],
    ...     }
    ... )
    >>> round(judged.select(rank.err_ia(k=3)).item(), 4)
    0.4844
    """
    name = label("err_ia", k=k, alpha=alpha, min_relevance=min_relevance)
    table = _Table(rank, relevance, subtopic, min_relevance)
    i = table.places(k)
    highest = table.subtopics * (pl.lit(1.0 - alpha).pow(i - 1) / i).sum()
    return ratio(table.gained(rank, k, alpha, _by_place), highest).alias(name)


@measure(
    source=_CHAPELLE,
    names={"ir_measures": {"nERR_IA": {}}, "ndeval": {"nERR-IA": {}}},
    bounds=(0.0, float("inf")),
)
def nerr_ia(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    subtopic: IntoColumn = "subtopic",
    ideal_rank: IntoColumn = "ideal_rank",
    *,
    k: int | None = None,
    alpha: float = 0.5,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Intent-aware expected reciprocal rank, divided by that of an ideal ranking.

    $\sum_{rank \le k} \frac{n}{rank}$ over the same sum by ideal_rank; n = an item's novelty,
    $(1 - \alpha)^{seen}$ summed over its subtopics, seen = items of the subtopic above it.

    One row per item and subtopic that the item is judged for, as `judge_subtopics` makes it. An item of two
    subtopics has two rows with the same rank. A rank that is null, NaN or below 1 was not returned. A null or
    NaN grade, or a null subtopic, belongs to no subtopic. Nothing returned, or no subtopic, gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade of the item for the subtopic: any number or Boolean.
    subtopic
        Name of the subtopic: text or a number.
    ideal_rank
        Place of the item in an ideal ranking, as `judge_subtopics` finds it; null for none.
    k
        Cutoff; None for the whole list.
    alpha
        How much of its worth a subtopic loses each time that it is met: 0 nothing, 1 all.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, inf): up to 1, save where the greedy ideal is surpassed.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, alpha is not in [0, 1], or min_relevance is negative.

    References
    ----------
    doi:10.1145/1645953.1646033 (Chapelle et al. 2009), as ndeval computes it.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame(
    ...     {
    ...         "rank": [1, 1, 2, 3, None],
    ...         "relevance": [1, 1, 1, 1, 1],
    ...         "subtopic": ["a", "b", "a", "c", "d"],
    ...         "ideal_rank": [1, 1, 4, 2, 3],
    ...     }
    ... )
    >>> round(judged.select(rank.nerr_ia(k=3)).item(), 4)
    0.9118
    """
    name = label("nerr_ia", k=k, alpha=alpha, min_relevance=min_relevance)
    table = _Table(rank, relevance, subtopic, min_relevance)
    return table.over_ideal(rank, ideal_rank, k, alpha, _by_place).alias(name)


@measure(
    source=_NRBP,
    names={"ir_measures": {"NRBP": {}}, "ndeval": {"NRBP": {}}},
)
def nrbp(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    subtopic: IntoColumn = "subtopic",
    *,
    persistence: float = 0.5,
    alpha: float = 0.5,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Novelty- and rank-biased precision.

    $\frac{1 - (1 - \alpha) \beta}{S} \sum n \beta^{rank - 1}$; n = an item's novelty, $(1 - \alpha)^{seen}$
    summed over its subtopics, seen = items of the subtopic above; S = subtopics with a relevant item,
    returned or not.

    One row per item and subtopic that the item is judged for, as `judge_subtopics` makes it. An item of two
    subtopics has two rows with the same rank. A rank that is null, NaN or below 1 was not returned. A null or
    NaN grade, or a null subtopic, belongs to no subtopic. Nothing returned, or no subtopic, gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade of the item for the subtopic: any number or Boolean.
    subtopic
        Name of the subtopic: text or a number.
    persistence
        $\beta$, the chance to go on to the next item.
    alpha
        How much of its worth a subtopic loses each time that it is met: 0 nothing, 1 all.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If persistence is not in [0, 1), alpha is not in [0, 1], or min_relevance is negative.

    References
    ----------
    doi:10.1007/978-3-642-04417-5_17 (Clarke et al. 2009), as ndeval computes it.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame(
    ...     {
    ...         "rank": [1, 1, 2, 3, None],
    ...         "relevance": [1, 1, 1, 1, 1],
    ...         "subtopic": ["a", "b", "a", "c", "d"],
    ...     }
    ... )
    >>> round(judged.select(rank.nrbp()).item(), 4)
    0.4688
    """
    name = label("nrbp", persistence=persistence, alpha=alpha, min_relevance=min_relevance)
    table = _Table(rank, relevance, subtopic, min_relevance)
    gained = table.gained(rank, None, alpha, lambda place: pl.lit(float(persistence)).pow(place - 1))
    return ratio((1 - (1 - alpha) * persistence) * gained, table.subtopics).alias(name)


@measure(
    source=_NRBP,
    names={"ir_measures": {"nNRBP": {}}, "ndeval": {"nNRBP": {}}},
    bounds=(0.0, float("inf")),
)
def nnrbp(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    subtopic: IntoColumn = "subtopic",
    ideal_rank: IntoColumn = "ideal_rank",
    *,
    persistence: float = 0.5,
    alpha: float = 0.5,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Novelty- and rank-biased precision, divided by that of an ideal ranking.

    $\sum n \beta^{rank - 1}$ over the same sum by ideal_rank; n = an item's novelty, $(1 - \alpha)^{seen}$
    summed over its subtopics, seen = items of the subtopic above it.

    One row per item and subtopic that the item is judged for, as `judge_subtopics` makes it. An item of two
    subtopics has two rows with the same rank. A rank that is null, NaN or below 1 was not returned. A null or
    NaN grade, or a null subtopic, belongs to no subtopic. Nothing returned, or no subtopic, gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade of the item for the subtopic: any number or Boolean.
    subtopic
        Name of the subtopic: text or a number.
    ideal_rank
        Place of the item in an ideal ranking, as `judge_subtopics` finds it; null for none.
    persistence
        $\beta$, the chance to go on to the next item.
    alpha
        How much of its worth a subtopic loses each time that it is met: 0 nothing, 1 all.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, inf): up to 1, save where the greedy ideal is surpassed.

    Raises
    ------
    ValueError
        If persistence is not in [0, 1), alpha is not in [0, 1], or min_relevance is negative.

    References
    ----------
    doi:10.1007/978-3-642-04417-5_17 (Clarke et al. 2009), as ndeval computes it.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame(
    ...     {
    ...         "rank": [1, 1, 2, 3, None],
    ...         "relevance": [1, 1, 1, 1, 1],
    ...         "subtopic": ["a", "b", "a", "c", "d"],
    ...         "ideal_rank": [1, 1, 4, 2, 3],
    ...     }
    ... )
    >>> round(judged.select(rank.nnrbp()).item(), 4)
    0.8889
    """
    name = label("nnrbp", persistence=persistence, alpha=alpha, min_relevance=min_relevance)
    table = _Table(rank, relevance, subtopic, min_relevance)
    return table.over_ideal(
        rank, ideal_rank, None, alpha, lambda place: pl.lit(float(persistence)).pow(place - 1)
    ).alias(name)


@measure(
    source=_AGRAWAL,
    names={"ir_measures": {"AP_IA": {}, "MAP_IA": {}}, "ndeval": {"MAP-IA": {}}},
)
def ap_ia(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    subtopic: IntoColumn = "subtopic",
    *,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Intent-aware average precision: mean of the average precisions of the subtopics.

    $\frac{1}{S} \sum_s \frac{1}{R_s} \sum_i i / rank_i$ over the returned items of a subtopic in order of
    rank; R_s = items of the subtopic, S = subtopics with a relevant item, returned or not.

    One row per item and subtopic that the item is judged for, as `judge_subtopics` makes it. An item of two
    subtopics has two rows with the same rank. A rank that is null, NaN or below 1 was not returned. A null or
    NaN grade, or a null subtopic, belongs to no subtopic. Nothing returned, or no subtopic, gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade of the item for the subtopic: any number or Boolean.
    subtopic
        Name of the subtopic: text or a number.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If min_relevance is negative.

    References
    ----------
    doi:10.1145/1498759.1498766 (Agrawal et al. 2009), as ndeval computes it.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame(
    ...     {
    ...         "rank": [1, 1, 2, 3, None],
    ...         "relevance": [1, 1, 1, 1, 1],
    ...         "subtopic": ["a", "b", "a", "c", "d"],
    ...     }
    ... )
    >>> round(judged.select(rank.ap_ia()).item(), 4)
    0.5833
    """
    name = label("ap_ia", min_relevance=min_relevance)
    table = _Table(rank, relevance, subtopic, min_relevance)
    topic, place = table.sorted(table.wanted)
    precision = (_seen(topic) + 1) / place
    # Equal names span the ranks from the least to the greatest.
    items = topic.rank("max") - topic.rank("min") + 1.0
    return ratio((precision / items).sum().abs(), table.subtopics).alias(name)


@measure(
    source=_AGRAWAL,
    names={"ir_measures": {"P_IA": {}}, "ndeval": {"P-IA": {}}},
)
def p_ia(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    subtopic: IntoColumn = "subtopic",
    *,
    k: int | None = None,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Intent-aware precision: mean of the precisions at k of the subtopics.

    $|\{rank \le k, relevance \ge min\_relevance\}| / (k S)$; S = subtopics with a relevant item, returned or
    not. Without k, over the number of items returned.

    One row per item and subtopic that the item is judged for, as `judge_subtopics` makes it. An item of two
    subtopics has two rows with the same rank. A rank that is null, NaN or below 1 was not returned. A null or
    NaN grade, or a null subtopic, belongs to no subtopic. Nothing returned, or no subtopic, gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade of the item for the subtopic: any number or Boolean.
    subtopic
        Name of the subtopic: text or a number.
    k
        Cutoff; None for the whole list.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or min_relevance is negative.

    References
    ----------
    doi:10.1145/1498759.1498766 (Agrawal et al. 2009), as ndeval computes it.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame(
    ...     {
    ...         "rank": [1, 1, 2, 3, None],
    ...         "relevance": [1, 1, 1, 1, 1],
    ...         "subtopic": ["a", "b", "a", "c", "d"],
    ...     }
    ... )
    >>> round(judged.select(rank.p_ia(k=3)).item(), 4)
    0.3333
    """
    name = label("p_ia", k=k, min_relevance=min_relevance)
    table = _Table(rank, relevance, subtopic, min_relevance)
    return ratio(
        count(table.wanted & returned(table.rank, k)), table.subtopics * table.places(k).len()
    ).alias(name)


@measure(
    source=_ZHAI,
    names={"ir_measures": {"StRecall": {}}, "ndeval": {"strec": {}}},
)
def subtopic_recall(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    subtopic: IntoColumn = "subtopic",
    *,
    k: int | None = None,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Share of the subtopics with a relevant item in the top k.

    $|\{subtopic: rank \le k, relevance \ge min\_relevance\}| / S$; S = subtopics with a relevant item,
    returned or not.

    One row per item and subtopic that the item is judged for, as `judge_subtopics` makes it. An item of two
    subtopics has two rows with the same rank. A rank that is null, NaN or below 1 was not returned. A null or
    NaN grade, or a null subtopic, belongs to no subtopic. Nothing returned, or no subtopic, gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade of the item for the subtopic: any number or Boolean.
    subtopic
        Name of the subtopic: text or a number.
    k
        Cutoff; None for the whole list.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or min_relevance is negative.

    References
    ----------
    doi:10.1145/860435.860440 (Zhai et al. 2003).

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame(
    ...     {
    ...         "rank": [1, 1, 2, 3, None],
    ...         "relevance": [1, 1, 1, 1, 1],
    ...         "subtopic": ["a", "b", "a", "c", "d"],
    ...     }
    ... )
    >>> judged.select(rank.subtopic_recall(k=2)).item()
    0.5
    """
    name = label("subtopic_recall", k=k, min_relevance=min_relevance)
    table = _Table(rank, relevance, subtopic, min_relevance)
    covered = table.topic.filter(table.wanted & returned(table.rank, k)).n_unique()
    return ratio(covered.cast(pl.Float64), table.subtopics).alias(name)


class _Table:
    """Columns that all diversity measures read: ranks, subtopics, relevant rows."""

    def __init__(
        self, rank: IntoColumn, relevance: IntoColumn, subtopic: IntoColumn, min_relevance: float
    ) -> None:
        self.rank = number(rank)
        self.topic = pl.col(subtopic) if isinstance(subtopic, str) else subtopic
        self.wanted = relevant(number(relevance), min_relevance) & self.topic.is_not_null()
        self.subtopics = self.topic.filter(self.wanted).n_unique().cast(pl.Float64)

    def places(self, k: int | None) -> pl.Expr:
        """Places 1 to k, or to the number of returned items."""
        last = self.rank.filter(returned(self.rank)).n_unique() if k is None else pl.lit(k)
        return pl.int_range(1, last + 1).cast(pl.Float64)

    def sorted(self, rows: pl.Expr, rank: pl.Expr | None = None) -> tuple[pl.Expr, pl.Expr]:
        """Subtopics and ranks of some rows, sorted by both; items not returned come last."""
        rank = self.rank if rank is None else rank
        topic, place = self.topic.filter(rows), pl.when(returned(rank)).then(rank).filter(rows)
        return (
            topic.sort_by(topic, place, nulls_last=True),
            place.sort_by(topic, place, nulls_last=True),
        )

    def gained(
        self, rank: IntoColumn, k: int | None, alpha: float, discount: Callable[[pl.Expr], pl.Expr]
    ) -> pl.Expr:
        """Sum of the discounted novelty of the rows in the top k."""
        r = number(rank)
        topic, place = self.sorted(self.wanted & returned(r, k), r)
        return (pl.lit(1.0 - alpha).pow(_seen(topic)) * discount(place)).sum().abs()

    def over_ideal(
        self,
        rank: IntoColumn,
        ideal_rank: IntoColumn,
        k: int | None,
        alpha: float,
        discount: Callable[[pl.Expr], pl.Expr],
    ) -> pl.Expr:
        """Gain of a ranking divided by the ideal gain; 0 if the ideal gain is 0."""
        ideal = self.gained(ideal_rank, k, alpha, discount)
        return pl.when(ideal > 0).then(self.gained(rank, k, alpha, discount) / ideal).otherwise(0.0)


def _seen(topic: pl.Expr) -> pl.Expr:
    """Number of rows above with the same subtopic, in rows sorted by subtopic."""
    return pl.int_range(1, topic.len() + 1).cast(pl.Float64) - topic.rank("min")


def _by_log(place: pl.Expr) -> pl.Expr:
    return 1 / (place + 1).log(2)


def _by_place(place: pl.Expr) -> pl.Expr:
    return 1 / place
