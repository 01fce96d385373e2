"""Frames of other libraries: every function takes them and returns a Polars DataFrame."""

import re

import duckdb
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from test_chunks import CALLS, JUDGED, PER_QUERY, PLACES, QRELS, RUN, assert_same

import polars_rank as rank
from polars_rank.core.errors import DataError
from polars_rank.reporting.leaderboards import standings

OTHERS = {
    "pandas": lambda frame: frame.to_pandas(),
    "pandas with an index": lambda frame: frame.to_pandas().set_index(frame.columns[0]),
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
}
HALVES = tuple(JUDGED.filter(system=system) for system in ("x", "y"))
GRADES = QRELS.drop("subtopic")
# These take an expression, or give frames to others.
NOT_OURS = {"adjust", "rrf", "diff"}
MORE = {
    "diff": (HALVES, lambda a, b: rank.diff(a, b, "nDCG@10")),
    "fuse runs": (tuple(PLACES.values()), lambda *runs: rank.fuse(dict(zip("xy", runs, strict=True)))),
    "fuse a list": (tuple(PLACES.values()), lambda *runs: rank.fuse(runs)),
    "attributes": (
        (RUN, GRADES, GRADES.select("query", kind=pl.col("query").str.slice(-1)).unique()),
        lambda run, qrels, kinds: rank.evaluate(run, "AP", qrels=qrels, attributes=kinds, by="kind"),
    ),
    "standings": ((PER_QUERY,), standings),
}
FRAMES = {name: call for name, call in CALLS.items() if name not in NOT_OURS} | MORE
TEXTS = {
    "leaderboard": ((PER_QUERY,), rank.leaderboard),
    "page": ((JUDGED,), lambda judged: rank.page(judged, ["nDCG@10"])),
    "systems_chart": ((PER_QUERY,), lambda table: rank.systems_chart(table).to_json()),
    "differences_chart": ((PER_QUERY,), lambda t: rank.differences_chart(t, "x", "y", "AP").to_json()),
    "cutoffs_chart": ((JUDGED,), lambda t: rank.cutoffs_chart(t).to_json()),
}
kinds = pytest.mark.parametrize("kind", OTHERS)


@kinds
@pytest.mark.parametrize("name", FRAMES)
def test_every_function_takes_other_frames(name, kind):
    frames, call = FRAMES[name]
    got = call(*(OTHERS[kind](frame) for frame in frames))
    assert isinstance(got, pl.DataFrame)
    expected = call(*frames)
    # A null makes an integer of pandas a float.
    assert_same(got.select(expected.columns).cast(dict(expected.schema)), expected)


@kinds
@pytest.mark.parametrize("name", TEXTS)
def test_reports_take_other_frames(name, kind):
    frames, call = TEXTS[name]
    got, expected = (call(*given) for given in ([OTHERS[kind](frame) for frame in frames], frames))
    assert without_last_digits(got) == without_last_digits(expected)


def without_last_digits(text):
    """A mean depends on the order of rows in its last digits."""
    return re.sub(r"(\d\.\d{12})\d+", r"\1", text)


@kinds
def test_a_run_is_written(kind, tmp_path):
    rank.write_run(OTHERS[kind](RUN), tmp_path / "a.txt")
    rank.write_run(RUN, tmp_path / "b.txt")
    assert (tmp_path / "a.txt").read_bytes() == (tmp_path / "b.txt").read_bytes()


QRELS_OF_Q = pl.DataFrame({"query": ["q", "q"], "item": ["a", "c"], "relevance": [2, 1]})


@pytest.mark.parametrize(
    "ids",
    [
        pd.Series(["b", "a"], dtype=object),
        pd.Series(["b", "a"], dtype="string"),
        pd.Series(["b", "a"], dtype="category"),
    ],
    ids=lambda ids: str(ids.dtype),
)
def test_ids_of_pandas_match(ids):
    run = pd.DataFrame({"query": pd.Series(["q", "q"], dtype=ids.dtype if ids.dtype == object else "str")})
    run["item"], run["score"] = ids, pd.array([None, 0.5], dtype="Float64")
    assert rank.evaluate(run, "RR", qrels=QRELS_OF_Q)["RR"].to_list() == [1.0]


def test_nullable_integers_of_pandas_match():
    run = pd.DataFrame({"query": pd.array([1, 1], dtype="Int64"), "item": [7, 8], "score": [0.5, 0.2]})
    qrels = pd.DataFrame({"query": [1], "item": pd.array([8], dtype="Int32"), "relevance": [True]})
    assert rank.evaluate(run, "RR", qrels=qrels)["RR"].to_list() == [0.5]


def test_an_unnamed_index_is_no_column():
    run = pd.DataFrame({"query": ["q"] * 3, "item": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]})
    judged = rank.judge(run[run["score"] < 3].sample(frac=1, random_state=0), QRELS_OF_Q)
    assert judged.columns == ["query", "item", "rank", "relevance", "score"]


def test_a_stream_is_read_once():
    reader = RUN.to_arrow().to_reader()
    assert_frame_equal(rank.evaluate(reader, "AP", qrels=GRADES), rank.evaluate(RUN, "AP", qrels=GRADES))


def test_what_is_no_table_is_refused():
    with pytest.raises(TypeError, match="run must be a Polars frame or another Arrow table"):
        rank.judge([("q", "a", 1.0)], QRELS_OF_Q)
    with pytest.raises(DataError, match="run can't be read as an Arrow table"):
        rank.judge(pd.Series([1]), QRELS_OF_Q)
    with pytest.raises(DataError, match="qrels can't be read as an Arrow table"):
        rank.judge(RUN, pd.DataFrame({"query": ["q", 1]}, dtype=object))


@pytest.mark.parametrize("function", [rank.fuse, rank.normalize_scores])
def test_fusion_takes_one_key_as_a_list_of_one(function):
    run = RUN.with_columns(day=pl.col("query").str.slice(-1))
    assert_same(function(run, keys="day"), function(run, keys=["day"]))
