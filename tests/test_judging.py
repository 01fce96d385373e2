"""`judge` is one function in two engines: whatever the tables and options, both give the same or both refuse."""

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tables import ask, assert_same_rows, tables

from polars_rank import DataError
from polars_rank.judging import judge


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
def test_both_engines_judge_alike(data):
    run, qrels = data.draw(tables())
    chosen = data.draw(options(run.columns))
    try:
        expected = judge(run, qrels, **chosen)
    except DataError:
        with pytest.raises(duckdb.Error):
            ask("judge", run, qrels, **chosen)
        return
    assert_same_rows(ask("judge", run, qrels, **chosen), expected)
