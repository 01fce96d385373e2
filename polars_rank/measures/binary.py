"""Set and precision measures, for binary relevance."""

from typing import Literal

import polars as pl

from polars_rank.measures.blocks import Blocks, aggregation, found_within
from polars_rank.measures.catalogue import IntoColumn, Options, measure
from polars_rank.measures.rows import count_relevant, found, is_first, ratio, unless_empty

Given = IntoColumn | float | None


def _hit(rank: pl.Expr, grade: pl.Expr, options: Options) -> pl.Expr:
    return found(rank, grade, options["k"], options["min_relevance"])


def _first_hit(rank: pl.Expr, grade: pl.Expr, options: Options) -> pl.Expr:
    return is_first(rank, _hit(rank, grade, options))


def _precision_at_hit(rank: pl.Expr, grade: pl.Expr, options: Options) -> pl.Expr:
    # Hits at one rank share their places, so that row order doesn't matter.
    placed = pl.when(_hit(rank, grade, options)).then(rank)
    return placed.rank("average") / placed


def _hit_in_places(rank: pl.Expr, grade: pl.Expr, options: Options) -> pl.Expr:
    least = options["min_relevance"]
    total = count_relevant(grade, least, options["num_relevant"])
    return found_within(rank, grade, least, _places(total, options["multiple"]))


def _places(total: pl.Expr, multiple: float) -> pl.Expr:
    return total if multiple == 1 else (multiple * total + 0.9).floor()


def _size(of: Blocks, denominator: str, least: float, k: int | None, given: Given = None) -> pl.Expr:
    """Divisor that the option `denominator` names."""
    if denominator == "judged":
        return of.judged(k)
    if denominator == "reachable":
        return pl.min_horizontal(of.total(least, given), of.returned(k))
    if denominator == "found":
        return of.hits(least, k)
    if denominator == "returned" or (denominator == "k" and k is None):
        return of.returned(k)
    if denominator == "k" and k is not None:
        return pl.lit(float(k))
    total = of.total(least, given)
    return pl.min_horizontal(total, pl.lit(float(k))) if denominator == "min" and k is not None else total


def _precision(of: Blocks, *, k: int | None, min_relevance: float, denominator: str) -> pl.Expr:
    return ratio(of.hits(min_relevance, k), _size(of, denominator, min_relevance, k))


@measure(
    source="Cleverdon and Keen 1966; trec_eval P_k and set_P",
    names={
        "ir_measures": {"P": {}, "Precision": {}, "SetP": {}, "SetRelP": {"denominator": "reachable"}},
        "trec_eval": {
            "P_k": {},
            "set_P": {},
            "relative_P_k": {"denominator": "min"},
            "set_relative_P": {"denominator": "reachable"},
        },
        "ranx": {"precision": {}},
        "mteb": {"precision_at_k": {}},
        "torchmetrics": {"retrieval_precision": {}},
    },
    formula=_precision,
    terms=_hit,
)
def precision(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    min_relevance: float = 1,
    denominator: Literal["k", "returned", "min", "judged", "reachable"] = "k",
) -> pl.Expr:
    r"""Share of the top k that is relevant.

    $P_k = |\{rank \le k, relevance \ge min\_relevance\}| / k$; without k, over the number returned.

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
    denominator
        ``"k"``: k, however short the list (trec_eval); ``"returned"``: the items returned in the
        top k; ``"min"``: min(k, relevant items); ``"judged"``: the items judged in the top k;
        ``"reachable"``: min(items returned in the top k, relevant items) (trec_eval set_relative_P).

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1] for distinct whole ranks.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, min_relevance is negative, or denominator is unknown.

    References
    ----------
    Cleverdon and Keen 1966; trec_eval P_k and set_P.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [2, 0, 1, 3]})
    >>> judged.select(rank.precision(k=2)).item()
    0.5
    """
    return aggregation(
        "precision", rank=rank, relevance=relevance, k=k, min_relevance=min_relevance, denominator=denominator
    )


def _recall(
    of: Blocks,
    *,
    k: int | None,
    min_relevance: float,
    denominator: str,
    num_relevant: Given,
    empty: float | None,
) -> pl.Expr:
    value = ratio(of.hits(min_relevance, k), _size(of, denominator, min_relevance, k, num_relevant))
    return unless_empty(value, of.total(min_relevance, num_relevant), empty, num_relevant)


