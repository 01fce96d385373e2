"""Fusion: every method through every engine, the rules of lists, weights and ties, and what is refused."""

import itertools
import json
import math
import random
import re
import warnings
from datetime import date
from pathlib import Path
from types import MappingProxyType

import duckdb
import fusion_reference
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from polars_rank import fusion as fusion_package
from polars_rank.core.errors import DataError, DataWarning
from polars_rank.fusion.fused_run import FUSION_SETTINGS, fuse, rrf
from polars_rank.fusion.in_memory import item_hash
from polars_rank.fusion.methods import BY_RANK, BY_SCORE, METHODS, MISSING_IS_0
from polars_rank.fusion.normalization import BY_POSITION, NORMALIZATIONS, normalize_scores
from polars_rank.fusion.trained import TRAINED
from polars_rank.fusion.training import fit_fusion
from polars_rank.fusion.tuning import tune_fusion
from polars_rank.sql import install

# Random scores are often negative; the tests of the warning catch it themselves.
pytestmark = pytest.mark.filterwarnings("ignore::polars_rank.DataWarning")

CASES = {
    case["id"]: case
    for case in map(json.loads, (Path(__file__).parents[1] / "cases/reported.jsonl").read_text().splitlines())
    if case["task"] == "fusion"
}
UNTRAINED = (*BY_RANK, *BY_SCORE)


@pytest.fixture(scope="module")
def connection():
    connection = duckdb.connect()
    install(connection)
    return connection


def run(*rows, keys=("query", "item", "score")):
    return pl.DataFrame(rows, schema=list(keys), orient="row", strict=False)


def one_query(*scores):
    return run(*[("q", item, score) for item, score in scores])


def scores(fused):
    return dict(fused.select("item", "score").rows())


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, dict):
        return "MAP {" + ", ".join(f"{key!r}: {number!r}::double" for key, number in value.items()) + "}"
    return repr(value)


def in_sql(connection, long, method="rrf", **options):
    """Fuse one table of lists that were given separately."""
    options = {"duplicates": "first", **options}
    connection.register("_runs", long.to_arrow())
    listed = "".join(f", {name} := {literal(value)}" for name, value in options.items())
    return connection.sql(f"FROM rank.fuse('_runs', method := '{method}'{listed})").pl()


def stacked(runs):
    return pl.concat(
        [frame.select(pl.lit(name).alias("system"), pl.all()) for name, frame in runs.items()],
        how="diagonal_relaxed",
    )


# Scores that tie, jump and vanish; few items, so that lists overlap; repeated items and missing queries.
rows_of_a_list = st.lists(
    st.tuples(
        st.sampled_from(["q1", "q2"]),
        st.sampled_from("abcdefé"),
        st.sampled_from([-2.5, -1.0, 0.0, -0.0, 0.5, 1.0, 3.0, 7.25, None, math.nan]),
    ),
    max_size=8,
)
some_runs = st.fixed_dictionaries(dict.fromkeys(("s1", "s2", "s3"), rows_of_a_list))
some_weights = st.one_of(
    st.none(),
    st.fixed_dictionaries({name: st.sampled_from([0.0, 0.3, 1.0, 2.0]) for name in ("s1", "s2", "s3")}),
)
schema = {"query": pl.String, "item": pl.String, "score": pl.Float64}


DAYS = (("a", 1), ("b", 1), ("a", 2), ("b", 3))


def as_frames(rows):
    return {name: pl.DataFrame(list(part), schema=schema, orient="row") for name, part in rows.items()}


