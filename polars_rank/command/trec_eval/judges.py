"""Averages over several judges of a query, for ``-R qrels_jg``."""

from collections.abc import Sequence

import polars as pl

from polars_rank.command.trec_eval.gains import in_order
from polars_rank.command.trec_eval.measures import Wanted


def rankings_of_judges(
    run: pl.DataFrame, judgements: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Build one ranking per query and judge, numbered in `query`; also return the table of these numbers."""
    judges = judgements.select("query", "group").unique().sort("query", "group").with_row_index("judge")
    judged = judgements.join(judges, on=["query", "group"])
    return (
        run.join(judges, on="query").select("item", "score", query="judge"),
        judged.select("item", "relevance", query="judge"),
        judges,
    )


def for_one_judge(wanted: Sequence[Wanted]) -> list[Wanted]:
    """Replace the measures by those that are averaged over judges."""
    return [each._replace(measure=each.measure.removesuffix("_avgjg")) for each in wanted]


def averaged_over_judges(per_judge: pl.DataFrame, judges: pl.DataFrame) -> pl.DataFrame:
    """Average the values of each query over its judges, added in the order of their names."""
    rows = judges.join(per_judge, left_on="judge", right_on="query")
    value = in_order(pl.exclude("query", "group", "judge"), pl.col("judge"))
    return rows.group_by("query").agg(value / pl.len()).sort("query")
