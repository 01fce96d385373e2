"""Tuning: each number is that of the plain calls, and noise is not mistaken for merit."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_rank.core.errors import DataError
from polars_rank.evaluation.per_query import evaluate
from polars_rank.fusion.fused_run import fuse
from polars_rank.fusion.tuning import tune_fusion


def noise(seed, *, queries=40, items=30, systems=3):
    """Give systems that order the items at random, and judgements at random."""
    grid = pl.DataFrame({"query": range(queries)}).join(pl.DataFrame({"item": range(items)}), how="cross")
    rows = pl.int_range(pl.len())
    runs = {
        f"s{n}": grid.with_columns(score=rows.shuffle(seed=seed * 100 + n).cast(pl.Float64))
        for n in range(systems)
    }
    return runs, grid.with_columns(relevance=(rows.shuffle(seed=seed * 100 + 99) % 5 == 0).cast(pl.Int8))


def settings(row):
    options = {"weights": row["weights"], "normalize": row["normalize"]}
    return {"method": row["method"], **options, **({} if row["k"] is None else {"k": row["k"]})}


GRID = {
    "methods": ["rrf", "comb_sum", "comb_mean", "convex", "borda", "copeland", "dbsf", "comb_med"],
    "normalize": ["min_max", "zscore", "borda"],
    "k": [1, 60],
    "weights": [[1, 1, 1], {"s2": 2, "s0": 0, "s1": 1}],
}


def test_numbers_are_those_of_the_plain_calls():
    runs, qrels = noise(1, queries=9, items=6)
    # A query that no system answers scores 0 whatever the setting.
    qrels = qrels.vstack(pl.DataFrame({"query": [77], "item": [1], "relevance": [1]}, schema=qrels.schema))
    report = tune_fusion(runs, qrels, "nDCG@3", folds=3, seed=5, **GRID)
    assert report["fold"].to_list() == [1, 2, 3, None]
    assert report["queries"].to_list() == [4, 3, 3, 10]

    def value_of(**options):
        fused = fuse(runs, **options)
        return evaluate(fused, ["nDCG@3"], qrels=qrels, order_by="rank")["nDCG@3"].mean()

    overall = report.row(-1, named=True)
    assert overall["in_sample"] == pytest.approx(value_of(**settings(overall)), abs=1e-12)
    assert overall["untuned"] == pytest.approx(value_of(), abs=1e-12)
    every = [
        value_of(method=method, weights=weights, **scale)
        for method in GRID["methods"]
        for weights in GRID["weights"]
        for scale in scales(method)
    ]
    assert overall["in_sample"] == pytest.approx(max([*every, overall["untuned"]]), abs=1e-12)
    folds = report.head(3)
    assert overall["held_out"] == pytest.approx((folds["held_out"] * folds["queries"]).sum() / 10, abs=1e-12)
    assert overall["untuned"] == pytest.approx((folds["untuned"] * folds["queries"]).sum() / 10, abs=1e-12)


def scales(method):
    if method == "rrf":
        return [{"k": k} for k in GRID["k"]]
    if method in ("comb_sum", "comb_mean", "convex", "comb_med"):
        return [{"normalize": name} for name in GRID["normalize"]]
    return [{}]


def test_a_fold_is_scored_by_the_choice_of_the_others():
    # Which system is right changes with the query, so that what is best on the others fails on the fold.
    rows = [(query, "right" if query == n else "wrong", 1.0) for n in (1, 2) for query in (1, 2)]
    runs = {
        f"s{n}": pl.DataFrame(rows[2 * n - 2 : 2 * n], schema=["query", "item", "score"], orient="row")
        for n in (1, 2)
    }
    qrels = pl.DataFrame({"query": [1, 2], "item": ["right", "right"]})
    report = tune_fusion(runs, qrels, "RR@1", weights=[[2, 1], [1, 2]], folds=2)
    assert report["in_sample"].to_list()[:2] == [1.0, 1.0]
    assert report["held_out"].to_list() == [0.0, 0.0, 0.0]


def test_noise_is_not_mistaken_for_merit():
    gains, optimism = [], []
    for seed in range(16):
        runs, qrels = noise(seed)
        last = tune_fusion(
            runs, qrels, "nDCG@10", methods=["rrf", "comb_sum"], k=[1, 60], weights=0.25, seed=seed
        ).row(-1, named=True)
        gains.append(last["held_out"] - last["untuned"])
        optimism.append(last["in_sample"] - last["held_out"])
    gain = pl.Series(gains)
    # The held-out gain is none beyond chance; the in-sample one would have passed for a success.
    assert gain.mean() <= 3 * gain.std() / len(gains) ** 0.5
    assert min(optimism) >= -1e-12
    assert pl.Series(optimism).mean() > 3 * pl.Series(optimism).std() / len(optimism) ** 0.5


def test_seed_kind_and_long_tables():
    runs, qrels = noise(3, queries=8, items=5)
    options = {"weights": 0.5, "folds": 4, "methods": ["rrf", "comb_mnz"]}
    report = tune_fusion(runs, qrels, **options)
    assert_frame_equal(report, tune_fusion(runs, qrels, **options))
    lazy = tune_fusion({name: run.lazy() for name, run in runs.items()}, qrels.lazy(), **options)
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), report)
    long = pl.concat([run.with_columns(system=pl.lit(name)) for name, run in runs.items()])
    assert_frame_equal(tune_fusion(long, qrels, **options), report)
    assert_frame_equal(tune_fusion(long.lazy(), qrels, systems=list(runs), **options).collect(), report)
    renamed = {"query": "user", "item": "film"}
    assert_frame_equal(
        tune_fusion(
            {name: run.rename(renamed) for name, run in runs.items()},
            qrels.rename(renamed),
            **renamed,
            **options,
        ),
        report,
    )
    assert report.height == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": "rrf"}, "methods must be a list"),
        ({"methods": ["posfuse"]}, "methods must be one of"),
        ({"methods": []}, "methods must be a list"),
        ({"k": [-1]}, "k must be"),
        ({"normalize": ["minmax"]}, "did you mean 'min_max'"),
        ({"normalize": ["min_max_inverted"]}, "descending=False"),
        ({"weights": 0.3}, "divides 1"),
        ({"weights": 0}, "divides 1"),
        ({"weights": []}, "divides 1"),
        ({"weights": {"s0": 1, "s1": 1, "s2": 1}}, "weights must be a list of weights"),
        ({"seed": None}, "seed must be a whole number of at least 0, got None"),
        ({"seed": -1}, "seed must be"),
        ({"weights": [[1, 2]]}, "3 lists"),
        ({"folds": 1}, "folds must be"),
        ({"measure": "ndgc"}, "ndcg"),
    ],
)
def test_grids_that_are_refused(options, message):
    runs, qrels = noise(0, queries=3, items=3)
    with pytest.raises(ValueError, match=message):
        tune_fusion(runs, qrels, **options)


def test_too_few_queries_are_refused():
    runs, qrels = noise(0, queries=3, items=3)
    with pytest.raises(DataError, match="3 judged queries for 5 folds"):
        tune_fusion(runs, qrels)
    with pytest.raises(ValueError, match="systems="):
        tune_fusion(pl.concat(runs.values()).with_columns(system=pl.lit("a")).lazy(), qrels, weights=0.5)