def assert_same(ours, theirs, *, absolute=1e-12):
    """Same items, scores, and order save among equal scores."""
    both = ours.join(theirs, on=["query", "item"], how="full", coalesce=True, suffix="_other")
    assert both.height == ours.height == theirs.height
    assert both["score"].null_count() == both["score_other"].null_count() == 0
    error = (both["score"] - both["score_other"]).abs() / (1 + both["score"].abs())
    assert error.fill_nan(math.inf).max() is None or error.max() <= absolute
    for (_query,), group in both.group_by("query"):
        mine = group.sort("rank")["score"].to_list()
        yours = group.sort("rank_other")["score"].to_list()
        assert mine == pytest.approx(yours, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", UNTRAINED)
@given(rows=some_runs, weights=some_weights)
@example(rows={"s1": [], "s2": [], "s3": []}, weights=None)
@example(rows={"s1": [("q1", "a", 1.0)], "s2": [], "s3": []}, weights={"s1": 0.0, "s2": 1.0, "s3": 1.0})
def test_each_method_is_the_plain_loop(method, rows, weights):
    frames = as_frames(rows)
    if weights and not any(weights.values()):
        weights = None
    fused = fuse(frames, method, weights=weights)
    expected = fusion_reference.fuse(rows, method, weights=weights)
    flat = pl.DataFrame(
        [
            (query, item, score, place)
            for query, items in expected.items()
            for place, (item, score) in enumerate(items, 1)
        ],
        schema={"query": pl.String, "item": pl.String, "score": pl.Float64, "rank": pl.Int64},
        orient="row",
    )
    assert_same(fused, flat, absolute=1e-9)


@given(
    rows=some_runs,
    method=st.sampled_from(["comb_sum", "comb_mnz", "comb_min", "comb_med", "rrf"]),
    normalization=st.sampled_from(NORMALIZATIONS),
    on_constant=st.sampled_from([0, 0.5, 1]),
    ddof=st.sampled_from([0, 1]),
)
def test_each_normalisation_is_the_plain_loop(rows, method, normalization, on_constant, ddof):
    options = {"on_constant": on_constant, "ddof": ddof}
    fused = fuse(as_frames(rows), method, normalize=normalization, **options)
    expected = fusion_reference.fuse(rows, method, normalization=normalization, **options)
    found = {(query, item): score for query, item, score in fused.select("query", "item", "score").rows()}
    assert found == pytest.approx(
        {(query, item): score for query, items in expected.items() for item, score in items},
        rel=1e-9,
        abs=1e-9,
    )


@given(
    rows=some_runs,
    weights=some_weights,
    method=st.sampled_from(UNTRAINED),
    normalization=st.sampled_from([None, *NORMALIZATIONS]),
    ties=st.sampled_from(["item-descending", "item-ascending", "item-text-descending"]),
    order_by=st.sampled_from([None, "rank"]),
    explain=st.booleans(),
)
def test_engines_agree(connection, *, rows, weights, method, normalization, ties, order_by, explain):
    # The keys of weights give the lists' order; in SQL it is always that of the names.
    weights = weights and dict(sorted(weights.items()))
    options = {"weights": weights, "ties": ties, "explain": explain, "order_by": order_by}
    options["duplicates"] = "first"
    if method not in ("dbsf", "relative_score"):
        options["normalize"] = normalization
    # Given ranks with ties and gaps.
    long = stacked(as_frames(rows)).with_columns(rank=(pl.col("score").fill_nan(None) + 3.5))
    lazy = fuse(long.lazy(), method, **options)
    eager, streaming = fuse(long, method, **options), lazy.collect(engine="streaming")
    sql = in_sql(connection, long, method, **options)
    assert_frame_equal(eager, lazy.collect(engine="in-memory"))
    assert_frame_equal(eager, streaming)
    columns = ["query", "item", "rank", "score"]
    assert_frame_equal(
        eager.select(columns), sql.select(columns), check_dtypes=False, abs_tol=1e-12, rel_tol=1e-12
    )
    if explain and eager.height:
        flat = [
            frame.select("query", "item", "explain").explode("explain").unnest("explain")
            for frame in (eager, sql)
        ]
        assert_frame_equal(*flat, check_dtypes=False, abs_tol=1e-12, rel_tol=1e-12)
        total = flat[0].group_by("query", "item").agg(pl.col("contribution").sum())
        both = eager.join(total, on=["query", "item"])
        assert both["contribution"].to_list() == pytest.approx(both["score"].to_list(), rel=1e-12, abs=1e-12)


def test_each_method_has_a_macro_of_its_name(connection):
    made = connection.execute(
        "SELECT function_name, parameters FROM duckdb_functions() "
        "WHERE database_name = 'rank' AND function_type = 'table_macro' AND function_name != 'fuse'"
    ).fetchall()
    parameters = {name: names for name, names in made if name in METHODS}
    assert set(parameters) == set(METHODS)
    [(every,)] = connection.execute(
        "SELECT parameters FROM duckdb_functions() WHERE database_name = 'rank' AND function_name = 'fuse'"
    ).fetchall()
    own = {"k": ["rrf"], "weighting": ["rrf"], "gamma": ["comb_gmnz"], "sigma": ["logn_isr"], "phi": ["rbc"]}
    own |= {"half_window": ["slidefuse"], "fitted": TRAINED, "method": ()}
    scaled = [name for name in (*BY_SCORE, "segfuse") if name not in ("dbsf", "relative_score")]
    own |= dict.fromkeys(("normalize", "on_constant", "ddof"), scaled)
    for method, names in parameters.items():
        assert sorted(names) == sorted(name for name in every if method in own.get(name, METHODS)), method


@pytest.mark.parametrize("method", METHODS)
def test_the_macro_of_a_method_does_what_fuse_does(connection, method):
    runs = {
        "a": one_query(("x", 3.0), ("y", 2.0), ("z", 2.0)),
        "b": one_query(("y", 0.9), ("w", 0.1), ("x", -0.5)),
    }
    long = stacked(runs)
    connection.register("_macro_runs", long.to_arrow())
    options = {
        "weights": {"a": 2.0, "b": 0.5},
        "descending": False,
        "ties": "item-ascending",
        "explain": True,
    }
    own = {"rrf": {"k": 3, "weighting": "stretch"}, "comb_gmnz": {"gamma": 2.0}, "logn_isr": {"sigma": 0.5}}
    own |= {"rbc": {"phi": 0.3}, "slidefuse": {"half_window": 1}}
    options |= own.get(method, {})
    if method in BY_SCORE and method not in ("dbsf", "relative_score"):
        options |= {"normalize": "zscore", "ddof": 1, "on_constant": 0.5}
    text = "".join(f", {name} := {literal(value)}" for name, value in options.items())
    if method in TRAINED:
        qrels = pl.DataFrame({"query": ["q", "q"], "item": ["x", "w"], "relevance": [1, 1]})
        fitted = fit_fusion(runs, qrels, method, descending=False, ties="item-ascending")
        connection.register("_macro_fitted", fitted.to_arrow())
        options["fitted"], text = fitted, text + ", fitted := '_macro_fitted'"
    expected = fuse(long, method, **options)
    ours = connection.sql(f"FROM rank.{method}('_macro_runs'{text})").pl()
    assert_frame_equal(ours, expected, check_dtypes=False, abs_tol=1e-12)
    assert ours["score"].n_unique() > 1


def test_rows_that_stand_apart_give_what_rows_together_give():
    long = stacked(
        {
            name: run(*[(q, i, hash_) for q in "pq" for i, hash_ in zip("abc", s, strict=True)])
            for name, s in {"s": (1.0, 2.0, 2.0), "t": (0.5, 0.5, 9.0)}.items()
        }
    )
    for shuffled in (long, long.reverse(), long.sort("item"), long.sort("score", "query")):
        assert_frame_equal(fuse(shuffled), fuse(long))
        apart = {
            name: rows.drop("system")
            for (name,), rows in shuffled.partition_by("system", as_dict=True).items()
        }
        assert_frame_equal(fuse(dict(sorted(apart.items()))), fuse(long))


@pytest.mark.parametrize("names", [(1, "a"), (None, "a"), (("a", "b"), "c")])
def test_names_of_two_kinds_are_refused(names):
    with pytest.raises(TypeError, match="runs must be named by text, got the names"):
        fuse(dict.fromkeys(names, one_query(("a", 1.0))))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("method", "normalize"), [("comb_sum", "zscore"), ("comb_mnz", "sum"), ("dbsf", None)]
)
def test_items_that_change_places_tie(connection, method, normalize, seed):
    """Lists of the same scores have the same mean to the last bit, whatever their items."""
    draw = random.Random(seed)
    scores = [round(draw.gauss(0, 1), 3) for _ in range(7)]
    lists = {"x": "abcdefg", "y": "bacdefg"}
    runs = {name: one_query(*zip(items, scores, strict=True)) for name, items in lists.items()}
    for fused in (
        fuse(runs, method, normalize=normalize),
        fuse(stacked(runs).lazy(), method, normalize=normalize).collect(),
        in_sql(connection, stacked(runs), method, normalize=normalize),
    ):
        found = dict(fused.select("item", "score").rows())
        assert found["a"] == found["b"]


@pytest.mark.parametrize("hashes", [pl.lit(7), pl.col("query").hash(), pl.col("item").hash() % 3])
def test_items_of_one_hash_are_told_apart(monkeypatch, hashes):
    runs = {"x": one_query(*[(item, 1.0) for item in "abcdefg"]), "y": one_query(("g", 2.0), ("h", 1.0))}
    expected = fuse(stacked(runs).lazy(), explain=True).collect()
    monkeypatch.setattr("polars_rank.fusion.in_memory.item_hash", lambda: hashes)
    assert_frame_equal(fuse(runs, explain=True), expected)
    assert_frame_equal(fuse(runs, explain=True, duplicates="error"), expected)
    twice = {**runs, "z": one_query(("a", 3.0), ("b", 2.0), ("a", 1.0))}
    assert_frame_equal(fuse(twice), fuse(stacked(twice).lazy(), duplicates="first").collect())
    with pytest.raises(DataError, match="item 'a' of query 'q' is twice in 'z'"):
        fuse(twice, duplicates="error")


def test_whole_ids_share_no_hash():
    """Else each part would be fused twice: once by hash, and once more by query and item."""
    numbers = pl.DataFrame({"query": range(100)}, schema={"query": pl.UInt32})
    items = pl.DataFrame({"item": range(100)})
    assert numbers.join(items, how="cross").select(item_hash()).to_series().is_unique().all()


@pytest.mark.parametrize("part", [1, 5, 2**40])
@pytest.mark.parametrize("method", ["rrf", "comb_med", "borda", "copeland"])
def test_parts_change_nothing(monkeypatch, part, method):
    rows = [(f"q{q}", f"d{(q * 7 + i * i) % 11}", float(i % 4)) for q in range(9) for i in range(q)]
    runs = {"s": run(*rows), "t": run(*[(q, i, s * s) for q, i, s in reversed(rows)])}
    expected = fuse(stacked(runs).lazy(), method, duplicates="first").collect()
    monkeypatch.setattr("polars_rank.fusion.in_memory.BATCH_ROWS", part)
    assert_frame_equal(fuse(runs, method), expected)


def case_runs(rows_of_runs):
    columns = ["query", "item", "score", "rank"]
    return {
        str(place): pl.DataFrame(rows, schema=columns, orient="row")
        for place, rows in enumerate(rows_of_runs, 1)
    }


