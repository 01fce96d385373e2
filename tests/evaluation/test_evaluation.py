"""Evaluate and summarize: the flat plan equals the expressions, parts equal the whole, and refusals."""

import math
import warnings

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_rank as rank
from polars_rank.core.errors import DataError
from polars_rank.evaluation import batches as scanning
from polars_rank.evaluation.shared_plan import is_flat
from polars_rank.measures.names import parse

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
    *("P(denominator=returned)@3", "P(denominator=judged)@3", "P(denominator=judged)", "SetRelP", "SetAP"),
    *("AP(denominator=returned)@2", "Rprec_mult_0.5", "Rprec_mult_2", "SetAP@3", "unj_3", "unjudged_share"),
]
OTHERS = [
    *("bpref", "err", "rbp", "ndcg(ideal=list)@3", "AP(num_relevant=3)", "AP(judged_only=True)"),
    *("nDCG(gains={1: 3, 2: 7})@3", "ndcg(ideal=k)", "IPrec@0.5", "11pt_avg", "infAP"),
    *("num_nonrel_judged_ret", "num_q", "utility", "rbp_resid", "RBP(max_rel=highest)", "Compat"),
    *("SDCG(max_rel=3)@3", "BPM(max_rel=3)@3", "INSQ(max_rel=3)", "INST(max_rel=3)", "NERR9(max_rel=3)@3"),
    *("pairwise_accuracy@3", "infAP(judged_only=True)"),
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
    ranks = st.sampled_from([None, -1, 1, 2, 3, 4, 7, 12] + ([] if whole else [math.nan, 0.5, 1.5, 2.25]))
    grades = st.sampled_from([None, -2, 0, 0, 1, 2, 3] + ([] if whole else [math.nan, 0.5, 1.5]))
    queries, systems = st.integers(0, 6) | st.none(), st.sampled_from(["a", "b", None])
    rows = draw(st.lists(st.tuples(queries, systems, ranks, grades), max_size=60))
    kind = pl.Int16 if whole else pl.Float64
    schema = {"query": pl.Int64, "system": pl.String, "rank": kind, "relevance": kind}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    table = table if draw(st.booleans()) else table.drop("system")
    return table.sort("query") if draw(st.booleans()) else table


def stepwise(judged, measures, ranking):
    """The values of the plain expressions; null where a ranking lacks the judgements that a measure needs."""
    if any("judged_only" in name for name in measures):
        kept = (pl.col("rank") >= 1) & pl.col("rank").is_not_nan() & (pl.col("relevance") >= 0)
        kept = pl.when(kept & pl.col("relevance").is_not_nan()).then("rank")
        judged = judged.with_columns(again=kept.rank("min").over(ranking))
    values = judged.group_by(ranking).agg(
        pl.col("relevance").is_not_nan().any().fill_null(False).alias("has judged rows"),
        *(
            parse(name).expression(rank="again" if "judged_only" in name else "rank").alias(name)
            for name in measures
        ),
    )
    needy = [name for name in measures if parse(name).measure.needs_judgements]
    return values.with_columns(pl.when("has judged rows").then(name).alias(name) for name in needy)


@given(judged_tables(), st.lists(st.sampled_from(FLAT + OTHERS), min_size=1, unique=True), st.booleans())
def test_a_judged_table_has_the_values_of_the_expressions(table, measures, lazy):
    got = rank.evaluate(table.lazy() if lazy else table, measures).lazy().collect()
    ranking = [name for name in ("query", "system") if name in table.columns]
    same(got, stepwise(table, measures, ranking).sort(ranking).select(got.columns), measures)


def test_every_flat_measure_of_the_list_is_flat():
    assert [name for name in FLAT if not is_flat(parse(name))] == []
    assert [name for name in OTHERS if is_flat(parse(name))] == []


@st.composite
def runs(draw):
    row = st.tuples(
        st.integers(0, 9),
        st.integers(0, 8),
        st.sampled_from("ab"),
        st.sampled_from([1, 2]),
        st.integers(0, 5),
        st.sampled_from([1.0, 1.0, 1.5, 2.0, 3.0, 3.5, 7.0, None]),
    )
    rows = draw(st.lists(row, min_size=1, max_size=80, unique_by=lambda r: r[:3]))
    names = ("query", "item", "system", "day", "score", "rank")
    kinds = (pl.Int64, pl.Int64, pl.String, pl.Int64, pl.Float64, pl.Float64)
    run = pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")
    run = run.drop(draw(st.sampled_from(["score", "rank"])))
    if draw(st.booleans()):
        run = run.filter(system="a").drop("system")
    if draw(st.booleans()):
        run = run.sort("query")
    judged = st.tuples(st.integers(0, 12), st.integers(0, 8), st.sampled_from([None, None, -1, 0, 1, 2, 3]))
    rows = draw(st.lists(judged, min_size=1, max_size=60, unique_by=lambda r: r[:2]))
    qrels = pl.DataFrame(
        rows, schema={"query": pl.Int64, "item": pl.Int64, "relevance": pl.Int64}, orient="row"
    )
    if not set(run["query"]) & set(qrels.drop_nulls()["query"]) and run.height:
        qrels = pl.concat([qrels, pl.DataFrame({"query": run["query"][:1], "item": [99], "relevance": [1]})])
    return run, qrels


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "queries": st.sampled_from(["both", "all", "run"]),
        "judged_only": st.just(True),
        "drop_identical": st.just(True),
        "depth": st.just(3),
        "ties": st.sampled_from(["worst", "best", "item-ascending", "item-text-descending"]),
        "score_dtype": st.just("float32"),
        "descending": st.just(False),
        "keys": st.sampled_from([["day"], []]),
    },
)
SOME = st.lists(st.sampled_from(FLAT + OTHERS), min_size=1, unique=True)


