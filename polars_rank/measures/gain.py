"""Gain measures: every item adds its gain, discounted by its rank."""

import polars as pl

from polars_rank.measures.blocks import Blocks, Gain, Gains, Ideal, aggregation, discounted, gains_of
from polars_rank.measures.catalogue import IntoColumn, Options, measure
from polars_rank.measures.rows import ratio, unless_empty

_JARVELIN = "doi:10.1145/582415.582418 (Järvelin and Kekäläinen 2002)"


def _discounted_gain(rank: pl.Expr, grade: pl.Expr, options: Options) -> pl.Expr:
    return discounted(rank, gains_of(grade, options["gain"]), options["k"])


def _dcg(of: Blocks, *, k: int | None, gain: Gain | Gains) -> pl.Expr:
    return of.dcg(gain, k)


@measure(
    source=_JARVELIN,
    bounds=(0.0, float("inf")),
    names={
        "trec_eval": {"dcg": {}},
        "ranx": {"dcg": {}, "dcg_burges": {"gain": "exponential"}},
    },
    formula=_dcg,
    terms=_discounted_gain,
)
def dcg(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    gain: Gain | Gains = "linear",
) -> pl.Expr:
    r"""Discounted cumulative gain: the sum of the gains, each discounted by its rank.

    $DCG_k = \sum_{rank \le k} gain(relevance) / \log_2(rank + 1)$

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade gains nothing. No rows give 0.

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
        Float64, one value per group. Range [0, inf), in units of gain.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or gain is neither one of its words nor a mapping of numbers.

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
    return aggregation("dcg", rank=rank, relevance=relevance, k=k, gain=gain)


def _ideal_dcg(of: Blocks, *, k: int | None, gain: Gain | Gains) -> pl.Expr:
    return of.ideal(gain, k)


@measure(
    source=_JARVELIN,
    bounds=(0.0, float("inf")),
    names={"trec_eval": {"ideal_dcg": {}}},
    formula=_ideal_dcg,
)
def ideal_dcg(
    relevance: IntoColumn = "relevance", *, k: int | None = None, gain: Gain | Gains = "linear"
) -> pl.Expr:
    r"""DCG of the best possible ranking: all judged items by descending grade.

    $IDCG_k = \sum_{i \le k} gain(g_i) / \log_2(i + 1)$ with $g_1 \ge g_2 \ge \dots$ the grades of the
    group, returned or not.

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade gains nothing. No rows give 0.

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
        Float64, one value per group. Range [0, inf), in units of gain.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or gain is neither one of its words nor a mapping of numbers.

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
    return aggregation("ideal_dcg", relevance=relevance, k=k, gain=gain)


def _ndcg(of: Blocks, *, k: int | None, gain: Gain | Gains, ideal: Ideal, empty: float | None) -> pl.Expr:
    return unless_empty(ratio(of.dcg(gain, k), of.ideal(gain, k, ideal)), of.gaining(gain), empty)


@measure(
    source=_JARVELIN,
    names={
        "ir_measures": {"nDCG": {}},
        "trec_eval": {"ndcg": {}, "ndcg_cut_k": {}},
        "ranx": {"ndcg": {}, "ndcg_burges": {"gain": "exponential"}},
        "mteb": {"ndcg_at_k": {}},
    },
    formula=_ndcg,
    terms=_discounted_gain,
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
    r"""Normalized discounted cumulative gain: DCG divided by the DCG of the best ranking.

    $nDCG_k = DCG_k / IDCG_k$, $DCG_k = \sum_{rank \le k} gain(relevance) / \log_2(rank + 1)$

    Rows and nulls: see docs/judged-table.md. An item that was not returned counts only in the ideal. A null,
    NaN or negative grade gains nothing.

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
        Value if no item has a gain; None for null.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1] for distinct whole ranks.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, gain or ideal is none of its choices, or empty is not a number.

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
    return aggregation("ndcg", rank=rank, relevance=relevance, k=k, gain=gain, ideal=ideal, empty=empty)
