"""`judge` is one function in two engines: whatever the tables and options, both give the same or both refuse."""

import json
from pathlib import Path

import duckdb
import polars as pl
import pytest
from engines import as_literal, connection, same
from hypothesis import given, settings
from hypothesis import strategies as st

from polars_rank import DataError
from polars_rank.judging import judge

SYSTEM, DAY = ["s1", "s2"], [1, 2]
TEXT_ID, WHOLE_ID = ["1", "10", "2", "é", "Z", "z"], [1, 10, 2, 300, -4]


def options_as_sql(options):
    return "".join(f", {name} := {literal(value)}" for name, value in options.items())


def literal(value):
    return f"[{', '.join(map(as_literal, value))}]" if isinstance(value, list) else as_literal(value)


def judged_by_sql(run, qrels, **options):
    attributes = options.get("attributes")
    tables = {"the_run": run, "the_qrels": qrels}
    if isinstance(attributes, pl.DataFrame):
        tables["the_attributes"] = attributes
        options = options | {"attributes": "the_attributes"}
    database = connection().cursor()
    for name, table in tables.items():
        database.register(name, table.to_arrow())
    try:
        return database.sql(f"FROM rank.judge('the_run', 'the_qrels'{options_as_sql(options)})").pl()
    finally:
        for name in tables:
            database.unregister(name)


def rows(judged):
    columns = sorted(judged.columns)
    texts = [
        pl.col(name).cast(pl.Float64) if dtype.is_numeric() else pl.col(name)
        for name, dtype in judged.schema.items()
    ]
    return columns, sorted(judged.with_columns(texts).select(columns).rows(), key=repr)


def assert_same_rows(left, right):
    (left_columns, left_rows), (right_columns, right_rows) = rows(left), rows(right)
    assert left_columns == right_columns
    assert len(left_rows) == len(right_rows)
    for one, other in zip(left_rows, right_rows, strict=True):
        assert all(map(alike, one, other)), (one, other)


def alike(one, other):
    return same(one, other) if isinstance(one, float) and isinstance(other, float) else one == other


def column(values, size):
    return st.lists(st.sampled_from(values), min_size=size, max_size=size)


@st.composite
def tables(draw):
    ids, dtype = draw(st.sampled_from([(TEXT_ID, pl.String), (WHOLE_ID, pl.Int32)]))
    size = draw(st.integers(0, 14))
    run = {"query": column(ids[:4], size), "item": column(ids, size)}
    schema = {"query": dtype, "item": dtype}
    kinds = draw(st.sampled_from([("score",), ("rank",), ("score", "rank")]))
    if "score" in kinds:
        run["score"] = column([0.0, -0.0, 1.0, 1.0 + 1e-9, 2.5, -3.0, None, float("nan"), float("inf")], size)
        schema["score"] = draw(st.sampled_from([pl.Float64, pl.Float32]))
    if "rank" in kinds:
        whole = draw(st.booleans())
        run["rank"] = column([1, 2, 3, 4, 7, None] if whole else [1.0, 1.5, 2.0, 3.0, None, float("nan")], size)
        schema["rank"] = draw(st.sampled_from([pl.Int64, pl.UInt8])) if whole else pl.Float64
    for name, values in {"system": SYSTEM, "day": DAY, "note": ["x", None]}.items():
        if draw(st.booleans()):
            run[name] = column(values, size)
            schema[name] = pl.Int8 if name == "day" else pl.String
    frame = pl.DataFrame({name: draw(values) for name, values in run.items()}, schema=schema)
    if draw(st.integers(0, 3)):
        frame = frame.unique([name for name in ("query", "item", "system", "day") if name in schema])
    size = draw(st.integers(0, 10))
    qrels = {"query": column(ids[1:], size), "item": column(ids, size)}
    schema = {"query": dtype, "item": dtype if dtype == pl.String else pl.Int64}
    if draw(st.integers(0, 4)):
        qrels["relevance"] = column([0, 1, 2, 3, -1, None], size)
        schema["relevance"] = draw(st.sampled_from([pl.Int8, pl.Float64]))
        if schema["relevance"] == pl.Float64:
            qrels["relevance"] = column([0.0, 0.5, 1.0, 3.0, -2.0, None, float("nan")], size)
    judgements = pl.DataFrame({name: draw(values) for name, values in qrels.items()}, schema=schema)
    if draw(st.integers(0, 3)):
        judgements = judgements.unique(["query", "item"])
    return frame, judgements


@st.composite
def options(draw, columns):
    choices = {
        "descending": [True, False],
        "ties": ["item-descending", "item-ascending", "item-text-descending", "best", "worst"],
        "score_dtype": ["float64", "float32"],
        "rank_base": [0, 1],
        "queries": ["qrels", "both", "run", "all"],
        "duplicates": ["error", "first", "max"],
        "judged_only": [True, False],
        "drop_identical": [True, False],
        "depth": [None, 1, 2, 5],
        "order_by": [None, *(name for name in ("score", "rank") if name in columns)],
    }
    chosen = {name: draw(st.sampled_from(values)) for name, values in choices.items() if draw(st.booleans())}
    keys = [name for name in ("system", "day") if name in columns]
    if draw(st.booleans()):
        chosen["keys"] = draw(st.lists(st.sampled_from(keys), unique=True)) if keys else []
    others = [name for name in ("day", "note", "system") if name in columns and name not in chosen.get("keys", ["system"])]
    if others and draw(st.booleans()):
        chosen["attributes"] = draw(st.lists(st.sampled_from(others), unique=True, min_size=1))
    return chosen


@given(st.data())
@settings(max_examples=400)
def test_both_engines_judge_alike(data):
    run, qrels = data.draw(tables())
    chosen = data.draw(options(run.columns))
    try:
        expected = judge(run, qrels, **chosen)
    except DataError:
        with pytest.raises(duckdb.Error):
            judged_by_sql(run, qrels, **chosen)
        return
    assert_same_rows(judged_by_sql(run, qrels, **chosen), expected)
