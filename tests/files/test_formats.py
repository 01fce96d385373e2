"""Reading and writing of run and qrels files: the formats, their refusals, and the way there and back."""

import base64
import bz2
import gzip
import json
import lzma
import os
import pickle
import random
import signal
import stat
import subprocess
import sys
import zlib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from polars_rank.core.errors import DataError
from polars_rank.files.output_files import replace_file
from polars_rank.files.reading import read_qrels, read_run
from polars_rank.files.text import decode
from polars_rank.files.writing import write_run

CASES = {
    case["id"]: case
    for case in map(
        json.loads, (Path(__file__).parents[1] / "cases" / "reported.jsonl").read_text().splitlines()
    )
    if case["kind"] == "encoding"
}
REFERENCE = os.environ.get("POLARS_RANK_REFERENCE")
RUN = ["query", "item", "score", "rank", "system"]
QRELS = ["query", "item", "relevance"]


@pytest.fixture
def file(tmp_path):
    """Write a file of this content and give its path."""

    def write(content, name="file"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def rows(frame):
    assert isinstance(frame, pl.LazyFrame)
    return frame.collect().rows()


def refused(reader, path, *parts, **options):
    with pytest.raises(DataError) as error:
        reader(path, **options)
    for part in (str(path), *parts):
        assert part in str(error.value)


# Reported cases


def case_files(case, folder):
    contents = {name: text.encode() for name, text in case["input"].get("files", {}).items()}
    contents |= {name: base64.b64decode(data) for name, data in case["input"].get("files_b64", {}).items()}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    "case",
    [case for case in CASES.values() if "parsed_rows" in case["expected"]],
    ids=lambda case: case["id"],
)
def test_reported_files_parse_to_their_rows(case, tmp_path):
    folder = case_files(case, tmp_path)
    wanted = case["expected"]["parsed_rows"]
    qrels = "test.tsv" if (folder / "test.tsv").exists() else "q.qrels"
    assert rows(read_qrels(folder / qrels)) == [tuple(row) for row in wanted["qrels"]]
    if "run" in wanted:
        run = read_run(folder / "r.run").select("query", "item", "score")
        assert rows(run) == [tuple(row) for row in wanted["run"]]


def test_reported_malformed_lines(tmp_path):
    folder = case_files(CASES["malformed-lines"], tmp_path)
    five = read_run(folder / "r_five_columns.run").collect()
    assert (five.columns, five.rows()) == (RUN[:4], [("t1", "a", 2.0, 1)])
    assert rows(read_run(folder / "r_seven_columns.run")) == [("t1", "a", 2.0, 1, "my tag")]
    refused(read_run, folder / "r_four_columns.run", "line 2", "found 4", "t1 Q0 a 2.0")
    refused(read_run, folder / "r_text_score.run", "line 1", "'high' is not a number")


def test_reported_three_field_files_say_what_to_pass(tmp_path):
    folder = case_files(CASES["msmarco-tsv"], tmp_path)
    run = folder / "run.dev.tsv"
    refused(
        read_run, run, "line 1", "columns=['query', 'item', 'score']", "columns=['query', 'item', 'rank']"
    )
    by_rank = read_run(run, columns=["query", "item", "rank"])
    assert by_rank.collect_schema() == {"query": pl.String, "item": pl.String, "rank": pl.Int64}
    assert rows(by_rank)[-1] == ("302", "60", 12)
    assert rows(read_qrels(folder / "qrels.dev.tsv")) == [
        ("300", "41", 1),
        ("301", "55", 1),
        ("302", "60", 1),
    ]
    beir = case_files(CASES["beir-qrels-tsv-header"], tmp_path) / "no_header.tsv"
    refused(read_qrels, beir, "line 1", "columns=['query', 'item', 'relevance']")
    assert rows(read_qrels(beir, columns=QRELS)) == rows(read_qrels(folder / "test.tsv"))


def test_reported_grades(tmp_path):
    folder = case_files(CASES["qrels-grade-text"], tmp_path)
    grades = read_qrels(folder / "ok.qrels").collect()["relevance"]
    assert (grades.dtype, grades.to_list()) == (pl.Int64, [-2, 1, 2, 3])
    refused(read_qrels, folder / "bad.qrels", "line 2", "'yes'")


# TREC text


@pytest.mark.parametrize(
    "text",
    [
        "q Q0 a 1 2 t\nq Q0 b 2 1 t\n",
        "q Q0 a 1 2 t\nq Q0 b 2 1 t",
        "\ufeffq Q0 a 1 2 t\r\nq Q0 b 2 1 t\r\n",
        "q Q0 a 1 2 t\r\nq Q0 b 2 1 t\r",
        "q Q0 a 1 2 t\rq Q0 b 2 1 t\r",
        "q Q0 a 1 2 t\r\r\nq Q0 b 2 1 t",
        "\n \t \nq\tQ0\ta\t1\t2\tt\n\n\tq  \t Q0     b 2\t\t1 t \t\n\n",
        "q" + " " * 1001 + "Q0 a 1 2 t\n" + "\t" * 1000 + "q Q0 b 2 1 t",
    ],
)
def test_blanks_and_line_ends_do_not_matter(file, text):
    expected = pl.DataFrame(
        [("q", "a", 2.0, 1, "t"), ("q", "b", 1.0, 2, "t")],
        schema=dict(zip(RUN, [pl.String, pl.String, pl.Float64, pl.Int64, pl.String], strict=True)),
        orient="row",
    )
    assert_frame_equal(read_run(file(text)).collect(), expected)


STRANGE = ["007", "1e5", "NaN", "nan", "null", "None", "true", "NA", "-", "0x1F", "1_000", "+1", "inf"]
STRANGE += ["a#b", "d#", '"d', '"q"', "it's", "a,b;c|d", "x\\y", "{", "é", "日本", "🙂", "a\x00b"]
STRANGE += [
    f"a{space}b" for space in "\u00a0\u2003\u3000\u0085\u2028\u2029\x0b\x0c\x1c\x1d\x1e\x1f\u200b\ufeff"
]
STRANGE += ["\u00a0", "a\u3000", "\u2003a", "\x0b"]


