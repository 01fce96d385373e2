"""Comparisons of systems: against SciPy, against reported hard cases, and laws that hold for any table."""

import functools
import json
import math
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats

from polars_rank.comparison.compared_systems import compare
from polars_rank.comparison.corrections import adjust
from polars_rank.comparison.sample_size import power
from polars_rank.core.errors import DataError
from polars_rank.sql import install

TESTS = ["t", "wilcoxon", "sign", "randomization", "bootstrap", "tukey"]
NEED_VARIANCE = {
    *("low", "high", "effect_size", "statistic_t", "p_t", "p_t_holm", "p_bootstrap", "p_bootstrap_holm")
}
METHODS = ["bonferroni", "holm", "benjamini-hochberg", "benjamini-yekutieli"]
CASES = {
    case["id"]: case
    for line in (Path(__file__).parents[1] / "cases" / "reported.jsonl").read_text().splitlines()
    if (case := json.loads(line))["task"] == "significance"
}


def table(**systems):
    """Make a per-query table of one measure from the values of each system."""
    names = list(systems)
    return pl.DataFrame(
        {
            "query": [f"q{i}" for name in names for i in range(len(systems[name]))],
            "system": [name for name in names for _ in systems[name]],
            "AP": pl.Series([float(v) for name in names for v in systems[name]], dtype=pl.Float64),
        }
    )


def case_table(case_id):
    given = CASES[case_id]["input"]
    return table(a=[value for _, value in given["a"]], b=[value for _, value in given["b"]])


def random_table(seed, queries=40, systems=3, slices=("x", "y", None)):
    """Make values in steps of a tenth: zeros and ties among the differences are many."""
    generator = np.random.default_rng(seed)
    rows = list(product(range(queries), range(systems)))
    return pl.DataFrame(
        {
            "query": [f"q{q}" for q, _ in rows],
            "system": [f"s{s}" for _, s in rows],
            "locale": [slices[q % len(slices)] for q, _ in rows],
            "nDCG@10": generator.integers(0, 11, len(rows)) / 10,
            "RR": generator.random(len(rows)),
        }
    )


def only(frame):
    assert len(frame) == 1
    return frame.row(0, named=True)


# ---- reported hard cases


@pytest.mark.parametrize("width", [1, 4, 30])
def test_identical_systems_differ_by_nothing_and_say_so(width):
    row = only(compare(table(a=[0.5] * width, b=[0.5] * width), tests=TESTS))
    assert row["difference"] == 0
    assert (row["wins"], row["ties"], row["losses"]) == (0, width, 0)
    nulls = {name for name, value in row.items() if value is None}
    assert nulls == NEED_VARIANCE
    assert [row[f"p_{test}"] for test in ("wilcoxon", "sign", "randomization", "tukey")] == [1.0] * 4
    assert "no variance" in row["reason"]


def test_the_reported_identical_runs():
    row = only(compare(case_table("significance-identical-runs"), tests=TESTS))
    wanted = CASES["significance-identical-runs"]["expected"]["branches"]["undefined, said so"]
    assert row["difference"] == wanted["mean difference"]
    assert row["p_t"] is wanted["paired t p"]
    assert row["p_randomization"] == wanted["randomization p"]
    assert row["p_wilcoxon"] == wanted["Wilcoxon p"]


@pytest.mark.parametrize("queries", [3, 7, 40])
@pytest.mark.parametrize("step", [0.1, -0.3, 1e-3])
def test_a_constant_difference_has_no_variance_in_spite_of_rounding(queries, step):
    base = [0.33 + i / 100 for i in range(queries)]
    row = only(compare(table(a=[value + step for value in base], b=base), tests=TESTS))
    assert row["difference"] == pytest.approx(step, abs=1e-12)
    assert {name for name, value in row.items() if value is None} == NEED_VARIANCE
    assert "no variance" in row["reason"]
    if queries <= 16:
        assert row["p_randomization"] == pytest.approx(2 / 2**queries, abs=1e-15)
    else:
        assert row["p_randomization"] == 1 / 10_001


def test_the_reported_constant_difference():
    row = only(compare(case_table("significance-constant-difference"), tests=TESTS))
    wanted = CASES["significance-constant-difference"]["expected"]["values"]
    assert row["difference"] == pytest.approx(wanted["mean difference"], abs=1e-9)
    assert row["p_randomization"] == wanted["randomization p"]


def test_one_query_decides_nothing():
    row = only(compare(case_table("significance-one-query"), tests=TESTS))
    assert row["difference"] == pytest.approx(0.8, abs=1e-12)
    assert {name for name, value in row.items() if value is None} == NEED_VARIANCE
    assert row["reason"] == "one query has no variance"
    assert [row[f"p_{test}"] for test in ("wilcoxon", "sign", "randomization", "tukey")] == [1.0] * 4


def test_the_smallest_possible_p_of_a_permutation():
    frame = case_table("permutation-p-smallest-possible")
    row = only(compare(frame, tests="randomization"))
    assert row["p_randomization"] == CASES["permutation-p-smallest-possible"]["expected"]["values"]["exact"]
    assert only(compare(frame, tests="randomization", alternative="greater"))["p_randomization"] == 0.0625


