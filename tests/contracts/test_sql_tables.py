"""The table macros where people call them: other databases, read-only files, CTEs, frames, odd names."""

import contextlib
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tables import ask, assert_same_rows, judged_tables, tables
from random_tables import database as shared_database
from test_judging import options

import polars_rank as rank
from polars_rank import DataError
from polars_rank.evaluation.per_query import evaluate
from polars_rank.judging.judged_table import judge
from polars_rank.measures.names import parse
from polars_rank.sql import init_text, install

# Few random tables have a judged item among those returned.
pytestmark = pytest.mark.filterwarnings("ignore::polars_rank.NoMatchWarning")

RUN = pl.DataFrame(
    {"query": ["q", "q", "q", "r"], "item": ["a", "b", "c", "a"], "score": [0.3, 0.2, 0.1, 1.0]},
)
QRELS = pl.DataFrame({"query": ["q", "q", "r", "s"], "item": ["b", "d", "a", "a"], "relevance": [1, 2, 1, 1]})
# By hand: q finds b (grade 1) at 2 and misses d (grade 2); r is perfect; s was not asked.
RECIPROCAL_RANK = {"q": 0.5, "r": 1.0, "s": 0.0}
NAMES = {
    "ndcg": "nDCG@2",
    "average_precision": "AP@2",
    "reciprocal_rank": "RR@2",
    "precision": "P@2",
    "recall": "R@2",
    "f_measure": rank.f_measure(k=2),
    "success": "Success@2",
    "judged_share": "Judged@2",
    "r_precision": "Rprec",
    "bpref": "Bpref",
}


def measures(k):
    whole = {"r_precision", "bpref"}
    return [getattr(rank, name)(**({} if name in whole else {"k": k})).alias(name) for name in NAMES]


EVALUATE = "SELECT query, reciprocal_rank FROM rank.evaluate_run({run}, {qrels})"


@pytest.fixture
def database():
    with duckdb.connect() as connection:
        connection.register("frame_run", RUN.to_arrow())
        connection.register("frame_qrels", QRELS.to_arrow())
        connection.execute(
            "CREATE TABLE results AS FROM frame_run; CREATE TABLE judgements AS FROM frame_qrels"
        )
        install(connection)
        yield connection


def values(connection, run="'results'", qrels="'judgements'", before=""):
    return dict(connection.execute(before + EVALUATE.format(run=run, qrels=qrels)).fetchall())


@given(tables())
def test_the_flat_form_of_evaluate_gives_the_values_of_the_measures(drawn):
    run, qrels = drawn
    try:
        judged = judge(run, qrels, duplicates="max", queries="all")
    except DataError:
        return
    if judged.is_empty():
        return
    calls = [
        measure.alias(name) if isinstance(measure, pl.Expr) else measure for name, measure in NAMES.items()
    ]
    expected = evaluate(judged, calls).rename(
        {text: name for name, text in NAMES.items() if isinstance(text, str)}
    )
    assert_same_rows(ask("evaluate", judged, k=2), expected)
    whole = evaluate(judged, ["nDCG", "AP", "set_P", "set_recall"])
    columns = dict(zip(whole.columns[-4:], ["ndcg", "average_precision", "precision", "recall"], strict=True))
    flat = ask("evaluate", judged, k=None)
    assert_same_rows(flat.select(*whole.columns[:-4], *columns.values()), whole.rename(columns))


@given(st.data())
def test_evaluate_run_gives_the_values_of_judge_and_evaluate(data):
    run, qrels = data.draw(tables())
    chosen = data.draw(options(run.columns))
    chosen.pop("attributes", None)
    k = data.draw(st.sampled_from([1, 2, 3, 10, None]))
    keys = {"keys": chosen["keys"]} if "keys" in chosen else {}
    try:
        judged = ask("judge", run, qrels, **chosen)
    except duckdb.Error as error:
        # A repeated item that nobody judged is for rank.check to find.
        if "run has a row twice" not in str(error):
            with pytest.raises(duckdb.Error):
                ask("evaluate_run", run, qrels, k=k, **chosen)
        return
    expected = ask("evaluate", judged, k=k, **keys)
    values = ask("evaluate_run", run, qrels, k=k, **chosen)
    assert_same_rows(values, expected)
    # Python refuses more: it looks at the unjudged rows too.
    with contextlib.suppress(DataError):
        assert_same_rows(values, evaluate(run, measures(k), qrels=qrels, **chosen))