@pytest.mark.parametrize("strange", STRANGE)
def test_an_id_stays_the_text_it_is(file, strange):
    run = file(f"{strange} Q0 {strange} 1 2 {strange}\nq Q0 d 1 1 t\n")
    assert rows(read_run(run)) == [(strange, strange, 2.0, 1, strange), ("q", "d", 1.0, 1, "t")]
    assert rows(read_qrels(file(f"q 0 d 0\n{strange} {strange} {strange} 1"))) == [
        ("q", "d", 0),
        (strange, strange, 1),
    ]
    data = "".join(json.dumps({"query": strange, "item": strange, "score": 1}) + "\n" for _ in range(2))
    assert rows(read_run(file(data))) == [(strange, strange, 1.0)] * 2
    quoted = '"' + strange.replace('"', '""') + '"'
    assert rows(read_run(file(f"query,item,score\n{quoted},{quoted},1\n"))) == [(strange, strange, 1.0)]
    assert rows(read_run(file(f"query-id\tcorpus-id\tscore\n{strange}\t{strange}\t1\n"))) == [
        (strange, strange, 1.0)
    ]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("q", "found 1"),
        ("q Q0 d", "found 3"),
        ("q Q0 d 1", "found 4"),
        ("q\u00a0Q0 d 1 2", "found 4"),
        ("q Q0 d 1 high t", "score 'high' is not a number"),
        ("q Q0 d 1 1_000 t", "score '1_000'"),
        ("q Q0 d 1 0x1F t", "score '0x1F'"),
        ("q Q0 d 1 1,5 t", "score '1,5'"),
        ("q Q0 d 1 null t", "score 'null'"),
        ("q Q0 d 1 1e999 t", "score '1e999' is too large"),
        ("q Q0 d 1 -1e999 t", "score '-1e999' is too large"),
        ("q Q0 d first 1 t", "rank 'first'"),
        ("q Q0 d 1 2", "expected a tag"),
        ("# a note", "comments=True"),
        ("#1 Q0 d 1 2 t", "comments=True"),
        ("  # Q0 d 1 2 t", "comments=True"),
    ],
)
def test_a_bad_line_of_a_run_is_named(file, bad, message):
    good = "q Q0 c 1 3 t"
    path = file(f"\ufeff{good}\r\n\r\n \t\r\n{good}\r\n{bad}\r\n{good}\r\n")
    refused(read_run, path, "line 5", message, repr(bad))
    refused(read_run, file(bad + "\n" + good), "line 1" if bad != "q Q0 d 1 2" else "", message)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("q 0 d", "found 3"),
        ("q 0 d 1 2", "found 5"),
        ("q Q0 d 1 2 t", "found 6"),
        ("q 0 d yes", "relevance 'yes'"),
        ("q 0 d 1_0", "relevance '1_0'"),
        ("q 0 d 0x1", "relevance '0x1'"),
        ("q 0 d inf", "relevance 'inf' is too large"),
        ("q 0 d 99999999999999999999", "is too large"),
        ("q 0 d 9223372036854775808", "is too large"),
        ("q 0 d 1e30", "is too large"),
        ("#q 0 d 1", "comments=True"),
    ],
)
def test_a_bad_line_of_qrels_is_named(file, bad, message):
    refused(read_qrels, file(f"q 0 a 1.0\n\nq 0 b 0\n{bad}\n"), "line 4", message, repr(bad))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[("1e5", 1e5), (".5", 0.5), ("3.", 3.0), ("+2", 2.0), ("-0.0", 0.0), ("5e-324", 5e-324)],
        *[("1E+2", 100.0), ("inf", float("inf")), ("-Infinity", float("-inf"))],
    ],
)
def test_scores_may_be_written_in_many_ways(file, text, value):
    assert rows(read_run(file(f"q Q0 d 1 {text} t")).select("score")) == [(value,)]


def test_a_score_that_is_nan_is_kept(file):
    assert read_run(file("q Q0 d 1 nan t\nq Q0 e 1 -NaN t")).collect()["score"].is_nan().all()


@pytest.mark.parametrize(
    ("texts", "grades"),
    [
        (["1", "+1", "01", "1.0", "10e-1"], [1] * 5),
        (["9223372036854775807", "-9223372036854775808", "2.0"], [2**63 - 1, -(2**63), 2]),
        (["9007199254740993", "1.0"], [2**53 + 1, 1]),
        (["0.5", "1"], [0.5, 1.0]),
    ],
)
def test_grades_are_whole_if_they_can_be(file, texts, grades):
    found = read_qrels(file("".join(f"q 0 d{i} {text}\n" for i, text in enumerate(texts)))).collect()[
        "relevance"
    ]
    assert found.to_list() == grades
    assert found.dtype == (pl.Float64 if isinstance(grades[0], float) else pl.Int64)


def test_a_grade_that_is_nan_stays_nan(file):
    found = read_qrels(file("q 0 a 1\nq 0 b nan\n")).collect()["relevance"]
    assert (found.dtype, found[0], found.is_nan().to_list()) == (pl.Float64, 1.0, [False, True])


def test_several_tags_in_one_file(file):
    text = "q Q0 d 1 2 a\nq Q0 d 1 2 b\n"
    assert read_run(file(text)).collect()["system"].to_list() == ["a", "b"]