def test_the_reported_wilcoxon_with_zeros_and_ties():
    case = CASES["wilcoxon-zeros-and-ties"]
    d = [value for _, value in case["input"]["differences"]]
    exact, approximate = case["expected"]["branches"].values()
    row = only(compare(table(a=d, b=[0] * len(d)), tests="wilcoxon"))
    assert (row["statistic_wilcoxon"], row["p_wilcoxon"]) == (exact["statistic"], exact["p"])
    row = only(compare(table(a=d, b=[0] * len(d)), tests="wilcoxon", wilcoxon_method="asymptotic"))
    assert row["p_wilcoxon"] == pytest.approx(approximate["p"], abs=1e-9)


def test_the_reported_adjustments():
    case = CASES["multiple-comparison-adjustment"]
    values = case["expected"]["values"]
    for method in case["input"]["methods"]:
        assert adjust(pl.Series(case["input"]["p"]), method).to_list() == pytest.approx(
            values[method], abs=1e-9
        )
        assert adjust(pl.Series(case["input"]["then"]["p"]), method).to_list() == values["then"]


# ---- corrections

P_VALUES = st.lists(
    st.sampled_from([0.0, 1e-12, 0.001, 0.01, 0.02, 0.04, 0.05, 0.3, 1.0]), min_size=1, max_size=30
)


@given(P_VALUES)
def test_benjamini_is_scipy_s(p):
    for method, short in (("benjamini-hochberg", "bh"), ("benjamini-yekutieli", "by")):
        wanted = stats.false_discovery_control(p, method=short)
        np.testing.assert_allclose(adjust(pl.Series(p), method), wanted, rtol=0, atol=1e-14)


@given(P_VALUES)
def test_holm_is_the_step_down_rule(p):
    order, worst, wanted = sorted(range(len(p)), key=p.__getitem__), 0.0, [0.0] * len(p)
    for i, place in enumerate(order):
        worst = max(worst, min(1.0, (len(p) - i) * p[place]))
        wanted[place] = worst
    np.testing.assert_allclose(adjust(pl.Series(p), "holm"), wanted, rtol=0, atol=1e-14)


@given(P_VALUES)
@pytest.mark.parametrize("method", METHODS)
def test_p_values_that_are_missing_count_for_nothing(method, p):
    alone = adjust(pl.Series(p), method).to_list()
    among = adjust(pl.Series([None, *p, math.nan]), method).to_list()
    assert among == [None, *alone, None]


@pytest.mark.parametrize("method", METHODS)
def test_adjust_as_an_expression_knows_families(method):
    frame = pl.DataFrame({"family": ["a", "b"] * 6, "p": [i / 40 for i in range(12)]})
    got = frame.lazy().with_columns(adjusted=adjust("p", method).over("family")).collect()
    for family in ("a", "b"):
        part = got.filter(pl.col("family") == family)
        assert part["adjusted"].to_list() == adjust(part["p"], method).to_list()


def test_adjust_refuses_what_is_no_p_value_and_no_method():
    with pytest.raises(ValueError, match=r"p_values must be in \[0, 1\], got 0.5 to 1.5"):
        adjust(pl.Series([0.5, 1.5]))
    with pytest.raises(ValueError, match="did you mean 'bonferroni'"):
        adjust("p", "bonferoni")


def test_a_family_is_a_measure_with_all_its_pairs_and_slices():
    got = compare(random_table(1), by="locale", measures=["nDCG@10", "RR"], corrections=METHODS)
    for measure in ("nDCG@10", "RR"):
        part = got.filter(pl.col("measure") == measure)
        assert len(part) == 9
        for method in METHODS:
            column = f"p_t_{method.replace('-', '_')}"
            np.testing.assert_allclose(part[column], adjust(part["p_t"], method), atol=1e-15)


# ---- each test against SciPy


def sides(frame, row, measure):
    part = frame.filter(pl.col("locale").eq_missing(pl.lit(row["locale"])))
    both = [
        part.filter(pl.col("system") == row[name]).sort("query")[measure] for name in ("system", "baseline")
    ]
    return [values.to_numpy() for values in both]


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_t_sign_and_effect_size_are_scipy_s_in_every_slice(alternative):
    frame = random_table(2)
    for row in compare(frame, by="locale", tests=["t", "sign"], alternative=alternative, level=0.9).iter_rows(
        named=True
    ):
        x, y = sides(frame, row, row["measure"])
        result = stats.ttest_rel(x, y, alternative=alternative)
        low, high = result.confidence_interval(0.9)
        assert row["p_t"] == pytest.approx(result.pvalue, abs=1e-12)
        assert row["statistic_t"] == pytest.approx(result.statistic, abs=1e-9)
        assert (row["low"], row["high"]) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))
        d = np.round(x - y, 12)
        assert row["effect_size"] == pytest.approx(d.mean() / d.std(ddof=1), abs=1e-12)
        assert row["wins"] + row["ties"] + row["losses"] == row["n"] == len(d)
        wanted = stats.binomtest(row["wins"], row["wins"] + row["losses"], alternative=alternative).pvalue
        assert row["p_sign"] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("zero_method", ["wilcox", "pratt", "zsplit"])
