"""`check` finds the same in both engines, and each finding is what its name says."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from random_tables import ask, tables

from polars_rank import DataError
from polars_rank.checking import check
from polars_rank.judging import judge

LIMITS = st.fixed_dictionaries(
    {},
    optional={"k": st.integers(1, 4), "min_relevance": st.sampled_from([1, 2]), "descending": st.booleans()},
)


@given(tables(), LIMITS)
def test_both_engines_find_the_same_in_run_and_qrels(drawn, limits):
    run, qrels = drawn
    assert_frame_equal(
        check(run, qrels, max_relevance=2, **limits), ask("check", run, qrels, max_relevance=2, **limits)
    )


@given(tables(), LIMITS, st.data())
def test_both_engines_find_the_same_in_a_judged_table(drawn, limits, data):
    run, _ = drawn
    kept = [name for name in ("query", "item", "score", "rank", "system") if name in run.columns]
    size = run.height
    rank = data.draw(
        st.lists(st.sampled_from([None, 0, 1, 2, 3, 5, 1.5, float("nan")]), min_size=size, max_size=size)
    )
    grade = data.draw(
        st.lists(st.sampled_from([None, 0, 1, 3, -1, float("nan")]), min_size=size, max_size=size)
    )
    judged = run.select(kept).with_columns(
        pl.Series("rank", rank, pl.Float64, strict=False),
        pl.Series("relevance", grade, pl.Float64, strict=False),
    )
    assert_frame_equal(
        check(judged, max_relevance=2, **limits), ask("check", judged, max_relevance=2, **limits)
    )


ENGINES = {"polars": check, "sql": lambda *tables, **options: ask("check", *tables, **options)}
QRELS = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "relevance": [2, 0]})


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]


def run(*rows, **columns):
    table = pl.DataFrame({"query": ["q"] * len(rows), "item": list(rows)})
    return table.with_columns(pl.Series(name, values) for name, values in columns.items())


def found(table):
    assert table.columns == ["finding", "count", "examples"]
    return {finding: (count, examples) for finding, count, examples in table.rows()}


def test_sound_tables_give_an_empty_table(engine):
    result = engine(run("a", "b", score=[2.0, 1.0]), QRELS)
    assert result.is_empty()
    assert result.schema == {"finding": pl.String, "count": pl.Int64, "examples": pl.List(pl.String)}


@pytest.mark.parametrize(
    ("table", "finding", "count", "examples"),
    [
        (run("a", "b", "a", score=[3, 2, 1]), "item twice in a ranking", 1, ["query q, item a"]),
        (
            run("a", "b", score=[None, float("nan")]),
            "score null or NaN",
            2,
            ["query q, item a", "query q, item b"],
        ),
        (run("a", "b", score=[float("inf"), 1]), "score infinite", 1, ["query q, item a"]),
        (run("a", None, score=[2, 1]), "null query, item or key in run", 1, ["query q, item null"]),
        (
            run("a", "b", score=[2, 1], system=["s", None]),
            "null query, item or key in run",
            1,
            ["query q, item b"],
        ),
        (
            run("a", "b", score=[2, 1], rank=[2, 1]),
            "rank against score",
            2,
            ["query q, item a", "query q, item b"],
        ),
        (run("a", "b", score=[2, 2], rank=[2, 1]), "tie across k", 1, ["query q"]),
        (run("a", "b", rank=[1, 1]), "rank tied", 2, ["query q, item a", "query q, item b"]),
        (run("a", "b", rank=[1, 3]), "ranks with a gap", 1, ["query q"]),
        (
            run("a", "b", "c", "d", rank=[1, 1, 2, 7]),
            "rank moved to a place of its own",
            2,
            ["query q, item a", "query q, item c"],
        ),
        (run("a", "b", rank=[1.0, 2.5]), "rank moved to a place of its own", 1, ["query q, item b"]),
        (run("a", "b", rank=[0, 1]), "rank below 1", 1, ["query q, item a"]),
        (run("a", "b", rank=[1.0, 1.5]), "rank not whole", 1, ["query q, item b"]),
        (run("a", "b", rank=[1, None]), "rank null or NaN", 1, ["query q, item b"]),
        (run("x", "a", score=[2, 1]), "unjudged within k", 1, ["query q, item x"]),
        (run("x", score=[2]), "queries in common, but no item", 1, ["query q"]),
    ],
)
def test_findings_in_a_run(engine, table, finding, count, examples):
    assert found(engine(table, QRELS, k=1))[finding] == (count, examples)


def test_ranks_move_only_where_they_order_the_run(engine):
    tied = run("a", "b", rank=[1, 1], score=[2.0, 1.0])
    assert "rank moved to a place of its own" not in found(engine(tied, QRELS))


@pytest.mark.parametrize(
    ("rows", "finding", "count", "examples"),
    [
        ([("q", "a", 1), ("q", "a", 1)], "item judged twice", 1, ["query q, item a"]),
        ([("q", "a", 1), ("r", "a", 1)], "query in qrels only", 1, ["query r"]),
        ([("r", "a", 1)], "query in run only", 1, ["query q"]),
        ([("r", "a", 1), ("s", "a", 1)], "no query in common", 2, ["query r", "query s"]),
        ([("q", "a", 0), ("q", "b", -1)], "no grade reaches min_relevance", 1, ["query q"]),
        ([("q", "a", 5)], "grade above max_relevance", 1, ["query q, item a"]),
        ([("q", "a", None), ("q", "b", 1)], "grade null or NaN", 1, ["query q, item a"]),
        ([("q", "a", None), ("q", "b", None), ("r", "a", 1)], "query without a grade", 1, ["query q"]),
        ([("q", None, 1)], "null query or item in qrels", 1, ["query q, item null"]),
    ],
)
def test_findings_in_qrels(engine, rows, finding, count, examples):
    schema = {"query": pl.String, "item": pl.String, "relevance": pl.Int64}
    qrels = pl.DataFrame(rows, schema=schema, orient="row")
    assert found(engine(run("a", "b", score=[2.0, 1.0]), qrels))[finding] == (count, examples)


def test_ids_of_different_types_are_a_finding(engine):
    whole = pl.DataFrame({"query": [1], "item": [2], "score": [1.0]})
    text = pl.DataFrame({"query": ["1"], "item": ["2"]})
    assert found(engine(whole, text))["ids of different types"][0] == 2
    assert found(engine(whole.cast({"item": pl.Float64}), text))["id of no id type"][0] == 1


COMPLETE = "no judged item is missing anywhere: recall and ideals come from the returned rows only"


def test_a_log_of_returned_rows_alone_is_told(engine):
    judged = judge(run("a", "b", score=[2.0, 1.0]), QRELS)
    assert found(engine(judged)) == {COMPLETE: (1, ["query q"])}
    missed = judge(run("a", score=[2.0]), QRELS)
    assert found(engine(missed)) == {}


def test_a_judged_table_needs_no_items(engine):
    judged = pl.DataFrame({"query": ["q", "q", "r"], "rank": [1, 1, None], "relevance": [None, 2, 1]})
    assert found(engine(judged)) == {"rank tied": (2, ["query q"]), "unjudged within k": (1, ["query q"])}


def test_a_judged_table_may_lack_grades_or_have_infinite_ones(engine):
    judged = pl.DataFrame(
        {
            "query": ["q", "q", "q", "r"],
            "system": ["s", "s", "t", "s"],
            "item": ["a", "b", "a", "a"],
            "rank": [1, 2, 1, 1],
            "score": [2.0, float("-inf"), 1.0, 1.0],
            "relevance": [float("inf"), 1.0, None, None],
        }
    )
    findings = found(engine(judged))
    assert findings["ranking without a grade"] == (2, ["query q", "query r"])
    assert findings["grade infinite"] == (1, ["query q, item a"])
    assert findings["score infinite"] == (1, ["query q, item b"])


def test_lazy_tables_give_a_plan():
    plan = check(run("a", "b", score=[2.0, 1.0]).lazy(), QRELS.lazy())
    assert isinstance(plan, pl.LazyFrame)
    assert plan.collect().is_empty()


@pytest.mark.parametrize("k", [0, 1.5, True, None, "10"])
def test_k_is_a_whole_number(k):
    with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
        check(run("a", score=[1.0]), QRELS, k=k)


def test_a_column_that_is_missing_is_named():
    with pytest.raises(DataError, match="'relevance'"):
        check(run("a", rank=[1]))
    with pytest.raises(DataError, match="neither 'score' nor 'rank'"):
        check(run("a"), QRELS)