def test_comments_are_skipped_when_asked_for_and_counted_as_lines(file):
    text = "# head\nq 0 a#b 1\n \t# more, not 4 fields\nq 0 #c 0\n"
    assert rows(read_qrels(file(text), comments=True)) == [("q", "a#b", 1), ("q", "#c", 0)]
    refused(read_qrels, file(text + "#\nq 0 d x\n"), "line 6", "'x'", comments=True)
    refused(read_qrels, file(text), "line 1", "comments=True", "'# head'")
    table = "# made by us\n\nquery,item,score\n# half way\nq,#d,1\n"
    assert rows(read_run(file(table), comments=True)) == [("q", "#d", 1.0)]
    lines = '# first\n{"query": "#q", "item": "d", "score": 1}\n# last'
    assert rows(read_run(file(lines), comments=True)) == [("#q", "d", 1.0)]


@pytest.mark.parametrize(
    "content",
    [
        "q Q0 d 1 2 t\n\nq Q0 café 2 1 t\n",
        "query,item,score\nq,d,1\nq,café,1\n",
        '{"query": "q", "item": "d", "score": 1}\n\n{"query": "q", "item": "café", "score": 1}',
    ],
)
def test_bytes_that_are_not_utf8_are_named(file, content):
    refused(read_run, file(content.encode("latin-1")), "line 3", "0xe9", "UTF-8")
    refused(read_run, file(content.encode("utf-16")), "UTF-16", "UTF-8")


def test_a_long_line_is_shown_shortened(file):
    with pytest.raises(DataError) as error:
        read_run(file("q Q0 " + "x" * 10_000))
    assert len(str(error.value)) < 500


def test_an_empty_file_is_refused_unless_its_format_is_said(file):
    for text in ("", "\n \n", "\ufeff"):
        refused(read_run, file(text), "is empty", "format='trec'")
        table = read_run(file(text), format="trec").collect()
        assert table.schema == {"query": pl.String, "item": pl.String, "score": pl.Float64, "rank": pl.Int64}
        assert table.is_empty()
        assert read_run(file(text), format="jsonl").collect().equals(table)
        assert read_qrels(file(text), format="trec").collect().schema["relevance"] == pl.Int64


# Formats


TABLE = [("q1", "007", 2.0), ("q1", "b", 1.5)]
SAME = {
    "trec": "q1 Q0 007 1 2.0 t\nq1 Q0 b 2 1.5 t\n",
    "tsv": "query-id\tcorpus-id\tscore\nq1\t007\t2.0\nq1\tb\t1.5\n",
    "csv": 'qid,docno,score\n"q1",007,2.0\n\nq1,"b",1.5\n',
    "jsonl": '{"query": "q1", "item": "007", "score": 2}\n\n{"score": 1.5, "item": "b", "query": "q1"}\n',
}


@pytest.mark.parametrize("told", SAME)
@pytest.mark.parametrize(
    "name", ["run", "run.txt", "run.csv", "run.tsv", "run.jsonl", "run.parquet", "run.gz"]
)
@pytest.mark.parametrize("pack", ["plain", "gzip", "members", "bom"])
def test_content_tells_the_format_whatever_the_name(file, told, name, pack):
    content = SAME[told].encode()
    if pack == "gzip":
        content = gzip.compress(content)
    elif pack == "members":
        content = b"".join(gzip.compress(content[i : i + 7]) for i in range(0, len(content), 7))
    elif pack == "bom":
        content = b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")
    path = file(content, name)
    assert rows(read_run(path).select("query", "item", "score")) == TABLE
    assert rows(read_run(str(path), format=told).select("query", "item", "score")) == TABLE


def test_parquet_is_told_by_content_and_stays_lazy(tmp_path):
    table = pl.DataFrame(TABLE, schema=["qid", "docno", "score"], orient="row").with_columns(day=1)
    table.write_parquet(tmp_path / "run.csv")
    frame = read_run(tmp_path / "run.csv")
    assert "Parquet SCAN" in frame.explain()
    assert frame.collect_schema().names() == ["query", "item", "score", "day"]
    assert rows(frame.drop("day")) == TABLE
    table.write_parquet(tmp_path / "run-2.parquet")
    table.write_parquet(tmp_path / "run-1.parquet")
    assert len(rows(read_run(tmp_path / "run-*.parquet"))) == 4
    for name in ("run-*.parquet", "run-[1].parquet"):
        table.write_parquet(tmp_path / name)
        assert len(rows(read_run(tmp_path / name))) == 2


@pytest.mark.parametrize("name", ["*", "^a.*$", "^.*$"])
def test_columns_may_look_like_patterns(tmp_path, name):
    table = pl.DataFrame(TABLE, schema=["query", "item", "score"], orient="row").with_columns(
        pl.lit("z").alias(name)
    )
    for file in ("run.parquet", "run.csv", "run.tsv", "run.jsonl"):
        write_run(table, tmp_path / file)
        assert_frame_equal(read_run(tmp_path / file).collect(), table)
    renamed = table.rename({"query": "z", name: "query"}).rename({"z": name})
    renamed.write_parquet(tmp_path / "run.parquet")
    found = read_run(tmp_path / "run.parquet", columns={"query": name, "other": "query"}).collect()
    assert found["query"].to_list() == table["query"].to_list()


def test_parquet_refusals(tmp_path, file):
    path = tmp_path / "bad.parquet"
    pl.DataFrame({"query": [0.5], "item": ["a"], "score": [1.0]}).write_parquet(path)
    refused(read_run, path, "query has type Float64")
    pl.DataFrame({"query": ["q"], "item": ["a"], "score": ["high"]}).write_parquet(path)
    refused(read_run, path, "score has type String")
    pl.DataFrame({"user": ["q"], "item": ["a"], "score": [1.0]}).write_parquet(path)
    refused(read_run, path, "no column for query", "'user'")
    refused(read_run, file("q Q0 d 1 2 t"), "Parquet", format="parquet")
    with pytest.raises(ValueError, match="Parquet names its columns"):
        read_run(path, columns=["query", "item", "score"])


def test_text_that_begins_as_parquet_does_is_text(file):
    assert rows(read_run(file("PAR1 Q0 d 1 2 t"))) == [("PAR1", "d", 2.0, 1, "t")]