@pytest.mark.parametrize("method", ["exact", "asymptotic"])
@pytest.mark.parametrize("continuity", [True, False])
def test_wilcoxon_is_scipy_s(alternative, zero_method, method, continuity):
    frame = random_table(3)
    options = {"alternative": alternative, "zero_method": zero_method}
    got = compare(
        frame, by="locale", tests="wilcoxon", wilcoxon_method=method, continuity=continuity, **options
    )
    for row in got.iter_rows(named=True):
        x, y = sides(frame, row, row["measure"])
        d = x - y
        d[np.abs(d) < 1e-12] = 0
        wanted = stats.wilcoxon(d, method=method, correction=continuity, **options)
        assert row["p_wilcoxon"] == pytest.approx(wanted.pvalue, abs=1e-12)
        assert row["statistic_wilcoxon"] == wanted.statistic


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("zero_method", ["wilcox", "pratt", "zsplit"])
@pytest.mark.parametrize("queries", [5, 9, 11, 60])
def test_wilcoxon_left_to_itself_is_scipy_s(alternative, zero_method, queries):
    options = {"alternative": alternative, "zero_method": zero_method}
    frame = random_table(4, queries, slices=("all",))
    for row in compare(frame, by="locale", tests="wilcoxon", **options).iter_rows(named=True):
        x, y = sides(frame, row, row["measure"])
        d = x - y
        d = d[d != 0] if zero_method == "wilcox" else d
        wanted = stats.wilcoxon(d, correction=False, **options)
        assert row["p_wilcoxon"] == pytest.approx(wanted.pvalue, abs=1e-12)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("queries", [1, 2, 6, 11])
def test_exact_randomization_is_scipy_s(alternative, queries):
    frame = random_table(5, queries, slices=("all",)).with_columns(pl.col("nDCG@10").round(1))
    for row in compare(frame, by="locale", tests="randomization", alternative=alternative).iter_rows(
        named=True
    ):
        x, y = sides(frame, row, row["measure"])
        # In whole numbers, so that no rounding hides a tie.
        d = np.rint((x - y) * 1e9)
        signs = np.array(list(product([-1, 1], repeat=queries)))
        sums = signs @ d
        extreme = {
            "two-sided": abs(sums) >= abs(d.sum()),
            "less": sums <= d.sum(),
            "greater": sums >= d.sum(),
        }[alternative]
        assert row["p_randomization"] == extreme.mean()


def test_sampled_randomization_is_near_the_exact_one():
    frame = random_table(6, 17, systems=6, slices=("all",)).drop("nDCG@10")
    got = compare(frame, tests="randomization", samples=10_000)
    for row in got.with_columns(locale=pl.lit("all")).iter_rows(named=True):
        x, y = sides(frame, row, "RR")
        numbers = np.arange(2**17)[:, None]
        sums = np.where((numbers >> np.arange(17)) & 1, 1.0, -1.0) @ (x - y)
        exact = (abs(sums) >= abs((x - y).sum()) - 1e-9).mean()
        error = math.sqrt(exact * (1 - exact) / 10_000)
        assert abs(row["p_randomization"] - exact) <= 5 * error + 1e-4


def test_tukey_over_two_systems_is_the_randomization_test():
    frame = random_table(7, 24, systems=2)
    got = compare(frame, by="locale", tests=["tukey", "randomization"], samples=40_000)
    for row in got.iter_rows(named=True):
        p = row["p_randomization"]
        assert abs(row["p_tukey"] - p) <= 5 * math.sqrt(max(p * (1 - p), 1e-4) / 40_000)


def test_tukey_corrects_for_the_number_of_systems():
    got = compare(random_table(8, 30, systems=6, slices=("all",)), tests=["tukey", "randomization"])
    assert (got["p_tukey"] >= got["p_randomization"] - 0.02).all()
    assert (got["p_tukey"] - got["p_randomization"]).mean() > 0.1


# ---- laws


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_bit(seed, random):
    frame = random_table(seed % 97, 20)
    rows = list(range(len(frame)))
    random.shuffle(rows)
    options = {"by": "locale", "tests": TESTS, "interval": "bca", "samples": 50}
    assert_frame_equal(compare(frame, **options), compare(frame[rows], **options), check_exact=True)


def test_other_slices_measures_and_systems_change_no_bit():
    frame = random_table(9)
    options = {"tests": TESTS[:-1], "corrections": [], "interval": "bootstrap", "samples": 500}
    whole = compare(frame, "s0", by="locale", **options)
    part = compare(
        frame.filter(pl.col("locale") == "x", pl.col("system") != "s2"),
        "s0",
        by="locale",
        measures="RR",
        **options,
    )
    same = whole.filter(pl.col("locale") == "x", pl.col("measure") == "RR", pl.col("system") == "s1")
    assert_frame_equal(part, same, check_exact=True)


def test_swapping_the_systems_turns_the_signs():
    frame = random_table(10, systems=2)
    one, two = (compare(frame, name, by="locale", tests=TESTS) for name in ("s0", "s1"))
    assert one["difference"].to_list() == (-two["difference"]).to_list()
    assert one["low"].to_list() == pytest.approx((-two["high"]).to_list(), abs=1e-15)
    assert one["wins"].to_list() == two["losses"].to_list()
    for test in ("t", "wilcoxon", "sign", "randomization", "tukey"):
        assert one[f"p_{test}"].to_list() == pytest.approx(two[f"p_{test}"].to_list(), abs=1e-12)


