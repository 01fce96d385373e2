"""Cascade measures: the user reads from the top and stops at some item."""

from math import inf
from typing import Literal

import polars as pl

from polars_rank.measures.blocks import Blocks, aggregation
from polars_rank.measures.catalogue import IntoColumn, label, measure
from polars_rank.measures.rows import (
    found,
    is_first,
    judged,
    nan_beyond,
    number,
    relevant,
    returned,
    unless_empty,
)


def _reciprocal_rank(of: Blocks, *, k: int | None, min_relevance: float, empty: float | None) -> pl.Expr:
    value = (1 / of.first(min_relevance, k)).fill_null(0.0)
    return unless_empty(value, of.total(min_relevance), empty)


@measure(
    source="Voorhees 1999 (TREC-8 question answering); trec_eval recip_rank",
    names={
        "ir_measures": {"RR": {}, "MRR": {}},
        "trec_eval": {"recip_rank": {}},
        "ranx": {"mrr": {}},
        "mteb": {"mrr_at_k": {}},
        "torchmetrics": {"retrieval_reciprocal_rank": {}},
    },
    formula=_reciprocal_rank,
    terms=lambda r, g, o: is_first(r, found(r, g, o["k"], o["min_relevance"])),
)
def reciprocal_rank(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    min_relevance: float = 1,
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""One over the rank of the first relevant item in the top k.

    $RR_k = 1 / \min \{rank : rank \le k, relevance \ge min\_relevance\}$, 0 where there is none.

    Rows and nulls: see docs/judged-table.md. A null or NaN grade is not relevant. Nothing returned gives 0.

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
    empty
        Value if nothing is relevant; None for null.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole, min_relevance is negative, or empty is not a number.

    References
    ----------
    Voorhees 1999 (TREC-8 question answering); trec_eval recip_rank.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [0, 2, 1, 3]})
    >>> judged.select(rank.reciprocal_rank()).item()
    0.5
    """
    return aggregation(
        "reciprocal_rank", rank=rank, relevance=relevance, k=k, min_relevance=min_relevance, empty=empty
    )


@measure(
    source="doi:10.1145/1416950.1416952 (Moffat and Zobel 2008)",
    names={
        "ir_measures": {"RBP": {}},
        "trec_eval": {"rbp": {"persistence": 0.9, "max_relevance": "highest"}},
        "ranx": {"rbp": {"max_relevance": "unscaled"}},
    },
    terms=lambda r, g, o: (
        _weight(r, o["persistence"]) * _worth(r, g, o["k"], o["min_relevance"], o["max_relevance"])
    ),
    ignores_unjudged=True,
)
def rbp(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    persistence: float = 0.8,
    min_relevance: float = 1,
    max_relevance: float | Literal["highest", "unscaled"] | None = None,
) -> pl.Expr:
    r"""Rank-biased precision: gain rate of a user who continues with a fixed probability.

    $RBP_k = (1 - p) \sum_{rank \le k} g \, p^{rank - 1}$ with $g = 1$ for a relevant item, or
    $g = relevance / max\_relevance$ where a scale is given.

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade gains nothing. Nothing returned
    gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    k
        Cutoff; None for the whole list.
    persistence
        p, the chance to go on to the next item: 0.8 as in ir_measures (trec_eval 10 has 0.9).
    min_relevance
        Least grade that is relevant; not used where max_relevance is given.
    max_relevance
        Top of the grade scale, for graded gains; None for binary ones. A larger grade anywhere in
        the group gives NaN. ``"highest"``: the highest grade of the group, at least 1 (trec_eval 10);
        ``"unscaled"``: the grades themselves (ranx), so that values can exceed 1.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole, persistence is not in [0, 1), min_relevance is negative, or
        max_relevance is not above 0.

    References
    ----------
    doi:10.1145/1416950.1416952 (Moffat and Zobel 2008)

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3], "relevance": [1, 0, 1]})
    >>> round(judged.select(rank.rbp(persistence=0.8)).item(), 4)
    0.328
    """
    name = label(
        "rbp", k=k, persistence=persistence, min_relevance=min_relevance, max_relevance=max_relevance
    )
    r, g = number(rank), number(relevance)
    value = (_weight(r, persistence) * _worth(r, g, k, min_relevance, max_relevance)).sum().abs()
    if max_relevance is None or max_relevance == "unscaled":
        return value.alias(name)
    if max_relevance == "highest":
        highest = g.filter(relevant(g, 0)).max().clip(lower_bound=1).fill_null(1.0)
        return (value / highest).alias(name)
    return nan_beyond(value / max_relevance, g, max_relevance).alias(name)


def _worth(
    r: pl.Expr, g: pl.Expr, k: int | None, min_relevance: float, max_relevance: float | str | None
) -> pl.Expr:
    """Gain of an item: 1 if relevant, or its scaled grade."""
    if max_relevance is None:
        return pl.when(found(r, g, k, min_relevance)).then(1.0)
    return pl.when(found(r, g, k, 0)).then(g)


def _weight(r: pl.Expr, persistence: float) -> pl.Expr:
    return (1 - persistence) * pl.lit(float(persistence)).pow(r - 1)


@measure(
    source="doi:10.1145/1416950.1416952 (Moffat and Zobel 2008)",
    empty=1.0,
    names={"trec_eval": {"rbp_resid": {"persistence": 0.9}}},
    ignores_unjudged=True,
)
def rbp_residual(
    rank: IntoColumn = "rank", relevance: IntoColumn = "relevance", *, persistence: float = 0.8
) -> pl.Expr:
    r"""Rank-biased precision that the unjudged places could still add.

    $1 - (1 - p) \sum_{judged} p^{rank - 1}$: the weight of every place where no judged item stands, below
    the end of the list too.

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade is unjudged. Nothing returned
    gives 1.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    persistence
        p, the chance to go on to the next item, as in `rbp` (trec_eval 10 has 0.9).

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1] for distinct whole ranks.

    Raises
    ------
    ValueError
        If persistence is not in [0, 1).

    References
    ----------
    doi:10.1145/1416950.1416952 (Moffat and Zobel 2008). trec_eval has 0 where every returned item is
    judged or none is returned.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3], "relevance": [1, None, 0]})
    >>> judged.select(rank.rbp_residual(persistence=0.5)).item()
    0.375
    """
    name = label("rbp_residual", persistence=persistence)
    r, g = number(rank), number(relevance)
    return (1 - _weight(r, persistence).filter(judged(g) & returned(r)).sum()).alias(name)


@measure(
    source="doi:10.1145/1645953.1646033 (Chapelle et al. 2009)",
    names={"ir_measures": {"ERR": {}}, "gdeval": {"err": {}}},
    terms=lambda r, g, o: _stopping_terms(r, g, found(r, g, o["k"], 0), o["max_relevance"]),
    ignores_unjudged=True,
)
def err(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    max_relevance: float = 4,
) -> pl.Expr:
    r"""Expected reciprocal rank of the item that satisfies the user.

    $ERR_k = \sum_{rank \le k} \frac{R}{rank} \prod_{above} (1 - R)$ with
    $R = (2^{relevance} - 1) / 2^{max\_relevance}$. Among equal ranks the higher grade comes first.

    Rows and nulls: see docs/judged-table.md. A null, NaN or negative grade satisfies nobody. Nothing returned
    gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    k
        Cutoff; None for the whole list.
    max_relevance
        Top of the grade scale of the whole collection, 4 in gdeval. A larger grade anywhere in the
        group gives NaN, never a plausible number.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1).

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or max_relevance is not above 0.

    References
    ----------
    doi:10.1145/1645953.1646033 (Chapelle et al. 2009)

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3], "relevance": [0, 2, 1]})
    >>> round(judged.select(rank.err(k=20)).item(), 6)
    0.110677
    """
    name = label("err", k=k, max_relevance=max_relevance)
    r, g = number(rank), number(relevance)
    rows = found(r, g, k, 0)
    place = r.filter(rows).sort()
    grade = g.filter(rows).sort_by(r.filter(rows), g.filter(rows), descending=[False, True])
    return nan_beyond(_stopping(place, grade, max_relevance).sum().abs(), g, max_relevance).alias(name)


def _stopping_terms(r: pl.Expr, g: pl.Expr, rows: pl.Expr, max_relevance: float) -> pl.Expr:
    return _stopping(pl.when(rows).then(r), pl.when(rows).then(g).otherwise(0.0), max_relevance)


def _stopping(place: pl.Expr, grade: pl.Expr, max_relevance: float) -> pl.Expr:
    """Probability of stopping at each item, divided by its rank; the items are sorted."""
    # Beyond 1023 the scale is more than a float holds, and nothing satisfies.
    stop = (pl.lit(2.0).pow(grade) - 1) / (2.0**max_relevance if max_relevance < 1024 else inf)
    return stop / place * (1 - stop).cum_prod().shift(1, fill_value=1.0)
