"""RRF of five runs with string ids: `fuse`, SQL, a plain dict loop and ranx, frame to frame, side by side.

20,000 queries x 100 items a run, a pool of 300 items a query; one run's scores tie. ranx lives in an
environment of its own, whose interpreter is named.
Run: python benchmarks/fusion.py [--queries N] [--rounds N] [--ranx PYTHON]. With --memory, only `fuse` on
100,000 queries (or --queries), in a process of its own, and its peak memory.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl

SYSTEMS, ITEMS, POOL, K = 5, 100, 300, 60


def make_runs(folder: Path, queries: int) -> None:
    """Write a run a system, in parts, so that making them needs little memory."""
    import numpy as np

    for system in range(SYSTEMS):
        generator = np.random.default_rng(system)
        parts = []
        for start in range(0, queries, 5000):
            many = min(5000, queries - start)
            chosen = np.argsort(generator.random((many, POOL)), axis=1)[:, :ITEMS]
            scores = np.round(generator.normal(size=(many, ITEMS)), 3 if system == 0 else 9)
            query = pl.Series(np.repeat(np.arange(start, start + many), ITEMS))
            part = pl.DataFrame({"query": query, "item": chosen.ravel(), "score": -np.sort(-scores).ravel()})
            parts.append(
                part.select(
                    query=pl.format("query-{}", pl.col("query").cast(pl.String).str.zfill(6)),
                    item=pl.format("doc-{}-{}", pl.col("query") % 997, pl.col("item")),
                    score="score",
                )
            )
        pl.concat(parts).write_parquet(folder / f"s{system}.parquet")


def read_runs(folder: Path) -> dict[str, pl.DataFrame]:
    return {f"s{n}": pl.read_parquet(folder / f"s{n}.parquet").rechunk() for n in range(SYSTEMS)}


def ours(runs: dict[str, pl.DataFrame]) -> pl.DataFrame:
    from polars_rank.fusion.fused_run import fuse

    return fuse(runs, k=K)


def in_sql(runs: dict[str, pl.DataFrame]) -> pl.DataFrame:
    import duckdb

    from polars_rank.sql import install

    connection = duckdb.connect()
    install(connection)
    for name, run in runs.items():
        connection.register(name, run.to_arrow())
    union = " UNION ALL ".join(f"SELECT '{name}' AS system, * FROM {name}" for name in runs)
    connection.execute(f"CREATE VIEW runs AS {union}")
    return connection.sql(f"FROM rank.fuse('runs', k := {K})").pl()


def dict_loop(runs: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Do what people write, with the same order of ties."""
    fused: dict[str, dict[str, float]] = {}
    for run in runs.values():
        lists: dict[str, list[tuple[float, str]]] = {}
        for query, item, score in run.iter_rows():
            lists.setdefault(query, []).append((score, item))
        for query, entries in lists.items():
            entries.sort(reverse=True)
            scores = fused.setdefault(query, {})
            for place, (_, item) in enumerate(entries, 1):
                scores[item] = scores.get(item, 0.0) + 1 / (K + place)
    rows: dict[str, list] = {"query": [], "item": [], "score": [], "rank": []}
    for query, scores in fused.items():
        ordered = sorted(scores.items(), key=lambda pair: -pair[1])
        rows["query"] += [query] * len(ordered)
        rows["item"] += [item for item, _ in ordered]
        rows["score"] += [score for _, score in ordered]
        rows["rank"] += range(1, len(ordered) + 1)
    return pl.DataFrame(rows)


def by_ranx(runs: dict[str, pl.DataFrame]) -> pl.DataFrame:
    from ranx import Run, fuse

    made = []
    for run in runs.values():
        nested: dict[str, dict[str, float]] = {}
        for query, item, score in run.iter_rows():
            nested.setdefault(query, {})[item] = score
        made.append(Run(nested))
    fused = fuse(made, norm=None, method="rrf", params={"k": K})
    queries, items, scores = [], [], []
    for query, entries in fused.run.items():
        queries += [query] * len(entries)
        items += list(entries.keys())
        scores += list(entries.values())
    return pl.DataFrame({"query": queries, "item": items, "score": scores})


def timed(
    function: Callable[[dict[str, pl.DataFrame]], pl.DataFrame], runs: dict[str, pl.DataFrame]
) -> tuple:
    start = time.perf_counter()
    result = function(runs)
    return time.perf_counter() - start, result


def check(expected: pl.DataFrame, other: pl.DataFrame, name: str) -> None:
    both = expected.join(other, on=["query", "item"], how="full", suffix="_other")
    worst = (both["score"] - both["score_other"]).abs().max()
    # ranx gives tied items of a list another order: compared by the sum over each query.
    if name == "ranx":
        sums = [
            frame.group_by("query").agg(pl.col("score").sum()).sort("query")["score"]
            for frame in (expected, other)
        ]
        worst = (sums[0] - sums[1]).abs().max()
    print(f"{name}: {both.height} fused rows, largest difference {worst:.1e}")
    assert both.height == expected.height
    assert worst <= 1e-12


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def compare(folder: Path, rounds: int, ranx: str | None) -> None:
    runs = read_runs(folder)
    contenders = {"fuse": ours, "SQL": in_sql, "dict loop": dict_loop}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds):
        results = {}
        for name, function in contenders.items():
            seconds, results[name] = timed(function, runs)
            times[name].append(seconds)
        if turn == 0:
            check(results["fuse"], results["SQL"], "SQL")
            check(results["fuse"], results["dict loop"], "dict loop")
            results["fuse"].write_parquet(folder / "fused.parquet")
    if ranx:
        # A cache of its own, so that the first call compiles, as it does after an installation.
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "numba")}
        command = [ranx, __file__, "--peer", str(folder)]
        found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        for line in found.splitlines():
            name, seconds = line.rsplit(" ", 1)
            times[name] = [float(seconds)]
        check(results["fuse"], pl.read_parquet(folder / "ranx.parquet"), "ranx")
    print("| | seconds | x fuse (paired) |\n|---|---|---|")
    for name, values in times.items():
        base = times["fuse"] if len(values) == rounds else [statistics.median(times["fuse"])]
        ratio = statistics.median(value / floor for value, floor in zip(values, base, strict=True))
        print(f"| {name} | {statistics.median(values):.2f} | {ratio:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ranx")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--peer", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        runs = read_runs(given.peer)
        for name in ("ranx, cold", "ranx, warm"):
            seconds, fused = timed(by_ranx, runs)
            print(name, seconds)
        fused.write_parquet(given.peer / "ranx.parquet")
    elif given.alone:
        runs = read_runs(given.alone)
        before = peak()
        seconds, fused = timed(ours, runs)
        print(
            f"fuse: {fused.height} fused rows in {seconds:.1f} s; "
            f"peak {peak():.2f} GiB, {before:.2f} with the runs read"
        )
    else:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_runs(folder, given.queries or (100_000 if given.memory else 20_000))
            if given.memory:
                subprocess.run([sys.executable, __file__, "--alone", name], check=True)
            else:
                compare(folder, given.rounds, given.ranx)


if __name__ == "__main__":
    main()