def test_a_lazy_table_gives_a_lazy_one_of_the_same_schema():
    frame = random_table(11)
    eager = compare(frame, by=["locale"], tests=TESTS, corrections=METHODS)
    lazy = compare(frame.lazy(), by=["locale"], tests=TESTS, corrections=METHODS)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect_schema() == eager.schema
    assert_frame_equal(lazy.collect(), eager)
    assert_frame_equal(lazy.filter(pl.col("p_t") < 0.5).collect(), eager.filter(pl.col("p_t") < 0.5))


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["s2", "s1", "s0"])])
def test_categories_are_text(dtype):
    frame = random_table(12)
    cast = frame.with_columns(pl.col("system").cast(dtype), pl.col("query").cast(pl.Categorical))
    assert_frame_equal(compare(cast, "s1"), compare(frame, "s1"))


@pytest.mark.parametrize("threads", [1, 2])
def test_the_number_of_threads_changes_no_bit(threads):
    code = (
        "import sys; sys.path[:0] = ['tests', 'tests/comparison']\n"
        "from test_comparison import TESTS, random_table, compare\n"
        "frame = random_table(13, 300)\n"
        "print(compare(frame, by='locale', tests=TESTS[:-1], interval='bca', samples=3000).write_json())"
    )
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    here = compare(
        random_table(13, 300), by="locale", tests=TESTS[:-1], interval="bca", samples=3000
    ).write_json()
    assert run.stdout.strip() == here


# ---- queries that are missing, values that are no numbers

HOLES = pl.DataFrame(
    {
        "query": ["q1", "q2", "q3", "q4", "q1", "q2", "q3"],
        "system": ["a"] * 4 + ["b"] * 3,
        "AP": [0.5, None, 0.25, 1.0, 0.25, 0.5, 0.5],
    }
)


def test_a_query_without_a_row_is_an_error_that_names_it():
    with pytest.raises(
        DataError,
        match=r"system 'b' lacks AP for 1 queries that another system has: 'q4'; use missing=\"zero\"",
    ):
        compare(HOLES)
    with pytest.raises(DataError, match=r"system 'a' lacks AP for 1 queries .*'q2'"):
        compare(HOLES.drop_nulls().filter(pl.col("query") != "q4"))


def test_a_query_without_a_row_counts_as_zero_or_is_dropped_and_a_null_is_always_left_out(connection):
    for choice, n, mean, mean_baseline in (("zero", 3, 1.75 / 3, 0.25), ("drop", 2, 0.375, 0.375)):
        for row in (compare(HOLES, missing=choice), in_sql(connection, HOLES, missing=choice)):
            values = [only(row)[name] for name in ("n", "missing", "mean", "mean_baseline")]
            assert values == [n, 2, pytest.approx(mean, abs=1e-15), pytest.approx(mean_baseline, abs=1e-15)]


@pytest.mark.parametrize("missing", ["error", "zero", "drop"])
@pytest.mark.parametrize("systems", [["a"], ["b"], ["a", "b"]])
def test_a_null_is_left_out_and_counted_as_missing(connection, missing, systems):
    frame = table(a=[0.5, 0.25, 0.0], b=[0.25, 0.5, 0.0], c=[0.5, 1.0, 0.25])
    nothing_judged = (pl.col("query") == "q2") & pl.col("system").is_in(systems)
    frame = frame.with_columns(AP=pl.when(~nothing_judged).then("AP"))
    wanted = compare(frame.filter(pl.col("query") != "q2"), tests=TESTS)
    for got in (compare(frame, missing=missing, tests=TESTS), in_sql(connection, frame, missing=missing)):
        for row in got.sort("system", "baseline").iter_rows(named=True):
            left_out = bool({row["system"], row["baseline"]} & set(systems))
            assert (row["n"], row["missing"]) == ((2, 1) if left_out else (3, 0))
            alone = wanted.filter(system=row["system"], baseline=row["baseline"])
            if left_out:
                for name in ("mean", "mean_baseline", "difference", "wins", "ties", "losses"):
                    assert row[name] == only(alone)[name]


def test_a_measure_without_any_value_has_a_row_that_says_so(connection):
    frame = table(a=[0.5, 0.25], b=[0.25, 0.5]).with_columns(RR=pl.lit(None, dtype=pl.Float64))
    for got in (compare(frame), in_sql(connection, frame)):
        row = only(got.filter(measure="RR"))
        assert (row["n"], row["missing"], row["difference"]) == (0, 2, None)
        assert row["reason"] == "no query in common"
    row = only(power(frame, measures="RR"))
    assert (row["n"], row["missing"], row["power"]) == (0, 2, None)


def test_a_row_is_lacking_only_where_another_system_has_a_value(connection):
    frame = table(a=[0.5, 0.25, 0.0], b=[0.25, 0.5], c=[0.0, 0.5]).with_columns(
        AP=pl.when(pl.col("query") != "q2").then("AP")
    )
    for missing in ("error", "zero", "drop"):
        ours, theirs = compare(frame, missing=missing), in_sql(connection, frame, missing=missing)
        assert ours.select("n", "missing").rows() == [(2, 1)] * 3
        assert theirs.select("n", "missing").rows() == [(2, 1)] * 3


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_nan_is_neither_dropped_nor_spread(bad):
    frame = table(a=[0.5, 0.25, bad], b=[0.25, 0.5, 0.0], c=[0.0, 0.5, 1.0])
    got = compare(frame, "b", tests=TESTS)
    bad_row, good_row = got.rows(named=True)
    assert bad_row["reason"] == "a value is NaN or infinite"
    assert (bad_row["n"], good_row["n"]) == (2, 3)
    nulls = [name for name, value in bad_row.items() if value is None]
    assert {"mean", "difference", "wins", "p_t", "p_randomization", "p_tukey", "p_t_holm"} <= set(nulls)
    assert good_row["p_t_holm"] == good_row["p_t"]


