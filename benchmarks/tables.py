"""Generated tables for the benchmarks: judged tables, and runs with qrels as Parquet files."""

from pathlib import Path

import numpy as np
import polars as pl

DATA = Path(__file__).parent / "data"


def judged(queries: int, *, dense: bool = False, text: bool = False, shuffled: bool = False) -> pl.DataFrame:
    """Lay out 102 rows a query: 100 returned, 2 relevant items missed; sparse has 10 % judged, dense 60 %."""
    rng = np.random.default_rng(1)
    rows = queries * 100
    share, relevant = (0.6, 0.3) if dense else (0.1, 0.5)
    known = rng.random(rows) < share
    grade = np.where(rng.random(rows) < relevant, rng.integers(1, 4, rows), 0)
    returned = pl.DataFrame(
        {
            "query": np.repeat(np.arange(queries), 100),
            "rank": np.tile(np.arange(1, 101), queries),
            "relevance": grade,
        }
    ).with_columns(pl.when(pl.Series(known)).then("relevance").alias("relevance"))
    missed = pl.DataFrame(
        {"query": np.repeat(np.arange(queries), 2), "relevance": rng.integers(1, 4, 2 * queries)}
    ).with_columns(pl.lit(None, pl.Int64).alias("rank"))
    table = pl.concat([returned, missed.select(returned.columns)]).sort("query", maintain_order=True)
    if shuffled:
        table = table.sample(fraction=1, shuffle=True, seed=3)
    if text:
        table = table.with_columns(
            pl.format("query{}", pl.col("query").cast(pl.String).str.zfill(7)).alias("query")
        )
    # Through Arrow and back, so that no column is flagged as sorted.
    return pl.from_arrow(table.rechunk().to_arrow())  # type: ignore[return-value]


def run_and_qrels(
    queries: int, items: int = 100, *, text: bool = True, shuffled: bool = False
) -> tuple[Path, Path]:
    """Write a run, some of whose scores tie, and its qrels: 8 items of a query are judged, and one missed."""
    name = f"{queries}x{items}-{'text' if text else 'integer'}{'-shuffled' if shuffled else ''}"
    run, qrels = DATA / f"run-{name}.parquet", DATA / f"qrels-{name}.parquet"
    if run.exists() and qrels.exists():
        return run, qrels
    DATA.mkdir(exist_ok=True)
    blocks = [
        _block(first, min(200_000_000 // items // 20, queries - first), items, text)
        for first in _starts(queries, items)
    ]
    rows = pl.concat([block[0] for block in blocks])
    judgements = pl.concat([block[1] for block in blocks])
    if shuffled:
        rows, judgements = (table.sample(fraction=1, shuffle=True, seed=4) for table in (rows, judgements))
    rows.write_parquet(run, row_group_size=1_000_000)
    judgements.write_parquet(qrels)
    return run, qrels


def _starts(queries: int, items: int) -> range:
    return range(0, queries, 200_000_000 // items // 20)


def _block(first: int, queries: int, items: int, text: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    rng = np.random.default_rng(first)
    rows = queries * items
    query = pl.Series("query", np.repeat(np.arange(first, first + queries), items))
    # A stride prime to the modulus gives each query items of its own order, none twice.
    offset = rng.integers(0, 1_000_003, queries).repeat(items)
    item = pl.Series("item", (offset + np.tile(np.arange(items) * 7919, queries)) % 1_000_003)
    run = pl.DataFrame([query, item]).with_columns(score=pl.Series(np.round(rng.random(rows), 3)))
    judged_rows = run.filter(pl.Series(rng.random(rows) < 8 / items)).select("query", "item")
    qrels = judged_rows.with_columns(relevance=pl.Series(rng.integers(0, 4, judged_rows.height)))
    missed = pl.DataFrame({"query": np.arange(first, first + queries)}).with_columns(
        item=pl.lit(1_000_003, pl.Int64), relevance=pl.lit(2, pl.Int64)
    )
    tables = run, pl.concat([qrels, missed])
    if not text:
        return tables
    names = [
        pl.format("query{}", pl.col("query").cast(pl.String).str.zfill(7)).alias("query"),
        pl.format("document{}", pl.col("item").cast(pl.String).str.zfill(7)).alias("item"),
    ]
    return tuple(table.with_columns(names) for table in tables)  # type: ignore[return-value]
