"""Ranks of a run's rows, by score or by given rank."""

from collections.abc import Sequence

import polars as pl

from polars_rank.core.checks import require_number
from polars_rank.core.frames import OURS
from polars_rank.core.ordering import (
    distinct_places,
    given_rank,
    in_order_of_queries,
    ordinal,
    score_key,
    tie_rule,
    whole_rest,
)
from polars_rank.judging.options import JudgeOptions

_POSITION = f"{OURS}position"


def rank_run(
    run_rows: pl.LazyFrame,
    grades: pl.LazyFrame,
    ranking: Sequence[str],
    options: JudgeOptions,
    *,
    eager: bool,
    in_order: bool,
) -> pl.LazyFrame:
    """Rank all rows of the run; then cut at the depth and keep the best copy of each item."""
    schema = run_rows.collect_schema()
    by = options.order_by or ("score" if options.score in schema else "rank")
    rank = pl.col(options.rank)
    column = options.rank if by == "rank" else options.score
    require_number(schema[column], f"run.{column}")
    ties = tie_rule(options.ties, schema[options.item])
    grade = pl.col(options.relevance) if ties in ("best", "worst") else None
    if grade is not None:
        run_rows = run_rows.join(grades, on=[options.query, options.item], how="left")
    if by == "rank":
        given = given_rank(rank, f"run.{options.rank}", options.rank_base)
        position = ordinal(-rank, pl.col(options.item), ties, grade).over(ranking).cast(pl.Int64)
        places = distinct_places(rank, pl.col(_POSITION))
        ranked = (
            run_rows.with_columns(given.alias(options.rank))
            .with_columns(position.alias(_POSITION))
            .with_columns(places.over(ranking, order_by=_POSITION).alias(options.rank))
            .drop(_POSITION)
        )
    else:
        score = pl.col(options.score)
        key = score_key(score, descending=options.descending, score_dtype=options.score_dtype)
        rest = whole_rest(
            score, schema[options.score], descending=options.descending, score_dtype=options.score_dtype
        )
        if rest is not None and eager:
            ends = run_rows.select(score.min().alias("low"), score.max().alias("high")).collect().row(0)
            rest = rest if any(abs(end or 0) > 2**53 for end in ends) else None
        if in_order and grade is None and rest is None:
            nulls = run_rows.select(key.is_null().any()).collect().item()
            names = {"query": options.query, "item": options.item, "rank": options.rank}
            ranked = in_order_of_queries(run_rows, key, **names, ties=ties, nulls=nulls)
        else:
            position = ordinal(key, pl.col(options.item), ties, grade, rest)
            ranked = run_rows.with_columns(position.over(ranking).cast(pl.Int64).alias(options.rank))
    if grade is not None:
        ranked = ranked.drop(options.relevance)
    if options.duplicates != "error":
        place = [*ranking, options.item]
        ranked = ranked.sort(options.rank, nulls_last=True).unique(place, keep="first", maintain_order=True)
    if options.depth is not None:
        ranked = ranked.filter(rank.is_null() | (rank <= options.depth))
    return ranked
