"""Summaries, their intervals, and the power of a comparison: against SciPy, and laws."""

import math
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats

from polars_rank.comparison.compared_systems import compare
from polars_rank.comparison.sample_size import power
from polars_rank.core.errors import DataError
from polars_rank.evaluation.summary import summary_statistics

SAMPLED = ["bootstrap", "basic", "bca"]


def summarized(frame, aggregates, by=None, **options):
    return summary_statistics(frame.lazy(), aggregates, by, **options).collect()


def one(values, aggregate="mean", **options):
    frame = pl.DataFrame({"AP": pl.Series(values, dtype=pl.Float64)})
    return summarized(frame, {"AP": aggregate}, **options).row(0, named=True)


def random_table(seed, rows=300):
    generator = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "system": generator.choice(["a", "b"], rows),
            "locale": [("de", "fr", None)[i] for i in generator.integers(0, 3, rows)],
            "intent": generator.choice(["buy", "read"], rows),
            "traffic": generator.integers(1, 50, rows),
            "AP": generator.beta(0.5, 2, rows),
            "RR": generator.integers(0, 2, rows) * 1.0,
        },
        schema_overrides={"locale": pl.String},
    )


# ---- means, sums and their errors


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_mean_and_errors_are_numpy_s(values):
    row = one(values)
    assert row["value"] == pytest.approx(np.mean(values), abs=1e-12)
    assert row["standard_deviation"] == pytest.approx(np.std(values, ddof=1), abs=1e-12)
    assert row["standard_error"] == pytest.approx(stats.sem(values), abs=1e-12)
    assert (row["n"], row["missing"]) == (len(values), 0)


def test_the_geometric_mean_has_trec_evals_floor():
    values = [0.5, 0.25, 0.0]
    row = one(values, "geometric")
    logs = np.log([0.5, 0.25, 1e-5])
    assert row["value"] == pytest.approx(math.exp(logs.mean()), abs=1e-15)
    assert row["standard_error"] == pytest.approx(math.exp(logs.mean()) * stats.sem(logs), abs=1e-15)
    row = one(values, "geometric", interval="t")
    low, high = stats.t.interval(0.95, 2, loc=logs.mean(), scale=stats.sem(logs))
    assert (row["low"], row["high"]) == (pytest.approx(math.exp(low)), pytest.approx(math.exp(high)))


def test_a_sum_is_n_times_the_mean():
    values = [3, 5, 0, 2]
    mean, total = one(values, interval="t"), one(values, "sum", interval="t")
    assert total["value"] == 10
    for column in ("standard_error", "low", "high"):
        assert total[column] == pytest.approx(4 * mean[column], abs=1e-12)


def test_weights_by_hand():
    frame = pl.DataFrame({"AP": [1.0, 0.0, 0.5], "traffic": [8, 1, 1]})
    row = summarized(frame, {"AP": "mean"}, weight="traffic").row(0, named=True)
    assert row["value"] == pytest.approx(0.85, abs=1e-15)
    terms = [(8 * 0.15) ** 2, 0.85**2, 0.35**2]
    assert row["standard_error"] == pytest.approx(math.sqrt(sum(terms) * 3 / 2) / 10, abs=1e-15)


@pytest.mark.parametrize("aggregate", ["mean", "geometric", "sum"])
@pytest.mark.parametrize("interval", [None, "t", *SAMPLED])
def test_equal_weights_are_none(aggregate, interval):
    frame = random_table(0, 40).with_columns(traffic=4)
    options = {"interval": interval, "samples": 300}
    plain = summarized(frame, {"AP": aggregate}, "system", **options)
    weighted = summarized(frame, {"AP": aggregate}, "system", weight="traffic", **options)
    columns = ["value", "standard_error", *([] if interval is None else ["low", "high"])]
    scale = 4 if aggregate == "sum" else 1
    for column in columns:
        np.testing.assert_allclose(weighted[column], plain[column] * scale, rtol=1e-9)


