"""Every stable fused score and normalised value of ranx in the reference, in both engines."""

import json
import os
from functools import cache
from pathlib import Path

import duckdb
import polars as pl
import pytest

from polars_rank.fusion.fused_run import fuse
from polars_rank.fusion.normalization import normalize_scores
from polars_rank.sql import install

FOLDER = os.environ.get("POLARS_RANK_REFERENCE")
pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="POLARS_RANK_REFERENCE does not name the reference folder"),
    # Some of the scores are negative; the values are compared all the same.
    pytest.mark.filterwarnings("ignore::polars_rank.DataWarning"),
]

ORDER = {
    "dl20-doc": ["run1", "run2", "run3"],
    "robust03-a": ["SABIR03BASE", "THUIRr0301", "pircRBa1", "humR03dc"],
    "stress-a": ["r2", "r3"],
    "covid-a": ["syn-weak", "syn-strong", "syn-ties"],
}
METHODS = {
    **{f: f"comb_{f}" for f in ("sum", "min", "max", "med", "anz", "mnz", "gmnz")},
    **{f: f for f in ("rrf", "isr", "log_isr", "logn_isr", "rbc", "mixed", "wmnz")},
    "bordafuse": "borda",
    "w_bordafuse": "weighted_borda",
    "wsum": "weighted_sum",
}
# ranx's comparator for these is not transitive, so that its order depends on a hash seed.
LEFT_OUT = {"condorcet", "w_condorcet"}
NORMALIZATIONS = {
    "none": None,
    "zmuv": "zscore",
    "min-max": "min_max",
    "min-max-inverted": "min_max_inverted",
    "max": "max",
    "sum": "sum",
    "rank": "rank",
    "borda": "borda",
}


def unstable_argsort(values):
    """The quicksort of numba that ranx sorts with: it decides how ranx's tied items stand."""
    order, stack = list(range(len(values))), [(0, len(values) - 1)]
    while stack:
        low, high = stack.pop()
        while high - low >= 15:
            middle = partition(values, order, low, high)
            if high - middle > middle - low:
                stack.append((middle + 1, high))
                high = middle - 1
            else:
                stack.append((low, middle - 1))
                low = middle + 1
        for start in range(low + 1, high + 1):
            moved, place = order[start], start
            while place > low and values[moved] < values[order[place - 1]]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = moved
    return order


def partition(values, order, low, high):
    middle = (low + high) >> 1
    for left, right in ((low, middle), (middle, high), (low, middle)):
        if values[order[right]] < values[order[left]]:
            order[left], order[right] = order[right], order[left]
    pivot = values[order[middle]]
    order[high], order[middle] = order[middle], order[high]
    left, right = low, high - 1
    while True:
        while left < high and values[order[left]] < pivot:
            left += 1
        while right >= low and pivot < values[order[right]]:
            right -= 1
        if left >= right:
            break
        order[left], order[right] = order[right], order[left]
        left, right = left + 1, right - 1
    order[left], order[high] = order[high], order[left]
    return left


@cache
def table(name):
    return pl.read_parquet(Path(FOLDER or "") / "golden" / f"{name}.parquet")


@cache
def runs_of(collection, *, inverted):
    """The runs with ranks as ranx gives them, so that only the formulas are compared."""
    runs = {}
    for name in ORDER[collection]:
        lists = []
        rows = table("fusion_inputs").filter(collection=collection, run=name)
        for _, entries in rows.sort("rank").group_by("query", maintain_order=True):
            placed = entries[unstable_argsort([-score for score in entries["score"]])]
            if inverted:
                scores = placed["score"].to_list()
                placed = placed[unstable_argsort([-(max(scores) - score) for score in scores])]
            lists.append(placed.with_columns(rank=pl.int_range(1, pl.len() + 1)))
        runs[name] = pl.concat(lists).select("query", "item", "score", "rank")
    return runs


