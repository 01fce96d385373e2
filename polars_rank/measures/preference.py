"""Preference measures: agreement of a ranking with the order of the grades."""

import polars as pl

from polars_rank.measures.catalogue import IntoColumn, label, measure
from polars_rank.measures.rows import number, places_above_zero, relevant, returned


@measure(
    source="doi:10.1145/3451161 (Clarke et al. 2021)",
    names={"ir_measures": {"Compat": {}}},
)
def compatibility(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    persistence: float = 0.95,
    normalized: bool = True,
) -> pl.Expr:
    r"""Compatibility: rank-biased overlap of the ranking with an ideal one.

    $RBO(ranking, ideal) / RBO(ideal, ideal)$ with $RBO = \sum_{d \le D} p^{d - 1} |A_d \cap B_d| / d \;/
    \sum_{d \le D} p^{d - 1}$ over the tops of depth d. The ideal holds the items of a grade above 0, higher
    grades first, equal grades in the order of the ranking; D is the longer list's length.

    Rows and nulls: see docs/judged-table.md. An item that was not returned counts only in the ideal. A null,
    NaN or negative grade is not in the ideal. Nothing returned, or no grade above 0, gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade, or preference: any number or Boolean.
    persistence
        p: how soon the depths lose weight.
    normalized
        False leaves out the division by RBO(ideal, ideal).

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1] for distinct whole ranks.

    Raises
    ------
    ValueError
        If persistence is not in [0, 1), or normalized is no Boolean.

    References
    ----------
    doi:10.1145/3451161 (Clarke et al. 2021), as ir_measures computes it. There an item that was missed
    stands in the ideal before its equals of a score below 0.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [0, 2, 1, 1]})
    >>> round(judged.select(rank.compatibility(persistence=0.5)).item(), 4)
    0.2381
    """
    name = label("compatibility", persistence=persistence, normalized=normalized)
    r, g = number(rank), number(relevance)
    wanted = relevant(g, 0) & (g != 0)
    place = pl.when(returned(r)).then(r).filter(wanted)
    order = place.sort_by(g.filter(wanted), place, descending=[True, False], nulls_last=True)
    # An item is in both tops from the deeper of its two places on.
    in_ideal = wanted.sum()
    deeper = pl.max_horizontal(order, pl.int_range(1, in_ideal + 1)).ceil()
    depth = pl.max_horizontal(r.filter(returned(r)).max().ceil(), in_ideal).fill_null(0)
    depth = depth.clip(upper_bound=places_above_zero(persistence))
    d = pl.int_range(1, depth.cast(pl.Int64) + 1).cast(pl.Float64)
    weight = pl.lit(float(persistence)).pow(d - 1)
    from_there_on = (weight / d).cum_sum(reverse=True)
    shared = from_there_on.gather(
        (deeper.filter(order.is_not_null() & (deeper <= depth)) - 1).cast(pl.Int64)
    ).sum()
    best = (weight / d * d.clip(upper_bound=in_ideal)).sum() if normalized else weight.sum()
    return pl.when(in_ideal > 0).then(shared / best).otherwise(0.0).alias(name)


@measure(
    source="ir_measures Accuracy",
    names={"ir_measures": {"Accuracy": {}}},
    empty=None,
)
def pairwise_accuracy(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Share of the pairs of a relevant and a non-relevant item in the top k in the right order.

    $1 - \sum_{relevant} above / (N M)$; above = others above a relevant item, N and M = relevant items
    and others in the top k. A pair of equal ranks counts one half. It is the area under the ROC curve of
    the returned list.

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade is not relevant. Null if there is
    no pair.

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
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or min_relevance is negative.

    References
    ----------
    ir_measures Accuracy, which stops where all that was returned is relevant.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, 4], "relevance": [2, 0, 1, None]})
    >>> judged.select(rank.pairwise_accuracy()).item()
    0.75
    """
    name = label("pairwise_accuracy", k=k, min_relevance=min_relevance)
    r, g = number(rank), number(relevance)
    rows = returned(r, k)
    hit = relevant(g, min_relevance).fill_null(value=False).filter(rows)
    # The average of equal ranks counts a tied row as half above.
    place = r.filter(rows).rank("average").filter(hit)
    hits = place.len().cast(pl.Float64)
    above = place.sum() - hits * (hits + 1) / 2
    pairs = hits * (rows.sum() - hits)
    return pl.when(pairs > 0).then(1 - above / pairs).alias(name)
