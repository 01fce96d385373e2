"""Join a run with its judgements into the judged table."""

from collections.abc import Sequence
from typing import Literal

import polars as pl
import polars.selectors as cs

from polars_rank.core.frames import Frame, FrameT, as_frame, like
from polars_rank.core.ordering import OrderBy, ScoreType, Ties
from polars_rank.judging.attributes import with_attributes
from polars_rank.judging.matching import JudgedParts, judged_parts
from polars_rank.judging.options import Duplicates, JudgeOptions, Queries, over_defaults
from polars_rank.measures.catalogue import programs
from polars_rank.measures.conventions import convention_of


def judge(
    run: FrameT,
    qrels: Frame,
    *,
    convention: str | None = None,
    keys: str | Sequence[str] | None = None,
    attributes: str | Sequence[str] | Frame | None = None,
    order_by: OrderBy | None = None,
    descending: bool = True,
    ties: Ties | None = None,
    score_dtype: ScoreType | None = None,
    rank_base: Literal[0, 1] = 1,
    queries: Queries | None = None,
    duplicates: Duplicates | None = None,
    judged_only: bool = False,
    drop_identical: bool | None = None,
    depth: int | None = None,
    query: str = "query",
    item: str = "item",
    score: str = "score",
    rank: str = "rank",
    relevance: str = "relevance",
    system: str | None = "system",
) -> FrameT:
    r"""Join a run with its judgements: one row per item that was returned, judged, or both.

    $rank = 1 + |\{\text{items of the ranking with a higher score}\}|$; `ties` orders equal scores.

    A ranking is a query and its keys. Every ranking gets all judged rows of its query, so that an item
    that a system missed counts against it: its rank is null. An item without a judgement has a null
    relevance. A null or NaN score comes last.

    Parameters
    ----------
    run
        One row per item that a system returned: `query`, `item` (text, integers or binary), `score` or
        `rank` or both (numbers), any other columns.
    qrels
        One row per judgement: `query`, `item`, `relevance` (a number; without that column every row has
        grade 1; null or NaN is unjudged). A query whose grades are all null is not judged. Its other
        columns are not used.
    convention
        Tool, such as ``"trec_eval-9"``, whose defaults to use for `ties`, `score_dtype`, `queries`,
        `duplicates` and `drop_identical`; explicit arguments override them.
    keys
        Columns that identify a ranking of a query; default: `system`, if the run has it. Any key but the
        system gives a ranking only where the run has that key and query.
    attributes
        Columns that describe a query: a table with one row per query, or names of columns of the run. They
        are filled in on the rows of missed items too.
    order_by
        ``"score"`` or ``"rank"``; default: the score if there is one. Where score orders, the rank
        column is not read. Given ranks may have gaps. Of rows with equal or fractional ranks, the later ones
        move to the next free rank; `check` counts the rows that move.
    descending
        False where a low score is good, as with distances.
    ties
        Order of equal scores or given ranks: ``"item-descending"`` (default; trec_eval),
        ``"item-ascending"``, ``"item-text-descending"`` (integers as text), ``"best"`` or ``"worst"``
        (higher or lower grades first, then item-descending).
    score_dtype
        ``"float64"`` (default; whole numbers count to the last digit); ``"float32"`` narrows the scores, as
        trec_eval 9 does, so that close ones tie.
    rank_base
        0 for ranks that count from 0.
    queries
        ``"qrels"`` (default): every judged query, a missing one scores 0 (trec_eval -c); ``"both"``: only
        rankings that the run has of judged queries (trec_eval without -c); ``"run"``: those of the run,
        judged or not; ``"all"``.
    duplicates
        An item twice in a ranking, or twice judged: ``"error"`` (default); ``"first"`` keeps its
        best-ranked copy and the places of all others, and equal judgements once; ``"max"`` keeps the
        highest grade too.
    judged_only
        Rank judged items only (trec_eval -J): unjudged rows go, and negative grades lose their rank.
    drop_identical
        Before ranking, drop rows of the run whose item is the query itself (BEIR). Their judgements still
        count, and so does a query without other rows. Default: False.
    depth
        Keep the top of each ranking only (trec_eval -M).
    query, item, score, rank, relevance
        Names of the columns.
    system
        The key whose values are crossed with the judged queries: each system then has a ranking of every
        judged query. ``"system"`` (default) may be missing; any other name is a key even if `keys` does not
        list it. None crosses no key.

    Returns
    -------
    DataFrame or LazyFrame
        As the run: `query`, keys, `item`, `rank` (Int64, no two alike in a ranking), `relevance`
        (Float64), the run's other columns, attributes. In no particular order.

    Raises
    ------
    DataError
        If a column is missing, ids are null or of different kinds, a row is repeated, a grade or a given
        rank is infinite, a given rank is below the base, an attribute varies within a ranking, the tables
        are swapped, or no query is in both. A lazy plan raises when it is collected, and looks for repeated
        rows among the judged only.
    ValueError
        If an option has no such value.

    Warns
    -----
    NoMatchWarning
        If no item that the run returned is judged; a lazy plan does not look.

    References
    ----------
    trec_eval, form_res_rels.c (order of equal scores).

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> run = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [0.2, 0.9]})
    >>> qrels = pl.DataFrame({"query": ["q", "q"], "item": ["a", "c"], "relevance": [2, 1]})
    >>> rank.judge(run, qrels).select("item", "rank", "relevance").sort("rank").rows()
    [('c', None, 1.0), ('b', 1, None), ('a', 2, 2.0)]
    """
    given = {
        "order_by": order_by,
        "ties": ties,
        "score_dtype": score_dtype,
        "queries": queries,
        "duplicates": duplicates,
        "drop_identical": drop_identical,
    }
    options = JudgeOptions(
        keys=keys,
        attributes=attributes,
        descending=descending,
        rank_base=rank_base,
        judged_only=judged_only,
        depth=depth,
        query=query,
        item=item,
        score=score,
        rank=rank,
        relevance=relevance,
        system=system,
        **over_defaults(convention_of(convention, programs()).judging, given),
    )
    run, qrels = as_frame(run, "run"), as_frame(qrels, "qrels")
    return like(run, judge_lazily(run, qrels, options))


