"""`judge` in two engines: whatever the tables and options, both give the same or both refuse."""

import json
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tables import ask, assert_same_rows, tables

from polars_rank import DataError
from polars_rank.evaluation.per_query import evaluate
from polars_rank.judging.judged_table import judge

# Few random tables have a judged item among those returned.
pytestmark = pytest.mark.filterwarnings("ignore::polars_rank.NoMatchWarning")

REPORTED = {
    case["id"]: case
    for case in map(
        json.loads, (Path(__file__).parents[1] / "cases" / "reported.jsonl").read_text("utf-8").splitlines()
    )
    if case["task"] == "metric"
}


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
    others = [
        name
        for name in ("day", "note", "system")
        if name in columns and name not in chosen.get("keys", ["system"])
    ]
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


@given(st.data())
def test_both_engines_take_attributes_from_a_table_alike(data):
    run, qrels = data.draw(tables())
    told = pl.DataFrame(
        {"query": run["query"].append(qrels["query"].cast(run["query"].dtype)).unique().sort()}
    )
    told = told.with_columns(locale=pl.int_range(pl.len()) % 2).slice(data.draw(st.integers(0, 2)))
    try:
        expected = judge(run, qrels, attributes=told, duplicates="max")
    except DataError:
        return
    assert_same_rows(ask("judge", run, qrels, attributes=told, duplicates="max"), expected)


@given(st.data())
def test_row_order_changes_nothing(data):
    run, qrels = data.draw(tables())
    chosen = data.draw(options(run.columns)) | {"duplicates": "max"}
    shuffled = run.sample(fraction=1, shuffle=True, seed=data.draw(st.integers(0, 9)))
    measured = ["query", "item", "rank", "relevance"]
    try:
        expected = judge(run, qrels, **chosen)
    except DataError:
        return
    assert_same_rows(judge(shuffled, qrels.reverse(), **chosen).select(measured), expected.select(measured))


ENGINES = {"polars": judge, "sql": lambda run, qrels, **options: ask("judge", run, qrels, **options)}


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param]


def table(rows, *columns):
    kinds = {"query": pl.String, "item": pl.String, "rank": pl.Int64}
    return pl.DataFrame(rows, schema={name: kinds.get(name, pl.Float64) for name in columns}, orient="row")


def run_of(rows):
    whole = [[query, item, float(score), rank] for query, item, score, rank in rows]
    return table(whole, "query", "item", "score", "rank")


def case(name):
    given = REPORTED[name]["input"]
    return given, table([[q, i, float(g)] for q, i, g in given["qrels"]], "query", "item", "relevance")


def value(judged, measure):
    return dict(evaluate(judged, measure).rows())


@pytest.mark.parametrize(
    ("options", "branch"),
    [
        ({}, "score desc, item id desc (trec_eval)"),
        ({"ties": "item-ascending"}, "score desc, item id asc"),
        ({"order_by": "rank"}, "score desc, given rank"),
    ],
)
def test_reported_tie_of_a_renamed_item(engine, options, branch):
    given, qrels = case("tie-same-run-renamed-doc")
    expected = REPORTED["tie-same-run-renamed-doc"]["expected"]["branches"][branch]
    for name, rows in given["runs"].items():
        assert value(engine(run_of(rows), qrels, **options), "nDCG")["t1"] == pytest.approx(
            expected[name], abs=1e-12
        )


@pytest.mark.parametrize(
    ("ties", "expected"),
    [("item-descending", 1 / 3), ("item-ascending", 1 / 2), ("best", 1.0), ("worst", 1 / 4)],
)
def test_reported_constant_scorer(engine, ties, expected):
    given, qrels = case("tie-constant-scorer-row-order")
    for order in given["options"]["also_with_row_orders"]:
        run = table([["t1", item, 0.5] for item in order], "query", "item", "score")
        assert value(engine(run, qrels, ties=ties), "RR@10") == {"t1": pytest.approx(expected, abs=1e-15)}


