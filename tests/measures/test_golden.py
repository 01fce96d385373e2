"""Values of other programs on two synthetic collections, and the traps that judged tables hold."""

from functools import cache
from pathlib import Path

import duckdb
import polars as pl
import pytest
from programs import compare, exceptions, off, tables, wrong

from polars_rank import DataError, recall, reciprocal_rank
from polars_rank.judging.judged_table import judge

FOLDER = Path(__file__).parents[1] / "collections"
PROGRAMS = {
    "accuracy": 35,
    "compat": 200,
    "cwl_eval": 3_400,
    "formula": 1_300,
    "gdeval": 2_100,
    "judged": 1_200,
    "msmarco": 1_000,
    "pytrec_eval": 16_000,
    "ranx_native": 13_500,
    "trec_eval-9": 52_000,
    "trec_eval-10": 14_000,
    "trectools": 1_300,
}


@cache
def compared():
    values = pl.read_parquet(FOLDER / "values.parquet").with_columns(pl.col(pl.Categorical).cast(pl.String))
    parts = []
    for (name,), golden in values.sort("collection").group_by("collection", maintain_order=True):
        run = pl.read_parquet(FOLDER / f"{name}.runs.parquet")
        qrels = pl.read_parquet(FOLDER / f"{name}.qrels.parquet")
        with tables(run, qrels) as database:
            parts.append(compare(run, qrels, golden, database))
    return pl.concat(parts)


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_are_those_of_the_program(program):
    mine = compared().filter(pl.col("program") == program)
    assert mine.filter(pl.col("reason").is_null()).height >= PROGRAMS[program]
    too_far = wrong(mine)
    assert too_far.is_empty(), too_far.select(
        "options", "measure", "system", "query", "value", "polars", "sql"
    ).rows()


def test_no_program_is_forgotten():
    assert set(compared()["program"]) == PROGRAMS.keys()


def test_what_is_left_out_is_named():
    assert {(program, reason) for program, reason, _ in exceptions(compared())} == {
        ("accuracy", "ir_measures leaves tied items in the order of the run"),
        ("compat", "a score below 0 stands behind missed items in ir_measures' ideal"),
        ("compat", "the ideal of ir_measures has tied items in the order of the qrels"),
        ("formula", "a grade beyond the scale is NaN for us"),
        ("pytrec_eval", "ir_measures counts 0 where a query is missing from the run"),
        ("ranx_native", "ranx divides by 0 where nothing is judged non-relevant"),
        ("ranx_native", "ranx has 0 for some queries with relevant items on top"),
        ("ranx_native", "ranx takes negative grades for judged non-relevant"),
        ("ranx_native", "ranx leaves open the order of tied items"),
        ("trec_eval-9", "trec_eval divides 0 by 0 where nothing judged was returned"),
        (
            "trec_eval-10",
            "trec_eval scales by the least and greatest grade, starting from numbers it never sets",
        ),
        ("trec_eval-10", "trec_eval has 0 where all that was returned is judged"),
        ("trectools", "trectools leaves tied items in an order of its own"),
        ("trectools", "trectools sums negative grades too"),
        ("trectools", "trectools has NaN where nothing is relevant or returned"),
    }


def test_a_grade_beyond_the_scale_is_nan_and_not_a_number():
    beyond = compared().filter(pl.col("reason") == "a grade beyond the scale is NaN for us")
    assert beyond["polars"].is_nan().all()
    assert beyond["sql"].is_nan().all()


def test_rbp_of_trec_eval_10_is_ours_or_scaled_by_a_number_beyond_the_grades():
    values = compared().filter(pl.col("program") == "trec_eval-10", pl.col("measure") == "rbp")
    equal = values.filter(off("polars") < 1e-12, off("sql") < 1e-12)
    assert equal.height > 0.9 * values.height
    assert values.filter(pl.col("value") > pl.col("polars") + 1e-12).is_empty()


def test_the_tie_rule_and_the_width_of_scores_matter_here():
    """The collections would not show a wrong rule if no value depended on it."""
    values = compared().filter(pl.col("program").str.starts_with("trec_eval"), pl.col("options") == "-c")
    both = values.pivot("program", index=["measure", "system", "query"], values="value").drop_nulls()
    assert not both.filter((pl.col("trec_eval-9") - pl.col("trec_eval-10")).abs() > 1e-6).is_empty()
    ranx = compared().filter(pl.col("program") == "ranx_native", pl.col("tied"))
    assert not ranx.filter(off("polars") > 1e-6).is_empty()


