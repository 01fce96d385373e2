"""How long the page of 20 systems and 10,000 queries takes: to make, to open, to filter; and its size.

    python benchmarks/page.py [--systems 20] [--queries 10000] [--depth 20]

The browser needs node, Chromium and playwright-core: MODULES names a folder where
`npm install playwright-core` was run, CHROMIUM the browser. Without MODULES the page is made and measured
on disk alone. Times in the browser are medians of 5 openings, of the file, without network.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import polars_rank as rank
from polars_rank.reporting.page import page

MEASURES = ["nDCG@10", "AP", "RR"]
PROBE = Path(__file__).with_name("page_in_browser.cjs")


def collection(
    systems: int, queries: int, depth: int
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Draw runs of ever worse systems, judgements, and texts of queries and items."""
    random = np.random.default_rng(0)
    rows = systems * queries * depth
    pool = 5 * depth
    # Places in a pool of each query's own: the first tenth of it is relevant.
    noise = random.random((systems, queries, pool)) + np.linspace(-0.3, -0.1, systems)[:, None, None] * (
        np.arange(pool) < pool // 10
    )
    chosen = np.argsort(noise, axis=2)[:, :, :depth]
    query = np.broadcast_to(np.arange(queries)[None, :, None], chosen.shape)
    run = pl.DataFrame(
        {
            "system": np.repeat(np.arange(systems), rows // systems),
            "query": query.ravel(),
            "item": ((query * 31 + chosen * 7919) % (queries * 10)).ravel(),
            "score": -np.tile(np.arange(depth, dtype=np.float64), rows // depth),
        }
    )
    relevant = np.broadcast_to(np.arange(pool // 10), (queries, pool // 10))
    of = np.broadcast_to(np.arange(queries)[:, None], relevant.shape)
    qrels = pl.DataFrame(
        {
            "query": of.ravel(),
            "item": ((of * 31 + relevant * 7919) % (queries * 10)).ravel(),
            "relevance": random.integers(1, 4, relevant.size),
        }
    )
    words = np.array(
        ["ranking", "measure", "query", "item", "system", "table", "column", "relevance", "engine"]
    )

    def texts(number: int, length: int) -> list[str]:
        return [" ".join(line) for line in words[random.integers(0, len(words), (number, length))]]

    about = pl.DataFrame(
        {
            "query": np.arange(queries),
            "locale": random.choice(["de", "en", "fr", "it", "pl"], queries),
            "intent": random.choice(["known-item", "topical", "navigational"], queries),
            "text": texts(queries, 6),
        }
    )
    items = pl.DataFrame({"item": np.arange(queries * 10), "text": texts(queries * 10, 40)})
    named = {
        "query": pl.format("q{}", pl.col("query").cast(pl.String).str.zfill(6)),
        "item": pl.format("item-{}", "item"),
    }
    system = pl.format("system-{}", pl.col("system").cast(pl.String).str.zfill(2))
    return (
        run.with_columns(system=system, **named),
        qrels.with_columns(**named),
        about.with_columns(query=named["query"]),
        items.with_columns(item=named["item"]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in (("systems", 20), ("queries", 10_000), ("depth", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    sizes = parser.parse_args()
    run, qrels, about, items = collection(sizes.systems, sizes.queries, sizes.depth)
    print(f"{sizes.systems} systems, {sizes.queries:,} queries, {len(run):,} rows of runs")

    start = time.perf_counter()
    judged = rank.judge(run, qrels, attributes=about.drop("text"))
    print(f"judged                {time.perf_counter() - start:8.2f} s")
    start = time.perf_counter()
    text = page(judged, MEASURES, by=["locale", "intent"], queries=about, items=items)
    print(f"page made             {time.perf_counter() - start:8.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(text, encoding="utf-8")
        print(f"file                  {path.stat().st_size / 1e6:8.2f} MB")
        if "MODULES" not in os.environ:
            print("set MODULES to measure in the browser, as this file's first lines tell")
            return
        environment = {**os.environ, "PAGE": str(path)}
        done = subprocess.run(["node", PROBE], env=environment, capture_output=True, text=True, check=True)
        for name, milliseconds in json.loads(done.stdout).items():
            print(f"{name:20}  {milliseconds / 1000:8.3f} s")


if __name__ == "__main__":
    main()