def test_values_that_are_all_nan_are_no_missing_queries():
    row = only(compare(table(a=[math.nan, math.inf], b=[0.5, 0.25])))
    assert (row["n"], row["missing"], row["reason"]) == (0, 0, "a value is NaN or infinite")
    assert power(table(a=[0.5, math.nan, 0.75], b=[0.25, 0.5, 0.5])).item(0, "n") == 2


def test_a_null_slice_is_a_slice(connection):
    frame = pl.concat([SLICED.with_columns(day=pl.lit(day, pl.Int64)) for day in (None, 1)])
    got = compare(frame, by="day", tests=["t", "tukey"])
    assert got["day"].to_list() == [None, 1]
    assert got[0].drop("day").equals(got[1].drop("day"))
    assert got["p_t"].null_count() == got["p_tukey"].null_count() == 0
    theirs = in_sql(connection, frame, slices=["day"]).sort("day")
    assert theirs["p_t"].to_list() == pytest.approx(got["p_t"].to_list(), rel=1e-12)


def test_a_system_without_any_query_of_a_slice():
    frame = HOLES.drop_nulls().with_columns(day=pl.when(pl.col("query") == "q4").then(2).otherwise(1))
    got = compare(frame, by="day", missing="drop", tests=TESTS)
    row = got.row(-1, named=True)
    assert (row["day"], row["n"], row["missing"], row["reason"]) == (2, 0, 1, "no query in common")


def test_what_is_refused():
    frame = table(a=[0.5, 0.25], b=[0.25, 0.5])
    with pytest.raises(ValueError, match=r"baseline='bb' is not a system \(did you mean 'b'\?\)"):
        compare(frame, "bb")
    with pytest.raises(DataError, match="2 rows for query 'q0' of system 'a'; name the other keys in by="):
        compare(pl.concat([frame, frame]))
    with pytest.raises(DataError, match="one system"):
        compare(frame.filter(pl.col("system") == "a"))
    with pytest.raises(DataError, match="no column 'MAP'"):
        compare(frame, measures="MAP")
    with pytest.raises(DataError, match="no column whose name is a measure"):
        compare(frame.rename({"AP": "weight of it"}))
    with pytest.raises(DataError, match="no column 'locale'"):
        compare(frame, by="locale")
    with pytest.raises(ValueError, match="by='system' can't slice"):
        compare(frame, by="system")
    with pytest.raises(ValueError, match="tests must be one of"):
        compare(frame, tests="z")
    with pytest.raises(ValueError, match="is two-sided"):
        compare(frame, tests="tukey", alternative="less")
    with pytest.raises(ValueError, match="level must be above 0 and below 1, got 95"):
        compare(frame, level=95)
    with pytest.raises(ValueError, match="level must be above 0 and below 1, got 'high'"):
        compare(frame, level="high")
    with pytest.raises(ValueError, match="query and system must be different columns"):
        compare(frame, query="system")
    with pytest.raises(ValueError, match="samples must be a whole number of at least 1, got 0"):
        compare(frame, samples=0)
    with pytest.raises(DataError, match="has a null"):
        compare(frame.with_columns(system=pl.lit(None, dtype=pl.String)))
    with pytest.raises(TypeError, match="must be a Polars frame"):
        compare({"query": [1]})