@given(judged_tables(), st.sampled_from([1, 2, 10, None]), st.sampled_from([0, 1]))
def test_both_engines_evaluate_any_judged_table_alike(judged, k, rank_base):
    try:
        expected = evaluate(judged.lazy(), measures(k), rank_base=rank_base).collect()
    except DataError:
        with pytest.raises(duckdb.Error, match=r"a row twice|rank holds|relevance holds"):
            ask("evaluate", judged, k=k, rank_base=rank_base)
        return
    assert_same_rows(ask("evaluate", judged, k=k, rank_base=rank_base), expected)


@pytest.mark.parametrize("missing", ["query", "system"])
def test_null_is_a_query_and_a_key_like_any_other(missing):
    table = pl.DataFrame(
        {"query": "q", "system": ["s", "s", None, None], "rank": [1, 2, 1, 2], "relevance": [1, 0, 1, 0]}
    )
    if missing == "query":
        table = table.rename({"query": "system", "system": "query"})
    values = ask("evaluate", table)
    assert values[missing].null_count() == 1
    assert values["ndcg"].to_list() == values["average_precision"].to_list() == [1.0, 1.0]


def test_a_ranking_without_a_judged_row_has_no_value_of_what_needs_judgements():
    table = pl.DataFrame(
        {"query": ["q", "q", "r"], "rank": [1, 2, 1], "relevance": [None, float("nan"), 0.0]}
    )
    values = ask("evaluate", table).sort("query")
    for name in NAMES:
        needed = [None, 0.0] if parse(name).measure.needs_judgements else [0.0, 1.0]
        assert values[name].to_list() == needed, name
    run = table.with_columns(item=pl.Series(["a", "b", "a"])).drop("relevance")
    qrels = pl.DataFrame({"query": ["q", "r"], "item": ["a", "a"], "relevance": [None, 0]})
    assert_same_rows(ask("evaluate_run", run, qrels, queries="run"), values)
    assert ask("evaluate_run", run, qrels)["query"].to_list() == ["r"]


def test_a_repeated_row_of_a_judged_table_advises_the_key():
    judged = pl.DataFrame(
        {"query": "q", "item": ["a", "a"], "rank": [1, 1], "relevance": 1, "day": [1, 2], "market": "de"}
    )
    for key in ({}, {"system": pl.lit("s")}, {"system": pl.lit(None, pl.String)}):
        with pytest.raises(duckdb.Error, match=r"a row twice.*item a.*keys := \['day'\]"):
            ask("evaluate", judged.with_columns(**key))
    assert ask("evaluate", judged, keys=["day"])["average_precision"].to_list() == [1.0, 1.0]
    with pytest.raises(duckdb.Error, match=r"keys := \[\.\.\.\]"):
        ask("evaluate", judged.drop("day"))


def test_ranks_from_zero_are_named_or_refused():
    judged = pl.DataFrame({"query": "q", "item": ["a", "b"], "rank": [0, 1], "relevance": [1, 0]})
    with pytest.raises(duckdb.Error, match=r"rank holds 0.*rank_base := 0"):
        ask("evaluate", judged)
    assert ask("evaluate", judged, rank_base=0)["ndcg"].to_list() == [1.0]


@pytest.mark.parametrize("value", ["inf", "-inf"])
@pytest.mark.parametrize("macro", ["judge", "evaluate_run"])
def test_infinite_grades_and_given_ranks_are_refused(value, macro):
    numbers = pl.DataFrame({"query": "q", "item": ["a", "b"], "number": [1.0, float(value)]})
    run, qrels = numbers.rename({"number": "rank"}), numbers.rename({"number": "relevance"})
    for duplicates in ("error", "first", "max"):
        with pytest.raises(duckdb.Error, match=rf"relevance is {value} for query q, item b"):
            ask(macro, run.with_columns(rank=pl.Series([1, 2])), qrels, duplicates=duplicates)
        with pytest.raises(duckdb.Error, match=r"infinite rank|counts from 1"):
            ask(macro, run, qrels.drop("relevance"), duplicates=duplicates)
    with pytest.raises(duckdb.Error, match="infinite grade"):
        ask("evaluate", qrels.with_columns(rank=pl.Series([1, 2])))
    with pytest.raises(duckdb.Error, match="infinite rank"):
        ask("evaluate", run.with_columns(relevance=1))