def test_a_weighted_interval_covers_the_weighted_mean():
    # Heavy queries are good ones: the plain mean of the population is 1/2, the weighted one 2/3.
    generator, hits, trials = np.random.default_rng(5), 0, 300
    quality = generator.random((trials, 200))
    frame = pl.DataFrame(
        {
            "trial": np.repeat(np.arange(trials), 200),
            "AP": quality.ravel(),
            "traffic": quality.ravel() * 100,
        }
    )
    for interval in ("t", "bootstrap"):
        got = summarized(frame, {"AP": "mean"}, "trial", weight="traffic", interval=interval, samples=500)
        hits = got.filter(pl.col("low") <= 2 / 3, pl.col("high") >= 2 / 3).height
        assert abs(hits / trials - 0.95) < 5 * math.sqrt(0.05 * 0.95 / trials)


# ---- intervals


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_t_interval_is_scipy_s(level):
    frame = random_table(1)
    for row in summarized(frame, {"AP": "mean"}, ["system", "locale"], interval="t", level=level).iter_rows(
        named=True
    ):
        same = pl.col("locale").eq_missing(pl.lit(row["locale"])) & (pl.col("system") == row["system"])
        values = frame.filter(same)["AP"]
        low, high = stats.t.interval(level, len(values) - 1, loc=values.mean(), scale=stats.sem(values))
        assert (row["low"], row["high"]) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (10, 10), (3, 10), (1, 1), (81, 263)])
def test_wilson_is_scipy_s(hits, n):
    row = one([1.0] * hits + [0.0] * (n - hits), interval="wilson", level=0.9)
    wanted = stats.binomtest(hits, n).proportion_ci(0.9, method="wilson")
    assert (row["low"], row["high"]) == (
        pytest.approx(wanted.low, abs=1e-12),
        pytest.approx(wanted.high, abs=1e-12),
    )


def test_wilson_is_for_shares_alone():
    with pytest.raises(DataError, match=r"is for values of 0 and 1, but 'AP' holds 0\.5"):
        one([0.0, 0.5, 1.0], interval="wilson")
    with pytest.raises(ValueError, match="for plain means of 0 and 1"):
        one([0.0, 1.0], "sum", interval="wilson")


@pytest.mark.parametrize("interval", SAMPLED)
@pytest.mark.parametrize("size", [5, 40])
def test_the_bootstrap_is_near_scipy_s(interval, size):
    """The ends are quantiles of samples: their levels differ by five standard errors at most.

    BCa's levels lean on the share of samples below the mean, too; 0.293 = 2 φ(1.96) / φ(0).
    """
    values = np.random.default_rng(size).beta(0.5, 2, size)
    method = {"bootstrap": "percentile", "bca": "BCa"}.get(interval, interval)
    rng = np.random.default_rng(1)
    wanted = stats.bootstrap(
        (values,), np.mean, method=method, n_resamples=20_000, rng=rng
    ).confidence_interval
    shares = 0.293**2 * 0.25 if interval == "bca" else 0.0
    error = 5 * math.sqrt((0.025 * 0.975 + shares) / 20_000)
    narrow, wide = (
        one(values, interval=interval, level=0.95 + shift, samples=50_000)
        for shift in (-2 * error, 2 * error)
    )
    rounding = 1e-12
    assert wide["low"] - rounding <= wanted.low <= narrow["low"] + rounding
    assert narrow["high"] - rounding <= wanted.high <= wide["high"] + rounding


def test_samples_are_true_resamples():
    # Of two values, a sample has both, or twice the one: a quarter, a half, a quarter.
    assert one([0.0, 1.0], interval="bootstrap", level=0.6, samples=20_000)["low"] == 0.0
    inner = one([0.0, 1.0], interval="bootstrap", level=0.4, samples=20_000)
    assert (inner["low"], inner["high"]) == (0.5, 0.5)


