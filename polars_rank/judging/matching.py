"""Match a run with its judgements: validation, rankings that count, judged rows of each ranking."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from polars_rank.core.checks import (
    apart_by_keys,
    grade_of,
    no_nulls,
    refuse_repeats,
    refuse_strangers,
    refuse_swapped,
    refusing_infinite,
    refusing_repeats,
)
from polars_rank.core.errors import Setting, require_columns
from polars_rank.core.frames import Frame, as_lazy, unify_ids
from polars_rank.judging.options import JudgeOptions, ranking_keys
from polars_rank.judging.ranking import rank_run


class JudgedParts(NamedTuple):
    """Parts of a judged table, as lazy plans."""

    ranking: list[str]
    rankings: pl.LazyFrame
    """The rankings that count: query and keys."""
    matched: pl.LazyFrame
    """All judged rows of each ranking; the rank is null where the item was not returned."""
    ranked: pl.LazyFrame
    """All rows of the run, with their ranks."""
    run_rows: pl.LazyFrame
    grades: pl.LazyFrame


def judged_parts(
    run: Frame,
    qrels: Frame,
    options: JudgeOptions,
    *,
    narrow: bool = False,
    part: bool = False,
    systems: pl.DataFrame | None = None,
) -> JudgedParts:
    """Rank the run and match it with the judgements.

    Parameters
    ----------
    narrow : leave out the run's other columns.
    part : the run is a part of a larger one.
    systems : the systems of the larger run.
    """
    run_rows, grades, keys = _read_tables(run, qrels, options)
    ranking = [options.query, *keys]
    place = [*ranking, options.item]
    eager = isinstance(run, pl.DataFrame)
    # A query that loses all its rows here remains a ranking.
    kept = run_rows
    if options.drop_identical:
        kept = kept.filter(pl.col(options.query) != pl.col(options.item))
    first = (Setting("duplicates", "first"), " keeps the best-ranked")
    way_out = apart_by_keys(kept, ranking, options.item, [options.score, options.rank], first)
    if eager and not part:
        refuse_strangers(run_rows, grades, options.query, options.item)
        if options.duplicates == "error":
            refuse_repeats(kept.select(place).collect(), "run", way_out=way_out)
    if narrow:
        orders = [name for name in (options.score, options.rank) if name in kept.collect_schema()]
        kept = kept.select(*place, *orders)
    in_order = isinstance(run, pl.DataFrame) and narrow and not keys and run[options.query].is_sorted()
    ranked = rank_run(kept, grades, ranking, options, eager=eager, in_order=in_order)
    if eager and not narrow:
        # Used twice; a lazy plan leaves that to the engine.
        ranked = ranked.collect().lazy()
    rankings = _rankings(run_rows, grades, keys, options, systems)
    # Without keys and by the qrels, each judged row is one of its own ranking already.
    due = rankings.join(grades, on=options.query) if keys or options.queries != "qrels" else grades
    matched = due.join(ranked, on=place, how="left")
    if options.duplicates == "error" and (part or not eager):
        matched = matched.map_batches(refusing_repeats(place, "run", way_out), validate_output_schema=False)
    return JudgedParts(ranking, rankings, matched, ranked, run_rows, grades)


def _read_tables(
    run: Frame, qrels: Frame, options: JudgeOptions
) -> tuple[pl.LazyFrame, pl.LazyFrame, list[str]]:
    """Check both tables; return the run, one grade per judged item, and the names of the keys."""
    tables = {"run": as_lazy(run, "run"), "qrels": as_lazy(qrels, "qrels")}
    refuse_swapped(
        *(tables[name].collect_schema().names() for name in ("run", "qrels")),
        score=options.score,
        rank=options.rank,
        relevance=options.relevance,
        order_by=options.order_by,
    )
    tables = unify_ids(tables, [options.query, options.item])
    names = tables["run"].collect_schema()
    keys = ranking_keys(options.keys, options.system, names.names())
    require_columns(names, keys, "run")
    run_rows = no_nulls(tables["run"], [options.query, options.item, *keys], "run")
    graded = no_nulls(tables["qrels"], [options.query, options.item], "qrels")
    grades = graded.select(options.query, options.item, grade_of(graded, options.relevance))
    return run_rows, _judgements(grades, options), keys


def _judgements(grades: pl.LazyFrame, options: JudgeOptions) -> pl.LazyFrame:
    """Reduce the judgements to one row per item; drop queries without a grade if they do not count."""
    judged = [options.query, options.item]
    grades = grades.map_batches(refusing_infinite(options.relevance, judged), validate_output_schema=False)
    if options.duplicates == "max":
        grades = grades.group_by(judged).agg(pl.col(options.relevance).max())
    else:
        grades = grades.unique() if options.duplicates == "first" else grades
        grades = grades.map_batches(refusing_repeats(judged, "qrels"), validate_output_schema=False)
    if options.queries in ("qrels", "both"):
        grades = grades.map_batches(_of_judged_queries(options), validate_output_schema=False)
    return grades


def _of_judged_queries(options: JudgeOptions) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Drop queries whose grades are all null: they are not judged."""
    known = pl.col(options.relevance).is_not_null().any().over(options.query)

    def leave_out(grades: pl.DataFrame) -> pl.DataFrame:
        return grades.filter(known) if grades[options.relevance].null_count() else grades

    return leave_out


def _rankings(
    run_rows: pl.LazyFrame,
    grades: pl.LazyFrame,
    keys: Sequence[str],
    options: JudgeOptions,
    systems: pl.DataFrame | None,
) -> pl.LazyFrame:
    """Return the rankings that count: one row each, the query and its keys."""
    judged = grades.filter(pl.col(options.relevance).is_not_null()).select(options.query).unique()
    own = run_rows.select(options.query, *keys).unique()
    if options.queries == "run":
        return own
    if options.queries == "both":
        return own.join(judged, on=options.query, how="semi")
    others = [key for key in keys if key != options.system]
    crossed = judged
    if others:
        # A day on which nobody asked the query makes no ranking.
        crossed = run_rows.select(options.query, *others).unique().join(judged, on=options.query, how="semi")
    if options.system in keys:
        every = run_rows.select(options.system).unique() if systems is None else systems.lazy()
        crossed = crossed.join(every, how="cross")
    crossed = crossed.select(options.query, *keys)
    return crossed if options.queries == "qrels" else pl.concat([crossed, own]).unique()