@pytest.mark.parametrize("queries", ["qrels", "both", "run", "all"])
def test_drop_identical_keeps_judgements_and_queries(queries):
    run = pl.DataFrame(
        {"query": [0, 0, 0, 1, 1, 1], "item": [0, 1, 2] * 2, "score": [1.0, 0.9, 0.8, 0.0, 1.0, 2.0]}
    )
    qrels = pl.DataFrame({"query": [0, 0, 1], "item": [0, 1, 1], "relevance": [1, 1, 1]})
    options = {"drop_identical": True, "queries": queries}
    values = ask("evaluate_run", run, qrels, k=1, **options)
    assert values.select(pl.col("ndcg", "recall").mean()).row(0) == (0.5, 0.25)
    assert ask("evaluate_run", run, qrels, k=2, **options)["average_precision"].mean() == 0.25
    run = pl.DataFrame({"query": ["q1", "q2"], "item": ["q1", "d2"], "score": [1.0, 0.5]})
    qrels = pl.DataFrame({"query": ["q1", "q2"], "item": ["d1", "d2"], "relevance": [1, 1]})
    values = ask("evaluate_run", run, qrels, k=1, **options)
    assert dict(values.select("query", "ndcg").rows()) == {"q1": 0.0, "q2": 1.0}


@pytest.mark.parametrize("scores", ["1", "i"])
def test_a_long_ranking_takes_no_quadratic_time(scores):
    with shared_database().cursor() as cursor:
        run = f"SELECT 'q' AS query, 'd' || i AS item, {scores} AS score FROM range(100_000) AS t(i)"
        cursor.execute(f"CREATE TEMP TABLE long AS {run}")
        cursor.execute("CREATE TEMP TABLE marks AS SELECT query, item FROM long")
        start = time.process_time()
        found = cursor.execute("SELECT recall, bpref FROM rank.evaluate_run('long', 'marks')").fetchall()
        cursor.execute("DROP TABLE long; DROP TABLE marks")
    assert found == [(10 / 100_000, 1.0)]
    assert time.process_time() - start < 5


def test_keys_as_one_text_and_large_cutoffs(database):
    database.execute("CREATE TABLE runs AS SELECT *, 's' AS system FROM results")
    large = f"keys := 'system', k := {2**63}"
    asked = f"SELECT query, recall FROM rank.evaluate_run('runs', 'judgements', {large}, depth := {2**63})"
    expected = {"q": 0.5, "r": 1.0, "s": 0.0}
    assert dict(database.execute(asked).fetchall()) == expected
    database.execute("CREATE TABLE judged AS FROM rank.judge('runs', 'judgements', keys := 'system')")
    asked = f"SELECT query, recall FROM rank.evaluate('judged', {large})"
    assert dict(database.execute(asked).fetchall()) == expected
    assert database.execute(f"FROM rank.check('runs', 'judgements', {large})").fetchall()


@pytest.mark.parametrize("missing", ["reciprocal_rank", "bpref"])
def test_evaluate_run_is_evaluate_of_judge(database, missing):
    database.execute("CREATE TABLE judged AS FROM rank.judge('results', 'judgements')")
    two_steps = database.sql("FROM rank.evaluate('judged', k := 3)").pl()
    assert_same_rows(database.sql("FROM rank.evaluate_run('results', 'judgements', k := 3)").pl(), two_steps)
    assert missing in two_steps.columns


def test_tables_views_and_qualified_names(database):
    database.execute("CREATE VIEW seen AS FROM results WHERE query != 'x'")
    for run in ("results", "seen", "main.results", "memory.main.results", "RESULTS"):
        assert values(database, f"'{run}'") == RECIPROCAL_RANK


def test_common_table_expressions(database):
    before = "WITH run AS (FROM results), qrels AS (FROM judgements) "
    assert values(database, "'run'", "'qrels'", before) == RECIPROCAL_RANK