def both_engines(connection, runs, method="rrf", **options):
    """Fuse in Polars and in SQL, hold one to the other, and give the scores."""
    polars = fuse(runs, method, **options)
    sql = in_sql(connection, stacked(runs), method, **options)
    assert_frame_equal(polars, sql, check_dtypes=False, abs_tol=1e-12)
    return {(query, item): score for query, item, score, _ in polars.rows()}


def test_reported_missing_and_one_based(connection):
    case = CASES["rrf-canonical-missing-and-one-based"]
    fused = both_engines(connection, case_runs(case["input"]["runs"]), k=60)
    assert fused == pytest.approx({("t1", item): v for item, v in case["expected"]["values"].items()})


def test_reported_ranks_from_zero_are_not_read_where_scores_order(connection):
    case = CASES["rrf-file-ranks-start-at-zero"]
    runs = case_runs(case["input"]["runs"])
    expected = {("t1", item): v for item, v in case["expected"]["values"].items()}
    assert both_engines(connection, runs) == pytest.approx(expected)
    assert both_engines(connection, runs, order_by="rank", rank_base=0) == pytest.approx(expected)
    with pytest.raises(DataError, match="rank_base=0"):
        fuse(runs, order_by="rank")
    with pytest.raises(duckdb.Error, match="rank_base := 0"):
        in_sql(connection, stacked(runs), order_by="rank")


def test_reported_weights(connection):
    case = CASES["rrf-weights-and-zero-weight"]["input"]
    expected = CASES["rrf-weights-and-zero-weight"]["expected"]
    runs = case_runs(case["runs"])
    fused = both_engines(connection, runs, weights={"1": 4, "2": 1})
    assert fused == pytest.approx({("t1", i): v for i, v in expected["branches"]["w/(k+rank)"].items()})
    without = both_engines(connection, case_runs(case["then"]["runs"]), weights={"1": 1, "2": 0})
    assert without == pytest.approx({("t1", i): v for i, v in expected["then"]["accept"][0].items()})


@pytest.mark.parametrize("constant", [0, 1, 0.5])
def test_reported_constant_lists(connection, constant):
    case = CASES["minmax-constant-and-single-result"]
    [branch] = [
        values
        for text, values in case["expected"]["branches"].items()
        if re.search(rf"-> {constant}( |$)", text)
    ]
    for rows, expected in ((case["input"], branch), (case["input"]["then"], branch["then"])):
        fused = both_engines(
            connection, case_runs(rows["runs"]), "comb_sum", normalize="min_max", on_constant=constant
        )
        assert fused == pytest.approx({("t1", i): v for i, v in expected.items() if i != "then"})


def test_reported_zero_variance(connection):
    case = CASES["zscore-zero-variance"]
    branches = list(case["expected"]["branches"].values())
    for ddof, expected in enumerate(branches):
        fused = both_engines(
            connection, case_runs(case["input"]["runs"]), "comb_sum", normalize="zscore", ddof=ddof
        )
        assert fused == pytest.approx({("t1", item): v for item, v in expected.items()})


def test_reported_mean_is_over_all_systems(connection):
    case = CASES["average-over-all-systems"]
    runs = {
        name: frame.with_columns(score=1 / pl.col("rank"))
        for name, frame in case_runs(case["input"]["runs"]).items()
    }
    branches = case["expected"]["values"]
    for method, name in (
        ("comb_mean", "mean over all runs"),
        ("comb_anz", "CombANZ (divide by runs that returned it)"),
    ):
        expected = {("t1", item): v for item, v in branches[name].items()}
        assert both_engines(connection, runs, method) == pytest.approx(expected)


def test_reported_single_and_empty_runs(connection):
    case = CASES["fusion-of-a-single-run"]
    single = case_runs(case["input"]["runs"])
    expected = {(q, i): v for q in ("t1", "t2") for i, v in case["expected"]["values"][q].items()}
    assert both_engines(connection, single) == pytest.approx(expected)
    columns = ["query", "item", "score", "rank"]
    as_text = pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    whole = pl.DataFrame(schema={"query": pl.Int64, "item": pl.Int64, "score": pl.Int64})
    for empty in (pl.DataFrame(), pl.DataFrame(schema=columns), as_text, whole):
        fused = fuse({**single, "2": empty})
        assert {(q, i): v for q, i, v, _ in fused.rows()} == pytest.approx(expected)
        assert fused.schema["item"] == pl.String
    by_rank = {"1": run(("q", "a", 1), keys=("query", "item", "rank")), "2": pl.DataFrame()}
    assert scores(fuse(by_rank, order_by="rank")) == {"a": 1 / 61}
    assert fuse({"1": whole, "2": whole}).schema["item"] == pl.Int64
    nothing = fuse({"1": pl.DataFrame(schema=columns)})
    assert nothing.is_empty()
    assert nothing.columns == ["query", "item", "score", "rank"]


def test_reported_id_kinds_are_refused():
    case = CASES["rrf-int-and-string-ids"]
    with pytest.raises(DataError, match="id types differ"):
        fuse(case_runs(case["input"]["runs"]))


def test_sibling_id_kinds(connection):
    wide = {"a": run(("q", 9, 2.0), ("q", 10, 1.0)), "b": run(("q", 10, 2.0))}
    wide["b"] = wide["b"].cast({"item": pl.Int16})
    assert both_engines(connection, wide)["q", 10] == pytest.approx(1 / 62 + 1 / 61)
    categories = {
        "a": one_query(("b", 1.0), ("a", 1.0)).cast({"item": pl.Categorical}),
        "b": one_query(("a", 1.0)),
    }
    assert fuse(categories)["item"].to_list() == ["a", "b"]
    # Equal scores: the greater integer first, not the greater text.
    assert fuse({"a": run(("q", 9, 1.0), ("q", 10, 1.0))})["item"].to_list() == [10, 9]
    assert fuse({"a": run(("q", 9, 1.0), ("q", 10, 1.0))}, ties="item-text-descending")["item"].to_list() == [
        9,
        10,
    ]
    with pytest.raises(DataError, match="whole floats"):
        fuse({"a": run(("q", 1.0, 1.0))})
    # Bytes that are no text have one order alone.
    blobs = {"a": run(("q", b"\xfe", 1.0), ("q", b"\xff", 1.0), ("q", b"a", 1.0))}
    both_engines(connection, blobs, ties="item-text-descending")
    assert fuse(blobs, ties="item-text-descending")["item"].to_list() == [b"\xff", b"\xfe", b"a"]


def test_a_repeated_item_counts_once_and_places_stay(connection):
    runs = {"x": one_query(("a", 3.0), ("a", 2.0), ("b", 1.0))}
    assert both_engines(connection, runs) == pytest.approx({("q", "a"): 1 / 61, ("q", "b"): 1 / 63})
    with pytest.raises(DataError, match="'a' of query 'q' is twice in 'x'"):
        fuse(runs, duplicates="error")
    with pytest.raises(DataError, match="twice in 'x'"):
        fuse({"x": runs["x"].lazy()}, duplicates="error").collect()
    with pytest.raises(duckdb.Error, match="item a of query q is twice in x"):
        in_sql(connection, stacked(runs), duplicates="error")


