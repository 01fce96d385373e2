"""Pool measures: how much was returned, judged and relevant, and what follows from judgements alone."""

from math import inf

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

_EPSILON = 1e-5  # trec_eval's INFAP_EPSILON


@measure(
    source="ir_measures Judged",
    names={"ir_measures": {"Judged": {}}},
    needs_judgements=False,
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
        "trec_eval": {"bpref": {}, "gm_bpref": {"aggregate": "geometric"}},
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
    source="trec_eval unj; BEIR hole",
    names={"trec_eval": {"unj_k": {}}, "beir": {"Hole": {}}},
    needs_judgements=False,
)
def unjudged_share(
    rank: IntoColumn = "rank", relevance: IntoColumn = "relevance", *, k: int | None = None
) -> pl.Expr:
    r"""Share of the top k that is unjudged: the holes.

    $|\{rank \le k, \text{not } relevance \ge 0\}| / k$; without k, over the number returned.

    One row is an item that was returned, judged, or both. A null, NaN or below-1 rank was not
    returned; a null, NaN or negative grade is unjudged. A place below the end of a short list is no
    hole. Nothing returned gives 0.

    BEIR and MTEB call an item a hole only where no query at all judges it, which no group can tell. Their
    ``Hole@k`` is that of the judged table after
    ``with_columns(relevance=pl.when(pl.col("relevance").is_not_null().any().over("item")).then(1))``.

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
    trec_eval unj; BEIR hole.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, None], "relevance": [2, None, 3]})
    >>> judged.select(rank.unjudged_share(k=5)).item()
    0.2
    """
    name = label("unjudged_share", k=k)
    r, g = number(rank), number(relevance)
    holes = count(returned(r, k)) - count(judged(g) & returned(r, k))
    return ratio(holes, count(returned(r)) if k is None else pl.lit(float(k))).alias(name)


@measure(
    source="doi:10.1145/1183614.1183633 (Yilmaz and Aslam 2006)",
    names={"ir_measures": {"infAP": {}}, "trec_eval": {"infAP": {}}},
)
def inferred_ap(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    min_relevance: float = 1,
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Inferred average precision: what AP would be, from judgements of a sample of the pool.

    $\frac{1}{R} \sum_{relevant} \frac{1}{rank} \left(1 + above \frac{relevant + \epsilon}{relevant +
    other + 2 \epsilon}\right)$ over the returned relevant items; relevant and other = relevant and judged
    non-relevant items above, above = these and the pooled ones that nobody judged, $\epsilon = 10^{-5}$.

    One row is an item that was returned, judged, or both. A null, NaN or below-1 rank was not
    returned; a null or NaN grade was not in the pool; a negative grade was, unjudged. Among equal ranks
    the relevant stand first. Nothing returned gives 0.

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
    doi:10.1145/1183614.1183633 (Yilmaz and Aslam 2006), as trec_eval computes it.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, 4], "relevance": [1, -1, 0, 1]})
    >>> round(judged.select(rank.inferred_ap()).item(), 4)
    0.8125
    """
    name = label("inferred_ap", min_relevance=min_relevance, empty=empty)
    r, g = number(rank), number(relevance)
    total = count(relevant(g, min_relevance))
    rows = returned(r) & g.is_between(-inf, inf)
    hit = relevant(g, min_relevance)
    order = [r.filter(rows), ~hit.filter(rows)]
    place, found = r.filter(rows).sort(), hit.filter(rows).sort_by(order)
    other = (judged(g) & ~hit).filter(rows).sort_by(order).cum_sum()
    pooled = found.cum_count() - 1
    hits = found.cum_sum() - 1
    share = (hits + _EPSILON) / (hits + other + 2 * _EPSILON)
    value = ((1 + pooled * share) / place).filter(found).sum().abs()
    return unless_empty(ratio(value, total), total, empty).alias(name)


@measure(
    source="trec_eval num_ret",
    bounds=(0.0, float("inf")),
    aggregate="sum",
    names={"ir_measures": {"NumRet": {}}, "trec_eval": {"num_ret": {}}},
    needs_judgements=False,
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
    names={
        "ir_measures": {"NumRelRet": {}},
        "trec_eval": {"num_rel_ret": {}},
        "ranx": {"hits": {"aggregate": "mean"}},
    },
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


@measure(
    source="trec_eval num_nonrel_judged_ret",
    bounds=(0.0, float("inf")),
    aggregate="sum",
    names={"trec_eval": {"num_nonrel_judged_ret": {}}},
)
def num_nonrelevant_returned(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Number of items in the top k that were judged non-relevant.

    $|\{rank \le k, 0 \le relevance < min\_relevance\}|$

    One row is an item that was returned, judged, or both. A null, NaN or below-1 rank was not
    returned; a null, NaN or negative grade is unjudged. No rows give 0.

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
    trec_eval num_nonrel_judged_ret.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [2, 0, None, 0]})
    >>> judged.select(rank.num_nonrelevant_returned()).item()
    1.0
    """
    name = label("num_nonrelevant_returned", k=k, min_relevance=min_relevance)
    r, g = number(rank), number(relevance)
    return count(judged(g) & (g < min_relevance) & returned(r, k)).alias(name)


