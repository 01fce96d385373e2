"""Speed beside the floor and beside peers: ``python benchmarks/speed.py [--size full] [--json FILE]``.

Every figure is the median of ratios taken in turn in one run; every value is checked against a peer or
against the other engine first. The floor is what the engine needs to group the same table and count.
Peers are taken where they are installed: pytrec-eval-terrier, ir_measures, and ranx, which needs an
environment of its own (``--ranx PYTHON``).
"""

import argparse
import compileall
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args
from unittest.mock import patch

import duckdb
import polars as pl
from pairs import Ratio, paired, timed
from peers import BY_HAND, FIVE, python_peers, ranx
from scale import growth, picture
from tables import Order, judged, run_and_qrels

import polars_rank as rank

AT_TEN = ["nDCG@10", "AP@10", "RR@10", "P@10", "R@10"]
TWENTY = [
    *("nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10", "nDCG@20", "nDCG", "AP", "AP@10", "AP@100", "RR", "RR@10"),
    *("P@1", "P@5", "P@10", "P@20", "R@5", "R@10", "R@50", "Success@1", "Success@5"),
]
EXPRESSIONS = [
    rank.ndcg(k=10),
    rank.average_precision(),
    rank.reciprocal_rank(),
    rank.precision(k=10),
    rank.recall(k=10),
]
ORDERS: dict[Order, str] = {
    "ranked": "in rank order",
    "contiguous": "queries together, items in no order",
    "shuffled": "shuffled",
}
SIZES = {
    "small": (2_000, 2_000, 3, [10**4, 10**5]),
    "medium": (20_000, 20_000, 5, [10**5, 10**6, 2 * 10**6, 10**7]),
    "full": (200_000, 20_000, 5, [10**5, 10**6, 2 * 10**6, 10**7, 10**8]),
}

Row = tuple[str, str, Ratio]


def tables(queries: int, rounds: int) -> Iterator[Row]:
    """Time evaluate, expressions and macros on judged tables, against grouping them."""
    for dense in (False, True):
        for text in (False, True):
            for shuffled in (False, True):
                table = judged(queries, dense=dense, text=text, shuffled=shuffled)
                ids, order = "text" if text else "integer", "shuffled" if shuffled else "sorted"
                name = f"{'dense' if dense else 'sparse'}, {ids} ids, {order}"
                yield from _polars(table, name, rounds, shuffled=shuffled)
                yield from _duckdb(table, name, rounds)


def _polars(table: pl.DataFrame, name: str, rounds: int, *, shuffled: bool) -> Iterator[Row]:
    def floor() -> object:
        return table.lazy().group_by("query").agg(pl.len()).collect(engine="streaming")

    def five() -> pl.DataFrame:
        return rank.evaluate(table, FIVE)

    stepwise = table.group_by("query").agg(EXPRESSIONS).sort("query")
    _check(five().drop("query"), stepwise.drop("query"))
    yield f"evaluate, five: {name}", "floor", paired(five, floor, rounds)
    yield f"evaluate, twenty: {name}", "five", paired(lambda: rank.evaluate(table, TWENTY), five, rounds)
    yield (
        f"five expressions in .agg, unflagged: {name}",
        "floor",
        paired(
            lambda: table.lazy().group_by("query").agg(EXPRESSIONS).collect(engine="streaming"), floor, rounds
        ),
    )
    if not shuffled:
        flagged = table.with_columns(pl.col("query").set_sorted())
        yield (
            f"five expressions in .agg, sorted flag: {name}",
            "floor",
            paired(
                lambda: flagged.lazy().group_by("query").agg(EXPRESSIONS).collect(engine="streaming"),
                floor,
                rounds,
            ),
        )