def test_copies_at_one_given_rank_count_by_their_highest_score(connection):
    rows = [
        ("q", "a", 1, 1.0),
        ("q", "a", 1, 5.0),
        ("q", "a", 1, None),
        ("q", "b", None, 2.0),
        ("q", "b", None, 3.0),
    ]
    for order in (rows, rows[::-1], rows[1:] + rows[:1]):
        frame = run(*order, keys=("query", "item", "rank", "score"))
        options = {"method": "comb_sum", "order_by": "rank"}
        for fused in (
            fuse({"s": frame}, **options),
            fuse({"s": frame.lazy()}, **options).collect(),
            in_sql(connection, stacked({"s": frame}), **options),
        ):
            assert scores(fused) == {"a": 5.0, "b": 3.0}


def test_repeated_items_of_many_lists(connection):
    # In SQL lists 62 apart share a bit of what tells repeated items.
    lists = {f"{number:03}": [("q", "x", 1.0), ("q", "y", 2.0)] for number in range(130)}
    lists["000"] += [("q", "x", 3.0)]
    lists["124"] += [("q", "y", 0.5), ("q", "z", 0.5)]
    both_engines(connection, {name: run(*rows) for name, rows in lists.items()})


def test_equal_scores_stand_as_items_first_come(connection):
    runs = {"a": one_query(("x", 2.0), ("y", 1.0)), "b": one_query(("z", 2.0), ("y", 1.0))}
    assert fuse(runs)["item"].to_list() == ["y", "x", "z"]
    assert fuse(dict(reversed(runs.items())))["item"].to_list() == ["y", "z", "x"]
    assert fuse(stacked(runs))["item"].to_list() == ["y", "x", "z"]
    assert fuse(stacked(runs), systems=["b", "a"])["item"].to_list() == ["y", "z", "x"]
    assert fuse(stacked(runs), weights={"b": 1, "a": 1})["item"].to_list() == ["y", "z", "x"]
    assert in_sql(connection, stacked(runs).sample(fraction=1, shuffle=True, seed=2))["item"].to_list() == [
        "y",
        "x",
        "z",
    ]


@pytest.mark.parametrize("method", ["rrf", "isr", "comb_sum"])
def test_true_ties_stay_ties(connection, method):
    # The same three terms in every order: added as they come, sums differ in the last bit.
    ranks = dict(zip("abcdef", itertools.permutations((1, 4, 7)), strict=True))
    rows = [
        (str(n), "q", item, ranks[item][n], 1 / (60 + ranks[item][n])) for n in range(3) for item in "abcdef"
    ]
    long = pl.DataFrame(rows, schema=["system", "query", "item", "rank", "score"], orient="row")
    assert len({sum(1 / (60 + place) for place in order) for order in ranks.values()}) > 1
    for shuffled in (long, long.sample(fraction=1, shuffle=True, seed=1), long.reverse()):
        plan = fuse(shuffled.lazy(), method, order_by="rank")
        for fused in (
            fuse(shuffled, method, order_by="rank"),
            plan.collect(engine="streaming"),
            plan.collect(engine="in-memory"),
            in_sql(connection, shuffled, method, order_by="rank"),
        ):
            assert fused["score"].n_unique() == 1
            assert fused["item"].to_list() == ["b", "a", "d", "c", "f", "e"]
    lists = long.sample(fraction=1, shuffle=True, seed=3)
    direct = lists.lazy().group_by("query", "item").agg(rrf())
    assert direct.collect(engine="streaming")["rrf"].n_unique() == 1
    assert direct.collect(engine="in-memory")["rrf"].n_unique() == 1


@given(rows=some_runs, method=st.sampled_from(UNTRAINED))
def test_a_weight_of_zero_takes_a_list_out(rows, method):
    frames = as_frames(rows)
    fused = fuse(frames, method, weights={"s1": 1, "s2": 0, "s3": 2})
    rest = fuse({name: frames[name] for name in ("s1", "s3")}, method, weights=[1, 2])
    own = fused.join(rest, on=["query", "item"], how="anti")
    assert own["score"].to_list() == [0.0] * own.height
    both = fused.join(rest, on=["query", "item"], how="semi")
    pairs = ["query", "item", "score"]
    assert_frame_equal(both.select(pairs).sort(pairs), rest.select(pairs).sort(pairs), abs_tol=1e-12)
    assert set(own["item"]) <= set(frames["s2"]["item"])


@given(rows=some_runs, method=st.sampled_from(UNTRAINED), seed=st.integers(0, 9))
def test_the_order_of_rows_is_without_effect(rows, method, seed):
    frames = as_frames(rows)
    shuffled = {name: frame.sample(fraction=1, shuffle=True, seed=seed) for name, frame in frames.items()}
    assert_frame_equal(fuse(frames, method), fuse(shuffled, method), abs_tol=1e-12)


def test_small_terms_keep_their_digits(connection):
    deep = {
        name: one_query(*[(f"i{(n + shift) % 400:03d}", -float(n)) for n in range(400)])
        for name, shift in (("a", 0), ("b", 7))
    }
    for runs, method, options in (
        (deep, "rbc", {}),
        (deep, "rrf", {"weights": {"a": 1e-40, "b": 1.0}}),
        (deep, "rrf", {"weights": {"a": 1e-310, "b": 1e-310}}),
        (deep, "rrf", {"k": 1e40}),
    ):
        rows = {name: frame.rows() for name, frame in runs.items()}
        expected = dict(fusion_reference.fuse(rows, method, **options)["q"])
        for fused in (fuse(runs, method, **options), in_sql(connection, stacked(runs), method, **options)):
            assert scores(fused) == pytest.approx(expected, rel=1e-9, abs=0)


def test_a_given_rank_may_be_any_finite_number(connection):
    far = run(("q", "x", 1.0), ("q", "y", 3e8), keys=("query", "item", "rank"))
    fused = both_engines(connection, {"a": far}, "borda")
    assert fused == {("q", "x"): 2.0, ("q", "y"): 3 - 3e8}
    infinite = far.with_columns(rank=pl.col("rank") * math.inf)
    with pytest.raises(DataError, match="infinite rank"):
        fuse({"a": infinite})
    with pytest.raises(duckdb.Error, match="infinite rank"):
        in_sql(connection, stacked({"a": infinite}))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("descending := 'x'", "descending must be true or false, got x"),
        ("descending := NULL", "descending must be true or false, got NULL"),
        ("explain := 'x'", "explain must be true or false, got x"),
        ("rank_base := 'x'", "rank_base must be 0 or 1, got x"),
        ("rank_base := [1]", "rank_base must be 0 or 1, got"),
        ("half_window := 'x'", "half_window must be a whole number of at least 0, got x"),
        ("half_window := -1", "half_window must be a whole number of at least 0, got -1"),
        ("k := 'x'", "k must be a finite number of at least 0, got x"),
        ("ddof := 'x'", "ddof must be 0 or 1, got x"),
        ("on_constant := 'x'", "on_constant must be a finite number, got x"),
        ("phi := 'x'", "phi must be a number from 0 to 1, got x"),
        ("normalize := 1.5", "normalize must be one of"),
        ("ties := 1.5", "ties must be one of"),
        ("order_by := 1.5", "order_by must be one of"),
        ("method := NULL", "method must be one of"),
    ],
)
def test_sql_refuses_values_of_another_type(connection, option, message):
    connection.register("_runs", stacked({"a": one_query(("x", 1.0))}).to_arrow())
    with pytest.raises(duckdb.Error, match=message):
        connection.sql(f"FROM rank.fuse('_runs', {option})").fetchall()