@settings(max_examples=20)
@given(st.integers(0, 1000), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_interval(seed, random):
    frame = random_table(seed, 60)
    rows = list(range(len(frame)))
    random.shuffle(rows)
    for weight in (None, "traffic"):
        options = {"interval": "bca", "samples": 50, "weight": weight}
        both = [
            summarized(part, {"AP": "mean", "RR": "mean"}, "locale", **options)
            for part in (frame, frame[rows])
        ]
        assert_frame_equal(*both, rel_tol=0, abs_tol=1e-12)


def test_other_slices_change_no_interval():
    frame = random_table(3)
    whole = summarized(frame, {"AP": "mean", "RR": "mean"}, "locale", interval="bootstrap", samples=400)
    part = frame.filter(pl.col("locale") == "de")
    alone = summarized(part, {"AP": "mean"}, "locale", interval="bootstrap", samples=400)
    assert_frame_equal(whole.filter(pl.col("locale") == "de", pl.col("measure") == "AP"), alone)


# ---- what can't be


@pytest.mark.parametrize("interval", ["t", *SAMPLED])
@pytest.mark.parametrize(
    ("values", "value", "reason"),
    [
        ([0.5], 0.5, "one value has no variance"),
        ([0.1 + 0.2, 0.3, 0.3], 0.3, "all values are equal: no variance"),
        ([None], None, "no value"),
        ([0.5, math.nan], None, "1 of 2 values are NaN or infinite"),
        ([0.5, -math.inf, 0.25], None, "1 of 3 values are NaN or infinite"),
    ],
)
@pytest.mark.parametrize("aggregate", ["mean", "geometric", "sum"])
def test_null_and_a_reason(interval, values, value, reason, aggregate):
    row = one(values, aggregate, interval=interval)
    assert row["reason"] == reason
    assert (row["low"], row["high"]) == (None, None)
    wanted = value if value is None or aggregate != "sum" else value * len(values)
    assert row["value"] == (None if wanted is None else pytest.approx(wanted, abs=1e-12))
    assert not any(isinstance(number, float) and math.isnan(number) for number in row.values())
    # As in compare: n counts finite values, missing counts nulls.
    assert row["n"] == sum(number is not None and math.isfinite(number) for number in values)
    assert row["missing"] == values.count(None)


def test_a_null_is_left_out_and_counted():
    row = one([0.5, None, 0.25], interval="t")
    assert (row["value"], row["n"], row["missing"], row["reason"]) == (0.375, 2, 1, None)


def test_weights_that_are_none_are_refused():
    frame = pl.DataFrame({"AP": [0.5, 0.25], "good": [0, 0], "bad": [1.0, -1.0], "gap": [1.0, None]})
    for weight, shown in (("bad", "holds -1.0 in 1 rows"), ("gap", "holds None in 1 rows")):
        with pytest.raises(DataError, match=shown):
            summarized(frame, {"AP": "mean"}, weight=weight)
    row = summarized(frame, {"AP": "mean"}, weight="good", interval="bootstrap").row(0, named=True)
    assert (row["value"], row["low"], row["reason"]) == (None, None, "all weights are 0")


@pytest.mark.parametrize("interval", ["t", "bootstrap", "bca"])
def test_a_value_of_weight_0_is_no_variance(interval):
    frame = pl.DataFrame({"query": [1, 2, 3], "AP": [0.5, 1.0, 0.25], "traffic": [0, 2, 0]})
    row = summarized(frame, {"AP": "mean"}, weight="traffic", interval=interval).row(0, named=True)
    assert (row["value"], row["low"], row["high"]) == (1.0, None, None)
    assert "no variance" in row["reason"]


def test_what_is_refused():
    with pytest.raises(DataError, match="no column 'locale'"):
        summarized(random_table(0).drop("locale"), {"AP": "mean"}, "locale")
    with pytest.raises(ValueError, match="interval must be one of"):
        one([0.5], interval="normal")
    with pytest.raises(ValueError, match=r"aggregates\['AP'\] must be one of"):
        one([0.5], "median")
    with pytest.raises(ValueError, match="level must be above 0 and below 1"):
        one([0.5], level=1)
    for column in ("AP", "traffic"):
        frame = pl.DataFrame({"query": [1], "AP": [0.5], "traffic": [1]}).cast({column: pl.String})
        with pytest.raises(DataError, match=f"per_query.{column} has type String, which is no number"):
            summarized(frame, {"AP": "mean"}, weight="traffic")


# ---- slices and totals


@pytest.mark.parametrize("interval", [None, "bootstrap"])
def test_totals_pool_queries_but_never_systems(interval):
    frame = random_table(4)
    options = {"interval": interval, "samples": 100}
    got = summarized(frame, {"AP": "mean"}, ["system", "locale", "intent"], totals=True, **options)
    assert got["total_over"].unique(maintain_order=True).to_list() == [None, "intent", "locale, intent"]
    levels = {
        None: ["system", "locale", "intent"],
        "intent": ["system", "locale"],
        "locale, intent": ["system"],
    }
    for level, kept in levels.items():
        part = got.filter(pl.col("total_over").eq_missing(pl.lit(level))).drop("total_over")
        alone = summarized(frame, {"AP": "mean"}, kept, **options)
        assert_frame_equal(part.select(alone.columns), alone)
    # The locale null is a slice, and is told from the total over locales.
    assert got.filter(pl.col("locale").is_null(), pl.col("total_over") == "intent").height == 2


@pytest.mark.parametrize("name", ["_value", "_weight", "_kind", "_place", "_level", "AP", "place"])
def test_a_slice_may_be_called_anything(name):
    frame = pl.LazyFrame({name: ["z"] * 3, "RR": [0.1, 0.2, 0.4]})
    got = summary_statistics(frame, {"RR": "mean"}, name, interval="bootstrap", totals=True).collect()
    wanted = summary_statistics(frame, {"RR": "mean"}, interval="bootstrap").collect()
    assert got["total_over"].to_list() == [None, name]
    assert got[name].to_list() == ["z", None]
    assert got.drop(name, "total_over").head(1).equals(wanted)
    with pytest.raises(ValueError, match="by='low' is what a column of the result is called"):
        summary_statistics(frame.rename({name: "low"}), {"RR": "mean"}, "low", interval="t")


def test_no_slices_is_one_row_a_measure_in_the_order_given():
    got = summarized(random_table(5), {"RR": "mean", "AP": "geometric"})
    assert got["measure"].to_list() == ["RR", "AP"]


# ---- power


@pytest.mark.parametrize(
    ("alternative", "effect", "needed"),
    # Sample sizes for the paired t test at 5 % and 80 %, as G*Power 3.1 gives them.
    [("two-sided", 0.5, 34), ("two-sided", 0.2, 199), ("greater", 0.5, 27), ("less", 0.5, None)],
)
def test_queries_needed(alternative, effect, needed):
    d = np.array([-1.0, 1.0] * 10)
    frame = pl.DataFrame(
        {
            "query": [*range(20), *range(20)],
            "system": ["a"] * 20 + ["b"] * 20,
            "AP": np.concatenate([d, np.zeros(20)]),
        }
    )
    row = power(frame, "b", difference=effect * d.std(ddof=1), alternative=alternative).row(0, named=True)
    assert row["queries_needed"] == needed
    assert row["standard_deviation"] == pytest.approx(d.std(ddof=1))
    # The least difference that n queries show needs n queries.
    smallest = row["smallest_difference"] * (-1 if alternative == "less" else 1)
    back = power(frame, "b", difference=smallest, alternative=alternative).row(0, named=True)
    assert back["power"] == pytest.approx(0.8, abs=1e-9)
    assert back["queries_needed"] in (20, 21)


def test_one_query_never_suffices():
    frame = pl.DataFrame({"query": [1, 2] * 2, "system": ["a"] * 2 + ["b"] * 2, "AP": [0.5, 0.25, 0.25, 0.5]})
    assert power(frame, difference=1e9)["queries_needed"].item() == 2


def test_power_is_the_share_of_simulated_tests_that_see():
    generator = np.random.default_rng(0)
    d = generator.normal(0, 1, 25)
    frame = pl.DataFrame(
        {"query": [*range(25)] * 2, "system": ["a"] * 25 + ["b"] * 25, "AP": [*d, *[0.0] * 25]}
    )
    row = power(frame, difference=0.5, alpha=0.1).row(0, named=True)
    drawn = generator.normal(0.5, row["standard_deviation"], (20_000, 25))
    seen = (stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.1).mean()
    assert row["power"] == pytest.approx(seen, abs=5 * math.sqrt(0.25 / 20_000))


def test_power_says_why_not_and_takes_lazy_tables():
    frame = pl.DataFrame(
        {"query": [1, 2, 1, 2], "system": ["a", "a", "b", "b"], "AP": [0.5, 0.25, 0.5, 0.25]}
    )
    row = power(frame).row(0, named=True)
    assert (row["difference"], row["power"], row["queries_needed"]) == (0.0, None, None)
    assert row["reason"] == "one query, or all differences equal: no variance"
    lazy = power(frame.lazy())
    assert_frame_equal(lazy.collect(), power(frame))
    assert lazy.collect_schema() == power(frame).schema
    with pytest.raises(ValueError, match="0 < alpha < target_power < 1 must hold"):
        power(frame, alpha=0.9)
    with pytest.raises(ValueError, match="difference must be a number other than 0"):
        power(frame, difference=0)


# ---- published values

REFERENCE = os.environ.get("POLARS_RANK_REFERENCE")


@pytest.mark.skipif(not REFERENCE, reason="POLARS_RANK_REFERENCE does not name the reference data")
def test_published_t_intervals(capsys):
    folder = Path(REFERENCE) / "golden"
    wanted = pl.read_parquet(folder / "significance.parquet").filter(pl.col("test") == "t_interval_mean")
    inputs = pl.read_parquet(folder / "significance_inputs.parquet")
    got = summarized(inputs, {"value": "mean"}, ["case", "run"], interval="t")
    both = wanted.join(got, left_on=["case", "run_a"], right_on=["case", "run"], how="left")
    # SciPy gives a run of equal values the interval of no width; we none, and say so.
    equal = both.filter(pl.col("ci_low") == pl.col("ci_high"))
    assert equal["reason"].unique().to_list() in ([], ["all values are equal: no variance"])
    np.testing.assert_allclose(equal["value"], equal["statistic"], atol=1e-9)
    both = both.filter(pl.col("ci_low") != pl.col("ci_high"))
    for theirs, ours in (("statistic", "value"), ("ci_low", "low"), ("ci_high", "high"), ("n", "n_right")):
        np.testing.assert_allclose(both[ours], both[theirs], rtol=0, atol=1e-9)
    with capsys.disabled():
        print(f"\nvalues compared: {3 * len(both)} of t_interval_mean; runs of equal values: {len(equal)}")
    assert len(both) > 0


def test_the_interval_of_a_comparison_is_that_of_its_differences():
    frame = random_table(6, 50).with_row_index("query").drop("system")
    both = pl.concat(
        [frame.with_columns(system=pl.lit("a")), frame.with_columns(AP=pl.col("RR") / 2, system=pl.lit("b"))]
    )
    differences = frame.select(AP=pl.col("AP") - pl.col("RR") / 2)
    for interval in ("t", "bootstrap"):
        options = {"interval": interval, "samples": 20_000}
        compared = compare(both, measures="AP", **options).row(0, named=True)
        summary = summarized(differences, {"AP": "mean"}, **options).row(0, named=True)
        tolerance = 1e-12 if interval == "t" else 0.1 * summary["standard_error"]
        assert compared["low"] == pytest.approx(summary["low"], abs=tolerance)
        assert compared["high"] == pytest.approx(summary["high"], abs=tolerance)