def _duckdb(table: pl.DataFrame, name: str, rounds: int) -> Iterator[Row]:
    connection = duckdb.connect()
    rank.install(connection)
    connection.register("frame", table.to_arrow())
    connection.execute("CREATE TABLE judged AS FROM frame")

    def asked(measures: list[str]) -> Callable[[], object]:
        calls = ", ".join(f'{rank.to_sql(measure)} AS "{measure}"' for measure in measures)
        # Aggregated once more, so that what is timed is not the way of the rows to Python.
        sums = ", ".join(f'sum("{measure}")' for measure in measures)
        query = f"SELECT {sums} FROM (SELECT query, {calls} FROM judged GROUP BY query)"
        return lambda: connection.execute(query).fetchall()

    def floor() -> object:
        return connection.execute(
            "SELECT sum(n) FROM (SELECT query, count(*) AS n FROM judged GROUP BY query)"
        ).fetchall()

    ours = pl.DataFrame([asked(FIVE)()[0]], schema=FIVE, orient="row")  # type: ignore[index]
    _check(ours, rank.evaluate(table, FIVE).select(pl.col(FIVE).sum()), tolerance=1e-9)
    by_hand = pl.DataFrame([connection.execute(BY_HAND).fetchall()[0]], schema=FIVE, orient="row")
    _check(ours, by_hand, tolerance=1e-9)
    yield f"five macros: {name}", "floor", paired(asked(FIVE), floor, rounds)
    hand = paired(asked(FIVE), lambda: connection.execute(BY_HAND).fetchall(), rounds)
    yield f"five macros: {name}", "the same written by hand", hand
    yield f"twenty macros: {name}", "five", paired(asked(TWENTY), asked(FIVE), rounds)
    connection.close()