def test_gzip_that_is_cut_short_or_spoilt_is_refused(file):
    packed = gzip.compress(b"q Q0 d 1 2 t\n" * 100)
    for spoilt in (packed[:-9], packed + b"more", packed[:20] + b"\xff\xff\xff" + packed[23:]):
        refused(read_run, file(spoilt), "gzip")
    assert decode("", packed + bytes(512), comments=False).data.count(b"\n") == 100


@pytest.mark.parametrize("lines", [1, 2, 3, 100])
def test_gzip_inside_gzip_is_unpacked(file, lines):
    # What it holds is hard to pack, so that the inner bytes vary.
    text = "".join(f"q{random.Random(i).random()} Q0 d 1 {i} t\n" for i in range(lines)).encode()
    assert rows(read_run(file(gzip.compress(gzip.compress(text))))) == rows(read_run(file(text)))
    refused(read_run, file(gzip.compress(gzip.compress(text)[:-9])), "gzip")


@pytest.mark.parametrize("told", SAME)
def test_byte_order_marks_of_joined_files_are_no_part_of_an_id(file, told):
    lines = SAME[told].splitlines(keepends=True)
    joined = "".join(f"\ufeff{line}" for line in lines)
    assert rows(read_run(file(joined)).select("query", "item", "score")) == TABLE
    for parts in (joined.encode(), gzip.compress(joined.encode())):
        twice = file(b"\xef\xbb\xbf" + parts if parts.startswith(b"\xef") else parts)
        assert rows(read_run(twice).select("query", "item", "score")) == TABLE


def test_a_line_end_that_is_missing_between_two_files_is_told(file):
    joined = "q Q0 a 1 2 t\n" + "\ufeffq Q0 b 2 1 t" + "\ufeffq Q0 c 3 0 t\n"
    refused(read_run, file(joined), "line 2", "byte order mark inside")
    assert rows(read_run(file("q Q0 a 1 2 a\ufeffb c\n"))) == [("q", "a", 2.0, 1, "a\ufeffb c")]


@pytest.mark.parametrize(
    ("start", "problem"),
    [
        (b"\x28\xb5\x2f\xfd\x04", "packed by zstd: unpack it"),
        (bz2.compress(b"q Q0 d 1 2 t"), "packed by bzip2: unpack it"),
        (lzma.compress(b"q Q0 d 1 2 t"), "packed by xz: unpack it"),
        (b"PK\x03\x04", "is a zip archive"),
        (b"PAR1 and more PAR1", "is Parquet"),
        (b"\x04\x22\x4d\x18", "packed by lz4"),
        (zlib.compress(b"q Q0 d 1 2 t"), "packed by zlib"),
        (b"qrels" + bytes(252) + b"ustar\x00", "is a tar archive"),
        ("q Q0 d 1 2 t".encode("utf-16-le"), "is UTF-16"),
        ("q Q0 d 1 2 t".encode("utf-16-be"), "is UTF-16"),
        ("q Q0 d 1 2 t".encode("utf-32"), "is UTF-32"),
        (b"ARROW1\x00\x00", "is an Arrow file: read it by"),
        (b"SQLite format 3\x00", "is an SQLite database: export"),
        (bytes(8) + b"DUCK\x40\x00", "is a DuckDB database: export"),
        (pickle.dumps({"q": {"d": 1.0}}), "is a Python pickle"),
        (b"\x93NUMPY\x01", "is a NumPy array"),
        (b"\n<!DOCTYPE html>\n<html>", "is HTML or XML"),
        (b"<?xml version='1.0'?>", "is HTML or XML"),
    ],
)
def test_what_is_no_text_is_told_by_its_first_bytes(file, start, problem):
    refused(read_run, file(gzip.compress(start), "run.csv"), problem)


@pytest.mark.parametrize("query", ["x^2", "x\x01", "BZh1", "x", "xں", "ARROW1", "12345678DUCK"])
def test_text_that_begins_as_packed_data_does_is_text(file, query):
    fields = ["query", "item", "score"]
    assert rows(read_run(file(f"{query} Q0 d 1 2"))) == [(query, "d", 2.0, 1)]
    assert rows(read_run(file(f"{query},d,2"), columns=fields)) == [(query, "d", 2.0)]
    assert rows(read_run(file(f"{query}\td d\t2"), columns=fields)) == [(query, "d d", 2.0)]
    assert rows(read_run(file(f"{query},query,item,score\n1,q,d,2"))) == [("q", "d", 2.0, 1)]


def test_swapped_files_are_told(file):
    refused(read_run, file("q 0 d 1\n"), "looks like qrels")
    refused(read_qrels, file("q Q0 d 1 2 t\n"), "looks like a run")
    refused(read_run, file("query,item,relevance\nq,d,1\n"), "is it qrels?")
    refused(read_qrels, file("query,item,score,rank\nq,d,1,1\n"), "looks like a run")
    refused(read_qrels, file("query,item,score,run_id\nq,d,1,a\n"), "looks like a run")


def test_one_json_object_of_queries_is_not_json_lines(file):
    refused(read_run, file('{"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}'), "from_dict(json.load(file))")
    refused(read_run, file('{\n "q1": {"d1": 1.0}\n}'), "from_dict(json.load(file))")
    refused(read_run, file('[{"query": "q", "item": "d", "score": 1}]'), "one object per line")


@pytest.mark.parametrize("line", ["2 qid:1 1:0.5 2:0.1 # doc7", "3 qid:1 # 28 blue shoes", "0\tqid:a 1:2"])
def test_a_list_for_learning_to_rank_is_told(file, line):
    for reader in (read_run, read_qrels):
        refused(reader, file(line), "looks like a list for learning to rank", repr(line))