def test_columns_are_renamed_in_a_common_table_expression(database):
    database.execute("CREATE TABLE logged AS SELECT query AS user, item AS sku, score AS points FROM results")
    before = "WITH mine AS (SELECT user AS query, sku AS item, points AS score FROM logged) "
    assert values(database, "'mine'", before=before) == RECIPROCAL_RANK


def test_frames_by_their_name(database):
    # DuckDB finds a frame by the name of its variable.
    my_run, my_qrels = RUN, QRELS.lazy()  # noqa: F841
    asked = EVALUATE.format(run="'my_run'", qrels="'my_qrels'")
    assert dict(database.execute(asked).fetchall()) == RECIPROCAL_RANK


def test_files_and_globs(database, tmp_path):
    RUN.filter(pl.col("query") == "q").write_parquet(tmp_path / "run_1.parquet")
    RUN.filter(pl.col("query") == "r").write_parquet(tmp_path / "run_2.parquet")
    QRELS.write_csv(tmp_path / "qrels.csv")
    assert values(database, f"'{tmp_path}/run_*.parquet'", f"'{tmp_path}/qrels.csv'") == RECIPROCAL_RANK


def test_another_database_in_use(database, tmp_path):
    database.execute(
        f"ATTACH '{tmp_path}/other.duckdb' AS other; CREATE TABLE other.results AS FROM results LIMIT 0"
    )
    database.execute("USE other")
    assert values(database, "'memory.results'", "'memory.judgements'") == RECIPROCAL_RANK
    assert database.execute("FROM rank.check('memory.results', 'memory.judgements')").fetchall()


def test_a_read_only_file(tmp_path):
    with duckdb.connect(tmp_path / "log.duckdb") as connection:
        connection.register("frame_run", RUN.to_arrow())
        connection.register("frame_qrels", QRELS.to_arrow())
        connection.execute(
            "CREATE TABLE results AS FROM frame_run; CREATE TABLE judgements AS FROM frame_qrels"
        )
    with duckdb.connect(tmp_path / "log.duckdb", read_only=True) as connection:
        install(connection)
        assert values(connection) == RECIPROCAL_RANK
        assert values(connection.cursor()) == RECIPROCAL_RANK


def test_another_name_for_the_catalogue(database):
    install(database, name="scores")
    database.execute("DETACH rank")
    found = database.execute(
        EVALUATE.replace("rank.ev", "scores.ev").format(run="'results'", qrels="'judgements'")
    )
    assert dict(found.fetchall()) == RECIPROCAL_RANK


def test_a_schema_that_persists_serves_views(tmp_path):
    with duckdb.connect(tmp_path / "log.duckdb") as connection:
        install(connection, persist=True)
        connection.execute("CREATE TABLE results (query text, item text, score double)")
        connection.execute("CREATE TABLE judgements (query text, item text)")
        connection.execute("INSERT INTO results VALUES ('q', 'a', 1)")
        connection.execute("INSERT INTO judgements VALUES ('q', 'a')")
        connection.execute(
            "CREATE VIEW per_query AS " + EVALUATE.format(run="'results'", qrels="'judgements'")
        )
    with duckdb.connect(tmp_path / "log.duckdb", read_only=True) as connection:
        assert connection.execute("FROM per_query").fetchall() == [("q", 1.0)]


@pytest.mark.parametrize("name", ["run", "qrels", "keys", "judged", "rows", "system", "_run", "_qrels"])
def test_names_of_the_inside_do_not_hide_those_of_the_user(database, name):
    database.execute(f"CREATE TABLE {name} AS FROM results; CREATE TABLE {name}_too AS FROM judgements")
    assert values(database, f"'{name}'", f"'{name}_too'") == RECIPROCAL_RANK
    assert values(database, f"'{name}'") == RECIPROCAL_RANK


ODD = [
    "keys",
    "depth",
    "ties",
    "queries",
    "k",
    "kept",
    "about",
    "place",
    "grade",
    "points",
    "position",
    "c",
    "x",
    "run",
]


