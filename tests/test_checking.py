"""`check` finds the same in both engines, and each finding is what its name says."""

import duckdb
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
    {}, optional={"k": st.integers(1, 4), "min_relevance": st.sampled_from([1, 2]), "descending": st.booleans()}
)


@given(tables(), LIMITS)
def test_both_engines_find_the_same_in_run_and_qrels(drawn, limits):
    run, qrels = drawn
    assert_frame_equal(check(run, qrels, max_relevance=2, **limits), ask("check", run, qrels, max_relevance=2, **limits))


@given(tables(), LIMITS, st.data())
def test_both_engines_find_the_same_in_a_judged_table(drawn, limits, data):
    run, qrels = drawn
    kept = [name for name in ("query", "item", "score", "rank", "system") if name in run.columns]
    size = run.height
    rank = data.draw(st.lists(st.sampled_from([None, 0, 1, 2, 3, 5, 1.5, float("nan")]), min_size=size, max_size=size))
    grade = data.draw(st.lists(st.sampled_from([None, 0, 1, 3, -1, float("nan")]), min_size=size, max_size=size))
    judged = run.select(kept).with_columns(
        pl.Series("rank", rank, pl.Float64, strict=False), pl.Series("relevance", grade, pl.Float64, strict=False)
    )
    assert_frame_equal(check(judged, max_relevance=2, **limits), ask("check", judged, max_relevance=2, **limits))