def test_scipy_is_not_needed_to_import_and_asked_for_by_name():
    code = (
        "import sys, polars as pl\n"
        "import polars_rank.comparison.compared_systems as c\n"
        "assert not {'scipy', 'numpy'} & set(sys.modules), 'imported too early'\n"
        "sys.modules['scipy'] = None\n"
        "frame = pl.DataFrame({'query': [1, 1], 'system': ['a', 'b'], 'AP': [0.5, 0.25]})\n"
        "try: c.compare(frame)\n"
        "except ModuleNotFoundError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "statistics need scipy: pip install scipy\n"


# ---- published values

REFERENCE = os.environ.get("POLARS_RANK_REFERENCE")
SHORT = {"bonferroni": "bonferroni", "holm": "holm", "bh": "benjamini_hochberg", "by": "benjamini_yekutieli"}


def wanted_values():
    """Give the published rows, and the inputs as a per-query table with the case as slice."""
    folder = Path(REFERENCE) / "golden"
    wanted = pl.read_parquet(folder / "significance.parquet")
    params = [json.loads(text) for text in wanted["params"]]
    inputs = pl.read_parquet(folder / "significance_inputs.parquet").rename({"run": "system", "value": "AP"})
    return wanted.with_columns(pl.Series("params", params, dtype=pl.Object)), inputs


def closed_form(test, params):
    """Give the options of `compare` and the columns that hold statistic, p value and interval."""
    side = {"alternative": params.get("alternative", "two-sided")}
    columns = {
        "ttest_rel": {"statistic": "statistic_t", "p_value": "p_t", "ci_low": "low", "ci_high": "high"},
        "ttest_rel_adjusted": {"p_value": f"p_t_{SHORT.get(params.get('correction'))}"},
        "wilcoxon": {"statistic": "statistic_wilcoxon", "p_value": "p_wilcoxon"},
        "sign_test": {"statistic": "wins", "p_value": "p_sign"},
        "randomization_exact": {"statistic": "difference", "p_value": "p_randomization"},
        "scipy_permutation_test_exact": {"statistic": "difference", "p_value": "p_randomization"},
        "cohen_d_paired": {"statistic": "effect_size"},
    }
    if test == "wilcoxon":
        side["zero_method"], side["continuity"] = params["zero_method"], params["correction"]
        side["wilcoxon_method"] = "exact" if params["method"] == "exact" else "asymptotic"
    return (side, columns[test]) if test in columns else None


@pytest.mark.skipif(not REFERENCE, reason="POLARS_RANK_REFERENCE does not name the reference data")
def test_published_closed_forms(capsys):
    wanted, inputs = wanted_values()
    compared, counts = {}, {}
    for row in wanted.iter_rows(named=True):
        known = closed_form(row["test"], row["params"])
        if known is None:
            continue
        options, columns = known
        key = tuple(options.items())
        if key not in compared:
            # A family is a measure's pairs in all slices; here every case is a family of its own.
            got = pl.concat(
                compare(
                    part,
                    by="case",
                    tests=["t", "wilcoxon", "sign", "randomization"],
                    corrections=METHODS,
                    **options,
                )
                for part in inputs.partition_by("case")
            )
            compared[key] = {(r["case"], r["system"], r["baseline"]): r for r in got.iter_rows(named=True)}
        ours = compared[key][row["case"], row["run_a"], row["run_b"]]
        assert ours["n"] == row["n"]
        for theirs, column in columns.items():
            if row[theirs] is not None:
                place = (row["case"], row["run_a"], row["run_b"], row["test"], row["params"], theirs)
                assert ours[column] == pytest.approx(row[theirs], abs=1e-9), place
                counts[row["test"]] = counts.get(row["test"], 0) + 1
    with capsys.disabled():
        print("\nvalues compared:", counts)
    assert set(counts) >= {"ttest_rel", "ttest_rel_adjusted", "wilcoxon", "sign_test", "randomization_exact"}


@pytest.mark.skipif(not REFERENCE, reason="POLARS_RANK_REFERENCE does not name the reference data")
def test_published_samples(capsys):
    wanted, inputs = wanted_values()
    rows = wanted.filter(pl.col("test") == "scipy_permutation_test_random")
    got = compare(inputs, by="case", tests="randomization", missing="drop")
    ours = {(r["case"], r["system"], r["baseline"]): r for r in got.iter_rows(named=True)}
    for row in rows.iter_rows(named=True):
        p, q = row["p_value"], ours[row["case"], row["run_a"], row["run_b"]]["p_randomization"]
        # SciPy doubles the smaller tail, so its error is twice that of a tail; ours is that of both.
        tail = max((p + q) / 4, 1e-4)
        variance = 4 * tail * (1 - tail) / 99_999 + 2 * tail * max(1 - 2 * tail, 1e-4) / 10_000
        assert abs(p - q) <= 5 * math.sqrt(variance)
    with capsys.disabled():
        print(f"\nvalues compared: {len(rows)} of scipy_permutation_test_random")
    assert len(rows) > 0


@pytest.mark.skipif(not REFERENCE, reason="POLARS_RANK_REFERENCE does not name the reference data")
@pytest.mark.parametrize("method", ["bootstrap", "basic", "bca"])
def test_published_bootstrap_intervals(method, capsys):
    """An end is a quantile of 20,000 samples, so its level is off by five standard errors at most.

    Hence it lies between the ends of ours at those levels. BCa's level leans on the share of samples below
    the mean as well: an error of that share moves the level by 2 φ(1.96) / φ(0) = 0.293 times as much. Where
    the values are few, many samples equal the mean, and rounding puts them on either side in SciPy: the
    share may be wrong by half of them.
    """
    wanted, inputs = wanted_values()
    values = {
        key: part.sort("query")["AP"].to_numpy()
        for key, part in inputs.partition_by("case", "system", as_dict=True).items()
    }
    shares = 0.293**2 * 0.25 if method == "bca" else 0.0
    sampling = 5 * math.sqrt((0.025 * 0.975 + shares) / 20_000)

    @functools.cache
    def ours(level):
        options = {"tests": [], "interval": method, "missing": "drop", "samples": 50_000}
        got = compare(inputs, by="case", level=level, **options)
        return {(r["case"], r["system"], r["baseline"]): r for r in got.iter_rows(named=True)}

    compared = 0
    for row in wanted.filter(pl.col("test") == "bootstrap_mean_difference").iter_rows(named=True):
        if row["params"]["method"].lower() != {"bootstrap": "percentile"}.get(method, method):
            continue
        key = (row["case"], row["run_a"], row["run_b"])
        d = values[key[:2]] - values[row["case"], row["run_b"]]
        drawn = d[np.random.default_rng(0).integers(0, len(d), (2000, len(d)))].mean(axis=1)
        ties = (abs(drawn - d.mean()) < 1e-12).mean() if method == "bca" else 0.0
        error = sampling + 0.293 * math.ceil(ties * 20) / 20 / 2
        narrow, wide = ours(0.95 - 2 * error)[key], ours(min(0.95 + 2 * error, 0.99999))[key]
        assert wide["low"] - 1e-9 <= row["ci_low"] <= narrow["low"] + 1e-9, key
        assert narrow["high"] - 1e-9 <= row["ci_high"] <= wide["high"] + 1e-9, key
        compared += 2
    with capsys.disabled():
        print(f"\nvalues compared: {compared} of bootstrap_mean_difference, {method}")
    assert compared > 0


# ---- SQL: the closed forms


@pytest.fixture(scope="module")
def connection():
    connection = duckdb.connect()
    install(connection)
    return connection


def in_sql(connection, frame, **options):
    words = {"baseline", "missing", "slices", "measures", "z"}
    assert options.keys() <= words
    arguments = ", ".join(
        [
            "'frame'",
            *(f"{name} := {'NULL' if value is None else repr(value)}" for name, value in options.items()),
        ]
    )
    connection.register("frame", frame)
    return connection.sql(f"FROM rank.compare({arguments})").pl()


CLOSED = ["n", "missing", "mean", "mean_baseline", "difference", "wins", "ties", "losses", "effect_size"]
CLOSED += ["statistic_t", "p_t", "reason"]


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 3, 4, 7, 30, 60]), st.sampled_from([None, "s1"]))
def test_sql_gives_the_same_numbers(connection, seed, queries, baseline):
    frame = random_table(seed, queries).with_columns(
        # Some queries are missing, some differences all equal.
        RR=pl.when(pl.col("query") != "q1").then("RR"),
        AP=pl.when(pl.col("system") == "s0").then(pl.col("RR") + 0.1).otherwise("RR"),
    )
    frame = frame.filter(pl.struct("query", "system") != pl.struct(query=pl.lit("q0"), system=pl.lit("s2")))
    for missing in ("zero", "drop"):
        ours = compare(frame, baseline, by="locale", missing=missing)
        theirs = in_sql(
            connection,
            frame,
            slices=["locale"],
            missing=missing,
            **({} if baseline is None else {"baseline": baseline}),
        )
        keys = ["locale", "measure", "system", "baseline"]
        both = [side.select(*keys, *CLOSED).sort(keys) for side in (ours, theirs)]
        assert_frame_equal(*both, rel_tol=0, abs_tol=1e-9)
        tested = theirs.filter(pl.col("statistic_t") != 0)
        error = tested["difference"] / tested["statistic_t"]
        np.testing.assert_allclose(
            tested["low"], tested["difference"] - 1.959963984540054 * error, atol=1e-12
        )
        np.testing.assert_allclose(
            tested["high"], tested["difference"] + 1.959963984540054 * error, atol=1e-12
        )


