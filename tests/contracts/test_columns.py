"""What a measure takes for a column, in Python: a name or an expression over numbers, nothing else."""

import datetime

import numpy as np
import polars as pl
import pytest

import polars_rank as rank
from polars_rank.measures.catalogue import MEASURES

RANKS = pl.Series("rank", [1, 2, 1])
FRAME = pl.DataFrame({"query": ["a", "a", "b"], "rank": RANKS, "relevance": [1, 0, 1]})
FUNCTIONS = {name: measure.function for name, measure in MEASURES.items()} | {"rrf": rank.rrf}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("value", [10, 0.5, True, None, np.int64(3)], ids=repr)
def test_a_number_is_no_column(name, value):
    with pytest.raises(TypeError, match="must be the name of a column or an expression, got"):
        FUNCTIONS[name](value)


@pytest.mark.parametrize("name", ["ndcg", "precision", "hits_at_k", "alpha_dcg", "rrf"])
def test_a_cutoff_in_place_of_a_column_is_told(name):
    with pytest.raises(TypeError, match=r"rank must be .*, got 10 \(did you mean k=10\?\)"):
        FUNCTIONS[name](10)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize(
    "values", [RANKS, RANKS.to_list(), RANKS.to_numpy(), pl.lit(RANKS), FRAME], ids=lambda v: type(v).__name__
)
def test_values_are_no_column(name, values):
    with pytest.raises(TypeError, match="would be the same for every group: add it to the frame"):
        FUNCTIONS[name](values)


@pytest.mark.parametrize(
    "value",
    [
        datetime.date(2026, 12, 1),
        datetime.datetime(2026, 12, 1),
        datetime.time(1),
        datetime.timedelta(1),
        "1",
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"num_queries"}))
def test_dates_and_text_are_no_numbers(name, value):
    columns = MEASURES[name].columns if name in MEASURES else ["rank"]
    for column in [c for c in columns if c != "subtopic"]:
        other = FRAME.with_columns(pl.lit(1).alias(c) for c in columns if c not in FRAME.columns)
        wrong = other.with_columns(pl.lit(value).alias(column))
        value_of = FUNCTIONS[name](**{c: c for c in columns})
        with pytest.raises(pl.exceptions.PolarsError):
            wrong.group_by("query").agg(value_of)
        with pytest.raises(pl.exceptions.PolarsError):
            wrong.lazy().group_by("query").agg(value_of).collect(engine="streaming")


def test_the_refusal_of_dates_leaves_nothing_in_the_plan():
    plan = FRAME.lazy().group_by("query").agg(rank.dcg()).explain()
    assert "- 0.0" not in plan
    assert "when(false)" not in plan.lower()


def test_a_literal_of_one_value_is_a_column():
    found = FRAME.group_by("query").agg(rank.precision("rank", pl.lit(1))).sort("query")
    assert found.rows() == [("a", 1.0), ("b", 1.0)]