@measure(
    source="Cleverdon and Keen 1966; trec_eval recall_k and set_recall",
    names={
        "ir_measures": {"R": {}, "Recall": {}, "SetR": {}},
        "trec_eval": {"recall_k": {}, "set_recall": {}},
        "ranx": {"recall": {}},
        "beir": {"R_cap": {"denominator": "min"}},
        "mteb": {"recall_at_k": {}},
        "torchmetrics": {"retrieval_recall": {}},
        "ragas": {"context_recall": {}},
    },
    formula=_recall,
    terms=_hit,
)
def recall(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    min_relevance: float = 1,
    denominator: Literal["relevant", "min"] = "relevant",
    num_relevant: IntoColumn | float | None = None,
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Share of the relevant items that is in the top k.

    $R_k = |\{rank \le k, relevance \ge min\_relevance\}| / R$, R = relevant items, returned or not.

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
    denominator
        ``"relevant"``: R (trec_eval); ``"min"``: min(k, R), so that 1 can be reached.
    num_relevant
        Column or number: R, for logs that hold only returned items; None counts the rows.
    empty
        Value if nothing is relevant; None for null.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1] for distinct whole ranks.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, min_relevance is negative, denominator is unknown, or
        num_relevant or empty is not a number.

    References
    ----------
    Cleverdon and Keen 1966; trec_eval recall_k and set_recall.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [2, 0, 1, 3]})
    >>> round(judged.select(rank.recall(k=2)).item(), 4)
    0.3333
    """
    return aggregation(
        "recall",
        rank=rank,
        relevance=relevance,
        k=k,
        min_relevance=min_relevance,
        denominator=denominator,
        num_relevant=num_relevant,
        empty=empty,
    )


def _f_measure(
    of: Blocks,
    *,
    k: int | None,
    min_relevance: float,
    beta: float,
    num_relevant: Given,
    empty: float | None,
) -> pl.Expr:
    hits, total = of.hits(min_relevance, k), of.total(min_relevance, num_relevant)
    # P = hits / size and R = hits / total put into the formula: one division, no 0 / 0.
    value = ratio((1 + beta**2) * hits, beta**2 * total + _size(of, "k", min_relevance, k))
    return unless_empty(value, total, empty, num_relevant)


@measure(
    source="van Rijsbergen 1979; trec_eval set_F",
    names={
        "ir_measures": {"SetF": {}},
        "trec_eval": {"set_F": {}, "set_F_x": {}},
        "ranx": {"f1": {}},
    },
    formula=_f_measure,
    terms=_hit,
)
def f_measure(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    min_relevance: float = 1,
    beta: float = 1.0,
    num_relevant: IntoColumn | float | None = None,
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Weighted harmonic mean of precision and recall in the top k.

    $F_\beta = (1 + \beta^2) P R / (\beta^2 P + R)$; 0 where both are 0. Without k, precision is over
    the number returned.

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
    beta
        Weight of recall: 2 weighs it twice as much as precision.
    num_relevant
        Column or number: relevant items, for logs that hold only returned items.
    empty
        Value if nothing is relevant; None for null.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1] for distinct whole ranks.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, min_relevance is negative, beta is not above 0, or
        num_relevant or empty is not a number.

    References
    ----------
    van Rijsbergen 1979; trec_eval set_F (whose parameter is the square of beta).

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [2, 0, 1, 3]})
    >>> judged.select(rank.f_measure(k=2)).item()
    0.4
    """
    return aggregation(
        "f_measure",
        rank=rank,
        relevance=relevance,
        k=k,
        min_relevance=min_relevance,
        beta=beta,
        num_relevant=num_relevant,
        empty=empty,
    )


def _average_precision(
    of: Blocks,
    *,
    k: int | None,
    min_relevance: float,
    denominator: str,
    num_relevant: Given,
    empty: float | None,
) -> pl.Expr:
    size = _size(of, denominator, min_relevance, k, num_relevant)
    value = ratio(of.precisions(min_relevance, k), size)
    return unless_empty(value, of.total(min_relevance, num_relevant), empty, num_relevant)


