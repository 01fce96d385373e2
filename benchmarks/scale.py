"""Growth in time and memory: ``python benchmarks/scale.py [--rows 100000000] [--json F] [--picture F]``.

Each figure is a process of its own, from Parquet files to five means, with its peak memory as the system
tells it (``/usr/bin/time`` is not needed). ``--shuffled`` strews the rows over the file; ``--items 1000
--integer`` makes lists of 1,000 with integer ids.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tables import Order, run_and_qrels

OURS = """
import polars as pl, polars_rank as rank
values = rank.evaluate(
    pl.scan_parquet({run!r}), ["nDCG@10", "AP", "RR", "P@10", "R@10"], qrels=pl.scan_parquet({qrels!r})
)
print(values.select(pl.exclude("query").mean()).collect().rows())
"""
PASS = """
import polars as pl
lf = pl.scan_parquet({run!r})
print(lf.select(pl.all().hash().sum()).collect().rows())
"""
PYTREC_EVAL = """
import polars as pl, pytrec_eval
scores, grades = {{}}, {{}}
for query, item, score in pl.read_parquet({run!r}).iter_rows():
    scores.setdefault(query, {{}})[item] = score
for query, item, grade in pl.read_parquet({qrels!r}).iter_rows():
    grades.setdefault(query, {{}})[item] = grade
names = {{"ndcg_cut.10", "map", "recip_rank", "P.10", "recall.10"}}
values = pytrec_eval.RelevanceEvaluator(grades, names).evaluate(scores).values()
print([sum(v[name.replace(".", "_")] for v in values) / len(values) for name in sorted(names)])
"""


def measured(script: str, run: Path, qrels: Path) -> dict[str, float | str]:
    """Run a script in a process of its own; give seconds, peak gigabytes and what it printed."""
    watch = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-c', sys.argv[1]], capture_output=True, text=True)\n"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "print(done.returncode, peak, done.stdout.strip() or done.stderr.strip()[-200:])"
    )
    start = time.perf_counter()
    told = subprocess.run(
        [sys.executable, "-c", watch, script.format(run=str(run), qrels=str(qrels))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    seconds = time.perf_counter() - start
    code, peak, printed = told.split(" ", 2)
    return {"seconds": seconds, "gigabytes": int(peak) / 2**20, "exit": int(code), "printed": printed.strip()}


def picture(rows: list[dict[str, float | str]], path: Path) -> None:
    import altair as alt
    import polars as pl

    powers = [10.0**power for power in range(-1, 10)]
    x = (
        alt.X("rows:Q", title="rows of the run")
        .scale(type="log", nice=False)
        .axis(values=powers, format="~s")
    )
    color = alt.Color("who:N", title=None).scale(range=["#b65a1c", "#1f5fa8"])
    base = alt.Chart(pl.DataFrame(rows)).mark_line(point=True).encode(x=x, color=color)
    panels = []
    for column, title in (("seconds", "seconds"), ("gigabytes", "peak memory, GB")):
        y = alt.Y(f"{column}:Q", title=title).scale(type="log", nice=False, padding=8).axis(values=powers)
        panels.append(base.encode(y=y).properties(width=300, height=220))
    alt.hconcat(*panels).save(path, scale_factor=2)


def growth(
    sizes: Sequence[int],
    *,
    items: int = 100,
    text: bool = True,
    order: Order = "ranked",
    peer_rows: int = 10**7,
    one_pass: bool = False,
) -> Iterator[dict[str, float | str]]:
    """Measure each size, ours and up to `peer_rows` pytrec_eval's, and say it at once."""
    for size in sizes:
        run, qrels = run_and_qrels(size // items, items, text=text, order=order)
        works = {"polars_rank": OURS}
        if size <= peer_rows:
            works["pytrec_eval"] = PYTREC_EVAL
        if one_pass:
            works["one pass"] = PASS
        for who, script in works.items():
            row = {"who": who, "rows": size, **measured(script, run, qrels)}
            print(
                f"| {who}: {size:,} rows | {row['seconds']:.2f} s | {row['gigabytes']:.2f} GB |", flush=True
            )
            if row["exit"] != 0:
                raise SystemExit(str(row["printed"]))
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6, 2 * 10**6, 10**7, 10**8])
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--integer", action="store_true")
    parser.add_argument("--shuffled", action="store_true")
    parser.add_argument("--peer-rows", type=int, default=10**7, help="the most rows given to pytrec_eval")
    parser.add_argument("--one-pass", action="store_true", help="time one pass over the file too")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    rows = list(
        growth(
            options.rows,
            items=options.items,
            text=not options.integer,
            order="shuffled" if options.shuffled else "ranked",
            peer_rows=options.peer_rows,
            one_pass=options.one_pass,
        )
    )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    if options.picture:
        picture(rows, options.picture)


if __name__ == "__main__":
    main()