@pytest.mark.parametrize(("score_dtype", "expected"), [("float64", 1.0), ("float32", 0.5)])
def test_reported_tie_made_by_single_precision(engine, score_dtype, expected):
    given, qrels = case("tie-created-by-float32")
    assert value(engine(run_of(given["run"]), qrels, score_dtype=score_dtype), "RR") == {"t1": expected}


@pytest.mark.parametrize("name", ["duplicate-identical-qrels-row", "duplicate-conflicting-qrels-rows"])
def test_reported_repeated_judgement(engine, name):
    given, qrels = case(name)
    run = run_of(given["run"])
    with pytest.raises((DataError, duckdb.Error), match=r"t1.*g1"):
        engine(run, qrels)
    highest = engine(run, qrels, duplicates="max")
    assert value(highest, "nDCG") == {"t1": 1.0}
    assert value(highest, "R@2") == {"t1": 1.0}
    if name == "duplicate-identical-qrels-row":
        assert value(engine(run, qrels, duplicates="first"), "P@2") == {"t1": 0.5}
    else:
        with pytest.raises((DataError, duckdb.Error), match=r"t1.*g1"):
            engine(run, qrels, duplicates="first")


@pytest.mark.parametrize(("judged_only", "expected"), [(False, 0.0), (True, 1.0)])
def test_reported_negative_grade_among_judged_only(engine, judged_only, expected):
    given, qrels = case("judged-only-drops-negative-grade")
    assert value(engine(run_of(given["run"]), qrels, judged_only=judged_only), "P@1") == {"t1": expected}


@pytest.mark.parametrize(("queries", "expected"), [("qrels", {"t1": 1.0, "t2": 0.0}), ("both", {"t1": 1.0})])
def test_reported_query_missing_from_the_run(engine, queries, expected):
    given, qrels = case("query-missing-from-run")
    judged = engine(run_of(given["run"]), qrels, queries=queries)
    for measure in ("RR", "nDCG", "AP"):
        assert value(judged, measure) == expected


def test_reported_topics_that_do_not_overlap(engine):
    given, qrels = case("topics-do-not-overlap")
    with pytest.raises((DataError, duckdb.Error), match=r"in common.*12.*13.*12\.1.*13\.1"):
        engine(run_of(given["run"]), qrels)


@pytest.mark.parametrize(("drop_identical", "expected"), [(False, 0.6309297535714575), (True, 1.0)])
def test_reported_item_that_is_the_query(engine, drop_identical, expected):
    given, qrels = case("query-id-equals-doc-id")
    judged = engine(run_of(given["run"]), qrels, drop_identical=drop_identical)
    assert value(judged, "nDCG@10") == {"a5": pytest.approx(expected, abs=1e-12), "c3": 1.0}


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("missing", [None, float("nan")])
def test_reported_score_that_is_not_a_number_comes_last(engine, descending, missing):
    run = table([["t1", "n", missing], ["t1", "a", 0.9], ["t1", "b", 0.5]], "query", "item", "score")
    judged = engine(run, case("nan-score")[1], descending=descending)
    order = judged.sort("rank")["item"].to_list()
    assert order == (["a", "b", "n"] if descending else ["b", "a", "n"])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(pl.Int64, pl.String), (pl.Float64, pl.Int64), (pl.String, pl.Int64), (pl.String, pl.Binary)],
)
def test_reported_ids_of_different_types_are_refused(engine, ours, theirs):
    run = pl.DataFrame({"query": ["7"], "item": ["101"], "score": [1.0]})
    qrels = pl.DataFrame({"query": ["7"], "item": ["101"], "relevance": [1]})
    with pytest.raises((DataError, duckdb.Error), match=r"run\.query (has type|is) .*"):
        engine(_cast(run, ours), _cast(qrels, theirs))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (pl.Int64, pl.Int32),
        (pl.UInt64, pl.Int8),
        (pl.Categorical, pl.String),
        (pl.Enum(["101", "7", "20"]), pl.Enum(["7", "20", "101"])),
        (pl.Enum(["101", "7", "20"]), pl.Enum(["101", "7", "20"])),
        (pl.Binary, pl.Binary),
    ],
)
def test_ids_of_one_kind_match(engine, ours, theirs):
    run = pl.DataFrame({"query": ["7"] * 3, "item": ["20", "101", "7"], "score": [1.0] * 3})
    qrels = pl.DataFrame({"query": ["7"], "item": ["101"], "relevance": [1]})
    judged = engine(_cast(run, ours), _cast(qrels, theirs))
    assert judged["relevance"].drop_nulls().to_list() == [1.0]
    # Integers by value, anything else by its bytes.
    order = [101, 20, 7] if ours in (pl.Int64, pl.UInt64) else ["7", "20", "101"]
    found = [i.decode() if isinstance(i, bytes) else i for i in judged.sort("rank")["item"].to_list()]
    assert found == order


