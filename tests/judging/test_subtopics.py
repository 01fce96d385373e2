"""Judging by subtopics: both engines against pyndeval, a slow greedy loop, and refusals."""

import json
from pathlib import Path

import duckdb
import polars as pl
import pytest
from engines import Call, as_expression, as_macro, same
from hypothesis import assume, given
from hypothesis import strategies as st
from random_tables import ask as ask_tables
from random_tables import assert_same_rows, database

import polars_rank as rank
from polars_rank import DataError
from polars_rank.measures.names import parse

# Few random tables have a judged item among those returned.
pytestmark = pytest.mark.filterwarnings("ignore::polars_rank.NoMatchWarning")

GOLDEN = json.loads((Path(__file__).parents[1] / "conventions" / "pyndeval.json").read_text(encoding="utf-8"))
QRELS = pl.DataFrame(GOLDEN["qrels"], schema=["query", "subtopic", "item", "relevance"], orient="row")
RUN = pl.DataFrame(GOLDEN["run"], schema=["query", "item", "score"], orient="row")


def test_values_are_those_of_pyndeval():
    values = pl.DataFrame(GOLDEN["values"])
    calls = {}
    for text in values["measure"].unique().sort():
        measure, options, *_ = parse(text, convention="ndeval")
        calls[text] = Call(measure.name, options)
    ours = rank.judge_subtopics(RUN, QRELS).group_by("query")
    in_polars = ours.agg(as_expression(call).alias(text) for text, call in calls.items())
    with database().cursor() as cursor:
        cursor.register("run", RUN.to_arrow())
        cursor.register("qrels", QRELS.to_arrow())
        chosen = ", ".join(f'{as_macro(call)} AS "{text}"' for text, call in calls.items())
        in_sql = cursor.sql(
            f"SELECT query, {chosen} FROM rank.judge_subtopics('run', 'qrels') GROUP BY query"
        ).pl()
    compared = 0
    for mine in (in_polars, in_sql):
        long = mine.unpivot(index="query", variable_name="measure", value_name="ours")
        for query, text, value, our in (
            values.join(long, on=["query", "measure"], validate="1:1")
            .select("query", "measure", "value", "ours")
            .rows()
        ):
            assert same(value, our), f"{query} {text}: {our}, not {value}"
            compared += 1
    assert compared == 2 * values.height > 400


def test_dropping_the_query_itself_keeps_its_judgement():
    run = pl.DataFrame({"query": ["q", "q", "r"], "item": ["q", "a", "r"], "score": [2.0, 1.0, 1.0]})
    qrels = pl.DataFrame(
        {"query": ["q", "q", "r"], "item": ["q", "a", "b"], "subtopic": [1, 2, 1], "relevance": 1}
    )
    judged = rank.judge_subtopics(run, qrels, drop_identical=True)
    assert_same_rows(ask_tables("judge_subtopics", run, qrels, drop_identical=True), judged)
    rows = judged.select("query", "item", "rank", "subtopic", "ideal_rank").sort("query", "item").rows()
    assert rows == [("q", "a", 1, 2, 2), ("q", "q", None, 1, 1), ("r", "b", None, 1, 1)]
    assert rank.evaluate(judged, "StRecall@2").rows() == [("q", 0.5), ("r", 0.0)]


def slow_ideal(topics, alpha):
    """Give the items of one query in the greedy order: item to its set of subtopics, in."""
    left, seen, order = dict(topics), {}, []
    while left:
        worths = {
            item: round(sum((1 - alpha) ** seen.get(topic, 0) for topic in of), 12)
            for item, of in left.items()
        }
        item = max(left, key=lambda one: (worths[one], one))
        for topic in left.pop(item):
            seen[topic] = seen.get(topic, 0) + 1
        order.append(item)
    return order


@st.composite
def tables(draw):
    queries, items = st.sampled_from("pq"), st.sampled_from(["a", "b", "c", "d", "é", "10", "9"])
    judged = st.tuples(queries, items, st.sampled_from("xyz"), st.sampled_from([-1, 0, 1, 1, 2, None]))
    rows = draw(st.lists(judged, min_size=1, max_size=24, unique_by=lambda row: row[:3]))
    schema = {"query": pl.String, "item": pl.String, "subtopic": pl.String, "relevance": pl.Float64}
    qrels = pl.DataFrame(rows, schema=schema, orient="row")
    judged_queries = qrels.drop_nulls("relevance")["query"].to_list()
    assume(judged_queries)
    returned = draw(st.lists(st.tuples(queries, items), min_size=1, max_size=12, unique=True))
    if not {query for query, _ in returned} & set(judged_queries):
        returned = [(judged_queries[0], "a")]
    run = pl.DataFrame(returned, schema=["query", "item"], orient="row")
    return run.with_columns(score=pl.int_range(pl.len()).cast(pl.Float64)), qrels