def from_parquet(queries: int, rounds: int, python: str | None) -> Iterator[Row]:
    """Time a run and its qrels from Parquet files to five means, against what peers need for the same."""
    for order in get_args(Order):
        run, qrels = run_and_qrels(queries, order=order)
        name = f"{queries} queries x 100 from scores, {ORDERS[order]}"

        def ours(run: Path = run, qrels: Path = qrels) -> pl.DataFrame:
            values = rank.evaluate(
                pl.scan_parquet(run), FIVE, qrels=pl.scan_parquet(qrels), score_dtype="float32"
            )
            return values.select(pl.col(FIVE).mean()).collect()

        connection = duckdb.connect()
        rank.install(connection)

        def in_sql(
            run: Path = run, qrels: Path = qrels, connection: duckdb.DuckDBPyConnection = connection
        ) -> pl.DataFrame:
            means = "avg(ndcg), avg(average_precision), avg(reciprocal_rank), avg(precision), avg(recall)"
            source = f"rank.evaluate_run('{run}', '{qrels}', k := 10, score_dtype := 'float32')"
            values = connection.execute(f"SELECT {means} FROM {source}").fetchall()
            return pl.DataFrame(values, schema=AT_TEN, orient="row")

        # evaluate_run cuts every measure at k, so that AP and RR are those of the top 10 there.
        tables = pl.read_parquet(run), pl.read_parquet(qrels)
        cut = rank.evaluate(tables[0], AT_TEN, qrels=tables[1], score_dtype="float32")
        _check(in_sql(), cut.select(pl.col(AT_TEN).mean()), tolerance=1e-9)
        for peer, work in python_peers(run, qrels).items():
            _check(ours(), work(), tolerance=1e-9)
            yield f"Polars: {name}", peer, _inverse(paired(ours, work, rounds))
            if peer == "pytrec_eval":
                yield f"DuckDB, AP and RR at 10: {name}", peer, _inverse(paired(in_sql, work, rounds))
        for peer, seconds in (ranx(python, run, qrels) if python and order == "ranked" else {}).items():
            times = sorted(timed(ours) for _ in range(rounds))
            low, middle, high = (seconds / times[i] for i in (-1, rounds // 2, 0))
            yield f"Polars: {name}", peer, Ratio(times[rounds // 2], seconds, middle, low, high)
        yield from _checks(*tables, name, rounds)
        connection.close()


def _checks(run: pl.DataFrame, qrels: pl.DataFrame, name: str, rounds: int) -> Iterator[Row]:
    """Time what the default checks cost: repeated rows, null ids, no query in common."""

    def ours() -> object:
        return rank.evaluate(run, FIVE, qrels=qrels)

    def unchecked() -> object:
        same: dict[str, Callable[..., object]] = {
            "refuse_repeats": lambda *_, **_options: None,
            "refuse_strangers": lambda *_, **_options: None,
            "refusing_repeats": lambda *_, **_options: lambda rows: rows,
            "no_nulls": lambda frame, *_, **_options: frame,
        }
        with patch.multiple("polars_rank.judging.matching", **same):
            return ours()

    yield f"with the default checks: {name}, frames", "without", paired(ours, unchecked, rounds)


def already_ranked(queries: int, rounds: int) -> Iterator[Row]:
    """Time a judged table from Parquet to five means, against pytrec_eval from the run's file."""
    run, qrels = run_and_qrels(queries)
    table = run.with_name(f"judged-{queries}.parquet")
    rank.judge(pl.read_parquet(run), pl.read_parquet(qrels)).sort("query", "rank").write_parquet(table)

    def ours() -> object:
        return rank.evaluate(pl.read_parquet(table, columns=["query", "rank", "relevance"]), FIVE).select(
            pl.col(FIVE).mean()
        )

    peer = python_peers(run, qrels).get("pytrec_eval")
    if peer is not None:
        name = f"Polars: {queries} queries x 100, already ranked"
        yield name, "pytrec_eval", _inverse(paired(ours, peer, rounds))


def latency(rounds: int) -> Iterator[Row]:
    """Time ten rows, and the import."""
    table = judged(1).head(10)
    once = paired(lambda: rank.evaluate(table, FIVE), lambda: None, rounds * 10)
    yield "evaluate on 10 rows (seconds, not a ratio)", "nothing", once._replace(ratio=once.seconds)

    # As pip installs it; a source tree may have no bytecode.
    compileall.compile_dir(Path(rank.__file__).parent, quiet=1)

    def importing(name: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", f"import {name}"], check=True)

    yield (
        "import polars_rank",
        "import polars",
        paired(importing("polars_rank"), importing("polars"), rounds * 2),
    )


def _check(ours: pl.DataFrame, theirs: pl.DataFrame, tolerance: float = 1e-12) -> None:
    for mine, other in zip(ours.iter_columns(), theirs.iter_columns(), strict=True):
        worst = (mine - other).abs().max()
        if not (isinstance(worst, float) and worst <= tolerance * max(1.0, float(other.abs().max() or 0))):  # type: ignore[arg-type]
            raise SystemExit(f"{mine.name} differs by {worst}: no time is worth taking of a wrong value")


def _inverse(ratio: Ratio) -> Ratio:
    return ratio._replace(ratio=1 / ratio.ratio, low=1 / ratio.high, high=1 / ratio.low)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    parser.add_argument("--picture", type=Path, help="a file for a picture of the growth")
    parser.add_argument("--ranx", help="a Python that has ranx and polars")
    parser.add_argument(
        "--only", choices=["tables", "parquet", "ranked", "latency", "growth"], action="append"
    )
    options = parser.parse_args()
    queries, run_queries, rounds, sizes = SIZES[options.size]
    works = {
        "tables": lambda: tables(queries, rounds),
        "parquet": lambda: from_parquet(run_queries, rounds, options.ranx),
        "ranked": lambda: already_ranked(run_queries, rounds),
        "latency": lambda: latency(rounds),
    }
    versions = f"polars {pl.__version__}, duckdb {duckdb.__version__}"
    machine = f"{platform.machine()}, {pl.thread_pool_size()} threads, {versions}"
    print(f"{machine}, {rounds} rounds\n")
    print("| work | against | ratio | least to most | seconds |\n|---|---|--:|--:|--:|")
    rows = []
    wanted = options.only or [*works, "growth"]
    for name in [each for each in works if each in wanted]:
        for work, base, ratio in works[name]():
            span = f"{ratio.low:.2f} to {ratio.high:.2f}"
            print(f"| {work} | {base} | {ratio.ratio:.2f} | {span} | {ratio.seconds:.4f} |", flush=True)
            rows.append({"work": work, "against": base, **ratio._asdict()})
    grown = []
    if "growth" in wanted:
        print("\n| a process, from files to means | time | most memory |\n|---|--:|--:|")
        grown = list(growth(sizes))
    if options.picture:
        picture(grown, options.picture)
    if options.json:
        figures = {"machine": machine, "rounds": rounds, "rows": rows, "growth": grown}
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