def judge_lazily(
    run: Frame,
    qrels: Frame,
    options: JudgeOptions,
    *,
    part: bool = False,
    systems: pl.DataFrame | None = None,
) -> pl.LazyFrame:
    """Build the plan of `judge`; for a part of a larger run, `systems` are those of the whole."""
    parts = judged_parts(run, qrels, options, part=part, systems=systems)
    judged = pl.concat([parts.matched, _unjudged(parts.ranked, parts.grades, options)], how="diagonal")
    if options.judged_only:
        judged = _judged_only(judged, parts.ranking, options)
    place = [*parts.ranking, options.item]
    names = parts.ranked.collect_schema().names()
    others = [name for name in names if name not in {*place, options.rank}]
    # By selector, since Polars takes a text such as * for a pattern.
    judged = judged.select(cs.by_name(*place, options.rank, options.relevance, *others))
    return with_attributes(judged, parts.run_rows, parts.ranking, options.query, options.attributes)


def judged_rows_only(
    run: Frame,
    qrels: Frame,
    options: JudgeOptions,
    *,
    part: bool = False,
    systems: pl.DataFrame | None = None,
) -> JudgedParts:
    """Build the plan of the judged rows, which are few, without the run's other columns."""
    parts = judged_parts(run, qrels, options, narrow=True, part=part, systems=systems)
    if not options.judged_only:
        return parts
    matched = _judged_only(parts.matched, parts.ranking, options)
    return parts._replace(matched=matched, ranked=matched)


def _unjudged(ranked: pl.LazyFrame, grades: pl.LazyFrame, options: JudgeOptions) -> pl.LazyFrame:
    unjudged = ranked.join(grades, on=[options.query, options.item], how="anti")
    if options.queries in ("qrels", "both"):
        unjudged = unjudged.join(grades, on=options.query, how="semi")
    return unjudged


def _judged_only(judged: pl.LazyFrame, ranking: Sequence[str], options: JudgeOptions) -> pl.LazyFrame:
    """Rank the judged items only. A row with a negative grade stays, without rank, to keep its query."""
    rank = pl.when(pl.col(options.relevance) >= 0).then(pl.col(options.rank))
    again = rank.rank("min").over(ranking).cast(pl.Int64)
    return judged.filter(pl.col(options.relevance).is_not_null()).with_columns(again.alias(options.rank))