@pytest.mark.parametrize(
    "column", [*ODD, "system_key", "first", "count", "judged", "select", "ranking", "message"]
)
def test_columns_of_any_name_are_kept(database, column):
    database.execute(f"""CREATE TABLE odd AS SELECT *, 'kept' AS "{column}" FROM results""")
    judged = database.sql("FROM rank.judge('odd', 'judgements')").pl()
    assert judged.filter(pl.col("rank").is_not_null())[column].to_list() == ["kept"] * 4
    assert values(database, "'odd'") == RECIPROCAL_RANK
    keyed = database.sql(f"FROM rank.judge('odd', 'judgements', keys := ['{column}'])").pl()
    assert keyed[column].null_count() == 0
    told = database.sql(f"FROM rank.judge('odd', 'judgements', attributes := ['{column}'])").pl()
    assert told.filter(pl.col("query") == "q")[column].to_list() == ["kept"] * 4
    per_query = database.sql(f"FROM rank.evaluate_run('odd', 'judgements', keys := ['{column}'])").pl()
    assert dict(per_query.select("query", "reciprocal_rank").rows()) == {"q": 0.5, "r": 1.0}
    database.execute(f"""CREATE TABLE told AS SELECT DISTINCT query, 1 AS "{column}" FROM judgements""")
    if column not in ("score", "item"):
        told = database.sql("FROM rank.judge('results', 'judgements', attributes := 'told')").pl()
        assert told[column].to_list() == [1] * told.height


def test_upper_case_columns(database):
    database.execute(
        "CREATE TABLE loud AS SELECT query AS QUERY, item AS Item, score AS SCORE, 's' AS System FROM results"
    )
    assert values(database, "'loud'") == RECIPROCAL_RANK
    assert database.sql("FROM rank.judge('loud', 'judgements', keys := ['SYSTEM'])").pl().height == 6


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("judge('results', 'judgements', ties := 'best-first')", "ties must be one of"),
        ("judge('results', 'judgements', ties := NULL)", "got NULL"),
        ("judge('results', 'judgements', queries := 'both-sides')", "queries must be one of"),
        ("judge('results', 'judgements', duplicates := 'last')", "duplicates must be one of"),
        ("judge('results', 'judgements', depth := 0)", "use NULL for whole rankings"),
        ("judge('results', 'judgements', depth := 1.5)", "depth must be a whole number"),
        ("judge('results', 'judgements', rank_base := 2)", "rank_base must be one of"),
        ("judge('results', 'judgements', score_dtype := 'float16')", "score_dtype must be one of"),
        ("judge('results', 'judgements', judged_only := NULL)", "judged_only must be true or false"),
        ("judge('results', 'judgements', order_by := 'points')", "order_by must be one of"),
        ("judge('results', 'judgements', order_by := 'rank')", "no column rank"),
        ("judge('results', 'judgements', keys := ['sytem'])", "no column sytem"),
        ("judge('results', 'judgements', attributes := ['local'])", "no column local"),
        ("judge('judgements', 'results')", "swapped"),
        ("evaluate('judged', k := 0)", "use NULL for the whole list"),
        ("evaluate('judged', keys := ['sytem'])", "sytem"),
        ("evaluate('judged', k := 'ten')", "k must be a whole number of at least 1, got ten"),
        ("evaluate('judged', rank_base := NULL)", "rank_base must be one of 0, 1, got NULL"),
        ("evaluate_run('results', 'judgements', k := 2.5)", "whole number"),
        ("evaluate_run('results', 'judgements', k := -3)", "whole number"),
        ("evaluate_run('results', 'judgements', k := 'ten')", "whole number"),
        ("evaluate_run('results', 'judgements', depth := 'ten')", "depth must be a whole number"),
        ("evaluate_run('results', 'judgements', depth := -1)", "depth must be a whole number"),
        ("evaluate_run('results', 'judgements', queries := NULL)", "queries must be one of"),
        ("evaluate_run('results', 'judgements', ties := 1)", "ties must be one of"),
        ("evaluate_run('results', 'judgements', descending := 'up')", "descending must be true or false"),
        ("evaluate_run('results', 'judgements', keys := 'sytem')", "no column sytem"),
        ("judge('results', 'judgements', keys := 1)", "no column 1"),
        ("judge('results', 'judgements', attributes := 1)", "attributes must be"),
        ("check('results', 'judgements', k := 'ten')", "whole number"),
        ("check('results', 'judgements', descending := 'up')", "descending must be true or false"),
        ("check('results', 'judgements', min_relevance := NULL)", "min_relevance must be"),
        ("check('results', 'judgements', keys := 'sytem')", "no column sytem"),
        ("check('results', 'judgements', k := 0)", "whole number"),
        ("check('results', 'judgements', keys := ['sytem'])", "sytem"),
        ("check('results')", "a run needs its qrels"),
    ],
)
@pytest.mark.parametrize("asked", ["SELECT *", "SELECT count(*)", "SELECT query"])
def test_what_is_refused(database, call, said, asked):
    if call.startswith("check") and "query" in asked:
        asked = "SELECT finding"
    database.execute("CREATE TABLE judged AS FROM rank.judge('results', 'judgements')")
    with pytest.raises(duckdb.Error, match=said):
        database.execute(f"{asked} FROM rank.{call}").fetchall()


