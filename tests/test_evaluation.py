"""Evaluate and summarize: the flat plan equals the expressions, parts equal the whole, and refusals."""

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_rank as rank
from polars_rank import scanning
from polars_rank.catalogue import parse
from polars_rank.errors import DataError
from polars_rank.flat import is_flat

FLAT = [
    *("ndcg@10", "ndcg", "ndcg(gain=exponential)@3", "ndcg(empty=None)@2", "ndcg(empty=1.0)", "dcg@5", "dcg"),
    *("dcg(gain=exponential)@2", "ideal_dcg@2", "ideal_dcg(gain=exponential)", "AP", "AP@3", "AP(rel=2)"),
    *("AP(rel=2)@5", "AP(rel=0)", "AP(denominator=min)@3", "AP(denominator=found)@3", "AP(denominator=k)@3"),
    *(
        "AP(denominator=k)",
        "AP(empty=None)",
        "P@5",
        "P",
        "P(rel=2)@5",
        "P(denominator=min)@5",
        "P(rel=0.5)@2",
    ),
    *(
        "P(denominator=min)",
        "R@5",
        "R",
        "R(denominator=min)@2",
        "R(empty=None)@2",
        "f_measure@3",
        "f_measure",
    ),
    *("f_measure(beta=2)@3", "f_measure(empty=1.0)", "Rprec", "Rprec(rel=2)", "Success@2", "Success"),
    *("Success(empty=None)", "RR", "RR@2", "RR(rel=3)", "RR(empty=None)", "judged_share@3", "judged_share"),
    *("num_ret", "num_rel", "num_rel_ret", "num_relevant_returned@2", "NumRel(rel=0)"),
]
OTHERS = [
    *("bpref", "err", "rbp", "ndcg(ideal=list)@3", "P(denominator=returned)@3", "AP(judged_only=True)"),
    *("nDCG(gains={1: 3, 2: 7})@3", "Rprec_mult_0.5", "IPrec@0.5", "11pt_avg", "infAP", "SetAP", "SetRelP"),
    *("unj_3", "num_nonrel_judged_ret", "num_q", "utility", "rbp_resid", "RBP(max_rel=highest)", "Compat"),
    *("SDCG(max_rel=3)@3", "BPM(max_rel=3)@3", "INSQ(max_rel=3)", "INST(max_rel=3)", "NERR9(max_rel=3)@3"),
    *("Accuracy@3", "infAP(judged_only=True)"),
]


def close(left, right):
    if left is None or right is None:
        return left is right
    return (math.isnan(left) and math.isnan(right)) or math.isclose(left, right, rel_tol=1e-12, abs_tol=1e-12)


def same(left, right, measures):
    keys = [name for name in left.columns if name not in measures]
    assert left.select(keys).equals(right.select(keys))
    for name in measures:
        wrong = [(a, b) for a, b in zip(left[name], right[name], strict=True) if not close(a, b)]
        assert not wrong, f"{name}: {wrong[:3]}"


@st.composite
def judged_tables(draw):
    whole = draw(st.booleans())
    ranks = st.sampled_from([None, -1, 0, 1, 2, 3, 4, 7, 12] + ([] if whole else [math.nan, 0.5, 1.5, 2.25]))
    grades = st.sampled_from([None, -2, 0, 0, 1, 2, 3] + ([] if whole else [math.nan, 0.5, 1.5]))
    rows = draw(st.lists(st.tuples(st.integers(0, 6), ranks, grades), max_size=60))
    kind = pl.Int16 if whole else pl.Float64
    table = pl.DataFrame(rows, schema={"query": pl.Int64, "rank": kind, "relevance": kind}, orient="row")
    return table.sort("query") if draw(st.booleans()) else table


@given(judged_tables(), st.lists(st.sampled_from(FLAT), min_size=1, unique=True), st.booleans())
def test_the_flat_plan_gives_the_values_of_the_expressions(table, measures, lazy):
    got = rank.evaluate(table.lazy() if lazy else table, measures).lazy().collect()
    stepwise = table.group_by("query").agg(parse(name).expression().alias(name) for name in measures)
    same(got, stepwise.sort("query").select(got.columns), measures)