def keyed(run, options):
    """Keys that tell rankings apart: one of the tables has a row of an item for each system."""
    keys = options.get("keys")
    return options if keys is None or "system" not in run.columns else {**options, "keys": ["system", *keys]}


@pytest.mark.filterwarnings("ignore::polars_rank.NoMatchWarning")
@given(runs(), OPTIONS, SOME)
def test_a_run_scored_whole_or_in_parts_has_the_values_of_its_judged_table(tables, options, measures):
    run, qrels = tables
    options = keyed(run, options)
    judged = rank.judge(run, qrels, **options)
    keys = options.get("keys", ["system"] if "system" in run.columns else [])
    wanted = rank.evaluate(judged, measures, keys=keys)
    same(rank.evaluate(run, measures, qrels=qrels, **options), wanted, measures)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanning, "ROWS_AT_ONCE", 10)
        patch.setattr(scanning, "ROWS_A_PASS", 15)
        parts = rank.evaluate(run.lazy(), measures, qrels=qrels.lazy(), **options).collect()
    same(parts, wanted, measures)
    ranking = ["query", *keys]
    by_expression = stepwise(judged, measures, ranking)
    same(by_expression.sort(ranking).select(wanted.columns), wanted, measures)
    # Every ranking has places of its own, so that no measure leaves its range.
    given = judged.drop_nulls("rank")
    assert not given.select(*ranking, "rank").is_duplicated().any()
    assert given["rank"].dtype == pl.Int64


@pytest.mark.filterwarnings("ignore::polars_rank.NoMatchWarning")
@given(runs(), OPTIONS, SOME, st.booleans())
def test_a_value_does_not_depend_on_what_else_is_asked(tables, options, measures, lazy):
    run, qrels = tables
    options = keyed(run, options)
    frame = run.lazy() if lazy else run
    together = rank.evaluate(frame, measures, qrels=qrels, **options).lazy().collect()
    for measure in measures:
        alone = rank.evaluate(frame, measure, qrels=qrels, **options).lazy().collect()
        same(together.select(alone.columns), alone, [measure])


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", [None, "query"])
def test_null_is_a_key_and_a_query_like_any_other(name, lazy):
    table = pl.DataFrame(
        {"query": "q", "system": ["s", "s", None, None], "rank": [1, 2, 1, 2], "relevance": [1, 0, 1, 0]}
    )
    table = table if name is None else table.with_columns(pl.lit(None, pl.String).alias(name))
    measures = ["nDCG", "AP", "RR", "P@1", "R", "bpref", "judged_share", "AP(judged_only=True)"]
    got = rank.evaluate(table.lazy() if lazy else table, measures).lazy().collect()
    assert got["system"].to_list() == [None, "s"]
    assert got.select(measures).rows() == [(1.0,) * len(measures)] * 2
    summary = rank.summarize(got, measures=measures)
    assert summary["value"].to_list() == [1.0] * 2 * len(measures)