@pytest.mark.parametrize("queries", [2, 3, 4, 5, 10, 20, 99, 100, 101, 1000, 20_000])
def test_both_tails_of_student_are_those_of_scipy(connection, queries):
    """The far tail as well, where 1 minus the rest of the distribution has no digit left."""
    generator = np.random.default_rng(queries)
    noise = generator.normal(size=queries)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    wanted = np.array([0.0, *10.0 ** np.arange(-4, 7), 3.0, 8.0, 17.0, 37.0])
    systems = {f"s{place:02}": noise + t / math.sqrt(queries) for place, t in enumerate(wanted)}
    rows = in_sql(connection, table(base=np.zeros(queries), **systems), baseline="base")
    expected = 2 * stats.t.sf(rows["statistic_t"].abs(), queries - 1)
    assert rows["statistic_t"].to_numpy() == pytest.approx(wanted, rel=1e-6, abs=1e-9)
    normal = expected > 1e-300
    assert rows["p_t"].to_numpy()[normal] == pytest.approx(expected[normal], rel=1e-11, abs=0)
    assert rows["p_t"].is_between(0, 1).all()


def test_systems_of_an_enum_pair_by_name(connection):
    frame = table(z=[0.5, 0.25, 0.75], b=[0.25, 0.5, 1.0]).cast({"system": pl.Enum(["z", "b"])})
    connection.register("frame", frame.to_arrow())
    pairs = connection.sql("SELECT system, baseline FROM rank.compare('frame')").fetchall()
    assert pairs == compare(frame).select("system", "baseline").rows() == [("b", "z")]


def test_sql_says_why_something_is_null(connection):
    reasons = {
        "one query has no variance": table(a=[0.5], b=[0.25]),
        "all differences are equal: no variance": table(a=[0.5, 0.5], b=[0.25, 0.25]),
        "a value is NaN or infinite": table(a=[0.5, math.nan], b=[0.25, 0.25]),
    }
    for reason, frame in reasons.items():
        row = only(in_sql(connection, frame))
        assert row["reason"] == reason
        assert row["p_t"] is None
        assert row["low"] is None
        assert (row["mean"] is None) == ("NaN" in reason)
        assert row["n"] == only(compare(frame))["n"]


def test_sql_leaves_out_a_query_that_one_system_lacks_and_the_other_has_as_nan(connection):
    frame = table(a=[0.5, 0.25, math.nan], b=[0.25, 0.5, 0.0]).with_columns(
        AP=pl.when(pl.col("AP") > 0).then("AP")
    )
    ours, theirs = compare(frame, missing="drop"), in_sql(connection, frame, missing="drop")
    assert (only(theirs)["n"], only(theirs)["difference"]) == (2, 0.0)
    assert only(ours)["n"] == 2


