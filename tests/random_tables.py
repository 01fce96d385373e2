"""Random runs and qrels, and how a table macro is asked: for the tests that hold two engines together."""

from functools import cache

import duckdb
import polars as pl
from engines import as_literal, same
from hypothesis import strategies as st

from polars_rank.sql import install

SYSTEM, DAY = ["s1", "s2"], [1, 2]
TEXT_ID, WHOLE_ID = ["1", "10", "2", "é", "Z", "z"], [1, 10, 2, 300, -4]


def literal(value):
    return f"[{', '.join(map(as_literal, value))}]" if isinstance(value, list) else as_literal(value)


@cache
def database():
    connection = duckdb.connect()
    install(connection)
    return connection


def ask(macro, *tables, **options):
    """Call a table macro over frames; an option that is a frame goes by its name too."""
    frames = {f"table_{place}": table for place, table in enumerate(tables)}
    words = [f"'{name}'" for name in frames]
    for name, value in options.items():
        if isinstance(value, pl.DataFrame):
            frames[f"the_{name}"] = value
        words.append(f"{name} := " + literal(f"the_{name}" if isinstance(value, pl.DataFrame) else value))
    with database().cursor() as cursor:
        for name, frame in frames.items():
            cursor.register(name, frame.to_arrow())
        return cursor.sql(f"FROM rank.{macro}({', '.join(words)})").pl()


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
        run["rank"] = column(
            [1, 2, 3, 4, 7, None] if whole else [1.0, 1.5, 2.0, 3.0, None, float("nan")], size
        )
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
        grades = draw(st.sampled_from([[0, 1, 2, 3, -1, None], [None, None, 1], [None]]))
        qrels["relevance"] = column(grades, size)
        schema["relevance"] = draw(st.sampled_from([pl.Int8, pl.Float64]))
        if schema["relevance"] == pl.Float64:
            qrels["relevance"] = column([0.0, 0.5, 1.0, 3.0, -2.0, None, float("nan")], size)
    judgements = pl.DataFrame({name: draw(values) for name, values in qrels.items()}, schema=schema)
    if draw(st.integers(0, 3)):
        judgements = judgements.unique(["query", "item"])
    return frame, judgements


@st.composite
def judged_tables(draw):
    """Draw a judged table with null keys, tied and fractional ranks, and rankings without a grade."""
    size = draw(st.integers(1, 12))
    columns = {
        "query": column(["q", "r", None], size),
        "item": column(["a", "b", "c", "d", None], size),
        "rank": column(draw(st.sampled_from([[1, 2, 3, 7, -1, None], [0, 1, 2]])), size),
        "relevance": column(draw(st.sampled_from([[0, 1, 2, -1, None], [None, 1], [None]])), size),
    }
    schema = {"query": pl.String, "item": pl.String, "rank": pl.Int64, "relevance": pl.Int8}
    if draw(st.booleans()):
        columns["system"], schema["system"] = column(["s", "t", None], size), pl.String
    if draw(st.booleans()):
        numbers = [1.0, 1.5, 1.5, 2.0, 0.5, float("nan"), None, *draw(st.sampled_from([[], [float("inf")]]))]
        columns["rank"], schema["rank"] = column(numbers, size), pl.Float64
    if draw(st.booleans()):
        grades = [0.0, 0.5, 1.0, 3.0, -2.0, float("nan"), None, *draw(st.sampled_from([[], [float("-inf")]]))]
        columns["relevance"], schema["relevance"] = column(grades, size), pl.Float64
    table = pl.DataFrame({name: draw(values) for name, values in columns.items()}, schema=schema)
    if draw(st.booleans()):
        return table.drop("item")
    return table.unique(schema.keys() - {"rank", "relevance"}) if draw(st.integers(0, 3)) else table
