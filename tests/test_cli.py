"""The command: what it prints, what it refuses, and with which exit code."""

import gzip
import json
import math
import subprocess
import sys

import polars as pl
import pytest

import polars_rank as rank
from polars_rank.cli import main

QRELS = "t1 0 a 1\nt1 0 b 0\nt2 0 c 2\n"
RUN = "t1 Q0 b 1 2.5 one\nt1 Q0 a 2 1.5 one\nt2 Q0 c 1 7 one\n"
OTHER = "t1 Q0 a 1 2.5 two\nt2 Q0 x 1 7 two\n"


@pytest.fixture
def files(tmp_path):
    texts = {"qrels": QRELS, "one.run": RUN, "two.run": OTHER}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: str(tmp_path / name) for name in texts}


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    assert files
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments):
    """Give exit code, output and what was said."""
    try:
        main(arguments)
        code = 0
    except SystemExit as end:
        code = end.code
    out, said = capsys.readouterr()
    return code, out, said


def test_each_file_is_a_system(capsys, files):
    code, out, _ = run(
        capsys,
        "evaluate",
        files["qrels"],
        files["one.run"],
        files["two.run"],
        "-m",
        "RR",
        "-m",
        "P@1",
        "--format",
        "json",
    )
    assert code == 0
    assert json.loads(out) == [
        {"system": "one", "queries": 2, "RR": 0.75, "P@1": 0.5},
        {"system": "two", "queries": 2, "RR": 0.5, "P@1": 0.5},
    ]


def test_runs_with_one_tag_stay_apart(capsys, files, tmp_path):
    (tmp_path / "again.run").write_text(RUN)
    _, out, _ = run(
        capsys,
        "evaluate",
        files["qrels"],
        files["one.run"],
        str(tmp_path / "again.run"),
        "-m",
        "RR",
        "--format",
        "csv",
    )
    assert out == "system,queries,RR\none,2,0.75\nagain,2,0.75\n" or sorted(out.splitlines()[1:]) == [
        "again,2,0.75",
        "one,2,0.75",
    ]


def test_values_of_queries_in_full(capsys, files):
    _, out, _ = run(
        capsys, "evaluate", files["qrels"], files["one.run"], "-m", "nDCG@2", "--per-query", "--format", "csv"
    )
    got = pl.read_csv(out.encode())
    assert got.select("system", "query").rows() == [("one", "t1"), ("one", "t2")]
    assert got["nDCG@2"].to_list() == pytest.approx([1 / math.log2(3), 1], abs=1e-15)


def test_the_bundled_collection_needs_no_files(capsys):
    code, out, said = run(capsys, "evaluate", "--example", "-m", "nDCG@10", "--format", "markdown")
    assert code == 0
    assert said.startswith("polars-rank: note: unjudged items in the top 10 count as not relevant: bm25 ")
    collection = rank.example()
    means = rank.summarize(rank.evaluate(collection.run, "nDCG@10", qrels=collection.qrels))
    for system, value in means.select("system", "value").rows():
        assert f"| {system} | 261 | {value:.4f} |" in out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["evaluate"], 2, "name the qrels"),
        (["evaluate", "qrels", "missing.run"], 2, "missing.run"),
        (["evaluate", "qrels", "one.run", "-m", "ndgc@10"], 2, "did you mean 'ndcg'"),
        (["evaluate", "qrels", "one.run", "--ties", "bset"], 2, "ties"),
        (["evaluate", "qrels", "one.run", "--nonsense"], 2, "--nonsense"),
        (["evaluate", "qrels", "bad.run"], 1, "bad.run"),
        (["evaluate", "qrels", "hash.run"], 1, "--comments"),
        (["evaluate", "qrels", "twice.run"], 1, "twice"),
        (["evaluate", "qrels", "strange.run"], 1, "no query in common"),
        (["fuse", "one.run", "-o", "out.run"], 2, "two runs or more"),
        (["nothing"], 2, "nothing"),
    ],
)
def test_what_is_refused(capsys, folder, arguments, code, words):
    tmp_path = folder
    (tmp_path / "bad.run").write_text("t1 Q0 a 1 2.5 one\nt1 Q0 b 2 high one\n")
    (tmp_path / "hash.run").write_text("# made today\nt1 Q0 a 1 2.5 one\n")
    (tmp_path / "twice.run").write_text(RUN + RUN)
    (tmp_path / "strange.run").write_text(RUN.replace("t1", "7").replace("t2", "8"))
    got, out, said = run(capsys, *arguments)
    assert (got, out) == (code, "")
    assert said.startswith("polars-rank: ")
    assert words in said
    assert "Traceback" not in said