@measure(
    source="Buckley and Voorhees 2005; trec_eval map and map_cut",
    names={
        "ir_measures": {"AP": {}, "MAP": {}},
        "trec_eval": {"map": {}, "map_cut_k": {}, "gm_map": {"aggregate": "geometric"}},
        "ranx": {"map": {}},
        "mteb": {"map_at_k": {}},
        "sklearn": {
            "average_precision_score": {},
            "label_ranking_average_precision_score": {"empty": 1.0},
        },
        "torchmetrics": {"retrieval_average_precision": {"denominator": "found"}},
        "ragas": {"context_precision": {"denominator": "found"}},
    },
    formula=_average_precision,
    terms=_precision_at_hit,
)
def average_precision(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    min_relevance: float = 1,
    denominator: Literal["relevant", "min", "k", "returned", "found"] = "relevant",
    num_relevant: IntoColumn | float | None = None,
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Mean of the precisions at the relevant items; a missed item adds 0.

    $AP_k = \frac{1}{R} \sum_i i / rank_i$ over the relevant items with $rank_i \le k$ in order of rank,
    R = relevant items, returned or not.

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
    denominator
        ``"relevant"``: R (trec_eval); ``"min"``: min(k, R) (most recommender libraries); ``"k"``: k, or
        the number returned without k; ``"returned"``: the items returned in the top k; ``"found"``: the
        relevant items in the top k (context precision of RAG).
    num_relevant
        Column or number: R, for logs that hold only returned items; None counts the rows.
    empty
        Value if nothing is relevant; None for null.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1] for distinct whole ranks.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, min_relevance is negative, denominator is unknown, or
        num_relevant or empty is not a number.

    References
    ----------
    Buckley and Voorhees 2005; trec_eval map and map_cut.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [2, 0, 1, 3]})
    >>> round(judged.select(rank.average_precision()).item(), 4)
    0.5556
    """
    return aggregation(
        "average_precision",
        rank=rank,
        relevance=relevance,
        k=k,
        min_relevance=min_relevance,
        denominator=denominator,
        num_relevant=num_relevant,
        empty=empty,
    )


def _r_precision(
    of: Blocks, *, min_relevance: float, multiple: float, num_relevant: Given, empty: float | None
) -> pl.Expr:
    total = of.total(min_relevance, num_relevant)
    places = _places(total, multiple)
    return unless_empty(ratio(of.hits_within(min_relevance, places), places), total, empty, num_relevant)


@measure(
    source="Buckley and Voorhees 2005; trec_eval Rprec",
    names={
        "ir_measures": {"Rprec": {}, "RPrec": {}},
        "trec_eval": {"Rprec": {}, "Rprec_mult_x": {}},
        "ranx": {"r-precision": {}, "r_precision": {}},
        "torchmetrics": {"retrieval_r_precision": {}},
    },
    formula=_r_precision,
    terms=_hit_in_places,
)
def r_precision(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    min_relevance: float = 1,
    multiple: float = 1.0,
    num_relevant: IntoColumn | float | None = None,
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Precision at R, the number of relevant items.

    $|\{rank \le c, relevance \ge min\_relevance\}| / c$ with $c = R$, or $c = \lfloor m R + 0.9 \rfloor$
    for a multiple m; 0 where c is 0.

    Rows and nulls: see docs/judged-table.md. A null or NaN grade is not relevant. Nothing returned gives 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    min_relevance
        Lowest relevant grade.
    multiple
        m: 0.5 looks at the first half of R places, 2 at twice as many.
    num_relevant
        Column or number: R, for logs that hold only returned items; None counts the rows.
    empty
        Value if nothing is relevant; None for null.

    Returns
    -------
    pl.Expr
        Float64, one value per group. Range [0, 1] for distinct whole ranks.

    Raises
    ------
    ValueError
        If min_relevance is negative, multiple is not above 0, or num_relevant or empty is not a number.

    References
    ----------
    Buckley and Voorhees 2005; trec_eval Rprec and Rprec_mult.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [2, 0, 1, 3]})
    >>> round(judged.select(rank.r_precision()).item(), 4)
    0.6667
    """
    return aggregation(
        "r_precision",
        rank=rank,
        relevance=relevance,
        min_relevance=min_relevance,
        multiple=multiple,
        num_relevant=num_relevant,
        empty=empty,
    )


def _set_average_precision(
    of: Blocks, *, k: int | None, min_relevance: float, empty: float | None
) -> pl.Expr:
    total = of.total(min_relevance)
    return unless_empty(ratio(of.hits(min_relevance, k) ** 2, of.returned(k) * total), total, empty)


@measure(
    source="trec_eval set_map",
    names={"ir_measures": {"SetAP": {}}, "trec_eval": {"set_map": {}}},
    formula=_set_average_precision,
)
def set_average_precision(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    min_relevance: float = 1,
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Average precision of an unordered set: precision times recall.

    $hits^2 / (n R)$; hits = relevant items among the n returned in the top k, R = relevant items,
    returned or not.

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
    trec_eval set_map.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, None], "relevance": [2, 0, 3]})
    >>> judged.select(rank.set_average_precision()).item()
    0.25
    """
    return aggregation(
        "set_average_precision", rank=rank, relevance=relevance, k=k, min_relevance=min_relevance, empty=empty
    )


def _success(of: Blocks, *, k: int | None, min_relevance: float, empty: float | None) -> pl.Expr:
    found_any = (of.hits(min_relevance, k) > 0).cast(pl.Float64)
    return unless_empty(found_any, of.total(min_relevance), empty)


@measure(
    source="trec_eval success_k",
    names={
        "ir_measures": {"Success": {}},
        "trec_eval": {"success_k": {}},
        "ranx": {"hit_rate": {}},
        "mteb": {"hit_rate_at_k": {}},
        "sentence_transformers": {"accuracy@k": {}},
        "torchmetrics": {"retrieval_hit_rate": {}},
    },
    formula=_success,
    terms=_first_hit,
)
def success(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    min_relevance: float = 1,
    empty: float | None = 0.0,
) -> pl.Expr:
    r"""Whether any relevant item is in the top k; its mean is the hit rate.

    $1$ if some row has $rank \le k$ and $relevance \ge min\_relevance$, else $0$.

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
        Float64, one value per group. Range [0, 1]: 0 or 1.

    Raises
    ------
    ValueError
        If k is below 1 or not whole, min_relevance is negative, or empty is not a number.

    References
    ----------
    trec_eval success_k.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, 3, None], "relevance": [0, 0, 1, 3]})
    >>> judged.select(rank.success(k=2), rank.success(k=3)).row(0)
    (0.0, 1.0)
    """
    return aggregation(
        "success", rank=rank, relevance=relevance, k=k, min_relevance=min_relevance, empty=empty
    )
