"""Pool measures: counts and shares of items, and measures for incomplete judgements."""

from math import inf

import polars as pl

from polars_rank.measures.blocks import Blocks, aggregation
from polars_rank.measures.catalogue import IntoColumn, label, measure
from polars_rank.measures.rows import (
    count,
    found,
    judged,
    number,
    ratio,
    relevant,
    returned,
    unless_empty,
)

_EPSILON = 1e-5  # trec_eval's INFAP_EPSILON


def _judged_share(of: Blocks, *, k: int | None) -> pl.Expr:
    return ratio(of.judged(k), of.returned(k))


@measure(
    source="ir_measures Judged",
    names={"ir_measures": {"Judged": {}}},
    needs_judgements=False,
    formula=_judged_share,
    terms=lambda r, g, o: judged(g) & returned(r, o["k"]),
)
def judged_share(
    rank: IntoColumn = "rank", relevance: IntoColumn = "relevance", *, k: int | None = None
) -> pl.Expr:
    r"""Share of the items returned in the top k that is judged.

    $|\{rank \le k, relevance \ge 0\}| / |\{rank \le k\}|$

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade is unjudged. Nothing returned
    gives 0.

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
        Float64, one value per group. Range [0, 1].

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
    return aggregation("judged_share", rank=rank, relevance=relevance, k=k)


@measure(
    source="doi:10.1145/1008992.1009000 (Buckley and Voorhees 2004)",
    names={
        "ir_measures": {"Bpref": {}, "BPref": {}},
        "trec_eval": {"bpref": {}, "gm_bpref": {"aggregate": "geometric"}},
        "ranx": {"bpref": {}},
    },
    ignores_unjudged=True,
)
def bpref(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    min_relevance: float = 1,
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Binary preference: how rarely a judged non-relevant item ranks above a relevant one.

    $\frac{1}{R} \sum_{relevant} \left(1 - \frac{\min(above, R)}{\min(N, R)}\right)$ over the returned
    relevant items; above = judged non-relevant items strictly above, R and N = relevant and judged
    non-relevant items, returned or not. Nothing above counts 1.

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade is unjudged. Nothing returned
    gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    min_relevance
        Least grade that is relevant; grades from 0 to below it are judged non-relevant.
    empty
        Value if nothing is relevant; None for null.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If min_relevance is negative, or empty is not a number.

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


def _unjudged_share(of: Blocks, *, k: int | None) -> pl.Expr:
    return ratio(of.returned(k) - of.judged(k), of.returned(None) if k is None else pl.lit(float(k)))


@measure(
    source="trec_eval unj; BEIR hole",
    names={"trec_eval": {"unj_k": {}}, "beir": {"Hole": {}}},
    formula=_unjudged_share,
    needs_judgements=False,
)
def unjudged_share(
    rank: IntoColumn = "rank", relevance: IntoColumn = "relevance", *, k: int | None = None
) -> pl.Expr:
    r"""Share of the top k that is unjudged (holes).

    $|\{rank \le k, \text{not } relevance \ge 0\}| / k$; without k, over the number returned.

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade is unjudged. Places beyond the end
    of a short list are not holes. Nothing returned gives 0.

    BEIR and MTEB call an item a hole only if no query judges it, which one group cannot show. Their
    ``Hole@k`` is the value on the judged table after
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
        Float64, one value per group. Range [0, 1].

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
    return aggregation("unjudged_share", rank=rank, relevance=relevance, k=k)