def test_every_flat_measure_of_the_list_is_flat():
    assert [name for name in FLAT if not is_flat(parse(name))] == []
    assert [name for name in OTHERS if is_flat(parse(name))] == []


@st.composite
def runs(draw):
    row = st.tuples(st.integers(0, 9), st.integers(0, 8), st.sampled_from("ab"), st.integers(0, 5))
    rows = draw(st.lists(row, min_size=1, max_size=80, unique_by=lambda r: r[:3]))
    schema = {"query": pl.Int64, "item": pl.Int64, "system": pl.String, "score": pl.Float64}
    run = pl.DataFrame(rows, schema=schema, orient="row")
    if draw(st.booleans()):
        run = run.filter(system="a").drop("system")
    if draw(st.booleans()):
        run = run.sort("query")
    judged = st.tuples(st.integers(0, 12), st.integers(0, 8), st.integers(-1, 3))
    rows = draw(st.lists(judged, min_size=1, max_size=60, unique_by=lambda r: r[:2]))
    return run, pl.DataFrame(
        rows, schema={"query": pl.Int64, "item": pl.Int64, "relevance": pl.Int64}, orient="row"
    )


OPTIONS = [
    {},
    {"queries": "both"},
    {"queries": "all"},
    {"queries": "run"},
    {"judged_only": True},
    {"ties": "worst", "depth": 3},
    {"ties": "item-ascending"},
    {"ties": "item-text-descending"},
    {"score_dtype": "float32", "descending": False},
]


@given(runs(), st.sampled_from(OPTIONS), st.lists(st.sampled_from(FLAT + OTHERS), min_size=1, unique=True))
def test_a_run_scored_whole_or_in_parts_has_the_values_of_its_judged_table(tables, options, measures):
    run, qrels = tables
    if run.height and not set(run["query"]) & set(qrels["query"]):
        qrels = pl.concat([qrels, pl.DataFrame({"query": run["query"][:1], "item": [99], "relevance": [1]})])
    wanted = rank.evaluate(rank.judge(run, qrels, **options), measures)
    same(rank.evaluate(run, measures, qrels=qrels, **options), wanted, measures)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanning, "ROWS_AT_ONCE", 10)
        patch.setattr(scanning, "ROWS_A_PASS", 15)
        parts = rank.evaluate(run.lazy(), measures, qrels=qrels.lazy(), **options).collect()
    same(parts, wanted, measures)


def test_a_plan_over_a_scan_reads_nothing_before_it_runs(tmp_path):
    run = tmp_path / "run.parquet"
    pl.DataFrame({"query": ["q"], "item": ["a"], "score": [1.0]}).write_parquet(run)
    qrels = pl.DataFrame({"query": ["q"], "item": ["a"], "relevance": [1]})
    plan = rank.evaluate(pl.scan_parquet(run), ["AP", "RR"], qrels=qrels)
    assert plan.select("RR").collect().rows() == [(1.0,)]
    assert plan.filter(pl.col("AP") > 1).collect().height == 0
    assert plan.head(1).collect().height == 1


@pytest.mark.parametrize("ids", ["abbba_", "aabb__", "abab_c", "_aabbc"])
def test_a_null_query_is_refused_wherever_a_long_run_is_cut(monkeypatch, ids):
    monkeypatch.setattr(scanning, "ROWS_AT_ONCE", 4)
    run = pl.DataFrame(
        {"query": [None if i == "_" else i for i in ids], "item": list("xyzuvw"), "score": 1.0}
    )
    qrels = pl.DataFrame({"query": ["a", "b"], "item": ["x", "x"], "relevance": [1, 1]})
    with pytest.raises(rank.DataError, match="query has a null"):
        rank.evaluate(run.lazy(), "RR", qrels=qrels.lazy()).collect()


