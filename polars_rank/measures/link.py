"""Link prediction: one column of ranks of the true answers, one row a query.

These average over rows. A judged table, with many rows a query, wants `reciprocal_rank` instead.
"""

import polars as pl

from polars_rank.measures.catalogue import IntoColumn, label, measure
from polars_rank.measures.rows import number, returned

_SOURCE = "doi:10.48550/arXiv.2002.06914 (Berrendorf et al. 2020); Bordes et al. 2013"


@measure(source=_SOURCE, names={"pykeen": {"mean_reciprocal_rank": {}}}, needs_judgements=False)
def mean_reciprocal_rank(rank: IntoColumn, *, not_found: IntoColumn | float = "zero") -> pl.Expr:
    r"""Mean of one over the rank of the true answer.

    $MRR = \frac{1}{n} \sum 1 / rank$ over n rows.

    One row per query, with the rank of its one true answer. A rank that is null, NaN or below 1 was not
    found. For a judged table, with many rows per query, use `reciprocal_rank`. No rows give 0.

    Parameters
    ----------
    rank
        Number, 1 is the top; fractional ranks (mean over ties) are fine. No default.
    not_found
        For a rank that was not found: ``"zero"`` adds 0 and counts; ``"skip"`` leaves it out; a
        number or a column is the rank to take instead.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If not_found is neither of its words, nor a column, nor a number of at least 0.

    References
    ----------
    doi:10.48550/arXiv.2002.06914 (Berrendorf et al. 2020); Bordes et al. 2013

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> round(pl.DataFrame({"rank": [1, 3, 2, 5]}).select(rank.mean_reciprocal_rank("rank")).item(), 6)
    0.508333
    """
    name = label("mean_reciprocal_rank", not_found=not_found)
    place = _place(rank, not_found)
    return _mean(1 / place, place, not_found).alias(name)


@measure(source=_SOURCE, names={"pykeen": {"hits_at_k": {}, "hits": {}}}, needs_judgements=False)
def hits_at_k(rank: IntoColumn, *, k: int | None = None, not_found: IntoColumn | float = "zero") -> pl.Expr:
    r"""Share of the queries whose true answer is in the top k.

    $H_k = |\{rank \le k\}| / n$ over n rows.

    One row per query, with the rank of its one true answer. A rank that is null, NaN or below 1 was not
    found. For a judged table, with many rows per query, use `reciprocal_rank` or `success`. No rows give 0.

    Parameters
    ----------
    rank
        Number, 1 is the top; fractional ranks (mean over ties) are fine. No default.
    k
        Cutoff; None for found at any rank.
    not_found
        For a rank that was not found: ``"zero"`` is a miss and counts; ``"skip"`` leaves it out; a
        number or a column is the rank to take instead.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or not_found is neither of its words, nor a column, nor a number
        of at least 0.

    References
    ----------
    doi:10.48550/arXiv.2002.06914 (Berrendorf et al. 2020); Bordes et al. 2013

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> pl.DataFrame({"rank": [1, 3, 2, 5, 10]}).select(rank.hits_at_k("rank", k=3)).item()
    0.6
    """
    name = label("hits_at_k", k=k, not_found=not_found)
    place = _place(rank, not_found)
    return _mean(returned(place, k).cast(pl.Float64), place, not_found).alias(name)


@measure(
    source=_SOURCE,
    bounds=(0.0, float("inf")),
    higher_is_better=False,
    names={"pykeen": {"mean_rank": {}, "arithmetic_mean_rank": {}}},
    needs_judgements=False,
)
def mean_rank(rank: IntoColumn, *, not_found: IntoColumn | float = "zero") -> pl.Expr:
    r"""Mean rank of the true answer.

    $MR = \frac{1}{n} \sum rank$ over n rows.

    One row per query, with the rank of its one true answer. A rank that is null, NaN or below 1 was not
    found. By default it adds 0, which makes the mean look better: ``not_found="skip"`` or the number of
    candidates is fairer. For a judged table, with many rows per query, use `reciprocal_rank`. No rows give 0.

    Parameters
    ----------
    rank
        Number, 1 is the top; fractional ranks (mean over ties) are fine. No default.
    not_found
        For a rank that was not found: ``"zero"`` adds 0 and counts; ``"skip"`` leaves it out; a
        number or a column is the rank to take instead.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, inf), in ranks; lower is better.

    Raises
    ------
    ValueError
        If not_found is neither of its words, nor a column, nor a number of at least 0.

    References
    ----------
    doi:10.48550/arXiv.2002.06914 (Berrendorf et al. 2020); Bordes et al. 2013

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> pl.DataFrame({"rank": [0, 2, 4, 0]}).select(rank.mean_rank("rank")).item()
    1.5
    """
    name = label("mean_rank", not_found=not_found)
    place = _place(rank, not_found)
    return _mean(place, place, not_found).alias(name)


def _place(rank: IntoColumn, not_found: IntoColumn | float) -> pl.Expr:
    r = number(rank)
    instead = None if isinstance(not_found, str) and not_found in ("zero", "skip") else number(not_found)
    place = pl.when(returned(r)).then(r)
    return place if instead is None else place.otherwise(pl.when(returned(instead)).then(instead))


def _mean(value: pl.Expr, place: pl.Expr, not_found: IntoColumn | float) -> pl.Expr:
    skip = isinstance(not_found, str) and not_found == "skip"
    size = place.count() if skip else place.len()
    # The sum of no floats is -0.0 in Polars.
    return (value.sum().abs() / size).fill_nan(0.0)
