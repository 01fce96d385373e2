"""Trained fusion: held to values of ranx on a random collection, and to the rules of its table."""

import json
from pathlib import Path

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_rank.core.errors import DataError
from polars_rank.fusion.fused_run import fuse
from polars_rank.fusion.trained import TRAINED
from polars_rank.fusion.training import fit_fusion
from polars_rank.sql import install

# Made by ranx 0.3.21 from random runs and judgements: runs, qrels, and the fused scores of each method.
RANX = json.loads((Path(__file__).with_name("fusion_trained.json")).read_text())


@pytest.fixture(scope="module")
def connection():
    connection = duckdb.connect()
    install(connection)
    return connection


def flat(nested, value):
    rows = [(query, item, number) for query, items in nested.items() for item, number in items.items()]
    return pl.DataFrame(rows, schema=["query", "item", value], orient="row")


RUNS = {f"s{place}": flat(run, "score") for place, run in enumerate(RANX["runs"])}
QRELS = flat(RANX["qrels"], "relevance")


def in_sql(connection, long, fitted, method, **options):
    connection.register("_runs", long.to_arrow())
    connection.register("_fitted", fitted.to_arrow())
    listed = "".join(f", {name} := {value!r}" for name, value in options.items())
    return connection.sql(f"FROM rank.fuse('_runs', '{method}', fitted := '_fitted'{listed})").pl()


@pytest.mark.parametrize("method", TRAINED)
def test_values_of_ranx(connection, method):
    fitted = fit_fusion(RUNS, QRELS, method, segments=RANX["segments"])
    fused = fuse(RUNS, method, fitted=fitted, half_window=RANX["window"])
    expected = flat(RANX["fused"][method], "expected")
    both = fused.join(expected, on=["query", "item"], how="full")
    assert both.null_count().sum_horizontal().item() == 0
    assert both["score"].to_list() == pytest.approx(both["expected"].to_list(), rel=1e-12, abs=1e-12)

    long = pl.concat([run.with_columns(system=pl.lit(name)) for name, run in RUNS.items()])
    sql = in_sql(connection, long, fitted, method, half_window=RANX["window"])
    assert_frame_equal(fused, sql, check_dtypes=False, abs_tol=1e-12)
    lazy = {name: run.lazy() for name, run in RUNS.items()}
    plan = fuse(lazy, method, fitted=fit_fusion(lazy, QRELS.lazy(), method, segments=7), half_window=3)
    assert_frame_equal(plan.collect(engine="streaming"), fused, abs_tol=1e-12)


@pytest.mark.parametrize("method", TRAINED)
def test_contributions_add_up(connection, method):
    fitted = fit_fusion(RUNS, QRELS, method)
    explained = fuse(RUNS, method, fitted=fitted, explain=True, weights=[1, 2, 0.5])
    total = explained["explain"].list.eval(pl.element().struct.field("contribution")).list.sum()
    assert total.to_list() == pytest.approx(explained["score"].to_list(), abs=1e-12)
    long = pl.concat([run.with_columns(system=pl.lit(name)) for name, run in RUNS.items()])
    connection.register("_runs", long.to_arrow())
    connection.register("_fitted", fitted.to_arrow())
    [(error,)] = connection.sql(
        "SELECT max(abs(score - list_sum([p.contribution FOR p IN explain]))) FROM rank.fuse('_runs', "
        f"'{method}', fitted := '_fitted', explain := TRUE, weights := MAP {{'s0': 1, 's1': 2, 's2': 0.5}})"
    ).fetchall()
    assert error < 1e-12


def test_a_query_that_a_system_did_not_answer_counts_as_without_a_hit():
    run = pl.DataFrame({"query": ["q"], "item": ["a"], "score": [1.0]})
    qrels = pl.DataFrame({"query": ["q", "r"], "item": ["a", "b"], "relevance": [1, 1]})
    assert fit_fusion({"s": run}, qrels, "mapfuse")["value"].to_list() == [0.5]
    assert fit_fusion({"s": run}, qrels, "segfuse")["value"].to_list()[:2] == [0.5 / 5, 0.0]
    # Posfuse asks only of lists that reach the place.
    assert fit_fusion({"s": run}, qrels, "posfuse").rows() == [("posfuse", "s", 1, 1.0)]


def test_grades_below_min_relevance_are_no_hits():
    run = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [2.0, 1.0]})
    qrels = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "relevance": [1, 2]})
    assert fit_fusion({"s": run}, qrels, "posfuse", min_relevance=2)["value"].to_list() == [0.0, 1.0]


def test_beyond_the_trained_places(connection):
    run = pl.DataFrame({"query": ["q"], "item": ["a"], "rank": [1]})
    fitted = {
        method: fit_fusion({"s": run}, QRELS.head(0).vstack(qrels_of("q", "a")), method) for method in TRAINED
    }
    far = pl.DataFrame({"query": ["q"], "item": ["a"], "rank": [6000], "score": [0.0]})
    expected = {"posfuse": 0.0, "segfuse": 0.0, "bayesfuse": -6.906754778648554, "slidefuse": 0.0}
    for method, value in expected.items():
        options = {"order_by": "rank"}
        ours = fuse({"s": far}, method, fitted=fitted[method], **options)["score"].item()
        assert ours == pytest.approx(value), method
        long = far.with_columns(system=pl.lit("s"))
        assert in_sql(connection, long, fitted[method], method, **options)["score"].item() == pytest.approx(
            value
        )


@pytest.mark.parametrize("method", TRAINED)
def test_an_item_without_a_given_rank_has_no_place(connection, method):
    run = pl.DataFrame({"query": "q", "item": ["a", "b"], "rank": [1.0, None], "score": [0.0, 0.0]})
    fitted = fit_fusion({"s": run}, qrels_of("q", "a"), method, order_by="rank")
    ours = fuse({"s": run}, method, fitted=fitted, order_by="rank")
    theirs = in_sql(connection, run.with_columns(system=pl.lit("s")), fitted, method, order_by="rank")
    expected = -6.906754778648554 if method == "bayesfuse" else 0.0
    for fused in (ours, theirs):
        assert dict(fused.select("item", "score").rows())["b"] == pytest.approx(expected)


def qrels_of(query, item):
    return pl.DataFrame({"query": [query], "item": [item], "relevance": [1]}, schema=QRELS.schema)


def test_tables_that_are_refused(connection):
    fitted = fit_fusion(RUNS, QRELS, "posfuse")
    long = pl.concat([run.with_columns(system=pl.lit(name)) for name, run in RUNS.items()])
    for table, method, message in (
        (fitted, "slidefuse", "is for method"),
        (fitted.filter(pl.col("system") != "s1"), "posfuse", "no row for the system"),
        (fitted.drop("segment"), "posfuse", "segment"),
    ):
        with pytest.raises(DataError, match=message):
            fuse(RUNS, method, fitted=table)
        with pytest.raises(duckdb.Error, match=message):
            in_sql(connection, long, table, method)
    for options, message in (
        ({"segments": 0}, "segments must be"),
        ({"min_relevance": -1}, "min_relevance must be"),
    ):
        with pytest.raises(ValueError, match=message):
            fit_fusion(RUNS, QRELS, "probfuse", **options)
    with pytest.raises(ValueError, match="did you mean 'mapfuse'"):
        fit_fusion(RUNS, QRELS, "mapfus")
    with pytest.raises(ValueError, match="half_window must be"):
        fuse(RUNS, "slidefuse", fitted=fitted, half_window=-1)