ALONE = [["nDCG"], ["nDCG", "bpref"], ["nDCG", "num_ret"], ["nDCG", "unj_3"], ["nDCG(judged_only=True)"]]


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("measures", ALONE)
@pytest.mark.parametrize("options", [{}, {"judged_only": True}, {"queries": "both"}])
def test_a_query_whose_grades_are_all_null_is_not_judged(measures, options, lazy):
    run = pl.DataFrame({"query": ["q1", "q2"], "item": ["a", "b"], "score": [1.0, 1.0]})
    qrels = pl.DataFrame({"query": ["q1", "q2"], "item": ["a", "b"], "relevance": [1, None]})
    got = rank.evaluate(run.lazy() if lazy else run, measures, qrels=qrels, **options).lazy().collect()
    assert got.select("query", measures[0]).rows() == [("q1", 1.0)]


def test_a_ranking_without_a_judged_row_has_no_value():
    log = pl.DataFrame(
        {
            "query": ["a", "a", "b", "c", "d"],
            "rank": [1, 2, 1, 1, None],
            "relevance": [0.0, 1.0, None, -1.0, math.nan],
        }
    )
    expressions = [
        rank.ndcg(k=10),
        rank.rbp().alias("mine"),
        pl.col("rank").len().cast(pl.Float64).alias("n"),
    ]
    for table in (log, log.lazy()):
        got = rank.evaluate(table, ["nDCG", "P@1", "num_rel", "num_ret", "judged_share", *expressions])
        got = got.lazy().collect().rows_by_key("query", named=True, unique=True)
        assert got["b"] == got["b"] | dict.fromkeys(["nDCG", "P@1", "num_rel", "ndcg@10", "mine"])
        assert got["d"] == got["d"] | dict.fromkeys(["nDCG", "P@1", "num_rel", "ndcg@10", "mine"])
        assert (got["b"]["num_ret"], got["b"]["judged_share"], got["b"]["n"]) == (1.0, 0.0, 1.0)
        # A negative grade is a judgement.
        assert (got["c"]["nDCG"], got["c"]["P@1"], got["c"]["num_rel"]) == (0.0, 0.0, 0.0)
    summary = rank.summarize(rank.evaluate(log, ["P@2"]))
    assert summary.select("value", "n", "missing").rows() == [(0.25, 2, 2)]
    assert log.group_by("query").agg(rank.ndcg(empty=0.5))["ndcg(empty=0.5)"].null_count() == 0


@pytest.mark.parametrize("lazy", [False, True])
def test_a_key_that_was_forgotten_is_named(lazy):
    log = pl.DataFrame(
        {
            "query": "q",
            "item": ["a", "b", "c"] * 2,
            "day": [1, 1, 1, 2, 2, 2],
            "language": "de",
            "weight": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
            "rank": [1, 2, None] * 2,
            "relevance": [1, 0, 1] * 2,
        }
    )
    table = log.lazy() if lazy else log
    with pytest.raises(rank.DataError, match=r"query 'q', item 'a'.*keys=\['day'\] if that"):
        rank.evaluate(table, "nDCG").lazy().collect()
    with pytest.raises(rank.DataError, match=r"keys=\['day'\]"):
        rank.evaluate(table.rename({"item": "url"}), "nDCG", item="url").lazy().collect()
    with pytest.raises(rank.DataError, match="no column 'url'"):
        rank.evaluate(table, "nDCG", item="url").lazy().collect()
    kept = rank.evaluate(table, "P@1", keys=["day"]).lazy().collect()
    assert kept.rows() == [("q", 1, 1.0), ("q", 2, 1.0)]
    two = pl.concat([log.with_columns(hour=1), log.with_columns(hour=2)])
    with pytest.raises(rank.DataError, match=r"keys=\['day', 'hour'\]"):
        rank.evaluate(two.lazy() if lazy else two, "nDCG").lazy().collect()
    plain = log.drop("day", "language")
    with pytest.raises(rank.DataError, match=r"such rows\); keep one row of each item"):
        rank.evaluate(plain.lazy() if lazy else plain, "nDCG").lazy().collect()