def test_a_bad_line_is_named(capsys, files, tmp_path):
    (tmp_path / "bad.run").write_text("t1 Q0 a 1 2.5 one\n\nt1 Q0 b 2 high one\n")
    _, _, said = run(capsys, "evaluate", files["qrels"], str(tmp_path / "bad.run"))
    assert "bad.run" in said
    assert "3" in said
    assert "high" in said


def test_output_appears_whole_or_not_at_all(capsys, files, tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    assert run(capsys, "evaluate", files["qrels"], files["one.run"], "-m", "no", "-o", str(target))[0] == 2
    assert target.read_text() == "old"
    assert run(
        capsys, "evaluate", files["qrels"], files["one.run"], "-m", "RR", "--format", "csv", "-o", str(target)
    )[:2] == (0, "")
    assert target.read_text() == "system,queries,RR\none,2,0.75\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.run", "out.csv", "qrels", "two.run"]


def test_fuse_writes_a_run(capsys, files, tmp_path):
    target = tmp_path / "fused.run.gz"
    code, out, _ = run(capsys, "fuse", files["one.run"], files["two.run"], "-o", str(target))
    assert (code, out) == (0, "")
    fused = rank.read_run(target).collect()
    assert fused.filter(query="t1")["item"].to_list() == ["a", "b"]
    assert gzip.decompress(target.read_bytes()).startswith(b"t1 Q0 a 1 ")


def test_lists_every_measure(capsys):
    _, out, _ = run(capsys, "list", "--format", "json")
    assert [row["measure"] for row in json.loads(out)] == list(rank.MEASURES)


def test_prints_macros_and_macro_calls(capsys):
    assert "CREATE OR REPLACE MACRO rank.ndcg(" in run(capsys, "sql")[1]
    assert run(capsys, "sql", "nDCG@10", "map")[1].splitlines() == [
        "rank.ndcg(rank, relevance, k := 10)",
        "rank.average_precision(rank, relevance)",
    ]


def test_check_tells_findings(capsys, files):
    _, out, _ = run(capsys, "check", files["qrels"], files["two.run"], "--format", "json")
    assert {row["finding"] for row in json.loads(out)} >= {"unjudged within k"}


def test_fields_without_a_header(capsys, files, tmp_path):
    (tmp_path / "three.tsv").write_text("t1\ta\t1\nt2\tc\t2\n")
    assert run(capsys, "evaluate", files["qrels"], str(tmp_path / "three.tsv"))[0] == 1
    code, out, _ = run(
        capsys,
        *("evaluate", files["qrels"], str(tmp_path / "three.tsv"), "--columns", "query", "item", "rank"),
        *("-m", "RR", "--format", "csv"),
    )
    assert (code, out) == (0, "system,queries,RR\nthree,2,0.75\n")


def test_as_a_module_with_nobody_reading_on():
    command = f"{sys.executable} -m polars_rank list | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("measure")


def test_ids_stay_the_text_they_are(capsys, tmp_path):
    (tmp_path / "qrels").write_text("007 0 1e5 1\n")
    (tmp_path / "run").write_text("007 Q0 100000 1 2 x\n007 Q0 1e5 2 1 x\n")
    _, out, _ = run(
        capsys,
        "evaluate",
        str(tmp_path / "qrels"),
        str(tmp_path / "run"),
        "--per-query",
        "-m",
        "RR",
        "--format",
        "csv",
    )
    assert pl.read_csv(out.encode(), infer_schema=False).rows() == [("007", "x", "0.5")]
