"""Notes on scores: rankings left out, empty rankings, missing scores, unjudged items."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from polars_rank.core.errors import DataError, Setting
from polars_rank.core.frames import Frame, as_lazy
from polars_rank.core.ordering import distinct_places
from polars_rank.judging.options import Queries

MEASURES_OF_NOTES = ("judged_share@10", "num_returned")
"""Measures that `unjudged_notes` needs."""


def rows_with_grade(qrels: Frame) -> pl.LazyFrame:
    """Keep the rows that have a grade."""
    return as_lazy(qrels, "qrels").filter(pl.col("relevance").cast(pl.Float64).is_not_nan())


def counts_by_system(run: Frame, qrels: Frame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Count for each system: judged queries, other queries, judged items, missing numbers, moved ranks."""
    rows, grades = as_lazy(run, "run"), rows_with_grade(qrels)
    judged = grades.select("query").unique().with_columns(judged=True)
    asked = rows.select("system", "query").unique().join(judged, on="query", how="left")
    known = pl.col("judged").fill_null(False)
    by = options.get("order_by") or ("score" if "score" in rows.collect_schema() else "rank")
    number = pl.col(by).cast(pl.Float64)
    missing = rows.group_by("system").agg(missing=(number.is_null() | number.is_nan()).sum())
    found = rows.join(grades, on=["query", "item"], how="semi").group_by("system").agg(found=pl.len())
    given = number.drop_nulls().drop_nans().sort() + 1 - options.get("rank_base", 1)
    moved = given != distinct_places(given, pl.int_range(1, given.len() + 1))
    keys = dict.fromkeys(["system", "query", *options.get("keys", [])])
    moves = (
        rows.group_by(*keys)
        .agg(moved=(moved.sum() if by == "rank" else pl.lit(0)).cast(pl.Int64))
        .group_by("system")
    )
    return (
        asked.group_by("system")
        .agg(both=known.sum(), run_only=(~known).sum())
        .join(missing, on="system", how="left")
        .join(found, on="system", how="left")
        .join(moves.agg(pl.col("moved").sum()), on="system", how="left")
        .with_columns(pl.col("found").fill_null(0), ordered_by=pl.lit(by))
        .sort("system")
        .collect(engine="streaming")
    )


def no_match_notes(
    facts: pl.DataFrame, run: Frame, qrels: Frame, *, allow_no_match: bool = False
) -> list[str]:
    """Refuse a run without a judged query or item; note systems without a judged item."""
    if facts["both"].sum() == 0 and not facts.is_empty():
        ours, theirs = _examples(run, "query"), _examples(qrels, "query")
        raise DataError(f"run and qrels have no query in common: the run has {ours}; the qrels {theirs}")
    systems = facts.filter(pl.col("found") == 0, pl.col("both") > 0)["system"].to_list()
    if not systems:
        return []
    first = as_lazy(run, "run").filter(system=systems[0])
    ours, theirs = _examples(first, "item"), _examples(qrels, "item")
    message = (
        f"no item that {_some(systems)} returned is judged, so nothing counts as found: "
        f"{systems[0]} has {ours}; the qrels {theirs}"
    )
    if facts["found"].sum() == 0 and not allow_no_match:
        raise DataError(message, remedy=("if that is right, use ", Setting("allow_no_match", True)))
    return [message]


def _examples(frame: Frame, column: str) -> str:
    values = as_lazy(frame, "table").select(column).unique(maintain_order=True).head(3).collect()
    return ", ".join(map(repr, values.to_series().to_list())) + ", …"


def unmatched_query_notes(facts: pl.DataFrame, judged: int, queries: Queries) -> list[str]:
    """Note queries that only the run or only the qrels have."""
    lacking = facts.with_columns(lacking=judged - pl.col("both"))
    fate = (
        "count as empty rankings (--queries both leaves them out)"
        if queries in ("qrels", "all")
        else "are left out"
    )
    other_fate = "are left out" if queries in ("qrels", "both") else "have no value"
    return [
        *_note(f"of {judged} judged queries, those missing from a run {fate}", lacking, "lacking"),
        *_note(f"queries without any judgement {other_fate}", facts, "run_only"),
    ]


def missing_number_notes(facts: pl.DataFrame) -> list[str]:
    """Note scores and ranks that are null or NaN, and ranks that were moved."""
    scores, ranks = (facts.filter(ordered_by=by) for by in ("score", "rank"))
    return [
        *_note("items whose score is null or NaN are ranked last", scores, "missing"),
        *_note("items whose rank is null or NaN count as not returned", ranks, "missing"),
        *_note("items of tied or fractional ranks moved to places of their own", ranks, "moved"),
    ]


def unjudged_notes(per_query: pl.DataFrame) -> list[str]:
    """Note the unjudged items in the top 10."""
    top = pl.min_horizontal(pl.col("num_returned"), 10.0)
    unjudged = (top * (1 - pl.col("judged_share@10"))).sum().round(0).cast(pl.Int64)
    counted = per_query.group_by("system").agg(unjudged=unjudged, top=top.sum().cast(pl.Int64)).sort("system")
    shares = counted.filter(pl.col("unjudged") > 0).select(
        pl.concat_str("system", pl.lit(" "), "unjudged", pl.lit(" of "), "top")
    )
    if shares.is_empty():
        return []
    return [f"unjudged items in the top 10 count as not relevant: {_some(shares.to_series().to_list())}"]


def missing_value_notes(summary: pl.DataFrame) -> list[str]:
    """Note rankings without a value, which the mean leaves out."""
    left_out = summary.filter(pl.col("missing") > 0).select(
        "missing", system=pl.concat_str("measure", pl.lit(" of "), "system")
    )
    return _note("rankings without a value are left out of the mean", left_out, "missing")


def _note(told: str, facts: pl.DataFrame, column: str) -> list[str]:
    counted = (
        facts.filter(pl.col(column) > 0).select(pl.concat_str("system", column, separator=" ")).to_series()
    )
    return [f"{told}: {_some(counted.to_list())}"] if counted.len() else []


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 6 else ""
    return ", ".join(names[: 5 if more else None]) + more