@given(tables(), st.sampled_from([0.5, 0.0, 0.3, 1.0]), st.sampled_from([1, 2, 0]))
def test_ideal_ranks_are_those_of_a_slow_loop(tables, alpha, min_relevance):
    run, qrels = tables
    judged = rank.judge_subtopics(run, qrels, alpha=alpha, min_relevance=min_relevance)
    for query in qrels["query"].unique():
        topics = {}
        for item, topic, grade in qrels.filter(query=query).select("item", "subtopic", "relevance").rows():
            if grade is not None and grade >= min_relevance:
                topics.setdefault(item, set()).add(topic)
        placed = judged.filter(pl.col("query") == query, pl.col("ideal_rank").is_not_null())
        found = placed.select("item", "ideal_rank").unique().sort("ideal_rank")["item"].to_list()
        assert found == slow_ideal(topics, alpha)


@given(
    tables(), st.sampled_from([{}, {"alpha": 0.3}, {"min_relevance": 2}, {"queries": "both"}, {"depth": 2}])
)
def test_engines_agree(tables, options):
    run, qrels = tables
    if options == {"queries": "both"} and run.join(qrels, on="query", how="semi").is_empty():
        return
    in_polars = rank.judge_subtopics(run, qrels, **options)
    assert_same_rows(in_polars, ask_tables("judge_subtopics", run, qrels, **options))
    lazy = rank.judge_subtopics(run.lazy(), qrels.lazy(), **options)
    assert isinstance(lazy, pl.LazyFrame)
    assert_same_rows(in_polars, lazy.collect())


ONE_RUN = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [2.0, 1.0]})
ONE = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "subtopic": [1, 1], "relevance": [1, 1]})


def test_a_row_without_judgement_and_a_run_of_several_systems():
    run = pl.concat([ONE_RUN.with_columns(system=pl.lit(s)) for s in "st"])
    judged = rank.judge_subtopics(run, ONE.filter(item="a"))
    assert judged.filter(item="b").select("subtopic", "relevance", "ideal_rank").rows() == [(None,) * 3] * 2
    values = rank.evaluate(judged, ["alpha_nDCG@5", "StRecall@1"])
    assert values.rows() == [("q", "s", 1.0, 1.0), ("q", "t", 1.0, 1.0)]


@pytest.mark.parametrize(
    ("qrels", "told"),
    [
        (pl.concat([ONE, ONE.head(1)]), "twice"),
        (ONE.with_columns(subtopic=pl.lit(None, pl.Int64)), "subtopic has a null"),
    ],
)
def test_bad_judgements_are_refused(qrels, told):
    with pytest.raises(DataError, match=told):
        rank.judge_subtopics(ONE_RUN, qrels)
    with pytest.raises(DataError, match=told):
        rank.judge_subtopics(ONE_RUN.lazy(), qrels).collect()
    with pytest.raises(duckdb.Error, match=told):
        ask_tables("judge_subtopics", ONE_RUN, qrels)


def test_a_repeated_judgement_counts_once_on_request():
    twice = pl.concat([ONE, ONE.head(1).with_columns(relevance=pl.lit(0, pl.Int64))])
    wanted = rank.judge_subtopics(ONE_RUN, ONE)
    assert_same_rows(rank.judge_subtopics(ONE_RUN, twice, duplicates="max"), wanted)
    assert_same_rows(ask_tables("judge_subtopics", ONE_RUN, twice, duplicates="max"), wanted)


def test_a_missing_column_and_a_wrong_alpha_are_refused():
    with pytest.raises(DataError, match="'subtopic'"):
        rank.judge_subtopics(ONE_RUN, ONE.drop("subtopic"))
    with pytest.raises(ValueError, match="alpha"):
        rank.judge_subtopics(ONE_RUN, ONE, alpha=1.5)
    with pytest.raises(duckdb.Error, match="alpha must be"):
        ask_tables("judge_subtopics", ONE_RUN, ONE, alpha=1.5)
    with pytest.raises(DataError, match="'ideal_rank'"):
        rank.evaluate(rank.judge_subtopics(ONE_RUN, ONE).drop("ideal_rank"), "alpha_nDCG@5")