def test_fusing_does_not_import_judging_or_evaluation():
    """Only training and tuning judge runs."""
    package = Path(fusion_package.__file__).parent
    modules, seen = {"fused_run"}, set()
    while modules:
        name = modules.pop()
        seen.add(name)
        text = (package / f"{name}.py").read_text(encoding="utf-8")
        assert not re.search(r"polars_rank\.(judging|evaluation)", text), name
        modules |= set(re.findall(r"from polars_rank\.fusion\.(\w+) import", text)) - seen
    assert "trained" in seen
    assert seen.isdisjoint({"training", "tuning"})


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"a": 1}, "missing"),
        ({"a": 1, "b": 1, "c": 1}, "unknown"),
        ({"a": -1, "b": 1}, "at least 0"),
        ({"a": math.nan, "b": 1}, "at least 0"),
        ({"a": math.inf, "b": 1}, "at least 0"),
        ([1.0], "2 lists"),
        ([1.0, 2.0, 3.0], "2 lists"),
        ([1.0, "2"], "at least 0"),
        ([1e308, 1e308], "finite sum"),
    ],
)
def test_weights_that_are_refused(weights, message):
    runs = {"a": one_query(("x", 1.0)), "b": one_query(("y", 1.0))}
    with pytest.raises(ValueError, match=message):
        fuse(runs, weights=weights)
    if weights != {"a": 1, "b": 1, "c": 1}:
        # In one table a named system without a row is no fault: it returned nothing.
        with pytest.raises(ValueError, match=f"{message}|not among"):
            fuse(stacked(runs), weights=weights)


def test_weights_that_sql_refuses(connection):
    long = stacked({"a": one_query(("x", 1.0)), "b": one_query(("y", 1.0))})
    for weights, message in (
        ("MAP {'a': 1}", "no number for the system b"),
        ("MAP {'a': -1, 'b': 1}", "at least 0, got -1.0 for a"),
        ("MAP {'a': 'nan'::double, 'b': 1}", "at least 0, got nan for a"),
    ):
        connection.register("_runs", long.to_arrow())
        with pytest.raises(duckdb.Error, match=message):
            connection.sql(f"FROM rank.fuse('_runs', weights := {weights})").fetchall()
    assert len(connection.sql("FROM rank.fuse('_runs', weights := MAP {})").fetchall()) == 2


@pytest.mark.parametrize("kind", ["list", "dict", "long"])
def test_each_list_has_a_name_of_its_own(kind):
    both = {"a": one_query(("x", 1.0)), "b": one_query(("y", 1.0))}
    runs = {"list": list(both.values()), "dict": both, "long": stacked(both)}[kind]
    with pytest.raises(ValueError, match="systems names 'a' twice; once will do"):
        fuse(runs, systems=["a", "a"])
    with pytest.raises(TypeError, match=r"systems must be a list of names; write systems=\['ab'\]"):
        fuse(runs, systems="ab")


def test_each_column_has_a_name_of_its_own():
    runs = {"a": one_query(("x", 1.0))}
    for options in ({"item": "query"}, {"score": "rank"}):
        with pytest.raises(ValueError, match=r"must be different columns, got '(query|rank)' twice"):
            fuse(runs, **options)
    with pytest.raises(ValueError, match="item='explain' is what a column of the result is called"):
        fuse({"a": one_query(("x", 1.0)).rename({"item": "explain"})}, item="explain", explain=True)
    for function in (fuse, normalize_scores):
        with pytest.raises(ValueError, match="system='query' is what a column of the result is called"):
            function(stacked(runs), system="query")


@pytest.mark.parametrize("weights", [2, "ab"])
def test_weights_that_are_no_list_are_refused(weights):
    with pytest.raises(TypeError, match="weights must be a dict of system to number, or a list of numbers"):
        fuse([one_query(("x", 1.0))] * 2, weights=weights)


@pytest.mark.parametrize("weights", [None, {}, [], {"a": 1, "b": 1}, [1, 1], pl.Series([1, 1])])
def test_weights_that_are_all_one(weights):
    runs = {"a": one_query(("x", 1.0)), "b": one_query(("y", 1.0))}
    assert_frame_equal(fuse(runs, weights=weights), fuse(runs))
    assert_frame_equal(fuse(stacked(runs), weights=weights), fuse(runs))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rff"}, "did you mean 'rrf'"),
        ({"k": -1}, "k must be"),
        ({"k": math.inf}, "k must be"),
        ({"k": math.nan}, "k must be"),
        ({"phi": 2}, "phi must be"),
        ({"sigma": -1}, "sigma must be"),
        ({"normalize": "minmax"}, "did you mean 'min_max'"),
        ({"on_constant": math.nan}, "on_constant must be"),
        ({"ddof": 2}, "ddof must be"),
        ({"ties": "best"}, "ties must be"),
        ({"order_by": "place"}, "order_by must be"),
        ({"rank_base": 2}, "rank_base must be"),
        ({"duplicates": "last"}, "duplicates must be"),
        ({"weighting": "divide"}, "weighting must be"),
        ({"method": "dbsf", "normalize": "min_max"}, "fixed normalization"),
        ({"method": "posfuse"}, "needs fitted"),
    ],
)
def test_options_that_are_refused(connection, options, message):
    runs = {"a": one_query(("x", 1.0))}
    with pytest.raises(ValueError, match=message):
        fuse(runs, **options)
    words = message.split(" (")[0] if "did you mean" not in message else "must be"
    listed = ", ".join(
        f"{name} := " + (f"'{value}'::double" if isinstance(value, float) else literal(value))
        for name, value in options.items()
    )
    connection.register("_runs", stacked(runs).to_arrow())
    with pytest.raises(duckdb.Error, match=words):
        connection.sql(f"FROM rank.fuse('_runs', {listed})").fetchall()


def test_tables_that_are_refused(connection):
    plain = one_query(("x", 1.0))
    for runs, message in (
        (plain, "no column 'system'"),
        ({"a": plain.drop("score")}, "no column 'score' nor 'rank'"),
        ({"a": plain.drop("item")}, "no column 'item'"),
        ({"a": plain.with_columns(item=pl.lit(None, pl.String))}, "null item"),
        (plain.with_columns(system=pl.lit(None, pl.String)), "null system"),
        (plain.with_columns(system=pl.lit("z")).lazy(), "'z', which is not among"),
    ):
        with pytest.raises(DataError, match=message):
            fuse(runs, weights={"a": 1} if isinstance(runs, pl.LazyFrame) else None).lazy().collect()
    with pytest.raises(DataError, match="no column 'score'"):
        fuse({"a": plain.rename({"score": "rank"})}, "comb_sum")
    with pytest.raises(TypeError, match="Polars frame"):
        fuse({"a": {"q": {"x": 1.0}}})
    with pytest.raises(ValueError, match="at least one run"):
        fuse({})
    for text in (plain.with_columns(score=pl.lit("2")), plain.select("query", "item", rank=pl.lit("1"))):
        with pytest.raises(DataError, match=r"runs\['a'\]\.(score|rank) has type String, which is no number"):
            fuse({"a": text})
    for long, message in (
        (plain.drop("score"), "no column score and no column rank"),
        (plain.with_columns(item=pl.lit(None, pl.String)), "null system, query or item"),
    ):
        with pytest.raises(duckdb.Error, match=message):
            in_sql(connection, long.with_columns(system=pl.lit("a")))
    with pytest.raises(duckdb.Error, match="no column score, which comb_sum"):
        in_sql(connection, plain.select("query", "item", system=pl.lit("a"), rank=1), "comb_sum")


