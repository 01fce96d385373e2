"""Generated tables for the benchmarks: judged tables, and runs with qrels as Parquet files."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pyarrow.parquet as pq

DATA = Path(__file__).parent / "data"
Order = Literal["ranked", "contiguous", "shuffled"]
Tables = tuple[pl.DataFrame, pl.DataFrame]


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
    queries: int, items: int = 100, *, text: bool = True, order: Order = "ranked"
) -> tuple[Path, Path]:
    """Write a run, some of whose scores tie, and its qrels: 8 items of a query are judged, and one missed.

    In a ``"ranked"`` file each query's rows stand together, best first, as retrieval systems write them;
    in a ``"contiguous"`` one they stand together in no order; a ``"shuffled"`` one is strewn.
    """
    name = f"{queries}x{items}-{'text' if text else 'integer'}-{order}"
    run, qrels = DATA / f"run-{name}.parquet", DATA / f"qrels-{name}.parquet"
    if not (run.exists() and qrels.exists()):
        DATA.mkdir(exist_ok=True)
        size = max(1, 10_000_000 // items)
        starts = range(0, queries, size)
        blocks = (_block(first, min(size, queries - first), items, order) for first in starts)
        # A file that is not finished is not taken for one that is.
        begun = [path.with_suffix(".begun") for path in (run, qrels)]
        _write(_shuffled(blocks) if order == "shuffled" else blocks, begun, text=text)
        for path, done in zip(begun, (run, qrels), strict=True):
            path.rename(done)
    return run, qrels


def _block(first: int, queries: int, items: int, order: Order) -> Tables:
    rng = np.random.default_rng(first)
    scores = np.round(rng.random((queries, items)), 3)
    if order == "ranked":
        scores = -np.sort(-scores)
    # A stride prime to the modulus gives each query items of its own order, none twice.
    offset = rng.integers(0, 1_000_003, queries)[:, None]
    run = pl.DataFrame(
        {
            "query": np.repeat(np.arange(first, first + queries, dtype=np.int32), items),
            "item": ((offset + np.arange(items) * 7919) % 1_000_003).astype(np.int32).ravel(),
            "score": scores.ravel(),
        }
    )
    chosen = run.filter(pl.Series(rng.random(run.height) < 8 / items)).select("query", "item")
    grades = pl.Series("relevance", rng.integers(0, 4, chosen.height))
    missed = run.select(pl.col("query").unique(maintain_order=True)).with_columns(
        item=pl.lit(1_000_003, pl.Int32), relevance=pl.lit(2, pl.Int64)
    )
    return run, pl.concat([chosen.with_columns(grades), missed])


def _shuffled(blocks: Iterable[Tables]) -> Iterator[Tables]:
    """Strew all rows of both tables, as the narrow integers that they still are, and cut them again."""
    whole = [
        pl.concat(tables).sample(fraction=1, shuffle=True, seed=4) for tables in zip(*blocks, strict=True)
    ]
    for first in range(0, whole[0].height, 10_000_000):
        yield whole[0][first : first + 10_000_000], whole[1][first : first + 10_000_000]


def _write(blocks: Iterable[Tables], paths: Sequence[Path], *, text: bool) -> None:
    names = [
        pl.format("query{}", pl.col("query").cast(pl.String).str.zfill(7)).alias("query"),
        pl.format("document{}", pl.col("item").cast(pl.String).str.zfill(7)).alias("item"),
    ]
    with ExitStack() as files:
        writers: list[pq.ParquetWriter] = []
        for tables in blocks:
            rows = [(table.with_columns(names) if text else table).to_arrow() for table in tables]
            if not writers:
                pairs = zip(paths, rows, strict=True)
                writers = [files.enter_context(pq.ParquetWriter(path, table.schema)) for path, table in pairs]
            for writer, table in zip(writers, rows, strict=True):
                writer.write_table(table, row_group_size=1_000_000)
