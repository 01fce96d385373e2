"""Pool measures: how much was returned, judged and relevant, and what follows from judgements alone."""

import polars as pl

from polars_rank.catalogue import IntoColumn, label, measure
from polars_rank.measures.rows import (
    count,
    count_relevant,
    judged,
    number,
    ratio,
    relevant,
    returned,
    unless_empty,
)


@measure(
    source="ir_measures Judged",
    names={"ir_measures": {"Judged": {}}},
)
def judged_share(
    rank: IntoColumn = "rank", relevance: IntoColumn = "relevance", *, k: int | None = None
) -> pl.Expr:
    r"""Share of the items returned in the top k that is judged.

    $|\{rank \le k, relevance \ge 0\}| / |\{rank \le k\}|$

    One row is an item that was returned, judged, or both. A null, NaN or below-1 rank was not
    returned; a null, NaN or negative grade is unjudged. Nothing returned gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    k
        Cutoff; None for the whole list.

    Returns
    -------
    pl.Expr
        Float64, one value a group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole.

    References
    ----------
    ir_measures Judged.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [2, 0, None, 3]})
    >>> round(judged.select(rank.judged_share(k=3)).item(), 4)
    0.6667
    """
    name = label("judged_share", k=k)
    r, g = number(rank), number(relevance)
    return ratio(count(judged(g) & returned(r, k)), count(returned(r, k))).alias(name)


@measure(
    source="doi:10.1145/1008992.1009000 (Buckley and Voorhees 2004)",
    names={
        "ir_measures": {"Bpref": {}, "BPref": {}},
        "trec_eval": {"bpref": {}},
        "ranx": {"bpref": {}},
    },
)
def bpref(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    min_relevance: float = 1,
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Binary preference: how seldom a judged non-relevant item stands above a relevant one.

    $\frac{1}{R} \sum_{relevant} \left(1 - \frac{\min(above, R)}{\min(N, R)}\right)$ over the returned
    relevant items; above = judged non-relevant items strictly above, R and N = relevant and judged
    non-relevant items, returned or not. Nothing above counts 1.

    One row is an item that was returned, judged, or both. A null, NaN or below-1 rank was not
    returned; a null, NaN or negative grade is unjudged. Nothing returned gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    min_relevance
        Least grade that is relevant; grades from 0 to below it are judged non-relevant.
    empty
        Value where nothing is relevant; None for null.

    Returns
    -------
    pl.Expr
        Float64, one value a group. Range [0, 1].

    Raises
    ------
    ValueError
        If min_relevance is negative, or empty is no number.

    References
    ----------
    doi:10.1145/1008992.1009000 (Buckley and Voorhees 2004), as trec_eval computes it.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, 4], "relevance": [1, 0, 1, 0]})
    >>> judged.select(rank.bpref()).item()
    0.75
    """
    name = label("bpref", min_relevance=min_relevance, empty=empty)
    r, g = number(rank), number(relevance)
    total = count(relevant(g, min_relevance))
    rows = judged(g) & returned(r)
    below = g < min_relevance
    # Among equal ranks the relevant come first: only rows strictly above count.
    non_relevant = below.filter(rows).sort_by(r.filter(rows), below.filter(rows))
    above = non_relevant.cum_sum().cast(pl.Float64)
    bound = pl.min_horizontal(total, count(judged(g)) - total)
    score = pl.when(above > 0).then(1 - pl.min_horizontal(above, total) / bound).otherwise(1.0)
    return unless_empty(ratio(score.filter(~non_relevant).sum().abs(), total), total, empty).alias(name)


@measure(
    source="trec_eval num_ret",
    bounds=(0.0, float("inf")),
    aggregate="sum",
    names={"ir_measures": {"NumRet": {}}, "trec_eval": {"num_ret": {}}},
)
def num_returned(rank: IntoColumn = "rank") -> pl.Expr:
    r"""Number of items that were returned.

    $|\{rank \ge 1\}|$

    One row is an item that was returned, judged, or both. A null, NaN or below-1 rank was not
    returned. No rows give 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.

    Returns
    -------
    pl.Expr
        Float64, one value a group. Range [0, inf), in items; queries add up.

    References
    ----------
    trec_eval num_ret.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, None], "relevance": [2, None, 3]})
    >>> judged.select(rank.num_returned()).item()
    2.0
    """
    return count(returned(number(rank))).alias(label("num_returned"))


@measure(
    source="trec_eval num_rel",
    bounds=(0.0, float("inf")),
    aggregate="sum",
    names={"ir_measures": {"NumRel": {}}, "trec_eval": {"num_rel": {}}},
)
def num_relevant(relevance: IntoColumn = "relevance", *, min_relevance: float = 1) -> pl.Expr:
    r"""Number of relevant items, returned or not.

    $|\{relevance \ge min\_relevance\}|$

    One row is an item that was returned, judged, or both. A null or NaN grade is unjudged and not
    relevant. No rows give 0.

    Parameters
    ----------
    relevance
        Grade: any number or Boolean.
    min_relevance
        Least grade that is relevant.

    Returns
    -------
    pl.Expr
        Float64, one value a group. Range [0, inf), in items; queries add up.

    Raises
    ------
    ValueError
        If min_relevance is negative.

    References
    ----------
    trec_eval num_rel.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, None], "relevance": [2, None, 3]})
    >>> judged.select(rank.num_relevant()).item()
    2.0
    """
    name = label("num_relevant", min_relevance=min_relevance)
    return count_relevant(number(relevance), min_relevance, None).alias(name)


@measure(
    source="trec_eval num_rel_ret",
    bounds=(0.0, float("inf")),
    aggregate="sum",
    names={"ir_measures": {"NumRelRet": {}}, "trec_eval": {"num_rel_ret": {}}, "ranx": {"hits": {}}},
)
def num_relevant_returned(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Number of relevant items in the top k.

    $|\{rank \le k, relevance \ge min\_relevance\}|$

    One row is an item that was returned, judged, or both. A null, NaN or below-1 rank was not
    returned; a null or NaN grade is unjudged and not relevant. No rows give 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    k
        Cutoff; None for the whole list.
    min_relevance
        Least grade that is relevant.

    Returns
    -------
    pl.Expr
        Float64, one value a group. Range [0, inf), in items; queries add up.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or min_relevance is negative.

    References
    ----------
    trec_eval num_rel_ret.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, None], "relevance": [2, None, 3]})
    >>> judged.select(rank.num_relevant_returned()).item()
    1.0
    """
    name = label("num_relevant_returned", k=k, min_relevance=min_relevance)
    r, g = number(rank), number(relevance)
    return count(relevant(g, min_relevance) & returned(r, k)).alias(name)