@measure(
    source="trec_eval num_q",
    aggregate="sum",
    names={"ir_measures": {"NumQ": {}}, "trec_eval": {"num_q": {}}},
    needs_judgements=False,
)
def num_queries(rank: IntoColumn = "rank") -> pl.Expr:
    r"""Number of queries: 1 for each that has a row.

    $1$ if there is a row, else $0$.

    One row is an item that was returned, judged, or both; any rank counts, null and NaN too.

    Parameters
    ----------
    rank
        Any column of the table.

    Returns
    -------
    pl.Expr
        Float64, one value a group. Range [0, 1]; queries add up.

    References
    ----------
    trec_eval num_q.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, None], "relevance": [2, None, 3]})
    >>> judged.select(rank.num_queries()).item()
    1.0
    """
    return (number(rank).len() > 0).cast(pl.Float64).alias(label("num_queries"))


@measure(
    source="trec_eval utility; Hull and Robertson 1999 (TREC-8 filtering)",
    bounds=(-float("inf"), float("inf")),
    names={"trec_eval": {"utility": {}}},
)
def utility(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    min_relevance: float = 1,
    relevant_returned: float = 1.0,
    others_returned: float = -1.0,
    relevant_missed: float = 0.0,
) -> pl.Expr:
    r"""Linear utility of a returned set: what items found, returned in vain or missed are worth.

    $a \cdot hits + b \cdot (n - hits) + c \cdot (R - hits)$; hits = relevant items among the n of the top
    k, R = relevant items, returned or not, and a, b, c the three worths.

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
    relevant_returned, others_returned, relevant_missed
        Worth of an item of each kind, the first three coefficients of trec_eval. Its fourth, of what is
        neither relevant nor returned, would need the size of the collection.

    Returns
    -------
    pl.Expr
        Float64, one value a group. Range (-inf, inf), in units of worth.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, min_relevance is negative, or a worth is no number.

    References
    ----------
    trec_eval utility; Hull and Robertson 1999 (TREC-8 filtering).

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [2, 0, None, 3]})
    >>> judged.select(rank.utility(relevant_returned=2)).item()
    0.0
    """
    name = label(
        "utility",
        k=k,
        min_relevance=min_relevance,
        relevant_returned=relevant_returned,
        others_returned=others_returned,
        relevant_missed=relevant_missed,
    )
    r, g = number(rank), number(relevance)
    hits = count(relevant(g, min_relevance) & returned(r, k))
    others = count(returned(r, k)) - hits
    missed = count(relevant(g, min_relevance)) - hits
    worth = relevant_returned * hits + others_returned * others + relevant_missed * missed
    return worth.alias(name)