def test_sql_refuses_what_python_refuses(connection):
    good = table(a=[0.5, 0.25], b=[0.25, 0.5])
    refused = [
        (good, {"baseline": "zz"}, r"baseline zz is not a system of per_query; its systems are \[a, b\]"),
        (good, {"missing": "skip"}, "missing must be one of 'error', 'zero', 'drop', got skip"),
        (good, {"slices": ["locale"]}, "does not have all of the columns"),
        (good, {"z": 0}, "z must be a number above 0"),
        (good.filter(pl.col("system") == "a"), {}, "holds one system, a"),
        (pl.concat([good, good]), {}, "more than one row"),
        (good[:3], {}, "system b lacks AP for"),
        (good.with_columns(system=pl.lit(None, dtype=pl.String)), {}, "has a null"),
    ]
    for frame, options, message in refused:
        with pytest.raises(duckdb.Error, match=message):
            in_sql(connection, frame, **options)
    with pytest.raises(duckdb.Error, match="missing must be one of"):
        in_sql(connection, good, missing=None)


SLICED = pl.DataFrame(
    {"query": [1, 2, 3, 4] * 2, "system": list("aaaabbbb"), "AP": [0.1, 0.2, 0.3, 0.5, 0.2, 0.2, 0.4, 0.9]}
)
RESULTS = ["n", "missing", "mean", "difference", "low", "wins", "p_t", "reason"]


@pytest.mark.parametrize(
    "name", ["place", "value", "x", "len", "pair", "t", "j", "d", "cell", "lacking", "Measured"]
)
def test_a_slice_may_be_called_anything(connection, name):
    frame = SLICED.with_columns(pl.lit("z").alias(name))
    got = compare(frame, by=name, tests=["t", "tukey"])
    wanted = compare(SLICED, tests=["t", "tukey"])
    assert got.drop(name).equals(wanted)
    assert got[name].to_list() == ["z"]
    assert power(frame, by=name).drop(name).equals(power(SLICED))
    in_database = in_sql(connection, frame, slices=[name])
    assert in_database.drop(name).equals(in_sql(connection, SLICED))
    assert in_database[name].to_list() == ["z"]


@pytest.mark.parametrize("name", RESULTS)
def test_a_slice_that_is_called_as_a_result_is_refused(connection, name):
    frame = SLICED.with_columns(pl.lit("z").alias(name))
    with pytest.raises(ValueError, match=f"by='{name}' is what a column of the result is called; rename it"):
        compare(frame, by=name)
    with pytest.raises(duckdb.Error, match="holds what a column of the result is called; rename it first"):
        in_sql(connection, frame, slices=[name])


def test_a_name_is_given_once():
    for argument in ("tests", "corrections"):
        with pytest.raises(ValueError, match=f"{argument} names '(t|holm)' twice; once will do"):
            compare(SLICED, **{argument: ["t", "t"] if argument == "tests" else ["holm", "holm"]})
    for options in ({"measures": ["AP", "AP"]}, {"by": ["kind", "kind"]}):
        with pytest.raises(ValueError, match="twice; once will do"):
            compare(SLICED.with_columns(kind=1), **options)


def test_sql_takes_the_measures_it_is_given_and_no_text_for_one(connection):
    frame = random_table(3, slices=("x", "y")).with_columns(
        number_as_text=pl.lit("1.5"),
        day=pl.date(2026, 1, 1),
        terms=pl.lit([1, 2]),
        nothing=pl.lit(None, pl.String),
    )
    assert set(in_sql(connection, frame)["measure"]) == {"nDCG@10", "RR"}
    with pytest.raises(
        duckdb.Error, match=r"per_query\.locale has type VARCHAR and can't be a measure; cast it"
    ):
        in_sql(connection, frame, measures=["RR", "locale"])
    assert set(in_sql(connection, frame, measures=["rr"])["measure"]) == {"RR"}


@pytest.mark.parametrize("name", ["*", "^.*$", "^a.*$"])
def test_columns_may_look_like_patterns(name):
    frame = SLICED.with_columns(day=1)
    for role in ("query", "system", "day", "AP"):
        options = {"by": name if role == "day" else "day"}
        options |= {role: name} if role in ("query", "system") else {}
        options |= {"measures": [name]} if role == "AP" else {}
        for function in (compare, power):
            expected = function(frame, by="day")
            expected = expected.rename({"day": name}) if role == "day" else expected
            expected = expected.with_columns(measure=pl.lit(name)) if role == "AP" else expected
            assert_frame_equal(function(frame.rename({role: name}), **options), expected)


def test_objects_are_no_slices():
    frame = SLICED.with_columns(thing=pl.Series([object()] * SLICED.height, dtype=pl.Object))
    for function in (compare, power):
        with pytest.raises(DataError, match=r"per_query\.thing has type Object, which Polars can't group"):
            function(frame, by="thing")


def test_chunks_that_filters_emptied():
    frame = random_table(4, 3000)
    assert frame.height > 8_000
    chunked = pl.concat([frame.clear(), *frame.iter_slices(991)], rechunk=False)
    chunked = chunked.filter(pl.col("query").cast(pl.String).str.tail(1) > "2")
    expected = compare(chunked.rechunk(), by="locale", tests=["t", "sign"])
    assert expected["n"].min() > 0
    assert_frame_equal(compare(chunked, by="locale", tests=["t", "sign"]), expected)
    lazy = compare(chunked.lazy(), by="locale", tests=["t", "sign"])
    assert_frame_equal(lazy.collect(engine="streaming"), expected)
    assert_frame_equal(power(chunked.lazy()).collect(engine="streaming"), power(chunked.rechunk()))