def test_frames_out_are_as_frames_in():
    eager, lazy = one_query(("x", 1.0)), one_query(("y", 1.0)).lazy()
    assert isinstance(fuse({"a": eager}), pl.DataFrame)
    assert isinstance(fuse([eager, eager]), pl.DataFrame)
    assert isinstance(fuse({"a": eager, "b": lazy}), pl.LazyFrame)
    assert isinstance(fuse(stacked({"a": eager}).lazy()), pl.LazyFrame)
    assert fuse({"a": eager}).schema == {
        "query": pl.String,
        "item": pl.String,
        "score": pl.Float64,
        "rank": pl.Int64,
    }


def test_columns_may_have_other_names():
    names = {"query": "user", "item": "film", "score": "points", "rank": "place"}
    runs = {"a": one_query(("x", 2.0), ("y", 1.0)), "b": one_query(("y", 1.0))}
    renamed = {name: frame.rename({old: names[old] for old in frame.columns}) for name, frame in runs.items()}
    assert_frame_equal(fuse(renamed, **names), fuse(runs).rename(names))


def test_small_integers_do_not_wrap(connection):
    runs = {"a": run(("q", "x", 200), keys=("query", "item", "rank")).cast({"rank": pl.UInt8})}
    assert both_engines(connection, runs) == pytest.approx({("q", "x"): 1 / 260})


def test_tied_given_ranks_go_by_value(connection):
    runs = {"a": run(("q", "x", 1), ("q", "y", 1), ("q", "z", 5), keys=("query", "item", "rank"))}
    assert both_engines(connection, runs) == pytest.approx(
        {("q", "x"): 1 / 61, ("q", "y"): 1 / 61, ("q", "z"): 1 / 65}
    )


def test_systems_of_an_enum_come_by_name(connection):
    long = stacked({"b": one_query(("y", 2.0), ("x", 1.0)), "z": one_query(("x", 2.0), ("y", 1.0))})
    coded = long.cast({"system": pl.Enum(["z", "b"])})
    assert fuse(coded)["item"].to_list() == in_sql(connection, coded)["item"].to_list() == ["y", "x"]


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e200])
@pytest.mark.parametrize("options", [{"normalize": "zscore"}, {"method": "dbsf"}])
def test_the_size_of_scores_is_without_effect(connection, size, options):
    method = options.get("method", "comb_sum")
    plain, scaled = (
        both_engines(
            connection,
            {
                "a": one_query(
                    *[(item, factor * score) for item, score in (("x", 9.0), ("y", 4.0), ("z", 5.0))]
                )
            },
            method,
            **{name: value for name, value in options.items() if name != "method"},
        )
        for factor in (1.0, size)
    )
    assert scaled == pytest.approx(plain, rel=1e-3 if size == 1e-320 else 1e-12)


INFINITE = {
    "a": one_query(("x", math.inf), ("y", 2.0), ("z", 1.0)),
    "b": one_query(("x", -math.inf), ("y", 0.5)),
}


@pytest.mark.parametrize("method", [*BY_SCORE, "segfuse"])
def test_infinite_scores_are_not_added(connection, method):
    fitted = pl.DataFrame({"method": "segfuse", "system": ["a", "b"], "segment": 1, "value": 0.5})
    options = {"fitted": fitted} if method == "segfuse" else {}
    for runs in (INFINITE, {"a": INFINITE["a"]}, stacked(INFINITE), stacked(INFINITE).lazy()):
        with pytest.raises(
            DataError, match=r"score (inf|-inf) for item 'x' of query 'q': an infinite score can't"
        ):
            fuse(runs, method, **options).lazy().collect()
    connection.register("_fitted", fitted.to_arrow())
    if options:
        options = {"fitted": "_fitted"}
    with pytest.raises(duckdb.Error, match=r"score -?inf for item x of query q: an infinite score can't"):
        in_sql(connection, stacked(INFINITE), method, **options)


def test_infinite_scores_are_not_scaled(connection):
    for normalization in NORMALIZATIONS:
        if normalization in BY_POSITION:
            assert both_engines(connection, INFINITE, "comb_sum", normalize=normalization)[("q", "y")] > 0
            assert normalize_scores(INFINITE, normalization)["score"].is_finite().all()
            continue
        with pytest.raises(DataError, match="an infinite score can't be added or scaled"):
            fuse(INFINITE, "comb_sum", normalize=normalization)
        with pytest.raises(DataError, match="an infinite score can't be added or scaled"):
            normalize_scores(INFINITE, normalization)
        with pytest.raises(duckdb.Error, match="an infinite score can't be added or scaled"):
            in_sql(connection, stacked(INFINITE), "comb_sum", normalize=normalization)
    qrels = pl.DataFrame({"query": ["q"], "item": ["x"]})
    with pytest.raises(DataError, match="an infinite score can't be added or scaled"):
        tune_fusion(INFINITE, qrels, methods=["comb_sum"], folds=2)


def test_infinite_scores_order_a_list(connection):
    assert both_engines(connection, INFINITE) == pytest.approx(
        {("q", "x"): 1 / 61 + 1 / 62, ("q", "y"): 1 / 62 + 1 / 61, ("q", "z"): 1 / 63}
    )


@pytest.mark.parametrize("normalization", [name for name in NORMALIZATIONS if name != "max"])
def test_scores_at_the_ends_of_floats(connection, normalization):
    """Their differences are beyond the range of floats."""
    sizes = {"x": 1.0, "y": 0.25, "z": -1.0}
    small, large = (
        {"s": one_query(*[(item, size * factor) for item, size in sizes.items()])} for factor in (1, 1.7e308)
    )
    if normalization == "sigmoid":
        assert set(both_engines(connection, large, "comb_sum", normalize="sigmoid").values()) == {0.0, 1.0}
        return
    scaled = both_engines(connection, large, "comb_sum", normalize=normalization)
    assert scaled == pytest.approx(both_engines(connection, small, "comb_sum", normalize=normalization))


def test_a_sum_beyond_the_range_of_floats_is_refused(connection):
    runs = {"a": one_query(("x", 1e308)), "b": one_query(("x", -1e308))}
    weights = {"a": 10.0, "b": 10.0}
    with pytest.raises(DataError, match="the fused score of item 'x' is not a number"):
        fuse(runs, "comb_sum", weights=weights)
    with pytest.raises(duckdb.Error, match="a fused score is not a number"):
        in_sql(connection, stacked(runs), "comb_sum", weights=weights)


class TestNegativeScores:
    """A list that lacks an item adds 0 for it, which is more than a negative score."""

    runs = MappingProxyType({"a": one_query(("x", -1.0), ("y", -2.0)), "b": one_query(("y", -0.5))})

    @pytest.mark.parametrize("method", MISSING_IS_0)
    def test_there_is_a_warning(self, method):
        for runs in (dict(self.runs), stacked(self.runs), stacked(self.runs).lazy()):
            with pytest.warns(
                DataWarning, match=f"'b' has scores below 0, and {method} counts|'a' has scores"
            ):
                fuse(runs, method).lazy().collect()

    def test_there_is_none_without_reason(self):
        complete = {**self.runs, "b": one_query(("y", -0.5), ("x", -3.0))}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fuse(complete, "comb_sum")
            fuse(dict(self.runs), "comb_sum", normalize="min_max")
            fuse(dict(self.runs), "comb_max")
            fuse(dict(self.runs))
            fuse(stacked(self.runs).lazy()).collect()
            fuse(dict(self.runs), "comb_sum", weights={"a": 1, "b": 0})
            fuse(stacked(complete).lazy(), "comb_sum").collect()


