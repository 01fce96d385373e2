"""Gain measures: each item adds its gain, discounted by its rank."""

from collections.abc import Mapping
from typing import Literal

import polars as pl

from polars_rank.catalogue import IntoColumn, label, measure
from polars_rank.measures.rows import count, number, ratio, relevant, returned, unless_empty

Gain = Literal["linear", "exponential"]
Gains = Mapping[float, float]
Ideal = Literal["judged", "list", "k"]

_JARVELIN = "doi:10.1145/582415.582418 (Järvelin and Kekäläinen 2002)"


@measure(
    source=_JARVELIN,
    bounds=(0.0, float("inf")),
    names={
        "trec_eval": {"dcg": {}},
        "ranx": {"dcg": {}, "dcg_burges": {"gain": "exponential"}},
    },
    terms=lambda r, g, o: _discounted(r, gains_of(g, o["gain"]), o["k"]),
)
def dcg(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    gain: Gain | Gains = "linear",
) -> pl.Expr:
    r"""Discounted cumulative gain: the gains of the returned items, each discounted by its rank.

    $DCG_k = \sum_{rank \le k} gain(relevance) / \log_2(rank + 1)$

    One row is an item that was returned, judged, or both. A null, NaN or below-1 rank was not
    returned; a null, NaN or negative grade gains nothing. No rows give 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    k
        Only ranks up to k count; None for the whole list.
    gain
        ``"linear"``: the grade itself; ``"exponential"``: 2^grade - 1 (Burges et al. 2005), in float;
        or a mapping of grades to gains, ``{1: 3, 2: 7}``: other grades gain themselves.

    Returns
    -------
    pl.Expr
        Float64, one value a group. Range [0, inf), in units of gain.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or gain is neither a word of its list nor a mapping of numbers.

    References
    ----------
    doi:10.1145/582415.582418 (Järvelin and Kekäläinen 2002)

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [2, 0, 1, 3]})
    >>> judged.select(rank.dcg()).item()
    2.5
    """
    name = label("dcg", k=k, gain=gain)
    return _positive(_discounted(number(rank), gains_of(number(relevance), gain), k).sum()).alias(name)


@measure(
    source=_JARVELIN,
    bounds=(0.0, float("inf")),
    names={"trec_eval": {"ideal_dcg": {}}},
)
def ideal_dcg(
    relevance: IntoColumn = "relevance", *, k: int | None = None, gain: Gain | Gains = "linear"
) -> pl.Expr:
    r"""DCG of the best possible ranking: all judged items by descending grade.

    $IDCG_k = \sum_{i \le k} gain(g_i) / \log_2(i + 1)$ with $g_1 \ge g_2 \ge \dots$ the grades of the
    group, returned or not.

    One row is an item that was returned, judged, or both. Null, NaN and negative grades gain
    nothing. No rows give 0.

    Parameters
    ----------
    relevance
        Grade: any number or Boolean.
    k
        Only the k best count; None for all.
    gain
        ``"linear"``: the grade itself; ``"exponential"``: 2^grade - 1 (Burges et al. 2005), in float;
        or a mapping of grades to gains, ``{1: 3, 2: 7}``: other grades gain themselves.

    Returns
    -------
    pl.Expr
        Float64, one value a group. Range [0, inf), in units of gain.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or gain is neither a word of its list nor a mapping of numbers.

    References
    ----------
    doi:10.1145/582415.582418 (Järvelin and Kekäläinen 2002)

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [2, 0, 1, 3]})
    >>> round(judged.select(rank.ideal_dcg()).item(), 4)
    4.7619
    """
    name = label("ideal_dcg", k=k, gain=gain)
    return best_first(gains_of(number(relevance), gain), k).alias(name)


@measure(
    source=_JARVELIN,
    names={
        "ir_measures": {"nDCG": {}},
        "trec_eval": {"ndcg": {}, "ndcg_cut_k": {}},
        "ranx": {"ndcg": {}, "ndcg_burges": {"gain": "exponential"}},
        "mteb": {"ndcg_at_k": {}},
    },
    terms=lambda r, g, o: _discounted(r, gains_of(g, o["gain"]), o["k"]),
)
def ndcg(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    gain: Gain | Gains = "linear",
    ideal: Ideal = "judged",
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Normalised discounted cumulative gain: DCG over the DCG of the best possible ranking.

    $nDCG_k = DCG_k / IDCG_k$, $DCG_k = \sum_{rank \le k} gain(relevance) / \log_2(rank + 1)$

    One row is an item that was returned, judged, or both. A null, NaN or below-1 rank was not
    returned: it counts for the ideal only. A null, NaN or negative grade gains nothing.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    k
        Only ranks up to k count, and the ideal has k items; None for the whole list.
    gain
        ``"linear"``: the grade itself; ``"exponential"``: 2^grade - 1 (Burges et al. 2005), in float;
        or a mapping of grades to gains, ``{1: 3, 2: 7}``: other grades gain themselves.
    ideal
        ``"judged"``: all judged items; ``"list"``: the returned ones, at any rank; ``"k"``: k items
        (all returned, if k is None) of the group's highest grade.
    empty
        Value where no item has a gain; None for null.

    Returns
    -------
    pl.Expr
        Float64, one value a group. Range [0, 1] for distinct whole ranks.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, gain or ideal is none of its choices, or empty is no number.

    References
    ----------
    doi:10.1145/582415.582418 (Järvelin and Kekäläinen 2002)

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [2, 0, 1, 3]})
    >>> round(judged.select(rank.ndcg(k=3)).item(), 4)
    0.525
    """
    name = label("ndcg", k=k, gain=gain, ideal=ideal, empty=empty)
    r, gains = number(rank), gains_of(number(relevance), gain)
    reached = _positive(_discounted(r, gains, k).sum())
    if ideal == "k":
        length = returned(r).sum() if k is None else pl.lit(k)
        best = gains.max().fill_null(0.0) * (1 / (pl.int_range(2, length + 2)).log(2)).sum()
    else:
        best = best_first(pl.when(returned(r)).then(gains) if ideal == "list" else gains, k)
    return unless_empty(ratio(reached, best), count(gains.is_not_null()), empty).alias(name)


def gains_of(relevance: pl.Expr, gain: Gain | Gains) -> pl.Expr:
    """Gains of grades; null where there is none."""
    if isinstance(gain, Mapping):
        relevance = relevance.replace({float(grade): float(gained) for grade, gained in gain.items()})
    amount = pl.lit(2.0).pow(relevance) - 1 if gain == "exponential" else relevance
    return pl.when(relevant(relevance, 0) & (relevance != 0)).then(amount)


def _discounted(rank: pl.Expr, gains: pl.Expr, k: int | None) -> pl.Expr:
    return pl.when(returned(rank, k)).then(gains / (rank + 1).log(2))


def best_first(gains: pl.Expr, k: int | None) -> pl.Expr:
    """Sum the k highest gains, discounted."""
    # A list sorted once a group is far cheaper than an expression sorted a group.
    best = gains.drop_nulls().implode().list.sort(descending=True)
    best = best if k is None else best.list.head(k)
    element = pl.element()
    return _positive(best.list.eval(element / (element.cum_count() + 1).log(2)).list.sum())


def _positive(total: pl.Expr) -> pl.Expr:
    # The sum of no floats is -0.0 in Polars.
    return total.abs()
