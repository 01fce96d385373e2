"""Data of the curves: precision by recall, and a measure by cutoff."""

from collections.abc import Sequence

import polars as pl

from polars_rank.core.errors import require_columns
from polars_rank.core.frames import (
    FrameT,
    as_lazy,
    as_list,
    columns_apart,
    like,
    named_apart,
    named_back,
    set_apart,
    with_system,
)
from polars_rank.evaluation.per_query import evaluate, summarize
from polars_rank.measures.names import parse
from polars_rank.measures.rows import number, relevant, returned

CUTOFFS = (1, 3, 5, 10, 20, 50, 100)
RECALL_LEVELS = [f"{tenths / 10}" for tenths in range(11)]


def precision_recall(
    judged: FrameT,
    *,
    min_relevance: float = 1,
    keys: str | Sequence[str] = ("system",),
    query: str = "query",
    rank: str = "rank",
    relevance: str = "relevance",
) -> FrameT:
    r"""Mean interpolated precision at recall 0, 0.1, … 1.

    $precision(t) = \max \{i / rank_i : i \ge t R\}$ over the relevant items in order of rank, 0 if
    recall $t$ is not reached; averaged over all queries.

    Parameters
    ----------
    judged
        A judged table, as `judge` gives it.
    min_relevance
        Lowest relevant grade.
    keys
        Columns that identify a curve.
    query, rank, relevance
        Names of the columns.

    Returns
    -------
    DataFrame or LazyFrame
        As `judged`; one row per system and recall level: keys, `recall`, `precision` (Float64, in [0, 1]),
        sorted.

    Raises
    ------
    DataError
        If a column is missing.

    References
    ----------
    trec_eval, iprec_at_recall.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"query": "q", "rank": [1, 2, 3, None], "relevance": [1, 0, 1, 1]})
    >>> rank.precision_recall(judged, keys=[])["precision"].round(2).to_list()
    [1.0, 1.0, 1.0, 1.0, 0.67, 0.67, 0.67, 0.0, 0.0, 0.0, 0.0]
    """
    rows, keys = as_lazy(judged, "judged"), as_list(keys)
    require_columns(rows.collect_schema(), [*keys, query, rank, relevance], "judged")
    apart = named_apart([*keys, query], "keys")
    ranking = list(apart.values())
    systems = ranking[:-1]
    rows = rows.select(
        *columns_apart(apart),
        pl.col(rank).alias("rank"),
        pl.col(relevance).alias("relevance"),
    )
    curves = (
        curves_by_ranking(rows, ranking, min_relevance)
        .group_by(*systems, pl.lit(0).alias("_one"))
        .agg(pl.col(RECALL_LEVELS).mean())
        .unpivot(RECALL_LEVELS, index=systems, variable_name="recall", value_name="precision")
        .with_columns(pl.col("recall").cast(pl.Float64))
        .sort(*systems, "recall")
    )
    return like(judged, named_back(curves, "keys"))


def curves_by_ranking(rows: pl.LazyFrame, ranking: Sequence[str], min_relevance: float = 1) -> pl.LazyFrame:
    """Interpolated precision before averaging: one row per ranking, one column per recall level."""
    r = number("rank")
    found = rows.filter(relevant(number("relevance"), min_relevance)).select(
        *ranking,
        _place=pl.when(returned(r)).then(r).rank("ordinal").over(ranking).cast(pl.Int64),
        _rank=r,
        _total=pl.len().over(ranking).cast(pl.Int64),
    )
    place = pl.col("_place")
    best = [
        # In integers, because a tenth is not an exact float.
        (place / pl.col("_rank")).filter(place * 10 >= tenths * pl.col("_total")).max().alias(name)
        for tenths, name in enumerate(RECALL_LEVELS)
    ]
    rankings = rows.select(ranking).unique()
    found = rankings.join(found.group_by(ranking).agg(best), on=ranking, how="left", nulls_equal=True)
    return found.with_columns(pl.col(RECALL_LEVELS).fill_null(0.0))


def by_cutoff(
    judged: FrameT,
    measure: str = "nDCG",
    cutoffs: Sequence[int] = CUTOFFS,
    *,
    by: str | Sequence[str] | None = None,
    query: str = "query",
    rank: str = "rank",
    relevance: str = "relevance",
    system: str | None = "system",
) -> FrameT:
    """Mean of a measure at several cutoffs.

    Parameters
    ----------
    judged
        A judged table, as `judge` gives it.
    measure
        A name without cutoff, such as ``"nDCG"`` or ``"precision(min_relevance=2)"``.
    cutoffs
        Whole numbers from 1.
    by
        Columns to slice by in addition to the system, as in `summarize`.
    query, rank, relevance
        Names of the columns.
    system
        Column of the systems, which are never pooled; None pools them.

    Returns
    -------
    DataFrame or LazyFrame
        As `judged`; one row per slice and cutoff: the `by` columns, `k` (Int64), `value` (Float64, in units
        of the measure), sorted.

    Raises
    ------
    ValueError
        If the measure already has a cutoff, or takes none.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"query": "q", "system": "x", "rank": [1, 2, 3], "relevance": [1, 0, 1]})
    >>> rank.by_cutoff(judged, "P", [1, 2]).rows()
    [('x', 1, 1.0), ('x', 2, 0.5)]
    """
    call = parse(measure)
    if "k" not in call.measure.options or call.options.get("k") is not None:
        raise ValueError(f"measure must take a cutoff and have none yet, got {measure!r}")
    rows = as_lazy(judged, "judged")
    rows, slices = set_apart(rows, with_system(as_list(by), system, rows.collect_schema().names()), "judged")
    names = {f"{measure}@{k}": int(k) for k in cutoffs}
    per_query = evaluate(rows, list(names), by=slices, query=query, rank=rank, relevance=relevance)
    means = summarize(per_query, by=slices, measures=list(names), system=None).select(
        *slices, pl.col("measure").replace_strict(names, return_dtype=pl.Int64).alias("k"), "value"
    )
    return like(judged, named_back(means.sort(*slices, "k")))