def test_other_columns_are_kept_as_their_values_are(file):
    text = "day,query,item,score,locale,run_id\n3,07,08,1,de,\n4,07,09,,,7\n"
    frame = read_run(file(text)).collect()
    assert frame.columns == ["query", "item", "score", "system", "day", "locale"]
    assert frame.rows() == [("07", "08", 1.0, None, 3, "de"), ("07", "09", None, "7", 4, None)]
    assert rows(read_run(file("query,item,score,relevance\nq,d,1,yes\n"))) == [("q", "d", 1.0, "yes")]
    assert rows(read_qrels(file("query,item,grade,score\nq,d,1,high\n"))) == [("q", "d", 1, "high")]
    lines = '{"query": 7, "item": 8, "rank": 1.0, "day": 3}\n{"query": 7, "item": 9, "rank": 2, "day": 3}'
    assert rows(read_run(file(lines))) == [("7", "8", 1, 3), ("7", "9", 2, 3)]


@pytest.mark.parametrize("query", ["query", "query_id", "query-id", "qid", "q_id", "QID", " Query "])
@pytest.mark.parametrize("item", ["item", "item_id", "doc_id", "docno", "docid", "did", "corpus-id", "DocNo"])
def test_usual_column_names_are_understood(file, query, item):
    assert rows(read_run(file(f"{query},{item},score\nq,d,1\n"))) == [("q", "d", 1.0)]
    for grade in ("relevance", "rel", "label", "grade", "score"):
        frame = read_qrels(file(f"{item}\t{grade}\t{query}\nd\t2\tq\n"))
        assert frame.collect_schema().names() == QRELS
        assert rows(frame) == [("q", "d", 2)]


def test_columns_renames(file):
    path = file("user,movie,points\n1,2,3\n")
    refused(read_run, path, "line 1", "columns={'query'")
    assert rows(read_run(path, columns={"query": "user", "item": "movie", "score": "points"})) == [
        ("1", "2", 3.0)
    ]
    assert rows(read_qrels(path, columns={"query": "user", "item": "movie", "relevance": "points"})) == [
        ("1", "2", 3)
    ]
    refused(read_run, path, "'usr'", "user,movie,points", columns={"query": "usr", "item": "movie"})
    refused(read_run, path, "neither score nor rank", columns={"query": "user", "item": "movie"})
    assert "relevance" not in read_qrels(path, columns={"query": "user", "item": "movie"}).collect_schema()
    refused(read_run, file("query,item,score,score\nq,d,1,2"), "twice")


def test_a_column_that_could_be_two_things_is_asked_about(file):
    path = file("qid,query,docno,score\n1,what is it,d,2\n")
    refused(read_run, path, "['qid', 'query']", "columns={'query': 'qid'}")
    refused(read_run, path, "another column 'query'", columns={"query": "qid"})
    frame = read_run(path, columns={"query": "qid", "text": "query"}).collect()
    assert frame.to_dicts() == [{"query": "1", "item": "d", "score": 2.0, "text": "what is it"}]


def test_columns_lists_the_fields_of_a_file_without_header(file):
    by_score = {"columns": ["query", "item", "score"]}
    for text in ("q d 1\nq e 2\n", "q\td\t1\nq\te\t2\n", "q,d,1\nq,e,2\n", "q  d\t1\n\nq e 2"):
        assert rows(read_run(file(text), **by_score)) == [("q", "d", 1.0), ("q", "e", 2.0)]
    assert rows(read_run(file("my query\td\t1\n"), **by_score)) == [("my query", "d", 1.0)]
    assert rows(read_run(file('q,"a,b",1\n'), **by_score)) == [("q", "a,b", 1.0)]
    refused(read_run, file("q, d, 1\n"), "format='trec'", **by_score)
    refused(
        read_run, file("q d 1\n\nq d 1 2\n"), "line 3", "expected 3 fields (query item score)", **by_score
    )
    refused(read_run, file("q,d,1\nq,d\n"), "line 2", "found 2", **by_score)
    refused(read_run, file("q,d\nq,d,1\n"), "line 1", **by_score, format="csv")
    refused(read_run, file("query\titem\tscore\nq\td\t1\n"), "line 1", "score 'score'", **by_score)
    extra = ["query", "skip", "item", "rank", "score", "system"]
    assert rows(read_run(file("q Q0 d 1 2 t"), columns=extra)) == [("q", "d", 2.0, 1, "t", "Q0")]


@pytest.mark.parametrize(
    "columns",
    [["query", "item"], ["query", "score"], ["query", "item", "item", "score"], ("a", "b", "c"), []],
)
def test_columns_must_name_what_a_run_needs(file, columns):
    with pytest.raises(ValueError, match="columns must name each field once"):
        read_run(file("q d 1"), columns=columns)


def test_wrong_calls_are_refused(file, tmp_path):
    path = file("q Q0 d 1 2 t")
    with pytest.raises(ValueError, match="format must be one of None"):
        read_run(path, format="treq")
    with pytest.raises(TypeError, match="columns must be a mapping"):
        read_run(path, columns="query")
    with pytest.raises(ValueError, match="list its fields"):
        read_run(path, format="trec", columns={"query": "qid"})
    with pytest.raises(ValueError, match="JSON lines names its columns"):
        read_run(file(SAME["jsonl"]), format="jsonl", columns=["query", "item", "score"])
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_run(tmp_path / "nowhere.run")
    with pytest.raises(IsADirectoryError, match="pytest"):
        read_qrels(tmp_path)
    with pytest.raises(ValueError, match="download"):
        read_run("https://example.org/run.csv", format="csv")