@measure(
    source="doi:10.1145/1183614.1183633 (Yilmaz and Aslam 2006)",
    names={"ir_measures": {"infAP": {}}, "trec_eval": {"infAP": {}}},
    ignores_unjudged=True,
)
def inferred_ap(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    min_relevance: float = 1,
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Inferred average precision: an estimate of AP from a judged sample of the pool.

    $\frac{1}{R} \sum_{relevant} \frac{1}{rank} \left(1 + above \frac{relevant + \epsilon}{relevant +
    other + 2 \epsilon}\right)$ over the returned relevant items; relevant and other = relevant and judged
    non-relevant items above, above = these and the pooled ones that nobody judged, $\epsilon = 10^{-5}$.

    Rows and nulls: see docs/judged-table.md. A null or NaN grade was not in the pool; a negative grade was in
    the pool and is unjudged. Among equal ranks relevant items come first. Nothing returned gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    min_relevance
        Least grade that is relevant; grades from 0 to below it are judged non-relevant.
    empty
        Value if nothing is relevant; None for null.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If min_relevance is negative, or empty is not a number.

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
    formula=lambda of: of.returned(None),
    terms=lambda r, _g, _options: returned(r),
)
def num_returned(rank: IntoColumn = "rank") -> pl.Expr:
    r"""Number of returned items.

    $|\{rank \ge 1\}|$

    Rows: see docs/judged-table.md. A rank that is null, NaN or below 1 was not returned. No rows give 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, inf), in items; queries add up.

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
    return aggregation("num_returned", rank=rank)


@measure(
    source="trec_eval num_rel",
    bounds=(0.0, float("inf")),
    aggregate="sum",
    names={"ir_measures": {"NumRel": {}}, "trec_eval": {"num_rel": {}}},
    formula=lambda of, *, min_relevance: of.total(min_relevance),
)
def num_relevant(relevance: IntoColumn = "relevance", *, min_relevance: float = 1) -> pl.Expr:
    r"""Number of relevant items, returned or not.

    $|\{relevance \ge min\_relevance\}|$

    Rows and nulls: see docs/judged-table.md. A null or NaN grade is not relevant. No rows give 0.

    Parameters
    ----------
    relevance
        Grade: any number or Boolean.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, inf), in items; queries add up.

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
    return aggregation("num_relevant", relevance=relevance, min_relevance=min_relevance)


@measure(
    source="trec_eval num_rel_ret",
    bounds=(0.0, float("inf")),
    aggregate="sum",
    names={
        "ir_measures": {"NumRelRet": {}},
        "trec_eval": {"num_rel_ret": {}},
        "ranx": {"hits": {"aggregate": "mean"}},
    },
    formula=lambda of, *, k, min_relevance: of.hits(min_relevance, k),
    terms=lambda r, g, o: found(r, g, o["k"], o["min_relevance"]),
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

    Rows and nulls: see docs/judged-table.md. A null or NaN grade is not relevant. No rows give 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    k
        Cutoff; None for the whole list.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, inf), in items; queries add up.

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
    return aggregation(
        "num_relevant_returned", rank=rank, relevance=relevance, k=k, min_relevance=min_relevance
    )


@measure(
    source="trec_eval num_nonrel_judged_ret",
    bounds=(0.0, float("inf")),
    aggregate="sum",
    names={"trec_eval": {"num_nonrel_judged_ret": {}}},
    ignores_unjudged=True,
)
def num_nonrelevant_returned(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Number of items in the top k that are judged non-relevant.

    $|\{rank \le k, 0 \le relevance < min\_relevance\}|$

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade is unjudged. No rows give 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    k
        Cutoff; None for the whole list.
    min_relevance
        Lowest relevant grade.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, inf), in items; queries add up.

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
    r"""Number of queries: 1 for each query with a row.

    $1$ if there is a row, else $0$.

    Rows: see docs/judged-table.md. Every row counts, whatever its rank; null and NaN too.

    Parameters
    ----------
    rank
        Any column of the table.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1]; queries add up.

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
    r"""Linear utility: weighted counts of the items found, returned in vain, and missed.

    $a \cdot hits + b \cdot (n - hits) + c \cdot (R - hits)$; hits = relevant items among the n of the top
    k, R = relevant items, returned or not, and a, b, c the three worths.

    Rows and nulls: see docs/judged-table.md. A null or NaN grade is not relevant. No rows give 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    k
        Cutoff; None for the whole list.
    min_relevance
        Lowest relevant grade.
    relevant_returned, others_returned, relevant_missed
        Worth of an item of each kind, the first three coefficients of trec_eval. Its fourth, of what is
        neither relevant nor returned, would need the size of the collection.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range (-inf, inf), in units of worth.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, min_relevance is negative, or a worth is not a number.

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
