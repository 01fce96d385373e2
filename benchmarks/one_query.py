"""One query of 100,000 judged rows: seconds for each measure, as a DuckDB macro and as a Polars expression.

A ratio far above 1 shows work that grows faster than the list. Run: python benchmarks/one_query.py [rows]
"""

import sys
import time
from collections.abc import Callable

import duckdb
import numpy as np
import polars as pl

import polars_rank as rank
from polars_rank.catalogue import MEASURES


def judged(rows: int) -> pl.DataFrame:
    random = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "query": np.zeros(rows, dtype=np.int64),
            "rank": random.permutation(rows) + 1,
            "relevance": random.integers(0, 2, rows),
            "score": random.integers(0, rows // 2, rows).astype(float),
            "subtopic": random.integers(0, 20, rows).astype(str),
            "ideal_rank": random.permutation(rows) + 1,
            "prediction": random.random(rows),
            "actual": random.random(rows),
        }
    )


def seconds(work: Callable[[], object]) -> float:
    """Best of two."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    frame = judged(rows)
    connection = duckdb.connect()
    rank.install(connection)
    connection.register("frame", frame.to_arrow())
    connection.execute("CREATE TABLE judged AS FROM frame")
    print(f"{'measure, ' + format(rows, ',') + ' rows':32}{'macro, s':>10}{'Polars, s':>11}{'ratio':>8}")
    for name, measure in MEASURES.items():
        call = f"SELECT rank.{name}({', '.join(measure.columns)}) FROM judged GROUP BY query"
        expression = measure.function(*measure.columns)
        sql = seconds(lambda call=call: connection.execute(call).fetchall())
        polars = seconds(lambda e=expression: frame.group_by("query").agg(e))
        print(f"{name:32}{sql:10.3f}{polars:11.3f}{sql / polars:8.1f}", flush=True)


if __name__ == "__main__":
    main()