def _cast(frame, dtype):
    ids = pl.col("query", "item")
    return frame.with_columns((ids.cast(pl.Int64) if dtype.is_numeric() else ids).cast(dtype))


def test_reported_unjudged_rows_and_the_condensed_list(engine):
    given, qrels = case("precision-with-unjudged")
    run = run_of(given["run"])
    whole, condensed = engine(run, qrels), engine(run, qrels, judged_only=True)
    assert value(whole, "P@4") == value(condensed, "P@4") == value(whole, "Judged@4") == {"t1": 0.5}


def test_the_slice_of_a_missed_item_is_not_lost(engine):
    run = pl.DataFrame({"query": ["q"], "item": ["a"], "score": [1.0], "locale": ["de"]})
    qrels = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "relevance": [1, 1]})
    judged = engine(run, qrels, attributes=["locale"])
    assert judged["locale"].to_list() == ["de", "de"]
    assert evaluate(judged, "recall", by=["locale"])["recall"].to_list() == [0.5]


def test_a_run_that_counts_from_zero(engine):
    run = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "rank": [0, 1]})
    qrels = pl.DataFrame({"query": ["q"], "item": ["a"], "relevance": [1]})
    with pytest.raises((DataError, duckdb.Error), match="rank_base"):
        engine(run, qrels)
    assert engine(run, qrels, rank_base=0).sort("item")["rank"].to_list() == [1, 2]


def test_only_systems_are_crossed_with_the_judged_queries(engine):
    run = pl.DataFrame(
        {"query": ["q", "r"], "day": [1, 2], "system": ["x", "y"], "item": ["a", "a"], "score": [1.0, 1.0]}
    )
    qrels = pl.DataFrame({"query": ["q", "r", "s"], "item": ["a", "a", "a"], "relevance": [1, 1, 1]})
    by_system = engine(run, qrels)
    assert sorted(by_system.select("query", "system", "rank").rows(), key=repr) == [
        ("q", "x", 1),
        ("q", "y", None),
        ("r", "x", None),
        ("r", "y", 1),
        ("s", "x", None),
        ("s", "y", None),
    ]
    by_day = engine(run, qrels, keys=["system", "day"])
    assert sorted(by_day.select("query", "system", "day", "rank").rows(), key=repr) == [
        ("q", "x", 1, 1),
        ("q", "y", 1, None),
        ("r", "x", 2, None),
        ("r", "y", 2, 1),
    ]


def test_depth_cuts_before_judged_items_are_ranked_anew(engine):
    run = pl.DataFrame({"query": ["q"] * 3, "item": ["a", "b", "c"], "score": [3.0, 2.0, 1.0]})
    qrels = pl.DataFrame({"query": ["q", "q"], "item": ["b", "c"], "relevance": [1, 1]})
    judged = engine(run, qrels, depth=2, judged_only=True)
    assert dict(judged.select("item", "rank").rows()) == {"b": 1, "c": None}


