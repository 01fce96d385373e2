"""Errors have fields: the problem, the argument at fault and its value, the remedy."""

import polars as pl
import pytest

import polars_rank as rank
from polars_rank.core.errors import ArgumentError, Clause, DataError, Setting
from polars_rank.measures.names import parse

RUN = pl.DataFrame({"query": "q", "item": ["a", "a"], "score": [2.0, 1.0], "day": ["mon", "tue"]})
QRELS = pl.DataFrame({"query": "q", "item": "a", "relevance": 1})


def without(argument):
    return lambda name: None if name == argument else name


def test_the_text_is_problem_and_remedy():
    error = DataError("a row is there twice", remedy=("use ", Setting("duplicates", "first")))
    assert str(error) == "a row is there twice; use duplicates='first'"
    assert (error.argument, error.value) == (None, None)
    assert str(error.within("a.run")) == "a.run: a row is there twice; use duplicates='first'"
    assert str(DataError("nothing to do")) == "nothing to do"


def test_the_first_setting_of_the_problem_is_at_fault():
    error = ArgumentError((Setting("by", "score"), " describes no query"))
    assert str(error) == "by='score' describes no query"
    assert (error.argument, error.value) == ("by", "score")


def test_advice_is_left_out_where_an_argument_has_no_name():
    choice = Clause(["use ", Setting("keys", ["day"]), "; otherwise "])
    error = DataError("twice", remedy=(choice, Setting("duplicates", "first"), " keeps one"))
    assert str(error) == "twice; use keys=['day']; otherwise duplicates='first' keeps one"
    assert str(error.renamed(without("keys"))) == "twice; duplicates='first' keeps one"
    assert str(error.renamed(without("duplicates"))) == "twice"
    renamed = error.renamed(lambda name: f"our_{name}")
    assert str(renamed) == "twice; use our_keys=['day']; otherwise our_duplicates='first' keeps one"


def test_a_refused_choice_has_argument_and_value():
    with pytest.raises(ArgumentError, match="ties must be one of") as refused:
        rank.judge(RUN, QRELS, ties="bset")
    assert (refused.value.argument, refused.value.value) == ("ties", "bset")


def test_an_ambiguous_measure_has_fields_and_can_be_renamed():
    with pytest.raises(ArgumentError, match="is ambiguous") as refused:
        parse("hits@10")
    assert (refused.value.argument, refused.value.value) == ("measure", "hits@10")
    assert Setting("convention") in refused.value.remedy
    copy = refused.value.renamed(without("convention"))
    assert (type(copy), copy.remedy) == (type(refused.value), ())


@pytest.mark.parametrize("lazy", [False, True])
def test_a_repeated_row_names_keys(lazy):
    with pytest.raises(DataError) as refused:
        rank.evaluate(RUN.lazy() if lazy else RUN, "AP", qrels=QRELS).lazy().collect()
    assert Setting("duplicates", "first") in refused.value.remedy
    assert ("use ", Setting("keys", ["day"])) == refused.value.remedy[0][:2]


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_polars_keeps_the_fields_of_an_error_within_an_expression(engine):
    run = pl.LazyFrame({"query": "q", "item": ["a", "b"], "rank": [0, 1]})
    with pytest.raises(DataError) as refused:
        rank.evaluate(run, "AP", qrels=QRELS).collect(engine=engine)
    assert refused.value.remedy == ("use ", Setting("rank_base", 0), " if it counts from 0")
    assert str(refused.value).endswith("; use rank_base=0 if it counts from 0")