@pytest.mark.parametrize(
    ("lines", "number", "message"),
    [
        (["q,d,1", "q,d"], 4, "found 2"),
        (["q,d,1", "", "q,d,1,2"], 5, "found 4"),
        (['q,"d', 'e",1', "", "q,,1"], 6, "item is empty"),
        (['q,"d', 'e",1', 'q,"",1'], 5, "item is empty"),
        ([",,"], 3, "every field is empty"),
        (["q,d,1", ",d,1"], 4, "query is empty"),
        (["q,d,high"], 3, "score 'high'"),
        (["q,d,1", 'q,"d,1', "q,d,2"], 4, "unexpected end"),
        (["q,d,NA"], 3, "score 'NA'"),
    ],
)
def test_a_bad_line_of_csv_is_named(file, lines, number, message):
    refused(read_run, file("\n".join(["", "query,item,score", *lines, ""])), f"line {number}", message)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"query": "q", "item": "d", "score"', "expected a JSON object"),
        ("[1]", "expected a JSON object"),
        ('"text"', "expected a JSON object"),
        ('{"query": "q", "item": "d", "score": NaN}', "NaN"),
        ('{"query": "q", "item": "d", "score": "high"}', "score 'high'"),
        ('{"query": "q", "item": null, "score": 1}', "item is empty"),
        ('{"query": "", "item": "d", "score": 1}', "query is empty"),
        ('{"item": "d", "score": 1}', "query is empty"),
    ],
)
def test_a_bad_line_of_json_is_named(file, line, message):
    good = '{"query": "q", "item": "d", "score": 1}'
    refused(read_run, file(f"{good}\n\n{line}\n{good}\n"), "line 3", message, line)


@pytest.mark.parametrize(
    "line",
    [
        '{"query": "q", "item": "a", "item": "b", "score": 1}',
        '{"score": 1, "query": "q", "item": "a", "score" : 2}',
        '{"query": "q", "item": "a", "score": 1, "day": 1, "day": 1}',
        '{"query": "q", "item": "a", "\\u0069tem": "b", "score": 1}',
        '{"item": "b", "query": "q", "item": null, "score": 1}',
    ],
)
def test_a_key_that_comes_twice_is_refused(file, line):
    good = '{"query": "q", "item": "d", "score": 1, "day": 2}'
    refused(read_run, file(f"{good}\n\n{line}\n"), "line 3", "a key occurs twice", repr(line))
    refused(read_run, file(line), "line 1", "key")


def test_a_key_may_come_again_within_an_object_or_a_text(file):
    row = {"query": "q", "item": 'it is "item": no\\', "score": 1, "more": {"item": 2, "score": [3]}}
    for ascii_only in (True, False):
        lines = (json.dumps(row, ensure_ascii=ascii_only) + "\n") * 2
        assert read_run(file(lines)).collect()["item"].to_list() == [row["item"]] * 2


@pytest.mark.parametrize("start", ["[", '{"a":', '{"query": "q", "item": "d", "score": 1, "x": ['])
def test_json_that_is_nested_deeply_is_refused(file, start):
    refused(read_run, file(start * 100_000), "line 1", "JSON")
    good = '{"query": "q", "item": "d", "score": 1}'
    refused(read_run, file(f"{good}\n{start * 100_000}"), "line 2", "nested deeply")


def test_a_field_of_csv_may_be_long(file):
    text = "query,item,score\nq," + "x " * 200_000 + ",\n"
    assert rows(read_run(file(text)).select(pl.col("item").str.len_bytes(), "score")) == [(400_000, None)]
    refused(read_run, file(text + "q\n"), "line 3", "found 1")


def test_json_ids_are_text_or_integers(file):
    refused(read_run, file('{"query": 1.5, "item": "d", "score": 1}'), "query has type Float64")
    refused(read_run, file('{"query": "q", "item": "d", "score": [1]}'), "score has type List")
    assert rows(read_run(file('{"query": 1, "item": "d", "score": null}'))) == [("1", "d", None)]


# Writing


ids = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n"), min_size=1)
query_ids = ids.filter(lambda text: text[0] not in "#\ufeff")
runs = st.lists(st.tuples(query_ids, ids, st.floats(), st.integers(-(2**63), 2**63 - 1), ids))


def as_run(lines):
    types = [pl.String, pl.String, pl.Float64, pl.Int64, pl.String]
    return pl.DataFrame(lines, schema=dict(zip(RUN, types, strict=True)), orient="row")


@pytest.mark.parametrize("name", ["run", "run.gz", "run.tsv", "run.csv", "run.csv.gz", "run.parquet"])
@given(lines=runs)
def test_what_is_written_is_read_again(tmp_path_factory, name, lines):
    run = as_run(lines)
    path = tmp_path_factory.mktemp("runs") / name
    write_run(run, path)
    # An empty TREC file has neither a format nor a tag to show.
    again = read_run(path, format=None if lines or name not in ("run", "run.gz") else "trec").collect()
    assert_frame_equal(again, run if lines else run.select(again.columns), check_exact=True)


@given(
    lines=st.lists(
        st.tuples(ids, ids, st.floats(allow_nan=False, allow_infinity=False), st.just(1), ids), min_size=1
    )
)
def test_json_lines_are_read_again(tmp_path_factory, lines):
    run = as_run(lines)
    path = tmp_path_factory.mktemp("runs") / "run.jsonl.gz"
    write_run(run, path)
    assert_frame_equal(read_run(path).collect(), run, check_exact=True)


def test_ids_that_only_some_formats_hold(tmp_path):
    run = as_run([("my query", "a\tb", 1.0, 1, "my tag"), ("#1", " ", 0.5, 2, "my tag")])
    for name in ("run.csv", "run.parquet", "run.jsonl"):
        write_run(run, tmp_path / name)
        assert_frame_equal(read_run(tmp_path / name).collect(), run)


def test_trec_lines_are_exact(tmp_path):
    scores = [0.1, 1e-300, 5e-324, 123456789.12345679, 1e22, float("inf")]
    run = pl.DataFrame({"query": ["q"] * 6, "item": list("abcdef"), "score": scores})
    write_run(run.lazy(), tmp_path / "run.trec", system="mine")
    lines = (tmp_path / "run.trec").read_text().splitlines()
    assert lines[0] == "q Q0 a 4 0.1 mine"
    assert [float(line.split()[4]) for line in lines] == scores
    assert [line.split()[3] for line in lines] == ["4", "5", "6", "3", "2", "1"]