class TestKeys:
    """Rankings of one query that are told apart by further columns."""

    def long(self, seed=0):
        draw = random.Random(seed)
        rows = [
            (system, query, day, item, round(draw.random(), 1))
            for system in "ab"
            for query in ("q1", "q2")
            for day in (date(2026, 1, 1), date(2026, 1, 2))
            for item in "vwxyz"
            if draw.random() < 0.7
        ]
        return pl.DataFrame(rows, schema=["system", "query", "day", "item", "score"], orient="row")

    def in_query(self, frame):
        day = pl.col("day").cast(pl.String)
        return frame.with_columns(query=pl.concat_str("query", pl.lit("|"), day)).drop("day")

    @pytest.mark.parametrize("method", UNTRAINED)
    def test_each_ranking_is_fused_by_itself(self, connection, method):
        long = self.long()
        expected = fuse(self.in_query(long), method, explain=True)
        separate = {system: long.filter(system=system) for system in "ab"}
        for runs in (long, long.lazy(), separate, {name: run.lazy() for name, run in separate.items()}):
            fused = fuse(runs, method, keys=["day"], explain=True).lazy().collect()
            assert fused.columns == ["query", "day", "item", "score", "rank", "explain"]
            assert_frame_equal(self.in_query(fused), expected)
        connection.register("_keyed", long.to_arrow())
        sql = connection.sql(f"FROM rank.fuse('_keyed', '{method}', keys := ['Day'])").pl()
        assert_frame_equal(self.in_query(sql), expected.drop("explain"), check_dtypes=False, abs_tol=1e-12)

    def test_the_other_functions_take_them(self):
        long = self.long()
        qrels = pl.DataFrame({"query": ["q1", "q2", "q2"], "item": ["x", "v", "w"]})
        asked = self.in_query(long).select(pl.col("query").alias("asked"), query=pl.col("query").str.head(2))
        each = qrels.join(asked.unique(), on="query").select("item", query="asked")
        for method in TRAINED:
            fitted = fit_fusion(long, qrels, method, keys=["day"])
            assert_frame_equal(fitted, fit_fusion(self.in_query(long), each, method))
            assert_frame_equal(fit_fusion(long.lazy(), qrels, method, keys=["day"]).collect(), fitted)
        for method in NORMALIZATIONS:
            scaled = normalize_scores(long, method, keys=["day"])
            assert_frame_equal(self.in_query(scaled), normalize_scores(self.in_query(long), method))
        tuned = tune_fusion(long, qrels, "RR", folds=2, keys=["day"])
        # Both days of a query are in its fold.
        assert tuned["queries"].to_list() == [2, 2, 4]
        assert_frame_equal(tune_fusion(long.lazy(), qrels, "RR", folds=2, keys=["day"]).collect(), tuned)

    def test_a_forgotten_key_is_refused(self, connection):
        long = self.long()
        message = (
            r"item 'v' of query 'q\d' is twice in '[ab]'; "
            r"name the columns .* keys=\['day'\].*duplicates=.first"
        )
        qrels = pl.DataFrame({"query": ["q1"], "item": ["x"]})
        for function in (
            fuse,
            normalize_scores,
            lambda runs: fit_fusion(runs, qrels, "posfuse"),
            lambda runs: tune_fusion(runs, qrels, folds=2),
        ):
            for runs in (long, long.lazy()):
                with pytest.raises(DataError, match=message):
                    function(runs).lazy().collect()
        connection.register("_keyed", long.to_arrow())
        with pytest.raises(
            duckdb.Error, match=r"is twice in [ab]; .* keys := \[\.\.\.\], .*duplicates := 'first'"
        ):
            connection.sql("FROM rank.rrf('_keyed')").fetchall()
        first = fuse(long, duplicates="first")
        assert first.height == long.select("query", "item").n_unique()
        # Where each list is given by itself, a repeated item counts at its first rank.
        assert_frame_equal(fuse({s: long.filter(system=s) for s in "ab"}), first)
        with pytest.raises(
            DataError, match=r"of query 'q1', day datetime.date.2026, 1, 1. is twice in '[ab]'"
        ):
            fuse(pl.concat([long, long]), keys=["day"])

    def test_keys_that_are_refused(self, connection):
        long = self.long().with_columns(
            nothing=pl.lit(None, pl.String),
            many=pl.lit([1]),
            thing=pl.Series([object()] * self.long().height, dtype=pl.Object),
        )
        for keys, message in (
            (["system"], "keys names 'system', which fusion uses already"),
            (["item"], "keys names 'item', which fusion uses already"),
            (["day", "day"], "keys names 'day' twice"),
            (["dya"], r"no column 'dya' \(did you mean 'day'\?\)"),
            (["nothing"], "runs.nothing has a null: every row needs its nothing"),
            (["many"], r"runs.many has type List\(Int64\), which can't be a key"),
            (["thing"], "runs.thing has type Object, which Polars can't group"),
        ):
            with pytest.raises(ValueError, match=message):
                fuse(long, keys=keys)
        apart = {"a": self.long(), "b": self.long().cast({"day": pl.String})}
        with pytest.raises(DataError, match=r"types of the key differ: a\.day is Date, b\.day is String"):
            fuse(apart, keys=["day"])
        connection.register("_keyed", long.drop("thing").to_arrow())
        for keys, message in (
            ("['system']", r"keys \[system\] names a column that fusion uses already"),
            ("['dya']", r"not all of the columns \[dya\] \(keys\)"),
            ("'day'", "keys must be a list of columns, as .* got day"),
            ("['nothing']", "the runs have a null key"),
        ):
            with pytest.raises(duckdb.Error, match=message):
                connection.sql(f"FROM rank.fuse('_keyed', keys := {keys})").fetchall()

    def test_types_of_keys(self):
        long = self.long().with_columns(arm=pl.col("day").dt.day())
        expected = fuse(long, keys=["arm"])
        for dtype in (pl.Float64, pl.UInt8, pl.String):
            fused = fuse(long.cast({"arm": dtype}), keys=["arm"])
            assert_frame_equal(fused.cast({"arm": pl.Int8}), expected)
        coded = long.cast({"arm": pl.String}).cast({"arm": pl.Enum(["2", "1"])})
        assert_frame_equal(fuse(coded, keys=["arm"]).cast({"arm": pl.Int8}), expected)
        mixed = {s: long.filter(system=s).cast({"arm": t}) for s, t in (("a", pl.Int64), ("b", pl.UInt8))}
        assert_frame_equal(fuse(mixed, keys=["arm"]).cast({"arm": pl.Int8}), expected)
        nothing = {**mixed, "c": pl.DataFrame()}
        assert_frame_equal(fuse(nothing, keys=["arm"]), fuse(mixed, keys=["arm"]))


@pytest.mark.parametrize("name", ["*", "^.*$", "^a.*$", "column: query", "number"])
def test_columns_may_be_called_anything(name):
    rows = pl.DataFrame(
        {"query": ["p", "q"], "item": ["x", "y"], "score": [1.0, 2.0], "system": "s", "day": 1}
    )
    expected = fuse(rows, keys=["day"])
    for role in ("query", "item", "score", "system", "day"):
        options = {"keys": [name]} if role == "day" else {"keys": ["day"], role: name}
        fused = fuse(rows.rename({role: name}), **options)
        assert_frame_equal(fused, expected.rename({} if role == "system" else {role: name}))
        fused = fuse(rows.rename({role: name}).lazy(), **options)
        assert_frame_equal(fused.collect(), expected.rename({} if role == "system" else {role: name}))
        assert normalize_scores(rows.rename({role: name}), **options).height == 2
    with pytest.raises(ValueError, match="must be different columns, got 'rank' twice"):
        fuse(rows.rename({"score": "rank"}), score="rank")