DATA = {
    "text against integers": ("SELECT 1 AS query, 2 AS item, 1.0 AS score", "id types differ"),
    "items of another kind": ("SELECT 'q' AS query, 2 AS item, 1.0 AS score", "id types differ"),
    "fractional ids": ("SELECT 'q' AS query, 2.0::double AS item, 1.0 AS score", "run.item has type DOUBLE"),
    "no common query": ("SELECT 'x' AS query, 'a' AS item, 1.0 AS score", r"no query in common.*\[x\].*q"),
    "null item": ("SELECT 'q' AS query, NULL::text AS item, 1.0 AS score", "null in query, item or a key"),
    "null key": (
        "SELECT 'q' AS query, 'a' AS item, 1.0 AS score, NULL::text AS system",
        "null in query, item or a key",
    ),
    "item twice": (
        "SELECT 'q' AS query, 'a' AS item, unnest([1, 2]) AS score",
        "run has a row twice.*query q.*item a",
    ),
    "scores of text": ("SELECT 'q' AS query, 'a' AS item, 'high' AS score", "run.score has type VARCHAR"),
    "rank zero": ("SELECT 'q' AS query, 'a' AS item, 0 AS rank", "rank_base := 0"),
    "no order": ("SELECT 'q' AS query, 'a' AS item", "neither score nor rank"),
    "a judged table": ("SELECT 'q' AS query, 'a' AS item, 1 AS rank, 1 AS relevance", "rank.evaluate"),
}


@pytest.mark.parametrize(("table", "said"), DATA.values(), ids=DATA)
@pytest.mark.parametrize("asked", ["SELECT *", "SELECT count(*)", "SELECT max(relevance)"])
@pytest.mark.parametrize("queries", ["qrels", "both"])
def test_tables_that_are_refused(database, table, said, asked, queries):
    database.execute(f"CREATE TABLE bad AS {table}")
    with pytest.raises(duckdb.Error, match=said):
        database.execute(f"{asked} FROM rank.judge('bad', 'judgements', queries := '{queries}')").fetchall()


def test_a_repeated_judgement_is_refused_wherever_it_is(database):
    database.execute("INSERT INTO judgements VALUES ('s', 'a', 2)")
    for asked in ("SELECT *", "SELECT count(*)", "SELECT max(relevance)"):
        for condition in ("", " WHERE query = 'q'", " WHERE rank = 1"):
            with pytest.raises(duckdb.Error, match=r"grades \[.*2\.0.*\]: query s, item a"):
                database.execute(f"{asked} FROM rank.judge('results', 'judgements'){condition}").fetchall()


def test_the_shell_program_judges_too(tmp_path):
    (tmp_path / "init.sql").write_text(init_text())
    QRELS.write_parquet(tmp_path / "qrels.parquet")
    RUN.write_parquet(tmp_path / "run.parquet")
    asked = EVALUATE.format(run="'run.parquet'", qrels="'qrels.parquet'") + " ORDER BY query"
    done = subprocess.run(
        [
            duckdb_program(),
            "-init",
            "init.sql",
            "-json",
            "-c",
            asked + "; FROM rank.check('run.parquet', 'qrels.parquet')",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = done.stdout.replace("]\n[", "]\x00[").split("\x00")
    assert {row["query"]: row["reciprocal_rank"] for row in json.loads(first)} == RECIPROCAL_RANK
    assert "query in qrels only" in second


def duckdb_program():
    found = shutil.which("duckdb", path=str(Path(sys.executable).parent)) or shutil.which("duckdb")
    assert found, "duckdb-cli is among the test dependencies"
    return found