def test_ranks_are_made_from_scores_where_there_are_none(tmp_path):
    run = pl.DataFrame(
        {
            "query": ["q", "q", "q", "q", "p", "q"],
            "item": [1, 2, 10, 3, 1, 1],
            "score": [1.0, 1.0, 1.0, float("nan"), 0.0, 0.0],
            "system": ["a", "a", "a", "a", "a", "b"],
        }
    )
    write_run(run, tmp_path / "run")
    again = read_run(tmp_path / "run").collect()
    # Equal scores go by item as text, descending, as whoever reads the file will see it.
    assert again["rank"].to_list() == [3, 1, 2, 4, 1, 1]
    assert again["system"].to_list() == run["system"].to_list()


def test_a_run_without_scores_is_written_with_the_negated_rank(tmp_path):
    write_run(pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "rank": [1, 2]}), tmp_path / "run")
    assert (tmp_path / "run").read_text() == "q Q0 a 1 -1.0 polars_rank\nq Q0 b 2 -2.0 polars_rank\n"


@pytest.mark.parametrize("name", ["run", "run.tsv", "run.csv"])
@pytest.mark.parametrize("bad", ["", None, "a\nb", "a\r", "\r\n"])
@pytest.mark.parametrize("column", ["query", "item", "system"])
def test_ids_that_no_text_holds_are_refused(tmp_path, name, bad, column):
    run = as_run([("q", "d", 1.0, 1, "t")]).with_columns(pl.lit(bad, dtype=pl.String).alias(column))
    with pytest.raises(DataError, match=f"run.{column} holds"):
        write_run(run, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("column", "bad"),
    [
        ("query", "my query"),
        ("item", "a\tb"),
        ("query", "#1"),
        ("query", "\ufeffq"),
        ("item", " a"),
    ]
    + [("system", tag) for tag in (" t", "t ", "a  b", "a\tb")],
)
def test_ids_that_trec_text_does_not_hold_are_refused(tmp_path, column, bad):
    run = as_run([("q", "d", 1.0, 1, "t")])
    wrong = run.with_columns(pl.lit(bad).alias(column))
    with pytest.raises(DataError) as error:
        write_run(wrong, tmp_path / "run")
    assert repr(bad) in str(error.value)
    # At the start of a line this would be a byte order mark in CSV too.
    name = "run.jsonl" if bad.startswith("\ufeff") else "run.csv"
    write_run(wrong, tmp_path / name)
    assert_frame_equal(read_run(tmp_path / name).collect(), wrong)


def test_other_refusals_of_writing(tmp_path):
    run = pl.DataFrame({"query": ["q"], "item": ["a"], "score": [1.0]})
    path = tmp_path / "run"
    with pytest.raises(DataError, match=r"can't hold the columns \['day'\]"):
        write_run(run.with_columns(day=1), path)
    with pytest.raises(DataError, match="holds None in row 0"):
        write_run(run.with_columns(score=pl.lit(None, dtype=pl.Float64)), path)
    with pytest.raises(DataError, match="JSON has no such number"):
        write_run(run.with_columns(score=float("nan")), tmp_path / "run.jsonl")
    with pytest.raises(DataError, match="neither score nor rank"):
        write_run(run.drop("score"), path)
    with pytest.raises(DataError, match="no column 'item'"):
        write_run(run.drop("item"), path)
    with pytest.raises(DataError, match="is binary"):
        write_run(run.with_columns(item=pl.lit(b"a")), path)
    with pytest.raises(ValueError, match="has one"):
        write_run(run.with_columns(system=pl.lit("t")), path, system="u")
    with pytest.raises(ValueError, match="leave out"):
        write_run(run, tmp_path / "run.parquet.gz")
    with pytest.raises(ValueError, match="format must be one of"):
        write_run(run, path, format="xml")
    with pytest.raises(TypeError, match="from_dict"):
        write_run({"q": {"a": 1.0}}, path)
    with pytest.raises(DataError, match=r"csv can't hold run.more, which has type List\(Int64\); drop it"):
        write_run(run.with_columns(more=[1]), tmp_path / "run.csv")
    with pytest.raises(DataError, match=r"parquet can't hold run.more, which has type Object"):
        write_run(run.with_columns(pl.Series("more", [object()], pl.Object)), tmp_path / "run.parquet")
    with pytest.raises(DataError, match=r"run.item holds '\\ufeffa' in row 0: at the start of a line"):
        write_run(run.select(pl.lit("\ufeffa").alias("item"), "query", "score"), tmp_path / "run.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_system_of_a_table_without_one(tmp_path):
    run = pl.DataFrame({"query": ["q"], "item": ["a"], "score": [1.0]})
    write_run(run, tmp_path / "run.csv")
    assert (tmp_path / "run.csv").read_text() == "query,item,score\nq,a,1.0\n"
    write_run(run, tmp_path / "run.csv", system="mine")
    assert (tmp_path / "run.csv").read_text() == "query,item,score,system\nq,a,1.0,mine\n"
    write_run(run, tmp_path / "run.csv", format="trec")
    assert (tmp_path / "run.csv").read_text() == "q Q0 a 1 1.0 polars_rank\n"


@pytest.mark.parametrize("name", ["run", "run.tsv", "run.csv.gz", "run.jsonl", "run.parquet"])
@pytest.mark.parametrize("lazy", [False, True])
def test_chunks_change_nothing(tmp_path, name, lazy):
    part = pl.DataFrame({"query": [f"q{i}" for i in range(4000)], "item": "d", "score": 0.5, "system": "s"})
    parts = [part.with_columns(item=pl.lit(f"d{i}"), score=pl.lit(float(i))) for i in range(6)]
    run = pl.concat(parts, rechunk=False).filter(pl.col("score") % 2 == 1)
    assert run.n_chunks() > 1
    write_run(run.lazy() if lazy else run, tmp_path / name)
    assert_frame_equal(read_run(tmp_path / name).select(run.columns).collect(), run)


# Replacing a file


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    target = tmp_path / "out"
    target.write_text("old")
    target.chmod(0o640)

    def fail_midway():
        with replace_file(target) as file:
            file.write(b"half")
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        fail_midway()
    assert target.read_text() == "old"
    link = tmp_path / "link"
    link.symlink_to(target)
    with replace_file(link) as file:
        file.write(b"new")
        assert target.read_text() == "old"
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("new", 0o640)
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out"]


def test_a_file_can_be_replaced_only_where_there_is_a_place(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match="there is no directory"),
        replace_file(tmp_path / "nowhere" / "f"),
    ):
        pass
    with pytest.raises(IsADirectoryError), replace_file(tmp_path):
        pass
    for longest in ("n" * 255, "🙂" * 63):
        with replace_file(tmp_path / longest) as file:
            file.write(b"x")
        assert (tmp_path / longest).read_text() == "x"


