"""The command: what it prints, what it refuses, and with which exit code."""

import gzip
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_rank as rank
from polars_rank.command.app import app, main
from polars_rank.command.arguments import in_shell
from polars_rank.command.output import as_text
from polars_rank.core.errors import Setting
from polars_rank.evaluation import batches as scanning
from polars_rank.reporting.leaderboards import standings

COLLECTIONS = Path(__file__).parents[1] / "collections"
MODULE = [sys.executable, "-m", "polars_rank"]
QRELS = "t1 0 a 1\nt1 0 b 0\nt2 0 c 2\n"
RUN = "t1 Q0 b 1 2.5 one\nt1 Q0 a 2 1.5 one\nt2 Q0 c 1 7 one\n"
OTHER = "t1 Q0 a 1 2.5 two\nt2 Q0 x 1 7 two\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with three files, which the commands are run in."""
    for name, text in {"qrels": QRELS, "one.run": RUN, "two.run": OTHER}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run a command; give exit code, output and what was said."""

    def call(*arguments):
        with pytest.raises(SystemExit) as end:
            main(arguments)
        return end.value.code, *capsys.readouterr()

    return call


def rows(run, *arguments):
    code, out, said = run(*arguments, "--format", "json")
    assert code == 0, said
    return json.loads(out)


# Evaluate


def test_each_file_is_a_system(run):
    assert rows(run, "evaluate", "qrels", "one.run", "two.run", "-m", "RR", "-m", "P@1") == [
        {"system": "one", "queries": 2, "RR": 0.75, "P@1": 0.5},
        {"system": "two", "queries": 2, "RR": 0.5, "P@1": 0.5},
    ]


def test_default_measures(run):
    (row,) = rows(run, "evaluate", "qrels", "one.run")
    assert list(row) == ["system", "queries", "nDCG@10", "AP", "RR", "P@10", "R@100"]


def test_values_of_queries_in_full(run):
    _, out, _ = run("evaluate", "qrels", "one.run", "-m", "nDCG@2", "--per-query", "--format", "csv")
    got = pl.read_csv(out.encode())
    assert got.select("query", "system").rows() == [("t1", "one"), ("t2", "one")]
    assert got["nDCG@2"].to_list() == pytest.approx([1 / math.log2(3), 1], abs=1e-15)


def test_counts_are_summed_and_whole(run):
    (row,) = rows(run, "evaluate", "qrels", "one.run", "-m", "num_ret", "-m", "num_rel")
    assert json.dumps(row) == '{"system": "one", "queries": 2, "num_ret": 3, "num_rel": 2}'


def test_values_are_trec_evals(run):
    measures = ["map", "ndcg_cut_10", "recip_rank", "P_10", "bpref"]
    values = (
        pl.read_parquet(COLLECTIONS / "values.parquet")
        .with_columns(pl.col(pl.Categorical).cast(pl.String))
        .filter(
            pl.col("measure").is_in(measures), collection="stress-a", program="trec_eval-10", options="-c"
        )
        .pivot("measure", index=["query", "system"], values="value")
        .sort("query", "system")
    )
    assert values.height == 180
    _, out, _ = run(
        *(
            "evaluate",
            str(COLLECTIONS / "stress-a.qrels.parquet"),
            str(COLLECTIONS / "stress-a.runs.parquet"),
        ),
        *("--per-query", "--format", "csv"),
        *(word for measure in measures for word in ("-m", measure)),
    )
    got = pl.read_csv(out.encode(), schema_overrides={"query": pl.String})
    assert_frame_equal(got, values.select(got.columns), abs_tol=1e-12, rel_tol=0)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--ties", "worst"], {"ties": "worst"}),
        (["--queries", "both"], {"queries": "both"}),
        (["--judged-only"], {"judged_only": True}),
        (["--depth", "2"], {"depth": 2}),
        (["--distances"], {"descending": False}),
        (["--score-dtype", "float32"], {"score_dtype": "float32"}),
        (["--drop-identical"], {"drop_identical": True}),
        (["--duplicates", "first"], {"duplicates": "first"}),
    ],
)
def test_options_are_those_of_judge(run, options, arguments):
    files = [COLLECTIONS / "edge-a.qrels.parquet", COLLECTIONS / "edge-a.runs.parquet"]
    qrels, runs = map(pl.read_parquet, files)
    measures = ["nDCG@10", "AP", "RR", "bpref", "num_ret"]
    command = ["evaluate", *map(str, files), *(word for name in measures for word in ("-m", name))]
    expected = rank.evaluate(runs, measures, qrels=qrels, **arguments).sort("query", "system")
    got = rows(run, *command, "--per-query", *options)
    assert_frame_equal(pl.DataFrame(got, schema=expected.schema), expected, abs_tol=1e-12, rel_tol=0)
    if options[0] not in ("--drop-identical", "--duplicates"):
        assert got != rows(run, *command, "--per-query")


def test_order_by_rank_and_rank_base(run, folder):
    (folder / "ranks.csv").write_text("query,item,rank,score\nt1,a,0,1\nt1,b,1,9\nt2,c,0,1\n")
    assert rows(run, "evaluate", "qrels", "ranks.csv", "-m", "RR")[0]["RR"] == 0.75
    by_rank = ["--order-by", "rank", "--rank-base", "0"]
    assert rows(run, "evaluate", "qrels", "ranks.csv", "-m", "RR", *by_rank)[0]["RR"] == 1


def test_keys_and_slices(run, folder):
    (folder / "log.csv").write_text(
        "query,item,rank,day,locale\nt1,a,1,mon,en\nt1,a,2,tue,en\nt2,x,1,mon,de\nt2,c,2,mon,de\n"
    )
    code, _, said = run("evaluate", "qrels", "log.csv", "-m", "RR")
    assert code == 1
    assert "twice" in said
    got = rows(run, "evaluate", "qrels", "log.csv", "-m", "RR", "--keys", "day", "--by", "locale")
    assert got == [
        {"system": "log", "locale": "de", "queries": 1, "RR": 0.5},
        {"system": "log", "locale": "en", "queries": 2, "RR": 0.75},
    ]
    assert rows(run, "evaluate", "qrels", "log.csv", "-m", "RR", "--keys", "day", "--by", "day") == [
        {"system": "log", "day": "mon", "queries": 2, "RR": 0.75},
        {"system": "log", "day": "tue", "queries": 1, "RR": 0.5},
    ]


def test_the_bundled_collection_needs_no_files(run):
    code, out, said = run("evaluate", "--example", "-m", "nDCG@10", "--format", "markdown")
    assert code == 0
    assert said.startswith("polars-rank: note: unjudged items in the top 10 count as not relevant: bm25 ")
    collection = rank.example()
    means = rank.summarize(rank.evaluate(collection.run, "nDCG@10", qrels=collection.qrels))
    for system, value in means.select("system", "value").rows():
        assert f"| {system} | 261 | {value:.4f} |" in out


def test_the_bundled_collection_is_sliced(run):
    got = rows(run, "evaluate", "--example", "--by", "kind", "-m", "RR")
    collection = rank.example()
    by_query = rank.evaluate(
        collection.run,
        "RR",
        qrels=collection.qrels,
        attributes=collection.queries.select("query", "kind"),
        by=["kind"],
    )
    means = by_query.group_by("system", "kind").agg(pl.len(), pl.col("RR").mean()).sort("system", "kind")
    assert [(row["system"], row["kind"], row["queries"]) for row in got] == means.drop("RR").rows()
    assert [row["RR"] for row in got] == pytest.approx(means["RR"].to_list(), abs=1e-15)


def test_a_convention_decides_an_ambiguous_name(run):
    code, _, said = run("evaluate", "qrels", "one.run", "-m", "hits@10")
    assert code == 2
    assert "--convention" in said
    counted = rows(
        run, "evaluate", "qrels", "one.run", "-m", "hits@10", "--convention", "ranx", "--per-query"
    )
    assert [row["hits@10"] for row in counted] == [1, 1]


def test_a_large_parquet_run_is_scored_in_parts_alike(run, monkeypatch):
    grades = str(COLLECTIONS / "stress-a.qrels.parquet")
    command = ["evaluate", grades, str(COLLECTIONS / "stress-a.runs.parquet"), "--per-query"]
    whole = rows(run, *command)
    asked = []
    score = scanning.score_in_parts
    monkeypatch.setattr(
        "polars_rank.evaluation.per_query.score_in_parts", lambda *a, **b: asked.append(1) or score(*a, **b)
    )
    monkeypatch.setattr(scanning, "ROWS_AT_ONCE", 10)
    in_parts = rows(run, *command)
    assert asked
    assert_frame_equal(pl.DataFrame(in_parts), pl.DataFrame(whole), abs_tol=1e-12, rel_tol=0)
    pl.DataFrame({"query": "no", "item": [str(i) for i in range(20)], "score": 1.0}).write_parquet(
        "no.parquet"
    )
    code, _, said = run("evaluate", grades, "no.parquet")
    assert code == 1
    assert "no query in common: the run has 'no'" in said


# The names of systems


def test_runs_with_one_tag_stay_apart(run, folder):
    (folder / "again.txt.gz").write_bytes(gzip.compress(RUN.encode()))
    got = rows(run, "evaluate", "qrels", "one.run", "again.txt.gz", "-m", "RR")
    assert [(row["system"], row["RR"]) for row in got] == [("again", 0.75), ("one", 0.75)]


def test_files_of_one_name_and_tag_stay_apart(run, folder):
    (folder / "new").mkdir()
    (folder / "new" / "one.run").write_text(OTHER.replace("two", "one"))
    got = rows(run, "evaluate", "qrels", "one.run", "new/one.run", "-m", "RR")
    assert [(row["system"], row["RR"]) for row in got] == [("new/one.run", 0.5), ("one.run", 0.75)]


def test_systems_of_one_file_stay_apart(run, folder):
    (folder / "both.run").write_text(RUN + OTHER)
    got = rows(run, "evaluate", "qrels", "both.run", "-m", "RR")
    assert [(row["system"], row["RR"]) for row in got] == [("one", 0.75), ("two", 0.5)]
    got = rows(run, "evaluate", "qrels", "both.run", "one.run", "-m", "RR")
    assert [(row["system"], row["RR"]) for row in got] == [
        ("both:one", 0.75),
        ("both:two", 0.5),
        ("one", 0.75),
    ]


def test_runs_ordered_by_score_and_by_rank_stand_side_by_side(run, folder):
    (folder / "ranks.csv").write_text("query,item,rank\nt1,a,1\nt2,c,1\n")
    got = rows(run, "evaluate", "qrels", "one.run", "ranks.csv", "-m", "RR")
    assert [(row["system"], row["RR"]) for row in got] == [("one", 0.75), ("ranks", 1.0)]


# What is said


@pytest.mark.parametrize(
    ("content", "options", "note"),
    [
        (RUN + "t9 Q0 x 1 7 one\n", [], "queries without any judgement are left out: one 1"),
        (RUN + "t9 Q0 x 1 7 one\n", ["--queries", "run"], "judgement have no value: one 1"),
        (RUN[:36], [], "of 2 judged queries, those missing from a run count as empty rankings"),
        (
            RUN[:36],
            ["--queries", "both"],
            "of 2 judged queries, those missing from a run are left out: one 1",
        ),
        (RUN.replace("1.5", "nan"), [], "items whose score is null or NaN are ranked last: one 1"),
        (OTHER, [], "unjudged items in the top 10 count as not relevant: two 1 of 2"),
        (
            "t1 Q0 A 1 2 one\nt2 Q0 C 1 2 one\n",
            ["--allow-no-match"],
            "no item that one returned is judged, so nothing counts as found: one has 'A', 'C', …; "
            "the qrels 'a', 'b', 'c', …",
        ),
        (RUN, ["-m", "AP(rel=2, empty=None)"], "left out of the mean: AP(rel=2, empty=None) of one 1"),
        ("query,item,rank\nt1,a,1\nt1,b,\nt2,c,1\n", [], "rank is null or NaN count as not returned: a 1"),
    ],
)
def test_what_is_left_out_is_said(run, folder, content, options, note):
    (folder / "a.run").write_text(content)
    code, out, said = run("evaluate", "qrels", "a.run", *options)
    assert code == 0
    assert "note" not in out
    assert all(line.startswith("polars-rank: note: ") for line in said.splitlines())
    assert note in said


def test_nothing_is_said_of_sound_files(run):
    assert run("evaluate", "qrels", "one.run")[2] == ""


def test_many_systems_make_one_short_note(run, folder):
    (folder / "many.run").write_text("".join(f"t1 Q0 a 1 1 s{i}\n" for i in range(9)))
    _, _, said = run("evaluate", "qrels", "many.run")
    assert said.endswith(": s0 1, s1 1, s2 1, s3 1, s4 1 and 4 more\n")
    assert said.count("\n") == 1


def test_ranks_that_move_are_counted(run, folder):
    (folder / "tied.csv").write_text("query,item,rank\nt1,a,1\nt1,b,1\nt1,x,2\nt2,c,1\n")
    code, out, said = run("evaluate", "qrels", "tied.csv", "-m", "P@1", "--format", "csv")
    assert (code, out) == (0, "system,queries,P@1\ntied,2,0.5\n")
    assert "note: items of tied or fractional ranks moved to places of their own: tied 2\n" in said
    (folder / "scored.run").write_text("t1 Q0 a 1 2 x\nt1 Q0 b 1 1 x\nt2 Q0 c 1 1 x\n")
    assert run("evaluate", "qrels", "scored.run")[2] == ""
    _, _, said = run("evaluate", "qrels", "scored.run", "--order-by", "rank")
    assert "places of their own: x 1\n" in said


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_a_run_without_a_judged_item_exits_1_unless_that_is_allowed(run, folder, command):
    (folder / "none.run").write_text("t1 Q0 1 1 2 none\nt2 Q0 2 2 1 none\n")
    arguments = [command, "qrels", "one.run", "none.run", "-m", "AP"]
    code, out, said = run(*arguments)
    assert (code, out) == (1, "")
    assert "no item that none returned is judged" in said
    assert "none has '1', '2', …; the qrels 'a', 'b', 'c', …; if that is right, use --allow-no-match" in said
    code, out, said = run(*arguments, "--allow-no-match")
    assert code == 0
    assert "none" in out
    assert "note: no item that none returned is judged" in said
    assert "Warning" not in said


# What is refused


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["evaluate"], 2, "name the qrels and at least one run, or use --example"),
        (["evaluate", "qrels"], 2, "at least one run"),
        (["evaluate", "--example", "qrels"], 2, "leave the files out"),
        (["evaluate", "qrels", "missing.run"], 2, "missing.run: No such file"),
        (["evaluate", "missing", "one.run"], 2, "missing: No such file"),
        (["evaluate", "qrels", "."], 2, ".: Is a directory"),
        (["evaluate", "qrels", "qrels"], 2, "given as qrels and as a run"),
        (["evaluate", "qrels", "one.run", "./one.run"], 2, "given twice"),
        (["evaluate", "one.run", "qrels"], 1, "QRELS come first, then RUNs"),
        (["evaluate", "qrels", "one.run", "-m", "ndgc@10"], 2, "did you mean 'ndcg'"),
        (["evaluate", "qrels", "one.run", "-m", "rmse"], 2, "'rmse' takes the columns"),
        (["evaluate", "qrels", "one.run", "-m", "RR", "-m", "RR"], 2, "'RR' is given twice"),
        (["evaluate", "qrels", "one.run", "-m", "P(rel=x)@1"], 2, "min_relevance"),
        (["evaluate", "qrels", "one.run", "-m"], 2, "-m requires an argument"),
        (["evaluate", "qrels", "one.run", "--ties", "bset"], 2, '"item-descending"'),
        (["evaluate", "qrels", "one.run", "--depth", "0"], 2, "use no --depth"),
        (["evaluate", "qrels", "one.run", "--nonsense"], 2, "--nonsense"),
        (["evaluate", "qrels", "one.run", "--by", "locale"], 1, "no column 'locale'"),
        (["evaluate", "qrels", "one.run", "-o", "nowhere/out"], 2, "nowhere"),
        (["evaluate", "qrels", "one.run", "-o", "."], 2, "is a directory"),
        (["evaluate", "qrels", "bad.run"], 1, "bad.run, line 3: "),
        (["evaluate", "bad.qrels", "one.run"], 1, "bad.qrels, line 1: "),
        (["evaluate", "qrels", "hash.run"], 1, "use --comments to skip"),
        (["evaluate", "qrels", "twice.run"], 1, "--duplicates first keeps"),
        (["evaluate", "qrels", "one.run", "twice.run"], 1, "twice.run: run has a row twice"),
        (
            ["evaluate", "qrels", "strange.run"],
            1,
            "no query in common: the run has '7', '8', …; the qrels 't1'",
        ),
        (["evaluate", "qrels", "three"], 1, "--columns query,item,score or --columns query,item,rank"),
        (["evaluate", "three", "one.run"], 1, "--qrels-columns query,item,relevance"),
        (["evaluate", "qrels", "one.run", "--columns", "query=a,b"], 2, "'b' has no ="),
        (["evaluate", "qrels", "zero.csv"], 1, "--rank-base 0"),
        (["evaluate", "qrels", "numbers.parquet"], 1, "id types differ"),
        (["evaluate", "qrels", "cut.run.gz"], 1, "cut.run.gz is not a complete gzip file"),
        (["evaluate", "qrels", "latin.run"], 1, "not UTF-8"),
        (["evaluate", "qrels", "one.run", "header.csv"], 1, "header.csv has a header but no rows"),
        (["fuse", "one.run", "-o", "out.run"], 2, "two runs or more"),
        (["fuse", "one.run", "two.run", "--weights", "1,x"], 2, "weights must be numbers"),
        (["fuse", "one.run", "two.run", "--weights", "1"], 2, "weights holds 1"),
        (["fuse", "one.run", "two.run", "--method", "rff"], 2, "did you mean 'rrf'"),
        (["check", "qrels"], 2, "at least one run"),
        (["check", "qrels", "one.run", "-k", "0"], 2, "k must be"),
        (["sql", "nonsense"], 2, "unknown measure"),
        (["sql", "AP(judged_only=True)"], 2, "'AP(judged_only=True)'"),
        (["nothing"], 2, "nothing"),
    ],
)
def test_what_is_refused(run, folder, arguments, code, words):
    (folder / "bad.run").write_text("t1 Q0 a 1 2.5 one\n\nt1 Q0 b 2 high one\n")
    (folder / "bad.qrels").write_text("t1 0 a yes\n")
    (folder / "hash.run").write_text("# made today\nt1 Q0 a 1 2.5 one\n")
    (folder / "twice.run").write_text(RUN + "t1 Q0 u 8 0.2 one\nt1 Q0 u 9 0.1 one\n")
    (folder / "strange.run").write_text(RUN.replace("t1", "7").replace("t2", "8"))
    (folder / "three").write_text("t1 a 1\n")
    (folder / "zero.csv").write_text("query,item,rank\nt1,a,0\n")
    (folder / "header.csv").write_text("query,item,score\n")
    (folder / "latin.run").write_bytes("t1 Q0 é 1 2.5 one\n".encode("latin-1"))
    (folder / "cut.run.gz").write_bytes(gzip.compress(RUN.encode())[:-9])
    pl.DataFrame({"query": [1], "item": [2], "score": [1.0]}).write_parquet("numbers.parquet")
    got, out, said = run(*arguments)
    assert (got, out) == (code, "")
    assert said.startswith("polars-rank: ")
    assert said.count("\n") == 1
    assert words in said


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            b"query,item,score,system\nt1,a,1,s\nt1,b,1,\n",
            "rows without a system, such as query 't1', item 'b'",
        ),
        (
            b"t1 Q0 " + b"x" * 1_000_000 + b" 1 1 t\n" + b"t1 Q0 " + b"x" * 1_000_000 + b" 2 1 t\n",
            "row twice",
        ),
    ],
)
def test_what_is_wrong_with_a_run_is_told_in_one_short_line(run, folder, content, words):
    (folder / "bad.csv").write_bytes(content)
    code, out, said = run("evaluate", "qrels", "bad.csv", "--allow-no-match")
    said = said.splitlines(keepends=True)[-1]
    assert (code, out, said.count("\n")) == (1, "", 1)
    assert words in said
    assert len(said) < 1000


def test_qrels_without_a_row_are_refused(run, folder):
    (folder / "empty.csv").write_text("query,item,relevance\n")
    code, _, said = run("evaluate", "empty.csv", "one.run")
    assert (code, said) == (1, "polars-rank: empty.csv has a header but no rows: there are no judgements\n")


@pytest.mark.parametrize("content", ["", 'query,text\nt1,"a\n', "query,text\nt1,a,b\n"])
def test_texts_that_cannot_be_read_are_named(run, folder, content):
    (folder / "texts.csv").write_text(content)
    code, _, said = run("compare", "qrels", "one.run", "two.run", "--query-texts", "texts.csv")
    assert code == 1
    assert said.startswith("polars-rank: texts.csv can't be read as CSV: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_bad_data(run, folder):
    (folder / "one.run").chmod(0)
    code, _, said = run("evaluate", "qrels", "one.run")
    assert (code, said) == (1, "polars-rank: one.run: Permission denied\n")


@pytest.mark.parametrize(
    ("setting", "python", "shell"),
    [
        (Setting("rank_base", 0), "rank_base=0", "--rank-base 0"),
        (Setting("duplicates", "first"), "duplicates='first'", "--duplicates first"),
        (Setting("columns", ["query", "rank"]), "columns=['query', 'rank']", "--columns query,rank"),
        (Setting("columns", {"query": "topic"}), "columns={'query': 'topic'}", "--columns query=topic"),
        (
            Setting("keys", ["system", "day", "hour"]),
            "keys=['system', 'day', 'hour']",
            "--keys day --keys hour",
        ),
        (Setting("descending", False), "descending=False", "--distances"),
        (Setting("comments", True), "comments=True", "--comments"),
        (Setting("depth", None), "depth=None", "no --depth"),
        (Setting("convention"), "convention=", "--convention"),
    ],
)
def test_an_argument_is_spelled_as_in_the_shell(setting, python, shell):
    assert (str(setting), in_shell(setting)) == (python, shell)
    error = rank.DataError(("as ", setting), remedy=("use ", setting))
    assert str(error) == f"as {python}; use {python}"
    assert error.spelled(in_shell) == f"as {shell}; use {shell}"
    assert (error.argument, error.value) == setting


def test_names_of_files_and_measures_stay_as_given(run, folder):
    (folder / "depth=3").mkdir()
    (folder / "depth=3" / "a.run").write_text("")
    assert run("evaluate", "qrels", "depth=3/a.run")[2] == "polars-rank: depth=3/a.run is empty\n"
    assert "'AP(keys=1)'" in run("evaluate", "qrels", "one.run", "-m", "AP(keys=1)")[2]


def test_advice_names_options(run, folder):
    (folder / "days.csv").write_text("query,item,score,day\nt1,a,1,mon\nt1,a,2,tue\n")
    _, _, said = run("evaluate", "qrels", "days.csv")
    assert "use --keys day if that tells rankings apart; otherwise --duplicates first keeps" in said
    _, _, said = run("compare", "qrels", "one.run", "days.csv")
    assert said.endswith("(2 such rows); --duplicates first keeps the best-ranked\n")
    assert run("fuse", "one.run", "qrels")[2].endswith("; fuse takes runs only\n")


# Files


def test_ids_stay_the_text_they_are(run, folder):
    ids = ["1e5", "007", "NaN", "null", "true", 'a"b', "a,b", "a#b", "x\u00a0y"]
    (folder / "qrels").write_text("".join(f"007 0 {item} 1\n" for item in ids))
    (folder / "a.run").write_text(
        "".join(f"007 Q0 {item} 1 {9 - i} x\n" for i, item in enumerate(["100000", *ids[:4]]))
    )
    _, out, _ = run(
        *("evaluate", "qrels", "a.run", "--per-query", "-m", "RR", "-m", "num_rel_ret", "--format", "csv")
    )
    assert pl.read_csv(out.encode(), infer_schema=False).rows() == [("007", "x", "0.5", "4")]


def test_ids_beyond_ascii_are_printed_as_utf8(folder):
    for name in ("qrels", "one.run"):
        (folder / name).write_text((folder / name).read_text().replace("t1", "Straße"), encoding="utf-8")
    done = subprocess.run(
        [*MODULE, "evaluate", "qrels", "one.run", "--per-query", "--format", "csv"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().splitlines()[1].startswith("Straße,one,")


def test_gzip_of_several_members(run, folder):
    lines = RUN.splitlines(keepends=True)
    (folder / "one.run.gz").write_bytes(b"".join(gzip.compress(line.encode()) for line in lines))
    assert rows(run, "evaluate", "qrels", "one.run.gz") == rows(run, "evaluate", "qrels", "one.run")


def test_fields_without_a_header(run, folder):
    (folder / "three.tsv").write_text("t1\ta\t1\nt2\tc\t2\n")
    for columns in (["query", "item", "rank"], ["query,item,rank"]):
        got = rows(run, "evaluate", "qrels", "three.tsv", "--columns", *columns, "-m", "RR")
        assert got == [{"system": "three", "queries": 2, "RR": 0.75}]
    got = rows(run, "evaluate", "three.tsv", "one.run", "--qrels-columns", "query,item,relevance", "-m", "RR")
    assert got == [{"system": "one", "queries": 2, "RR": 0.75}]


def test_a_header_in_other_words(run, folder):
    (folder / "a.csv").write_text("topic,url,points\nt1,a,3\nt2,c,1\n")
    columns = "query=topic,item=url,score=points"
    assert rows(run, "evaluate", "qrels", "a.csv", "--columns", columns, "-m", "RR")[0]["RR"] == 1


def test_comments_are_passed_over(run, folder):
    (folder / "one.run").write_text("# made today\n" + RUN)
    assert rows(run, "evaluate", "qrels", "one.run", "--comments", "-m", "RR")[0]["RR"] == 0.75


# Output


def test_output_appears_whole_or_not_at_all(run, folder):
    target = folder / "out.csv"
    target.write_text("old")
    (folder / "bad.run").write_text("t1 Q0 a\n")
    for command in (
        ["evaluate", "qrels", "one.run", "-m", "no"],
        ["evaluate", "qrels", "bad.run"],
        ["fuse", "one.run", "bad.run"],
        ["check", "qrels", "bad.run"],
        ["sql", "no"],
    ):
        assert run(*command, "-o", "out.csv")[0] in (1, 2)
        assert target.read_text() == "old"
    assert run("evaluate", "qrels", "one.run", "-m", "RR", "-o", "out.csv")[:2] == (0, "")
    assert target.read_text() == "system,queries,RR\none,2,0.75\n"
    assert sorted(path.name for path in folder.iterdir()) == [
        "bad.run",
        "one.run",
        "out.csv",
        "qrels",
        "two.run",
    ]


def test_an_output_that_cannot_be_finished_leaves_the_old_file(run, folder, monkeypatch):
    (folder / "out").write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("polars_rank.files.output_files.os.replace", full)
    code, _, said = run("evaluate", "qrels", "one.run", "-o", "out")
    assert (code, said) == (1, "polars-rank: out: No space left on device\n")
    assert (folder / "out").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["one.run", "out", "qrels", "two.run"]


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "qrels", "one.run", "-o", "one.run"],
        ["evaluate", "qrels", "one.run", "-o", "qrels", "--format", "csv"],
        ["evaluate", "qrels", "one.run", "-o", "link"],
        ["evaluate", "qrels", "one.run", "-o", "./hard"],
        ["check", "qrels", "one.run", "-o", "qrels"],
        ["fuse", "one.run", "two.run", "-o", "two.run"],
        ["compare", "qrels", "one.run", "two.run", "-o", "two.run"],
        ["compare", "qrels", "one.run", "two.run", "--html", "qrels"],
        ["compare", "qrels", "one.run", "two.run", "--query-texts", "texts.csv", "-o", "texts.csv"],
        ["compare", "qrels", "one.run", "two.run", "--item-texts", "texts.csv", "--html", "texts.csv"],
        ["evaluate", "qrels", "*.parquet", "-o", "a.parquet"],
    ],
)
def test_an_output_that_is_also_an_input_is_refused(run, folder, command):
    (folder / "link").symlink_to("one.run")
    (folder / "hard").hardlink_to(folder / "qrels")
    (folder / "texts.csv").write_text("query,text\nt1,one\n")
    rank.read_run("one.run").collect().write_parquet("a.parquet")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, out, said = run(*command)
    assert (code, out) == (2, "")
    assert "is also an input" in said
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_two_outputs_are_two_files(run):
    command = ["compare", "qrels", "one.run", "two.run", "-o", "out.html", "--html", "./out.html"]
    assert run(*command)[::2] == (
        2,
        "polars-rank: out.html is given as two outputs; one of them would be lost\n",
    )


def test_the_suffix_of_the_output_tells_the_format_and_format_overrules_it(run, folder):
    command = ["evaluate", "qrels", "one.run", "-m", "RR"]
    for name, start in {
        "a.json": "[\n",
        "a.md": "| system |",
        "a.csv": "system,",
        "a.txt": "system  ",
    }.items():
        assert run(*command, "-o", name)[0] == 0
        assert (folder / name).read_text().startswith(start)
    assert run(*command, "-o", "a.md", "--format", "csv")[0] == 0
    assert (folder / "a.md").read_text() == "system,queries,RR\none,2,0.75\n"


def test_every_command_follows_the_suffix(run, folder):
    runs = ["qrels", "one.run", "two.run"]
    for command in (["evaluate", *runs], ["check", *runs], ["compare", *runs], ["list"]):
        starts = {"a.json": "[\n", "a.md": "| ", "a.csv": ""}
        if command[0] == "compare":
            starts |= {"a.tex": "\\begin{tabular}", "a.HTML": "<div"}
        else:
            assert run(*command, "-o", "a.tex")[0] == 2
        for name, start in starts.items():
            assert run(*command, "-o", name)[0] == 0
            assert (folder / name).read_text().startswith(start)
        assert len(pl.read_csv("a.csv").columns) > 2
        for name in ("a.csv.gz", "a.xlsx", "a.parquet"):
            code, _, said = run(*command, "-o", name)
            assert (code, (folder / name).exists()) == (2, False)
            assert re.search(r"names no format .* use \.csv, .*, \.txt, or --format", said)
        assert run(*command, "-o", "a.xlsx", "--format", "markdown")[0] == 0
        assert (folder / "a.xlsx").read_text() == (folder / "a.md").read_text()
        (folder / "a.xlsx").unlink()
        for name in ("a", "a.txt"):
            assert run(*command, "-o", name)[0] == 0
            assert (folder / name).read_text() == run(*command)[1]
    assert run("fuse", "one.run", "two.run", "-o", "a.xlsx")[0] == 2
    assert run("fuse", "one.run", "two.run", "-o", "a.json")[2].endswith("or say --format\n")


def test_the_comparison_as_numbers(run):
    files = ["qrels", "one.run", "two.run"]
    got = rows(run, "compare", *files, "-m", "RR", "--baseline", "two")
    per_query = rank.evaluate(
        pl.concat([rank.read_run("one.run"), rank.read_run("two.run")]), "RR", qrels=rank.read_qrels("qrels")
    )
    assert got == standings(per_query, "two").to_dicts()


def test_a_file_has_no_colours(run, folder, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert run("compare", "qrels", "one.run", "two.run", "-o", "a.txt")[0] == 0
    assert "\x1b" not in (folder / "a.txt").read_text()


def test_tables_as_text():
    table = pl.DataFrame(
        {
            "id": ["a|b", None],
            "whole": [1, 20],
            "real": [1 / 3, float("nan")],
            "bytes": [b"\xff", None],
            "list": [["x", "y"], []],
        }
    )
    assert as_text(table, "table").splitlines() == [
        "id   whole    real  bytes  list",
        "a|b      1  0.3333  ff     x; y",
        "-       20     nan  -",
    ]
    assert as_text(table, "markdown").splitlines() == [
        "| id | whole | real | bytes | list |",
        "| --- | ---: | ---: | --- | --- |",
        "| a\\|b | 1 | 0.3333 | ff | x; y |",
        "| - | 20 | nan | - |  |",
    ]
    assert as_text(table, "csv").splitlines()[1] == "a|b,1,0.3333333333333333,ff,x; y"
    assert json.loads(as_text(table, "json")) == [
        {"id": "a|b", "whole": 1, "real": 1 / 3, "bytes": "ff", "list": ["x", "y"]},
        {"id": None, "whole": 20, "real": None, "bytes": None, "list": []},
    ]
    assert json.loads(as_text(table.clear(), "json")) == []


# The other commands


def test_fuse_writes_a_run(run, folder):
    code, out, _ = run("fuse", "one.run", "two.run", "-o", "fused.run.gz")
    assert (code, out) == (0, "")
    fused = rank.read_run("fused.run.gz").collect()
    expected = rank.fuse([rank.read_run("one.run"), rank.read_run("two.run")]).collect()
    columns = ["query", "item", "score", "rank"]
    assert_frame_equal(fused.select(columns), expected.select(columns), check_exact=True)
    assert gzip.decompress((folder / "fused.run.gz").read_bytes()).startswith(b"t1 Q0 a 1 ")


def test_fuse_prints_what_it_would_write(run, folder):
    _, out, _ = run("fuse", "one.run", "two.run")
    assert run("fuse", "one.run", "two.run", "-o", "out")[0] == 0
    assert out == (folder / "out").read_text()


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--weights", "2,1"], {"weights": [2, 1]}),
        (["--weights", "2", "1"], {"weights": [2, 1]}),
        (["--weights", "one=1,two=0"], {"weights": {"one": 1, "two": 0}}),
        (["-k", "0"], {"k": 0}),
        (["--method", "comb_mnz", "--normalize", "min_max"], {"method": "comb_mnz", "normalize": "min_max"}),
        (["--distances"], {"descending": False}),
        (["--order-by", "rank"], {"order_by": "rank"}),
    ],
)
def test_options_are_those_of_fuse(run, options, arguments):
    _, out, said = run("fuse", "one.run", "two.run", "--format", "csv", *options)
    assert said == ""
    expected = rank.fuse({name: rank.read_run(f"{name}.run") for name in ("one", "two")}, **arguments)
    assert_frame_equal(pl.read_csv(out.encode()).drop("system"), expected.collect(), check_exact=True)


def test_fuse_notes_that_a_missing_item_beats_a_negative_score(run, folder):
    (folder / "below.run").write_text("t1 Q0 a 1 -1.5 below\n")
    code, out, said = run("fuse", "one.run", "below.run", "--method", "comb_sum")
    assert (code, bool(out)) == (0, True)
    assert said.startswith(
        "polars-rank: note: 'below' has scores below 0, and comb_sum counts a missing item"
    )
    assert "--normalize min_max" in said
    assert said.count("note:") == 1


def test_fuse_counts_a_repeated_item_once(run, folder):
    (folder / "twice.run").write_text("t1 Q0 a 1 3 twice\nt1 Q0 a 2 2 twice\nt1 Q0 b 3 1 twice\n")
    assert run("fuse", "one.run", "twice.run")[0] == 0
    code, _, said = run("fuse", "one.run", "twice.run", "--duplicates", "error")
    assert code == 1
    assert "item 'a' of query 't1' is twice in 'twice'" in said


def test_fuse_takes_the_systems_of_one_file(run, folder):
    (folder / "both.run").write_text(RUN + OTHER)
    assert run("fuse", "both.run") == run("fuse", "one.run", "two.run")


def test_check_tells_findings(run):
    got = rows(run, "check", "qrels", "one.run", "two.run", "-k", "1")
    two = rank.check(
        rank.read_run("two.run").collect(), rank.read_qrels("qrels").collect(), keys=["system"], k=1
    )
    assert [row for row in got if row["run"] == "two.run"] == [
        {"run": "two.run", **finding} for finding in two.to_dicts()
    ]
    assert [row["finding"] for row in got if row["run"] == "two.run"] == ["unjudged within k"]


def test_check_says_that_nothing_was_found(run):
    code, out, said = run("check", "qrels", "one.run", "--format", "csv")
    assert (code, out, said) == (
        0,
        "run,finding,count,examples\n",
        "polars-rank: note: no problem was found\n",
    )


def test_lists_every_measure(run):
    listed = {row["measure"]: row for row in rows(run, "list")}
    assert list(listed) == list(rank.MEASURES)
    assert all(row["summary"] and row["range"] and row["over queries"] for row in listed.values())
    for name, measure in rank.MEASURES.items():
        told = re.findall(r"(\w+): ([^;]+)", listed[name]["elsewhere"])
        assert {program: names.split(", ") for program, names in told} == {
            program: list(names) for program, names in measure.names.items()
        }
    assert "min_relevance=1" in listed["average_precision"]["options"]


def test_prints_macros_and_macro_calls(run):
    assert "CREATE OR REPLACE MACRO rank.ndcg(" in run("sql")[1]
    assert run("sql", "nDCG@10", "map")[1].splitlines() == [
        "rank.ndcg(rank, relevance, k := 10)",
        "rank.average_precision(rank, relevance)",
    ]


# Help


def commands():
    return sorted(name for name in app if not name.startswith("-"))


def test_help_names_every_command(run):
    code, out, said = run("--help")
    assert (code, said) == (0, "")
    assert {"evaluate", "fuse", "check", "list", "sql"} <= set(commands())
    for name in commands():
        assert re.search(rf"{name} +\w", out), name
    assert run()[:2] == (0, out)


@pytest.mark.parametrize("command", commands())
def test_help_of_a_command_tells_what_every_argument_is(run, command):
    code, out, said = run(command, "--help")
    assert (code, said) == (0, "")
    assert out.startswith(f"Usage: polars-rank {command}")
    arguments = app[command].assemble_argument_collection(parse_docstring=True)
    shown = [argument for argument in arguments if argument.show]
    assert shown
    for argument in shown:
        assert argument.parameter.help, argument.name
        assert argument.name in out


def test_version(run):
    assert run("--version") == (0, f"{rank.__version__}\n", "")


# As a program


def shell(command):
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        check=False,
        capture_output=True,
        text=True,
    )


def test_as_a_module_and_by_its_name():
    wanted = "system,queries,RR\none,2,0.75\n"
    for program in (" ".join(MODULE), "polars-rank"):
        done = shell(f"{program} evaluate qrels one.run -m RR --format csv")
        assert (done.returncode, done.stdout, done.stderr) == (0, wanted, "")


@pytest.mark.parametrize(("arguments", "code"), [("evaluate qrels none", 2), ("evaluate qrels bad.run", 1)])
def test_exit_codes_of_the_program(folder, arguments, code):
    (folder / "bad.run").write_text("t1 Q0 a\n")
    done = shell(f"polars-rank {arguments}")
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("polars-rank: ")
    assert done.stderr.count("\n") == 1


def test_nobody_reads_on():
    done = shell("polars-rank sql | head -n 1")
    assert (done.returncode, done.stdout, done.stderr) == (0, ".bail on\n", "")


def test_reads_from_pipes():
    done = shell("polars-rank evaluate <(cat qrels) <(gzip -c one.run) -m RR --format csv")
    assert (done.stdout, done.stderr) == ("system,queries,RR\none,2,0.75\n", "")


def test_results_go_into_a_pipe_and_into_a_file_that_is_open():
    wanted = "system,queries,RR\none,2,0.75\n"
    command = "polars-rank evaluate qrels one.run -m RR --format csv -o"
    assert shell(f"{command} /dev/stdout | cat").stdout == wanted
    assert shell(f"{command} >(cat; touch done); until [ -e done ]; do sleep 0.01; done").stdout == wanted
    logged = shell(f"echo first > log; {command} /dev/stdout >> log; echo last >> log; cat log").stdout
    assert logged == f"first\n{wanted}last\n"


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("evaluate qrels one.run >&-", 1, "polars-rank: standard output: Bad file descriptor\n"),
        ("evaluate qrels two.run 2>&-", 0, ""),
        ("evaluate qrels none 2>&-", 2, ""),
        ("evaluate qrels two.run 2>/dev/full", 0, ""),
        ("list > /dev/full", 1, "polars-rank: standard output: No space left on device\n"),
        ("evaluate qrels one.run -o /dev/stdout >&-", 1, "polars-rank: /dev/stdout: Bad file descriptor\n"),
        ("evaluate qrels one.run >> one.run", 2, "polars-rank: standard output is the input one.run; "),
    ],
)
def test_streams_that_are_closed_or_full(command, code, said):
    done = shell(f"polars-rank {command}")
    assert done.returncode == code
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == bool(said)
    assert (done.stdout == "") == (code != 0)
    assert "note" not in done.stdout


def test_help_beyond_ascii_is_utf8():
    done = subprocess.run(
        [*MODULE, "compare", "--help"],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=True,
    )
    assert "╭" in done.stdout.decode()


@pytest.fixture
def interruptible():
    """Programs started here end by interrupts, even if a shell runs the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_of_the_start_ends_it_quietly():
    # As if it came while polars is imported.
    code = (
        "import builtins, os, signal, sys; sys.argv[0] = 'polars-rank'; real = builtins.__import__\n"
        "def slow(name, *rest):\n"
        "    if name == 'polars_rank.measures.catalogue': os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = slow\n"
        "import polars_rank\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_it_quietly():
    os.mkfifo("pipe")
    command = subprocess.Popen(
        [*MODULE, "evaluate", "pipe", "one.run"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        pipe = opened_by_its_reader("pipe")
        # Time to be in the midst of reading.
        time.sleep(0.5)
        command.send_signal(signal.SIGINT)
        os.close(pipe)
        out, said = command.communicate(timeout=60)
    finally:
        command.kill()
    assert (command.returncode, out, said) == (130, b"", b"")


def opened_by_its_reader(path):
    end = time.monotonic() + 60
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.01)