@pytest.fixture(scope="module")
def connection():
    connection = duckdb.connect()
    install(connection)
    for collection in ORDER if FOLDER else ():
        for inverted in (False, True):
            runs = runs_of(collection, inverted=inverted)
            # Numbered, since lists come by name in SQL.
            long = pl.concat(
                [run.with_columns(system=pl.lit(f"{n} {name}")) for n, (name, run) in enumerate(runs.items())]
            )
            connection.register(f"{collection} {inverted}", long.to_arrow())
    return connection


def worst(expected, ours):
    both = expected.join(ours, on=["query", "item"], how="left", suffix="_ours")
    assert both["score_ours"].null_count() == 0
    return (both["score"] - both["score_ours"]).abs().max()


def test_the_unstable_order_is_that_of_ranx():
    ranked = table("fusion_normalised").filter(norm="rank")
    compared = 0
    for collection in ORDER:
        for name, run in runs_of(collection, inverted=False).items():
            expected = ranked.filter(collection=collection, run=name)
            both = run.join(expected, on=["query", "item"], suffix="_norm")
            places = ((1 - both["score_norm"]) * both.select(pl.len().over("query")).to_series() + 1).round()
            assert places.to_list() == both["rank"].to_list()
            compared += both.height
    assert compared == table("fusion_inputs").height


@pytest.mark.parametrize("method", METHODS)
def test_fused_scores(connection, method):
    cases = table("fusion").filter(pl.col("method") == method).group_by("collection", "params", "norm")
    compared = 0
    for (collection, params, norm), case in cases:
        given = json.loads(params)
        weights = given.pop("weights", None)
        options = {"normalize": NORMALIZATIONS[norm], "order_by": "rank", **given}
        runs = runs_of(collection, inverted=norm == "min-max-inverted")
        fused = fuse(runs, METHODS[method], weights=weights, **options)
        assert fused.height == case.height
        stable = case.filter("score_stable")
        assert worst(stable, fused) <= 1e-10

        if weights:
            options["weights"] = {
                f"{n} {name}": weight for n, (name, weight) in enumerate(zip(runs, weights, strict=True))
            }
        text = "".join(f", {name} := {literal(value)}" for name, value in options.items())
        source = f"{collection} {norm == 'min-max-inverted'}"
        sql = connection.sql(f"FROM rank.fuse('\"{source}\"', '{METHODS[method]}'{text})").pl()
        assert worst(stable, sql) <= 1e-10
        assert sql["item"].to_list() == fused["item"].to_list()
        # Equal scores have no order in ranx; the score at each place is the same.
        places = case.sort("query", "position")["score"].to_list()
        assert fused["score"].to_list() == pytest.approx(places, rel=1e-10, abs=1e-10)
        compared += stable.height
    print(f"{method}: {compared} values in each engine")
    assert compared > 0


def literal(value):
    if isinstance(value, dict):
        return "MAP {" + ", ".join(f"'{name}': {number}" for name, number in value.items()) + "}"
    return "NULL" if value is None else repr(value)


def test_nothing_is_forgotten():
    assert set(table("fusion")["method"]) == set(METHODS) | LEFT_OUT
    assert set(table("fusion")["norm"]) == set(NORMALIZATIONS)


@pytest.mark.parametrize("norm", [norm for norm in NORMALIZATIONS if norm != "none"])
def test_normalised_values(connection, norm):
    for collection in ORDER:
        inverted = norm == "min-max-inverted"
        runs = runs_of(collection, inverted=inverted)
        scaled = normalize_scores(runs, NORMALIZATIONS[norm], order_by="rank")
        source = f"{collection} {inverted}"
        parts = connection.sql(
            "SELECT query, item, unnest(explain, recursive := TRUE) FROM "
            f"rank.fuse('\"{source}\"', 'comb_sum', normalize := '{NORMALIZATIONS[norm]}', "
            "order_by := 'rank', explain := TRUE)"
        ).pl()
        for number, name in enumerate(runs):
            expected = table("fusion_normalised").filter(collection=collection, run=name, norm=norm)
            assert expected.height > 0
            assert worst(expected, scaled.filter(system=name)) <= 1e-10
            ours = parts.filter(system=f"{number} {name}")
            assert worst(expected, ours.select("query", "item", score="contribution")) <= 1e-10