def test_places_stay_when_repeated_items_count_once(engine):
    run = pl.DataFrame({"query": ["q"] * 3, "item": ["a", "a", "b"], "score": [3.0, 2.0, 1.0]})
    qrels = pl.DataFrame({"query": ["q"], "item": ["b"], "relevance": [1]})
    judged = engine(run, qrels, duplicates="first")
    assert dict(judged.select("item", "rank").rows()) == {"a": 1, "b": 3}


@pytest.mark.parametrize(
    ("ranks", "ties", "places"),
    [
        ([1, 1, 3], "item-descending", [2, 1, 3]),
        ([1, 1, 3], "item-ascending", [1, 2, 3]),
        ([1, 1, 3], "best", [2, 1, 3]),
        ([1, 1, 1], "worst", [2, 3, 1]),
        ([1, 1, 1], "item-descending", [3, 2, 1]),
        ([2, 2, 3], "item-ascending", [2, 3, 4]),
        ([5, 5, 9], "item-ascending", [5, 6, 9]),
        ([1.5, 1.5, 4.0], "item-ascending", [1, 2, 4]),
        ([1.2, 1.9, 2.0], "item-descending", [1, 2, 3]),
        ([3.7, 1.0, None], "item-descending", [3, 1, None]),
        ([1, 2, 7], "item-descending", [1, 2, 7]),
    ],
)
@pytest.mark.parametrize("by_score", [False, True])
def test_given_ranks_become_places_that_differ(engine, ranks, ties, places, by_score):
    kind = pl.Float64 if any(isinstance(rank, float) for rank in ranks) else pl.UInt8
    run = pl.DataFrame({"query": "q", "item": ["a", "b", "c"], "rank": pl.Series(ranks, dtype=kind)})
    run = run.with_columns(score=1.0) if by_score else run
    qrels = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "relevance": [1, 2]})
    judged = engine(run, qrels, ties=ties, order_by="rank")
    assert judged.sort("item")["rank"].to_list() == places
    if kind == pl.UInt8:
        zero = run.with_columns(pl.col("rank") - 1)
        again = engine(zero, qrels, ties=ties, order_by="rank", rank_base=0)
        assert again.sort("item")["rank"].to_list() == places


def test_tied_given_ranks_keep_measures_in_their_range(engine):
    run = pl.DataFrame({"query": "q", "item": ["a", "b", "c"], "rank": [1, 1, 3]})
    qrels = pl.DataFrame({"query": "q", "item": ["a", "b"], "relevance": [1, 1]})
    values = evaluate(engine(run, qrels), ["P@1", "AP", "nDCG"])
    assert values.drop("query").row(0) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
@pytest.mark.parametrize("duplicates", ["error", "first", "max"])
def test_infinite_grades_and_ranks_are_refused(value, duplicates):
    run = pl.DataFrame({"query": "q", "item": ["a", "b"], "score": [1.0, value]})
    qrels = pl.DataFrame({"query": "q", "item": ["a", "b"], "relevance": [1.0, value]})
    for frame in (run, run.lazy()):
        with pytest.raises(DataError, match=r"relevance is -?inf for query 'q', item 'b' \(1 such"):
            judge(frame, qrels, duplicates=duplicates).lazy().collect()
        ranks = frame.select("query", "item", rank="score")
        with pytest.raises(DataError, match=r"holds an infinite rank|counts from 1"):
            judge(ranks, qrels.drop("relevance"), duplicates=duplicates).lazy().collect()
        # An infinite score only orders.
        judged = judge(frame, qrels.drop("relevance"), duplicates=duplicates).lazy().collect()
        assert judged.sort("rank")["item"].to_list() == (["b", "a"] if value > 0 else ["a", "b"])