def test_chunks_that_filters_emptied():
    queries, items = range(700), range(20)
    rows = pl.DataFrame({"query": queries}).join(pl.DataFrame({"item": items}), how="cross")
    rows = rows.with_columns(score=((pl.col("item") * 7 + pl.col("query")) % 13).cast(pl.Float64))
    long = pl.concat([rows.with_columns(system=pl.lit(name), day=pl.lit(day)) for name, day in DAYS])
    assert long.height > 10_000
    chunked = pl.concat(
        [long.filter(pl.col("query") > 10_000), *long.iter_slices(997), long.clear()], rechunk=False
    ).filter(pl.col("query") % 3 > 0, pl.col("day") < 3)
    whole = pl.concat([chunked], rechunk=True)
    qrels = rows.filter(pl.col("item") == 3).select("query", "item").head(60)
    calls = [
        lambda runs: fuse(runs, "comb_sum", normalize="zscore", keys=["day"], explain=True),
        lambda runs: fuse(runs, "borda", keys=["day"]),
        lambda runs: fuse(runs, duplicates="first"),
        lambda runs: normalize_scores(runs, "quantile", keys=["day"]),
        lambda runs: fit_fusion(runs, qrels, "segfuse", keys=["day"]),
        lambda runs: tune_fusion(runs, qrels, "nDCG@5", folds=2, k=[10, 60], keys=["day"]),
    ]
    for call in calls:
        expected = call(whole)
        assert expected.height
        assert_frame_equal(call(chunked), expected)
        assert_frame_equal(call(chunked.lazy()).collect(engine="streaming"), expected)


def test_settings_of_other_engines():
    runs = {"a": one_query(("x", 9.0), ("y", 1.0)), "b": one_query(("y", 4.0))}
    weights = {"a": 3.0, "b": 0.5}
    ranked = scores(fuse(runs, weights=weights, **FUSION_SETTINGS["weaviate_ranked"]))
    assert ranked == pytest.approx({"x": 3 / 60, "y": 3 / 61 + 0.5 / 60})
    stretched = scores(fuse(runs, weights=weights, **FUSION_SETTINGS["qdrant_rrf"]))
    assert stretched == pytest.approx({"x": 1 / (1 / 3 + 1), "y": 1 / (2 / 3 + 1) + 1 / (1 / 0.5 + 1)})
    spread = scores(fuse(runs, **FUSION_SETTINGS["qdrant_dbsf"]))
    deviation = math.sqrt(32)
    assert spread == pytest.approx(
        {
            item: (score - 5 + 3 * deviation) / (6 * deviation) + extra
            for item, score, extra in (("x", 9, 0), ("y", 1, 0.5))
        }
    )
    relative = scores(fuse(runs, weights=weights, **FUSION_SETTINGS["weaviate_relative_score"]))
    assert relative == pytest.approx({"x": 3.0, "y": 0.5})


def test_normalize_scores_gives_each_list(connection):
    runs = {"b": one_query(("x", 4.0), ("y", 2.0), ("z", 3.0)), "a": one_query(("w", 1.0))}
    scaled = normalize_scores(runs, "min_max", on_constant=0.5)
    assert scaled.rows() == [
        ("b", "q", "x", 1.0, 1.0),
        ("b", "q", "z", 0.5, 2.0),
        ("b", "q", "y", 0.0, 3.0),
        ("a", "q", "w", 0.5, 1.0),
    ]
    assert normalize_scores(runs, "borda").height == 8
    connection.register("_runs", stacked(runs).to_arrow())
    for method in NORMALIZATIONS:
        parts = connection.sql(
            "SELECT query, item, unnest(explain, recursive := TRUE) "
            f"FROM rank.fuse('_runs', 'comb_sum', normalize := '{method}', explain := TRUE)"
        ).pl()
        found = {(s, i): v for s, i, v in parts.select("system", "item", "contribution").rows()}
        ours = {
            (s, i): v for s, i, v in normalize_scores(runs, method).select("system", "item", "score").rows()
        }
        assert found == pytest.approx(ours, abs=1e-12), method


class TestRrf:
    """The expression and the macro."""

    def values(self, connection, frame, arguments="rank", **options):
        connection.register("_lists", frame.to_arrow())
        listed = "".join(f", {name} := {value}" for name, value in options.items())
        sql = connection.sql(
            f"SELECT item, rank.rrf({arguments}{listed}) AS rrf FROM _lists GROUP BY item ORDER BY item"
        ).pl()
        weight = "weight" if "weight" in arguments else None
        polars = frame.group_by("item").agg(rrf("rank", weight, **options)).sort("item")
        assert_frame_equal(polars, sql)
        return dict(polars.rows())

    def test_ranks_below_one_null_and_nan_add_nothing(self, connection):
        ranks = pl.Series([1.0, 2.0, 0.0, -3.0, None, math.nan], dtype=pl.Float64)
        frame = pl.DataFrame({"item": ["a", "a", "b", "c", "d", "e"], "rank": ranks})
        assert self.values(connection, frame) == pytest.approx(
            {"a": 1 / 61 + 1 / 62, "b": 0, "c": 0, "d": 0, "e": 0}
        )
        assert self.values(connection, frame, k=0)["a"] == 1.5

    def test_weights(self, connection):
        weights = pl.Series([2.0, 0.0, None, math.nan], dtype=pl.Float64)
        frame = pl.DataFrame({"item": list("abcd"), "rank": [1, 1, 1, 1], "weight": weights})
        assert self.values(connection, frame, "rank, weight") == pytest.approx(
            {"a": 2 / 61, "b": 0, "c": 0, "d": 0}
        )

    def test_infinite_weights_that_cancel_out_give_null(self, connection):
        weights = [math.inf, -math.inf, math.inf, 1.0]
        frame = pl.DataFrame({"item": list("aabb"), "rank": [1, 1, 1, 1], "weight": weights})
        assert self.values(connection, frame, "rank, weight") == {"a": None, "b": math.inf}

    def test_small_ranks_and_whole_frames(self):
        frame = pl.DataFrame({"rank": [200]}, schema={"rank": pl.UInt8})
        assert frame.select(rrf()).item() == pytest.approx(1 / 260)
        assert frame.clear().select(rrf()).item() == 0.0
        assert frame.with_columns(rrf().over(pl.lit(1)))["rrf"].item() == pytest.approx(1 / 260)
        assert frame.select(rrf(pl.col("rank") - 199, 3, k=1)).item() == 1.5

    def test_a_bad_k_is_refused(self, connection):
        for k, text in ((-1, "-1"), (math.inf, "'inf'::double"), (math.nan, "'nan'::double"), (None, "NULL")):
            with pytest.raises(ValueError, match="k must be"):
                rrf(k=k)
            with pytest.raises(duckdb.Error, match="k must be"):
                connection.sql(f"SELECT rank.rrf(1, k := {text})").fetchall()

    def test_fuse_is_the_expression_over_lists(self):
        lists = pl.DataFrame(
            {"query": "q", "system": ["a", "a", "b", "b"], "item": ["x", "y", "y", "z"], "rank": [1, 2, 1, 2]}
        )
        direct = lists.group_by("query", "item").agg(rrf(k=7).alias("score")).sort("item")
        assert_frame_equal(fuse(lists, k=7).sort("item").select("query", "item", "score"), direct)


def test_every_method_is_tested():
    assert set(METHODS) - set(UNTRAINED) == {
        "mapfuse",
        "posfuse",
        "probfuse",
        "segfuse",
        "slidefuse",
        "bayesfuse",
    }
