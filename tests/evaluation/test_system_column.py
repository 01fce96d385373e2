"""system= names the key that is crossed with the judged queries; one name is a list of one."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_rank as rank
from polars_rank.core.errors import DataError
from polars_rank.measures.catalogue import programs
from polars_rank.measures.conventions import CONVENTIONS

RUN = pl.DataFrame(
    {
        "query": ["q1", "q1", "q2", "q1"],
        "model": ["a", "a", "a", "b"],
        "item": ["x", "y", "x", "x"],
        "score": [2.0, 1.0, 1.0, 1.0],
        "day": [1, 1, 2, 1],
        "kind": ["k", "k", "l", "k"],
    }
)
QRELS = pl.DataFrame({"query": ["q1", "q2"], "item": ["x", "x"], "relevance": [1, 1]})
AS_SYSTEM = RUN.rename({"model": "system"})
SUBTOPICS = QRELS.with_columns(subtopic=pl.lit("t"))
MORE = [{}, {"queries": "all"}, {"keys": ["model", "day"]}, {"attributes": "kind"}]


def ours(options):
    if "keys" not in options:
        return options
    return {**options, "keys": ["system" if key == "model" else key for key in options["keys"]]}


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("more", MORE, ids=str)
@pytest.mark.parametrize(
    "call",
    [
        lambda run, **options: rank.judge(run, QRELS, **options),
        lambda run, **options: rank.judge_subtopics(run, SUBTOPICS, **options),
        lambda run, **options: rank.evaluate(run, ["AP", "num_ret"], qrels=QRELS, **options),
        lambda run, **options: rank.evaluate(run, "judged_share@2", qrels=QRELS, **options),
    ],
    ids=["judge", "judge_subtopics", "evaluate", "evaluate all rows"],
)
def test_a_system_column_may_have_any_name(call, more, lazy):
    frames = [frame.lazy() if lazy else frame for frame in (RUN, AS_SYSTEM)]
    got = call(frames[0], system="model", **more).lazy().collect()
    expected = call(frames[1], **ours(more)).lazy().collect().rename({"system": "model"})
    assert_frame_equal(got, expected, check_row_order=False, check_column_order=False)


def test_a_missed_query_lowers_the_mean_of_the_named_system():
    values = rank.evaluate(RUN, "RR", qrels=QRELS, system="model")
    summary = rank.summarize(values, system="model")
    assert dict(summary.select("model", "value").rows()) == {"a": 1.0, "b": 0.5}


def test_parts_of_a_large_run_know_the_systems_of_the_whole(monkeypatch):
    monkeypatch.setattr("polars_rank.evaluation.batches.ROWS_AT_ONCE", 2)
    values = rank.evaluate(RUN.sort("query").lazy(), "RR", qrels=QRELS, system="model").collect()
    assert dict(values.filter(query="q2").select("model", "RR").rows()) == {"a": 1.0, "b": 0.0}


def test_a_judged_table_and_check_take_the_system():
    judged = rank.judge(RUN, QRELS, system="model")
    values = rank.evaluate(judged, "RR", system="model")
    assert values.equals(rank.evaluate(RUN, "RR", qrels=QRELS, system="model"))
    assert rank.check(RUN, QRELS, system="model").equals(rank.check(AS_SYSTEM, QRELS))
    assert "item twice in a ranking" in rank.check(RUN, QRELS)["finding"]


def test_no_system_crosses_no_key():
    judged = rank.judge(AS_SYSTEM, QRELS, keys="system", system=None)
    assert judged.filter(query="q2")["system"].to_list() == ["a"]


def test_a_missing_or_unfit_system_is_refused():
    for call in (rank.judge, rank.judge_subtopics, rank.check):
        qrels = SUBTOPICS if call is rank.judge_subtopics else QRELS
        with pytest.raises(DataError, match=r"has no column 'modell' \(did you mean 'model'"):
            call(RUN, qrels, system="modell")
    with pytest.raises(DataError, match="has no column 'modell'"):
        rank.evaluate(RUN, "RR", qrels=QRELS, system="modell")
    with pytest.raises(ValueError, match="system names 'query'"):
        rank.judge(RUN, QRELS, system="query")


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_one_name_is_a_list_of_one(lazy):
    run = RUN.lazy() if lazy else RUN

    def same(call, **options):
        one, several = (
            call(**chosen).lazy().collect()
            for chosen in (options, {name: [given] for name, given in options.items()})
        )
        assert_frame_equal(one, several, check_row_order=False)

    same(lambda **options: rank.judge(run, QRELS, **options), keys="model", attributes="kind")
    same(lambda **options: rank.check(run, QRELS, **options), keys="model")
    judged = rank.judge(run, QRELS, keys="model", attributes="kind")
    same(lambda **options: rank.evaluate(judged, "RR", **options), keys="model", by="kind")
    same(lambda **options: rank.evaluate(run, "RR", qrels=QRELS, **options), keys="model", attributes="kind")
    values = rank.evaluate(judged, ["RR", "AP"], keys="model", by="kind")
    same(lambda **options: rank.summarize(values, **options), by="kind", measures="AP")


def test_judge_knows_the_conventions_of_evaluate():
    for convention in (*CONVENTIONS, *programs()):
        rank.evaluate(RUN, "num_ret", qrels=QRELS, keys="model", convention=convention)
        assert rank.judge(RUN, QRELS, keys="model", convention=convention).height
    with pytest.raises(ValueError, match="convention must be one of"):
        rank.judge(RUN, QRELS, keys="model", convention="trec")