def test_a_query_that_loses_all_its_rows_to_drop_identical_is_kept(engine):
    run = pl.DataFrame(
        {"query": [0, 0, 0, 1, 1, 1], "item": [0, 1, 2] * 2, "score": [1.0, 0.9, 0.8, 0.0, 1.0, 2.0]}
    )
    qrels = pl.DataFrame({"query": [0, 0, 1], "item": [0, 1, 1], "relevance": [1, 1, 1]})
    measures = ["nDCG@1", "R@1", "AP@2"]
    options = {"drop_identical": True, "queries": "both"}
    judged = engine(run, qrels, **options)
    assert evaluate(judged, measures).select(pl.col(measures).mean()).row(0) == (0.5, 0.25, 0.25)
    run = pl.DataFrame({"query": ["q1", "q2"], "item": ["q1", "d2"], "score": [1.0, 0.5]})
    qrels = pl.DataFrame({"query": ["q1", "q2"], "item": ["d1", "d2"], "relevance": [1, 1]})
    assert value(engine(run, qrels, **options), "nDCG@1") == {"q1": 0.0, "q2": 1.0}


@pytest.mark.parametrize("queries", ["qrels", "both", "run", "all"])
def test_a_system_that_loses_all_its_rows_to_drop_identical_is_kept(queries):
    run = pl.DataFrame({"system": ["x", "y"], "query": ["q", "q"], "item": ["q", "d"], "score": [1.0, 1.0]})
    qrels = pl.DataFrame({"query": ["q", "q"], "item": ["d", "q"], "relevance": [1, 1]})
    for frame in (run, run.lazy()):
        got = evaluate(frame, ["R", "num_ret"], qrels=qrels, drop_identical=True, queries=queries)
        assert got.lazy().collect().rows() == [("q", "x", 0.0, 0.0), ("q", "y", 0.5, 1.0)]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("measure", ["AP", "P(denominator=returned)"])
def test_a_repeated_row_advises_the_key_that_tells_rankings_apart(measure, lazy):
    run = pl.DataFrame(
        {"query": "q", "item": ["a", "a"], "model": ["x", "y"], "language": "de", "score": [1.0, 2.0]}
    )
    qrels = pl.DataFrame({"query": ["q"], "item": ["a"], "relevance": [1]})

    def told(frame, **options):
        with pytest.raises(DataError, match=r"run has a row twice: query 'q', .*item 'a'") as error:
            evaluate(frame.lazy() if lazy else frame, measure, qrels=qrels, **options).lazy().collect()
        return str(error.value)

    assert "use keys=['model'] if that tells rankings apart; otherwise duplicates='first'" in told(run)
    assert "use keys=['language', 'model'] if" in told(run, keys=["language"])
    assert "keys=" not in told(run.drop("model"))
    assert "keys=" not in told(run.with_columns(model=pl.lit("x")))
    assert "duplicates='first' keeps the best-ranked" in told(run.drop("model"))


