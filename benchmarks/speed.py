"""Speed beside the floor and beside peers: ``python benchmarks/speed.py [--size full] [--json FILE]``.

Every figure is the median of ratios taken in turn in one run; every value is checked against a peer or
against the other engine first. The floor is what the engine needs to group the same table and count.
Peers are taken where they are installed: pytrec-eval-terrier, ir_measures, polars_ds, and ranx, which needs
an environment of its own (``--ranx PYTHON``).
"""

import argparse
import importlib.util
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import polars as pl
from pairs import Ratio, paired
from tables import judged, run_and_qrels

import polars_rank as rank

FIVE = ["nDCG@10", "AP", "RR", "P@10", "R@10"]
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
TREC_NAMES = {"nDCG@10": "ndcg_cut_10", "AP": "map", "RR": "recip_rank", "P@10": "P_10", "R@10": "recall_10"}
SIZES = {"small": (2_000, 2_000, 3), "medium": (20_000, 20_000, 5), "full": (200_000, 20_000, 7)}

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
    yield f"five macros: {name}", "floor", paired(asked(FIVE), floor, rounds)
    yield f"twenty macros: {name}", "five", paired(asked(TWENTY), asked(FIVE), rounds)
    connection.close()


def from_parquet(queries: int, rounds: int, ranx: str | None) -> Iterator[Row]:
    """Time a run and its qrels from Parquet files to five means, against what peers need for the same."""
    for shuffled in (False, True):
        run, qrels = run_and_qrels(queries, shuffled=shuffled)
        name = f"{queries} queries x 100 from scores, {'shuffled' if shuffled else 'contiguous'}"

        def ours(run: Path = run, qrels: Path = qrels) -> pl.DataFrame:
            values = rank.evaluate(
                pl.scan_parquet(run), FIVE, qrels=pl.scan_parquet(qrels), score_dtype="float32"
            )
            return values.select(pl.col(FIVE).mean()).collect()

        def in_sql(run: Path = run, qrels: Path = qrels) -> pl.DataFrame:
            connection = duckdb.connect()
            rank.install(connection)
            means = "avg(ndcg), avg(average_precision), avg(reciprocal_rank), avg(precision), avg(recall)"
            source = f"rank.evaluate_run('{run}', '{qrels}', k := 10, score_dtype := 'float32')"
            values = connection.execute(f"SELECT {means} FROM {source}").fetchall()
            return pl.DataFrame(values, schema=AT_TEN, orient="row")

        # evaluate_run cuts every measure at k, so that AP and RR are those of the top 10 there.
        cut = rank.evaluate(
            pl.read_parquet(run), AT_TEN, qrels=pl.read_parquet(qrels), score_dtype="float32"
        ).select(pl.col(AT_TEN).mean())
        _check(in_sql(), cut, tolerance=1e-9)
        for peer, work in _peers(run, qrels).items():
            _check(ours(), work(), tolerance=1e-9)
            yield f"Polars: {name}", peer, _inverse(paired(ours, work, rounds))
            if peer == "pytrec_eval":
                yield f"DuckDB, AP and RR at 10: {name}", peer, _inverse(paired(in_sql, work, rounds))
        if ranx:
            cold, warm = _ranx(ranx, run, qrels)
            seconds = paired(ours, ours, rounds).seconds
            yield (
                f"Polars: {name}",
                "ranx, cold",
                Ratio(seconds, cold, cold / seconds, cold / seconds, cold / seconds),
            )
            yield (
                f"Polars: {name}",
                "ranx, its warm evaluation alone",
                Ratio(seconds, warm, warm / seconds, 0, 0),
            )


def _peers(run: Path, qrels: Path) -> dict[str, Callable[[], pl.DataFrame]]:
    """Read with Polars, build the peer's dicts, evaluate, average."""

    def dicts() -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
        scores: dict[str, dict[str, float]] = {}
        for query, item, score in pl.read_parquet(run).iter_rows():
            scores.setdefault(query, {})[item] = score
        grades: dict[str, dict[str, int]] = {}
        for query, item, grade in pl.read_parquet(qrels).iter_rows():
            grades.setdefault(query, {})[item] = grade
        return scores, grades

    def pytrec_eval() -> pl.DataFrame:
        import pytrec_eval

        scores, grades = dicts()
        evaluator = pytrec_eval.RelevanceEvaluator(
            grades, {"ndcg_cut.10", "map", "recip_rank", "P.10", "recall.10"}
        )
        values = evaluator.evaluate(scores).values()
        return pl.DataFrame(
            {ours: [sum(v[name] for v in values) / len(values)] for ours, name in TREC_NAMES.items()}
        )

    def ir_measures() -> pl.DataFrame:
        import ir_measures

        scores, grades = dicts()
        measures = [ir_measures.parse_measure(name) for name in FIVE]
        values = ir_measures.calc_aggregate(measures, grades, scores)
        return pl.DataFrame({str(measure): [values[measure]] for measure in measures}).select(FIVE)

    known = {"pytrec_eval": pytrec_eval, "ir_measures": ir_measures}
    return {name: work for name, work in known.items() if importlib.util.find_spec(name)}


def _ranx(python: str, run: Path, qrels: Path) -> tuple[float, float]:
    script = Path(__file__).with_name("peer_ranx.py")
    told = subprocess.run([python, script, run, qrels], check=True, capture_output=True, text=True).stdout
    cold, warm = json.loads(told)
    return cold, warm


def already_ranked(queries: int, rounds: int) -> Iterator[Row]:
    """Time a judged table from Parquet to five means, against pytrec_eval from the run's file."""
    run, qrels = run_and_qrels(queries)
    table = run.with_name(f"judged-{queries}.parquet")
    rank.judge(pl.read_parquet(run), pl.read_parquet(qrels)).sort("query", "rank").write_parquet(table)

    def ours() -> object:
        return rank.evaluate(pl.read_parquet(table, columns=["query", "rank", "relevance"]), FIVE).select(
            pl.col(FIVE).mean()
        )

    peer = _peers(run, qrels).get("pytrec_eval")
    if peer is not None:
        yield (
            f"Polars: {queries} queries x 100, already ranked",
            "pytrec_eval",
            _inverse(paired(ours, peer, rounds)),
        )


def latency(rounds: int) -> Iterator[Row]:
    """Time ten rows, and the import."""
    table = judged(1).head(10)
    once = paired(lambda: rank.evaluate(table, FIVE), lambda: None, rounds * 10)
    yield "evaluate on 10 rows (seconds, not a ratio)", "nothing", once._replace(ratio=once.seconds)

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
    parser.add_argument("--json", type=Path)
    parser.add_argument("--ranx", help="a Python that has ranx and polars")
    parser.add_argument("--only", choices=["tables", "parquet", "ranked", "latency"], action="append")
    options = parser.parse_args()
    queries, run_queries, rounds = SIZES[options.size]
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
    for name in options.only or works:
        for work, base, ratio in works[name]():
            span = f"{ratio.low:.2f} to {ratio.high:.2f}"
            print(f"| {work} | {base} | {ratio.ratio:.2f} | {span} | {ratio.seconds:.4f} |", flush=True)
            rows.append({"work": work, "against": base, **ratio._asdict()})
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "rounds": rounds, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
