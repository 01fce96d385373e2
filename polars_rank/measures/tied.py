"""Tied measures: means over all orders of items with equal scores."""

from typing import Literal

import polars as pl

from polars_rank.measures.blocks import best_first, gains_of
from polars_rank.measures.catalogue import IntoColumn, label, measure
from polars_rank.measures.rows import count, number, ratio, returned, unless_empty

_MCSHERRY = "doi:10.1007/978-3-540-78646-7_38 (McSherry and Najork 2008)"


@measure(
    source=_MCSHERRY,
    bounds=(0.0, float("inf")),
    names={"sklearn": {"dcg_score": {}}},
)
def expected_dcg(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    score: IntoColumn = "score",
    *,
    k: int | None = None,
    gain: Literal["linear", "exponential"] = "linear",
) -> pl.Expr:
    r"""Expected DCG over all orders of items with equal scores.

    $\sum_t \bar g_t \sum_{rank \in t, rank \le k} 1 / \log_2(rank + 1)$ with t the items of one score and
    $\bar g_t$ their mean gain.

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade gains nothing, but its item keeps
    its share of a tie. No rows give 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    score
        Number: items with equal scores are tied. Null and NaN are tied with each other.
    k
        Only ranks up to k count; None for the whole list.
    gain
        ``"linear"``: the grade itself; ``"exponential"``: 2^grade - 1 (Burges et al. 2005), in float.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, inf), in units of gain.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or gain is not one of its choices.

    References
    ----------
    doi:10.1007/978-3-540-78646-7_38 (McSherry and Najork 2008)

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3], "score": [9, 5, 5], "relevance": [1, 0, 2]})
    >>> round(judged.select(rank.expected_dcg()).item(), 4)
    2.1309
    """
    name = label("expected_dcg", k=k, gain=gain)
    return _reached(number(rank), number(score), gains_of(number(relevance), gain), k).alias(name)


@measure(
    source=_MCSHERRY,
    names={
        "sklearn": {"ndcg_score": {"ideal": "list"}},
        "torchmetrics": {"retrieval_normalized_dcg": {"ideal": "list"}},
    },
)
def expected_ndcg(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    score: IntoColumn = "score",
    *,
    k: int | None = None,
    gain: Literal["linear", "exponential"] = "linear",
    ideal: Literal["judged", "list"] = "judged",
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Expected nDCG over all orders of items with equal scores.

    $\frac{1}{IDCG_k} \sum_t \bar g_t \sum_{rank \in t, rank \le k} 1 / \log_2(rank + 1)$ with t the items of
    one score and $\bar g_t$ their mean gain.

    Rows and nulls: see docs/judged-table.md. An item that was not returned counts only in the ideal. A null,
    NaN or negative grade gains nothing, but its item keeps its share of a tie.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    score
        Number: items with equal scores are tied. Null and NaN are tied with each other.
    k
        Only ranks up to k count, and the ideal has k items; None for the whole list.
    gain
        ``"linear"``: the grade itself; ``"exponential"``: 2^grade - 1 (Burges et al. 2005), in float.
    ideal
        ``"judged"``: all judged items; ``"list"``: the returned ones.
    empty
        Value if no item has a gain; None for null.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole, gain or ideal is not one of its choices, or empty is not a number.

    References
    ----------
    doi:10.1007/978-3-540-78646-7_38 (McSherry and Najork 2008)

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2], "score": [5, 5], "relevance": [1, 0]})
    >>> round(judged.select(rank.expected_ndcg()).item(), 4)
    0.8155
    """
    name = label("expected_ndcg", k=k, gain=gain, ideal=ideal, empty=empty)
    r, gains = number(rank), gains_of(number(relevance), gain)
    best = best_first(pl.when(returned(r)).then(gains) if ideal == "list" else gains, k)
    reached = _reached(r, number(score), gains, k)
    return unless_empty(ratio(reached, best), count(gains.is_not_null()), empty).alias(name)


def _reached(rank: pl.Expr, score: pl.Expr, gains: pl.Expr, k: int | None) -> pl.Expr:
    """Sum over the ranks up to `k`, each with the mean gain of its tie.

    The mean does not depend on `k`, and rows beyond it add 0, so the sum up to `k` never exceeds the whole.
    """
    rows = returned(rank)
    key = score.fill_nan(None).filter(rows)
    weight = pl.when(returned(rank, k)).then(1 / (rank + 1).log(2)).otherwise(0.0)
    in_order, row = key.sort(), pl.int_range(1, rows.sum() + 1)
    ends = in_order.ne_missing(in_order.shift(-1)) | (row == rows.sum())
    summed = gains.fill_null(0.0).filter(rows).sort_by(key).cum_sum()
    gained, size = (total - total.shift(1, fill_value=0) for total in (summed.filter(ends), row.filter(ends)))
    tie = ends.cum_sum() - ends.cast(pl.UInt32)
    return ((gained / size).gather(tie) * weight.filter(rows).sort_by(key)).sum().abs()