# Traps. Each is a small table that once gave a plausible wrong number.

RUN = pl.DataFrame({"query": ["q", "q"], "item": ["a", "x"], "score": [2.0, 1.0], "locale": ["de", "de"]})
QRELS = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "relevance": [1, 1]})


def in_sql(question, run, qrels, options=""):
    with tables(run, qrels) as database:
        judged = f"rank.judge('run', 'qrels'{options})"
        return database.execute(question.format(judged=judged)).fetchall()


def test_a_missed_item_stays_in_its_slice():
    judged = judge(RUN, QRELS, attributes=["locale"])
    assert judged.group_by("query", "locale").agg(recall()).rows() == [("q", "de", 0.5)]
    question = "SELECT query, locale, rank.recall(rank, relevance) FROM {judged} GROUP BY ALL"
    assert in_sql(question, RUN, QRELS, ", attributes := ['locale']") == [("q", "de", 0.5)]


def test_a_query_of_one_day_is_one_ranking():
    days = [f"2026-01-{day:02}" for day in range(1, 31)]
    queries = [f"q{n}" for n in range(30)]
    run = pl.DataFrame(
        {"query": queries, "item": ["a"] * 30, "score": [1.0] * 30, "system": ["s"] * 30, "day": days}
    )
    qrels = pl.DataFrame({"query": queries, "item": ["a"] * 30, "relevance": [1] * 30})
    values = judge(run, qrels, keys=["system", "day"]).group_by("query", "system", "day").agg(recall())
    assert values.height == 30
    assert values["recall"].to_list() == [1.0] * 30
    question = (
        "SELECT count(*), min(value) FROM "
        "(SELECT rank.recall(rank, relevance) AS value FROM {judged} GROUP BY query, system, day)"
    )
    assert in_sql(question, run, qrels, ", keys := ['system', 'day']") == [(30, 1.0)]


ZERO_BASED = pl.DataFrame({"query": ["q", "q"], "item": ["a", "x"], "rank": [0, 1]})


def test_a_run_that_counts_from_0_is_refused_or_told():
    question = "SELECT rank.reciprocal_rank(rank, relevance) FROM {judged} GROUP BY query"
    with pytest.raises(DataError, match="rank_base=0"):
        judge(ZERO_BASED, QRELS)
    with pytest.raises(duckdb.Error, match="rank_base := 0"):
        in_sql(question, ZERO_BASED, QRELS)
    judged = judge(ZERO_BASED, QRELS, rank_base=0)
    assert judged.group_by("query").agg(reciprocal_rank()).rows() == [("q", 1.0)]
    assert in_sql(question, ZERO_BASED, QRELS, ", rank_base := 0") == [(1.0,)]


@pytest.mark.parametrize("second", [1, 2], ids=["alike", "of another grade"])
def test_a_repeated_judgement_never_multiplies_rows(second):
    twice = pl.concat([QRELS, pl.DataFrame({"query": ["q"], "item": ["a"], "relevance": [second]})])
    question = "SELECT rank.recall(rank, relevance), count(*) FROM {judged} GROUP BY query"
    with pytest.raises(DataError, match="'a'"):
        judge(RUN, twice)
    with pytest.raises(duckdb.Error, match=r"\ba\b"):
        in_sql(question, RUN, twice)
    judged = judge(RUN, twice, duplicates="max")
    assert judged.group_by("query").agg(recall(), pl.len()).rows() == [("q", 0.5, 3)]
    assert in_sql(question, RUN, twice, ", duplicates := 'max'") == [(0.5, 3)]


def test_small_integers_do_not_wrap_on_their_way_through_judge():
    many = pl.DataFrame(
        {
            "query": ["q"] * 255,
            "item": [f"i{n:03}" for n in range(255)],
            "rank": pl.Series(list(range(1, 256)), dtype=pl.UInt8),
        }
    )
    qrels = pl.DataFrame(
        {"query": ["q"] * 2, "item": ["i199", "i254"], "relevance": pl.Series([200, 200], dtype=pl.UInt8)}
    )
    rr = judge(many, qrels).group_by("query").agg(reciprocal_rank())
    assert rr.rows() == [("q", 1 / 200)]
    question = "SELECT rank.reciprocal_rank(rank, relevance), rank.dcg(rank, relevance) > 50 FROM {judged}"
    assert in_sql(question, many, qrels) == [(1 / 200, True)]
