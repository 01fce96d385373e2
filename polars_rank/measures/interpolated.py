"""Interpolated precision: the recall-precision curve at fixed levels of recall."""

from typing import Literal

import polars as pl

from polars_rank.measures.catalogue import IntoColumn, label, measure
from polars_rank.measures.rows import count, number, relevant, returned, unless_empty

Rounding = Literal["up", "nearest"]

_LEVELS = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


@measure(
    source="Manning et al. 2008, ch. 8; trec_eval iprec_at_recall",
    names={"ir_measures": {"IPrec": {}}, "trec_eval": {"iprec_at_recall_x": {}}},
    ignores_unjudged=True,
)
def interpolated_precision(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    recall: float = 0.0,
    min_relevance: float = 1,
    rounding: Rounding = "up",
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Interpolated precision: the highest precision at or beyond a level of recall.

    $\max_{i \ge c} i / rank_i$ over the relevant items in order of rank, with
    $c = \lfloor recall \cdot R + 0.9 \rfloor$, R = relevant items, returned or not; 0 where fewer than c are
    returned.

    Rows and nulls: see docs/judged-table.md. A null or NaN grade is not relevant. Nothing returned gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    recall
        Level of recall, from 0 to 1; 0 gives the best precision anywhere.
    min_relevance
        Lowest relevant grade.
    rounding
        How a level becomes a number of items: ``"up"``, of what is above a tenth (trec_eval 9);
        ``"nearest"``, $c = \lfloor recall \cdot R + 0.5 \rfloor$ (trec_eval 10).
    empty
        Value if nothing is relevant; None for null.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1] for distinct whole ranks.

    Raises
    ------
    ValueError
        If recall is not in [0, 1], min_relevance is negative, rounding is unknown, or empty is not a number.

    References
    ----------
    Manning et al. 2008, ch. 8; trec_eval iprec_at_recall.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [0, 2, 1, 3]})
    >>> round(judged.select(rank.interpolated_precision(recall=0.5)).item(), 4)
    0.6667
    """
    name = label(
        "interpolated_precision", recall=recall, min_relevance=min_relevance, rounding=rounding, empty=empty
    )
    r, g = number(rank), number(relevance)
    total = count(relevant(g, min_relevance))
    found, best = _curve(r, g, min_relevance)
    value = best.filter(found >= _needed(recall, total, rounding)).max().fill_null(0.0)
    return unless_empty(value, total, empty).alias(name)


@measure(
    source="Manning et al. 2008, ch. 8; trec_eval 11pt_avg",
    names={"trec_eval": {"11pt_avg": {}}},
    ignores_unjudged=True,
)
def eleven_point_precision(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    min_relevance: float = 1,
    rounding: Rounding = "up",
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Mean of the interpolated precisions at recall 0, 0.1, ..., 1.

    $\frac{1}{11} \sum_{j=0}^{10} \max_{i \ge c_j} i / rank_i$ over the relevant items in order of rank, with
    $c_j = \lfloor j R / 10 + 0.9 \rfloor$, R = relevant items, returned or not.

    Rows and nulls: see docs/judged-table.md. A null or NaN grade is not relevant. Nothing returned gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    min_relevance
        Lowest relevant grade.
    rounding
        How a level becomes a number of items: ``"up"`` (trec_eval 9) or ``"nearest"`` (trec_eval 10), as
        in `interpolated_precision`.
    empty
        Value if nothing is relevant; None for null.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1] for distinct whole ranks.

    Raises
    ------
    ValueError
        If min_relevance is negative, rounding is unknown, or empty is not a number.

    References
    ----------
    Manning et al. 2008, ch. 8; trec_eval 11pt_avg.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 4], "relevance": [1, 0, 2]})
    >>> round(judged.select(rank.eleven_point_precision()).item(), 4)
    0.7727
    """
    name = label("eleven_point_precision", min_relevance=min_relevance, rounding=rounding, empty=empty)
    r, g = number(rank), number(relevance)
    total = count(relevant(g, min_relevance))
    found, best = _curve(r, g, min_relevance)
    # How many of the levels end at each relevant item: so the curve is sorted once, not eleven times.
    levels = pl.sum_horizontal(
        (_needed(level, total, rounding).clip(lower_bound=1) == found).cast(pl.Float64) for level in _LEVELS
    )
    return unless_empty((best * levels).sum().abs() / len(_LEVELS), total, empty).alias(name)


def _curve(rank: pl.Expr, relevance: pl.Expr, min_relevance: float) -> tuple[pl.Expr, pl.Expr]:
    """For each relevant item by rank: the number found so far and the highest precision from there on."""
    place = rank.filter(relevant(relevance, min_relevance) & returned(rank)).sort()
    found = place.cum_count()
    return found, (found / place).cum_max(reverse=True)


def _needed(recall: float, total: pl.Expr, rounding: Rounding) -> pl.Expr:
    return (recall * total + (0.9 if rounding == "up" else 0.5)).floor()