def test_progress_is_told_in_rows(monkeypatch):
    told = []
    run = pl.DataFrame({"query": [i // 3 for i in range(30)], "item": list(range(30)), "score": [1.0] * 30})
    qrels = pl.DataFrame({"query": [0, 5], "item": [0, 15], "relevance": [1, 1]})
    monkeypatch.setattr(scanning, "ROWS_AT_ONCE", 9)
    token = scanning.PROGRESS.set(lambda done, rows: told.append((done, rows)))
    try:
        rank.evaluate(run.lazy(), "AP", qrels=qrels.lazy()).collect()
    finally:
        scanning.PROGRESS.reset(token)
    assert told
    assert told[-1] == (30, 30)
    assert told == sorted(told)


RUN = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [0.2, 0.9], "locale": ["de", "de"]})
QRELS = pl.DataFrame({"query": ["q", "q"], "item": ["a", "c"], "relevance": [2, 1]})


def test_columns_carry_the_text_that_was_given():
    got = rank.evaluate(RUN, ["nDCG@10", "map", "precision@2-l2", rank.rbp(k=5)], qrels=QRELS)
    assert got.columns == ["query", "nDCG@10", "map", "precision@2-l2", "rbp@5"]


def test_a_slice_that_a_missed_item_would_fall_out_of_is_refused():
    with pytest.raises(rank.DataError, match="'locale', which varies within a ranking"):
        rank.evaluate(RUN, "R", qrels=QRELS, by=["locale"])
    carried = rank.evaluate(RUN, "R", qrels=QRELS, attributes=["locale"], by=["locale"])
    assert carried.rows() == [("q", "de", 0.5)]


def test_a_measure_may_rank_among_the_judged_for_itself():
    got = rank.evaluate(RUN, ["RR", "RR(judged_only=True)"], qrels=QRELS)
    assert got.select(pl.exclude("query")).rows() == [(0.5, 1.0)]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: rank.evaluate(RUN, "AP"), rank.DataError, "qrels=qrels"),
        (lambda: rank.evaluate(RUN, "ndgc@10", qrels=QRELS), ValueError, "did you mean 'ndcg'"),
        (lambda: rank.evaluate(RUN, "hits@10", qrels=QRELS), ValueError, "ambiguous"),
        (lambda: rank.evaluate(RUN, [], qrels=QRELS), ValueError, "measures is empty"),
        (lambda: rank.evaluate(rank.judge(RUN, QRELS), "mean_rank"), ValueError, "one row a query"),
        (lambda: rank.evaluate(RUN, "hits_at_10", qrels=QRELS), ValueError, "one row a query"),
        (lambda: rank.to_sql("rbp.80-l2", convention="ranx"), ValueError, "-l has no meaning"),
        (lambda: rank.evaluate(RUN, ["AP", "AP"], qrels=QRELS), ValueError, "twice"),
        (lambda: rank.evaluate(RUN, rank.ndcg, qrels=QRELS), TypeError, "names or expressions"),
        (lambda: rank.evaluate(RUN, [None], qrels=QRELS), TypeError, "names or expressions.*None"),
        (lambda: rank.evaluate(RUN, "AP", qrels=QRELS, by="day"), TypeError, r"by=\['day'\]"),
        (lambda: rank.evaluate(RUN, "AP", qrels=QRELS, keys=["item"]), ValueError, "keys names 'item'"),
        (lambda: rank.judge(RUN, QRELS, attributes=["rank"]), ValueError, "attributes names 'rank'"),
        (lambda: rank.judge(RUN, QRELS, keys=["a", "a"]), ValueError, "keys names 'a' twice"),
        (lambda: rank.evaluate(rank.judge(RUN, QRELS), "AP", ties="best"), ValueError, "give qrels"),
        (lambda: rank.evaluate(QRELS, "AP", qrels=RUN), rank.DataError, "swapped"),
        (lambda: rank.evaluate(RUN, "AP", qrels=QRELS, keys=["sistem"]), rank.DataError, "sistem"),
        (lambda: rank.summarize(RUN), rank.DataError, "no measure among its columns"),
        (lambda: rank.summarize(pl.DataFrame({"AP": [1.0]}), by=["day"]), rank.DataError, "'day'"),
    ],
)
def test_what_is_refused_is_told(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("table", ["run", "lazy", "judged"])
@pytest.mark.parametrize("name", ["best", "grades", "_rank", "_grade", "total 1", "_rank_among_judged"])
def test_columns_may_be_called_as_anything(table, name):
    run = pl.DataFrame({"query": ["a", "a", "b"], "item": ["x", "y", "x"], "score": [2.0, 1.0, 1.0]})
    run = run.with_columns(day=pl.lit(1), place=pl.lit("here"))
    qrels = pl.DataFrame({"query": ["a", "a", "b"], "item": ["y", "z", "x"], "relevance": [1, 2, 0]})
    measures = ["nDCG@10", "AP", "R@10", "P", "judged_share", "RR(judged_only=True)"]
    wanted = rank.evaluate(run, measures, qrels=qrels).select(measures)
    for ours in ("query", "day", "place"):
        new = {ours: name}
        changed = run.rename(new), qrels.rename(new, strict=False)
        named = {"query": new.get("query", "query"), "keys": [new.get("day", "day")]}
        by = [new.get("place", "place")]
        if table == "judged":
            got = rank.evaluate(rank.judge(*changed, attributes=by, **named), measures, by=by, **named)
        else:
            frame = changed[0].lazy() if table == "lazy" else changed[0]
            got = rank.evaluate(frame, measures, qrels=changed[1], attributes=by, by=by, **named)
        assert got.lazy().collect().select(measures).equals(wanted)


def test_a_measure_is_not_called_as_a_column_that_is_carried():
    judged = rank.judge(RUN, QRELS).with_columns(AP=pl.lit("x"))
    for carried in ({"by": ["AP"]}, {"keys": ["AP"]}):
        with pytest.raises(ValueError, match="measures='AP'"):
            rank.evaluate(judged, "AP", **carried)


def test_an_ambiguous_name_is_decided_by_a_convention():
    got = rank.evaluate(RUN, "hits@10", qrels=QRELS, convention="ranx")
    assert got["hits@10"].to_list() == [1.0]


def test_counts_are_summed_and_nulls_are_counted():
    per_query = pl.DataFrame({"query": ["a", "b"], "num_ret": [3.0, 5.0], "R@5": [None, 0.5], "note": [7, 8]})
    got = rank.summarize(per_query).select("measure", "value", "n", "missing").rows()
    assert got == [("num_ret", 8.0, 2, 0), ("R@5", 0.5, 1, 1)]


def test_gm_map_is_average_precision_and_its_mean_is_geometric():
    judged = pl.DataFrame({"query": [1, 2, 3], "rank": [1, 4, None], "relevance": [1, 1, 1]})
    per_query = rank.evaluate(judged, ["gm_map", "map"])
    assert per_query["gm_map"].to_list() == per_query["map"].to_list() == [1.0, 0.25, 0.0]
    values = dict(rank.summarize(per_query).select("measure", "value").rows())
    assert math.isclose(values["gm_map"], (1.0 * 0.25 * 1e-5) ** (1 / 3))
    assert math.isclose(values["map"], 1.25 / 3)


@pytest.mark.parametrize("dtype", [pl.String, pl.Date, pl.Duration, pl.Categorical])
@pytest.mark.parametrize("column", ["rank", "relevance"])
def test_what_is_no_number_is_refused(column, dtype):
    judged = pl.DataFrame({"query": "q", "rank": [1, 2], "relevance": [1, 0]})
    values = pl.Series(column, [None, None], dtype=dtype)
    with pytest.raises(DataError, match=f"table.{column} has type .* no number"):
        rank.evaluate(judged.with_columns(values), "AP")


def test_an_aggregate_may_be_chosen_for_all_measures():
    table = pl.DataFrame({"query": [1, 2], "AP": [0.25, 1.0], "num_ret": [3.0, 12.0]})
    for aggregate, wanted in (("geometric", [0.5, 6.0]), ("mean", [0.625, 7.5]), ("sum", [1.25, 15.0])):
        got = rank.summarize(table, aggregate=aggregate)["value"].to_list()
        assert got == pytest.approx(wanted, abs=1e-12)
    assert rank.summarize(table)["value"].to_list() == [0.625, 15.0]
    with pytest.raises(ValueError, match="aggregate must be one of 'mean', 'sum', 'geometric'"):
        rank.summarize(table, aggregate="harmonic")