def test_what_is_no_ordinary_file_is_written_to_and_not_replaced():
    with replace_file(os.devnull) as file:
        file.write(b"x")
    assert not Path(os.devnull).is_file()
    with (
        pytest.raises(OSError, match="No space left on device: '/dev/full'"),
        replace_file("/dev/full") as file,
    ):
        file.write(b"x")
    reader, writer = os.pipe()
    with replace_file(f"/dev/fd/{writer}") as file:
        file.write(b"piped")
    assert os.read(reader, 9) == b"piped"
    os.close(writer)
    with (
        pytest.raises(OSError, match="Bad file descriptor"),
        replace_file(f"/proc/self/fd/{writer}") as file,
    ):
        file.write(b"x")
    os.close(reader)


@pytest.mark.parametrize("way", ["/dev/fd/{}", "/proc/self/fd/{}", "link"])
def test_an_open_file_goes_on_where_it_is(tmp_path, way):
    target = tmp_path / "log"
    descriptor = os.open(target, os.O_CREAT | os.O_WRONLY)
    os.write(descriptor, b"first\n")
    path = way.format(descriptor)
    if way == "link":
        path = tmp_path / "link"
        path.symlink_to(f"/dev/fd/{descriptor}")
    run = pl.DataFrame({"query": ["q"], "item": ["a"], "score": [1.0]})
    write_run(run, path, system="s")
    os.write(descriptor, b"last\n")
    os.close(descriptor)
    assert target.read_text() == "first\nq Q0 a 1 1.0 s\nlast\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_temporary_file(tmp_path, number):
    code = f"""
import os, signal
signal.signal({number}, signal.SIG_DFL)  # a parent such as nohup may ignore it
from polars_rank.files.output_files import replace_file
with replace_file({str(tmp_path / "out")!r}) as file:
    file.write(b"half")
    assert os.listdir({str(tmp_path)!r})
    os.kill(os.getpid(), {number})
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (-number, b"")
    assert list(tmp_path.iterdir()) == []


def test_signals_are_left_as_they_were(tmp_path):
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    with replace_file(tmp_path / "out"):
        pass
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)] == before


@pytest.mark.parametrize("name", ["run.json", "run.md", "run.xlsx", "run.csv.zst"])
def test_a_name_that_promises_another_format_is_refused(tmp_path, name):
    run = pl.DataFrame({"query": ["q"], "item": ["a"], "score": [1.0]})
    with pytest.raises(ValueError, match=r"can't be written as .*; use .*\.csv, .* or say format="):
        write_run(run, tmp_path / name)
    write_run(run, tmp_path / name, format="jsonl")
    assert read_run(tmp_path / name).collect().rows() == [("q", "a", 1.0)]


# Real files


@pytest.mark.skipif(not REFERENCE, reason="POLARS_RANK_REFERENCE does not name the reference data")
def test_real_files_equal_their_tables():
    paths = sorted(Path(REFERENCE).glob("real/*/*.trec.gz"))
    assert paths
    for path in paths:
        table = pl.read_parquet(str(path).replace(".trec.gz", ".parquet"))
        if path.name.startswith("qrels"):
            wanted = table.select("query", "item", pl.col("relevance").cast(pl.Int64))
            assert_frame_equal(read_qrels(path).collect(), wanted, check_row_order=False)
        else:
            wanted = table.sort("line").select(
                "query", "item", "score", rank=pl.col("file_rank").cast(pl.Int64)
            )
            found = read_run(path).collect()
            assert found["system"].n_unique() == 1
            assert_frame_equal(found.drop("system"), wanted)


@pytest.mark.skipif(not REFERENCE, reason="POLARS_RANK_REFERENCE does not name the reference data")
def test_the_files_of_trec_eval_itself():
    folder = Path(REFERENCE) / "trec_eval_suite" / "inputs"
    for name in ("qrels.comments.123", "qrels.test.with-comments"):
        refused(read_qrels, folder / name, "comments=True")
    heights = {
        "qrels.123": 10362,
        "qrels.comment.test": 5890,
        "qrels.comments.123": 10362,
        "qrels.rel_level": 3681,
        "qrels.test": 3681,
        "qrels.test.with-comments": 3681,
        "results.comment.test": 30100,
        "results.test": 1500,
        "results.trunc": 584,
    }
    commented = ("qrels.comments.123", "qrels.test.with-comments")
    for name, height in heights.items():
        reader = read_qrels if name.startswith("qrels") else read_run
        found = reader(folder / name, comments=name in commented).collect()
        assert (name, found.height) == (name, height)
    tags = read_run(folder / "results.trunc").collect()["system"]
    assert tags.str.starts_with("STANDARD").all()
    assert "STANDARD more junk at" in tags