def test_qrels_without_relevance_grade_one_and_null_is_unjudged(engine):
    run = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [2.0, 1.0]})
    bare = pl.DataFrame({"query": ["q"], "item": ["a"]})
    assert dict(engine(run, bare).select("item", "relevance").rows()) == {"a": 1.0, "b": None}
    null = bare.with_columns(relevance=pl.lit(None, pl.Int64))
    assert dict(engine(run, null, queries="run").select("item", "relevance").rows()) == {"a": None, "b": None}
    # A query whose grades are all null is not judged.
    assert engine(run, null).is_empty()
    both = pl.concat([null, pl.DataFrame({"query": ["q"], "item": ["c"], "relevance": [0]})])
    assert engine(run, both)["item"].sort().to_list() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [(pl.Int64, 2**53, 2**53 + 1), (pl.Int64, -(2**63), 1 - 2**63), (pl.UInt64, 2**64 - 2, 2**64 - 1)],
)
@pytest.mark.parametrize("ties", ["item-descending", "item-ascending", "worst"])
def test_whole_scores_count_to_the_last_digit(engine, dtype, low, high, ties):
    scores = pl.Series([high, low, None] if ties == "item-descending" else [low, high, None], dtype=dtype)
    run = pl.DataFrame({"query": "q", "item": ["a", "b", "c"], "score": scores})
    qrels = pl.DataFrame({"query": ["q"], "item": ["a"], "relevance": [1]})
    for descending in (True, False):
        options = {"descending": descending, "ties": ties}
        place = 1 if (scores[0] == high) == descending else 2
        judged = engine(run, qrels, **options)
        assert dict(judged.select("item", "rank").rows()) == {"a": place, "b": 3 - place, "c": 3}
        assert evaluate(run, "RR", qrels=qrels, **options)["RR"].to_list() == [1 / place]
        if ties != "worst":
            assert ask("evaluate_run", run, qrels, **options)["reciprocal_rank"].to_list() == [1 / place]


def test_bytes_that_are_no_text_are_ordered_as_bytes(engine):
    run = pl.DataFrame({"query": "q", "item": [b"\xfe", b"\xff"], "score": [1, 1]})
    qrels = pl.DataFrame({"query": ["q"], "item": [b"\xff"]})
    judged = engine(run, qrels, ties="item-text-descending")
    assert dict(judged.select("item", "rank").rows()) == {b"\xff": 1, b"\xfe": 2}
    assert evaluate(run, "RR", qrels=qrels, ties="item-text-descending")["RR"].to_list() == [1.0]


@pytest.mark.parametrize("column", ["score", "rank"])
def test_an_order_that_is_no_number_is_refused(engine, column):
    run = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], column: ["1", "10"]})
    with pytest.raises((DataError, duckdb.Error), match=rf"run\.{column} has type .* no number|VARCHAR"):
        engine(run, pl.DataFrame({"query": ["q"], "item": ["a"]}))


def test_an_attribute_that_the_run_has_too_is_refused(engine):
    run = pl.DataFrame({"query": ["q"], "item": ["a"], "score": [1.0], "locale": ["de"]})
    told = pl.DataFrame({"query": ["q"], "locale": ["en"]})
    with pytest.raises((DataError, duckdb.Error), match=r"attributes has a column .?locale"):
        engine(run, pl.DataFrame({"query": ["q"], "item": ["a"]}), attributes=told)


def test_an_attribute_of_a_missed_query_comes_from_the_other_systems(engine):
    run = pl.DataFrame(
        {
            "query": ["q", "r"],
            "system": ["x", "y"],
            "item": ["a", "a"],
            "score": [1.0, 1.0],
            "locale": ["de", "en"],
        }
    )
    qrels = pl.DataFrame({"query": ["q", "r"], "item": ["a", "a"]})
    judged = engine(run, qrels, attributes=["locale"])
    assert sorted(judged.select("query", "system", "locale").rows()) == [
        ("q", "x", "de"),
        ("q", "y", "de"),
        ("r", "x", "en"),
        ("r", "y", "en"),
    ]


def test_an_attribute_that_varies_is_refused(engine):
    run = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [2.0, 1.0], "locale": ["de", "en"]})
    with pytest.raises((DataError, duckdb.Error), match=r"locale.? varies within a ranking"):
        engine(run, pl.DataFrame({"query": ["q"], "item": ["a"]}), attributes=["locale"])


def test_an_attribute_told_twice_is_refused(engine):
    run = pl.DataFrame({"query": ["q"], "item": ["a"], "score": [1.0]})
    told = pl.DataFrame({"query": ["q", "q"], "locale": ["en", "de"]})
    with pytest.raises((DataError, duckdb.Error), match=r"attributes has .*twice"):
        engine(run, pl.DataFrame({"query": ["q"], "item": ["a"]}), attributes=told)
