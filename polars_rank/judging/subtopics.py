"""A run judged by subtopics: what each item is relevant to, and its place in an ideal ranking."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from polars_rank.core.checks import grade_of, no_nulls, refusing_repeats
from polars_rank.core.errors import refuse_patterns, require_columns
from polars_rank.core.frames import Frame, FrameT, as_frame, as_lazy, like, unify_ids
from polars_rank.judging.judged_table import judge
from polars_rank.measures.rows import relevant


def judge_subtopics(
    run: FrameT,
    qrels: Frame,
    *,
    alpha: float = 0.5,
    min_relevance: float = 1,
    query: str = "query",
    item: str = "item",
    subtopic: str = "subtopic",
    relevance: str = "relevance",
    **judging: Any,
) -> FrameT:
    r"""Join a run with judgements by subtopic: one row an item and subtopic, and its ideal rank.

    An ideal place takes the item of the greatest $\sum (1 - \alpha)^{seen}$ over its subtopics, seen
    = items of the subtopic placed above; equal ones by descending id. The problem is hard, so that this
    greedy order may be surpassed.

    Parameters
    ----------
    run
        As in `judge`.
    qrels
        One row a judgement: `query`, `item`, `subtopic` (text or a number), `relevance` (a number; without
        that column every row has grade 1).
    alpha
        How much of its worth a subtopic loses each time that it is met, as in the measures.
    min_relevance
        Least grade that is relevant, as in the measures.
    query, item, subtopic, relevance
        Names of the columns.
    **judging
        Further options of `judge`.

    Returns
    -------
    DataFrame or LazyFrame
        As the run, and as `judge` gives it, but one row an item and `subtopic`, with the `relevance` for it;
        `ideal_rank` (Int64) is null for an item that is relevant to nothing.

    Raises
    ------
    DataError
        If a column is missing, a subtopic is null, a judgement is repeated, or `judge` refuses the tables.
    ValueError
        If alpha is not in [0, 1], or an option of `judge` has no such value.

    References
    ----------
    doi:10.1145/1390334.1390446 (Clarke et al. 2008); ndeval, idealResult.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> run = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [2.0, 1.0]})
    >>> qrels = pl.DataFrame(
    ...     {"query": ["q"] * 3, "item": ["a", "b", "b"], "subtopic": [1, 1, 2], "relevance": [1, 1, 1]}
    ... )
    >>> judged = rank.judge_subtopics(run, qrels)
    >>> judged.select("item", "rank", "subtopic", "ideal_rank").sort("rank", "subtopic").rows()
    [('a', 1, 1, 2), ('b', 2, 1, 1), ('b', 2, 2, 1)]
    >>> round(rank.evaluate(judged, "alpha_nDCG@2")["alpha_nDCG@2"].item(), 4)
    0.8406
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be a number from 0 to 1, got {alpha!r}")
    for argument, name in {"query": query, "item": item, "subtopic": subtopic}.items():
        refuse_patterns(argument, [name])
    run = as_frame(run, "run")
    items: list[str] = [query, item]
    topics = as_lazy(qrels, "qrels")
    require_columns(topics.collect_schema().names(), [*items, subtopic], "qrels")
    topics = no_nulls(topics, [subtopic], "qrels").select(*items, subtopic, grade_of(topics, relevance))
    if judging.get("duplicates") == "max":
        topics = topics.group_by(*items, subtopic).agg(pl.col(relevance).max())
    else:
        topics = topics.map_batches(
            refusing_repeats([*items, subtopic], "qrels"), validate_output_schema=False
        )
    highest = topics.group_by(items).agg(pl.col(relevance).max())
    judged = judge(run, highest, query=query, item=item, relevance=relevance, **judging).lazy()
    tables = unify_ids({"judged": judged.drop(relevance), "topics": topics}, items)
    wanted = tables["topics"].filter(relevant(pl.col(relevance), min_relevance)).select(*items, subtopic)
    ideal = wanted.map_batches(
        partial(_greedy, items=items, subtopic=subtopic, alpha=alpha),
        schema=pl.Schema({**wanted.select(items).collect_schema(), "ideal_rank": pl.Int64()}),
    )
    result = tables["judged"].join(tables["topics"], on=items, how="left").join(ideal, on=items, how="left")
    return like(run, result)


def _greedy(rows: pl.DataFrame, items: Sequence[str], subtopic: str, alpha: float) -> pl.DataFrame:
    """Place item after item, all queries at once: as many steps as the longest list has items."""
    query, item = items
    places = [rows.select(items).clear().with_columns(pl.lit(0, pl.Int64).alias("ideal_rank"))]
    rows = rows.with_columns(_seen=pl.lit(0.0))
    while rows.height:
        # Rounded, so that sums of the same terms in another order are equal.
        worth = pl.lit(1.0 - alpha).pow(pl.col("_seen")).sum().over(items).round(12)
        best = pl.col(item).sort_by("_worth", item, descending=True).first().over(query)
        rows = rows.with_columns(_worth=worth).with_columns(_best=best)
        chosen = pl.col(item) == pl.col("_best")
        place = pl.lit(len(places), pl.Int64).alias("ideal_rank")
        places.append(rows.filter(chosen).select(items).unique().with_columns(place))
        met = chosen.any().over(query, subtopic)
        rows = rows.with_columns(_seen=pl.col("_seen") + met).filter(~chosen)
    return pl.concat(places)