def test_items_without_an_id_and_subtopics_of_an_item_are_no_repeats():
    table = pl.DataFrame({"query": "q", "item": ["a", None, None], "rank": [1, 2, 3], "relevance": [1, 0, 1]})
    assert rank.evaluate(table, "P@3")["P@3"].item() == pytest.approx(2 / 3)
    topics = pl.DataFrame({"query": "q", "item": ["a", "a"], "subtopic": [1, 2], "rank": 1, "relevance": 1})
    for measure in ("StRecall@1", rank.subtopic_recall(k=1)):
        assert rank.evaluate(topics, measure).to_series(1).item() == 1.0
    with pytest.raises(rank.DataError, match="has a row twice"):
        rank.evaluate(topics, "P@1")


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("dtype", [pl.UInt8, pl.Float64])
def test_ranks_of_a_log_that_count_from_0(lazy, dtype):
    log = pl.DataFrame({"query": "q", "rank": [0, 1, 255], "relevance": [1, 0, 2]})
    log = log.with_columns(pl.col("rank").cast(dtype))
    table = log.lazy() if lazy else log
    with pytest.raises(rank.DataError, match=r"table.rank holds 0.*rank_base=0"):
        rank.evaluate(table, "nDCG").lazy().collect()
    one = log.with_columns(pl.col("rank").cast(pl.Float64) + 1)
    wanted = rank.evaluate(one, ["nDCG", "RR", rank.precision(k=1)])
    got = rank.evaluate(table, ["nDCG", "RR", rank.precision(k=1)], rank_base=0).lazy().collect()
    assert got.equals(wanted)
    with pytest.raises(ValueError, match="rank_base must be one of 0, 1"):
        rank.evaluate(table, "nDCG", rank_base=2)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("column", ["rank", "relevance"])
@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_an_infinite_rank_or_grade_is_refused(column, value, lazy):
    log = pl.DataFrame({"query": "q", "rank": [1.0, 2.0], "relevance": [1.0, 2.0]})
    log = log.with_columns(pl.Series(column, [1.0, value]))
    with pytest.raises(rank.DataError, match=f"table.{column} .*inf"):
        rank.evaluate(log.lazy() if lazy else log, "nDCG").lazy().collect()


@pytest.mark.parametrize("lazy", [False, True])
def test_a_run_without_a_judged_item_is_told_of(monkeypatch, lazy):
    monkeypatch.setattr(scanning, "ROWS_AT_ONCE", 2)
    run = pl.DataFrame({"query": ["q", "q", "r", "r"], "item": ["1", "2", "3", "4"], "score": 1.0})
    qrels = pl.DataFrame({"query": ["q", "r"], "item": ["d1", "d3"], "relevance": [1, 1]})
    frame = run.lazy() if lazy else run
    with pytest.warns(rank.NoMatchWarning, match=r"no item.*'1'.*'d1'"):
        got = rank.evaluate(frame, "AP", qrels=qrels).lazy().collect()
    assert got["AP"].to_list() == [0.0, 0.0]
    matching = qrels.with_columns(item=pl.Series(["d1", "3"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = rank.evaluate(frame, "P@1", qrels=matching).lazy().collect()
    assert got.height == 2


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


def test_systems_are_kept_apart_unless_told_otherwise():
    per_query = pl.DataFrame(
        {
            "query": [1, 2] * 2,
            "system": ["a", "a", "b", "b"],
            "kind": ["x", "y"] * 2,
            "AP": [0.0, 0.5, 1.0, 0.5],
        }
    )
    kept = rank.summarize(per_query, by=["kind"])
    assert kept.select("system", "kind", "value", "n").rows() == [
        ("a", "x", 0.0, 1),
        ("a", "y", 0.5, 1),
        ("b", "x", 1.0, 1),
        ("b", "y", 0.5, 1),
    ]
    assert rank.summarize(per_query, by=["kind", "system"]).columns[:2] == ["kind", "system"]
    assert rank.summarize(per_query, by=[])["value"].to_list() == [0.25, 0.75]
    pooled = rank.summarize(per_query, by="kind", system=None)
    assert pooled.select("kind", "value", "n").rows() == [("x", 0.5, 2), ("y", 0.5, 2)]
    assert rank.summarize(per_query, system=None)["n"].to_list() == [4]
    models = per_query.rename({"system": "model"})
    assert rank.summarize(models, by="kind", system="model").columns[:2] == ["model", "kind"]
    totals = rank.summarize(models, by="kind", system="model", totals=True)
    assert totals.filter(total_over="kind").select("model", "value").rows() == [("a", 0.25), ("b", 0.75)]
    with pytest.raises(rank.DataError, match="no column 'model'"):
        rank.summarize(per_query, system="model")


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
