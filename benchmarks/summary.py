"""Write figures of ``speed.py --json`` into docs/speed.md: ``python benchmarks/summary.py FIGURES [...]``.

Of several files the later ones add to the earlier.
"""

import json
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "docs" / "speed.md"
TABLES = [
    f"{share}, {ids} ids, {order}"
    for share in ("sparse", "dense")
    for ids in ("integer", "text")
    for order in ("sorted", "shuffled")
]
# Heading, work, what it is held against, and its goal; the second of two goals is for dense tables.
COLUMNS = [
    ("`evaluate`, five", "evaluate, five", "floor", "≤ 4"),
    ("twenty", "evaluate, twenty", "five", "≤ 1.5"),
    ("five macros", "five macros", "floor", "≤ 5 / 6.5"),
    ("beside SQL by hand", "five macros", "the same written by hand", ""),
    ("twenty macros", "twenty macros", "five", "≤ 2"),
    ("`.agg`, flagged", "five expressions in .agg, sorted flag", "floor", "≤ 5.5"),
    ("`.agg`, unflagged", "five expressions in .agg, unflagged", "floor", "≤ 8"),
]
WORKS = [
    ("Polars: 20000 queries x 100 from scores, in rank order", "pytrec_eval", "≥ 7"),
    ("Polars: 20000 queries x 100 from scores, queries together, items in no order", "pytrec_eval", "≥ 7"),
    ("Polars: 20000 queries x 100 from scores, shuffled", "pytrec_eval", "≥ 6"),
    ("DuckDB, AP and RR at 10: 20000 queries x 100 from scores, in rank order", "pytrec_eval", "≥ 5"),
    (
        "DuckDB, AP and RR at 10: 20000 queries x 100 from scores, queries together, items in no order",
        "pytrec_eval",
        "≥ 5",
    ),
    ("DuckDB, AP and RR at 10: 20000 queries x 100 from scores, shuffled", "pytrec_eval", "≥ 5"),
    ("Polars: 20000 queries x 100, already ranked", "pytrec_eval", "≥ 11"),
    ("Polars: 20000 queries x 100 from scores, in rank order", "ir_measures", ""),
    ("Polars: 20000 queries x 100 from scores, in rank order", "ranx, cold", "≥ 50"),
    ("Polars: 20000 queries x 100 from scores, in rank order", "ranx, its warm evaluation alone", ""),
    ("with the default checks: 20000 queries x 100 from scores, in rank order, frames", "without", ""),
    ("import polars_rank", "import polars", "≤ 1.2"),
]

Figures = dict[tuple[str, str], dict[str, float]]


def judged_tables(figures: Figures) -> str:
    """Lay out a row a kind of table, a column a work."""
    lines = [
        "| 200,000 queries of 102 rows | " + " | ".join(heading for heading, *_ in COLUMNS) + " |",
        "|---|" + "--:|" * len(COLUMNS),
        "| against | " + " | ".join(against.split()[-1] for _, _, against, _ in COLUMNS) + " |",
        "| goal | " + " | ".join(goal for *_, goal in COLUMNS) + " |",
    ]
    for table in TABLES:
        cells = [figures.get((f"{work}: {table}", against)) for _, work, against, _ in COLUMNS]
        shown = [f"{cell['ratio']:.1f}" if cell else "" for cell in cells]
        lines.append(f"| {table} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def works(figures: Figures) -> str:
    """Lay out a row a work, with its peer and goal."""
    lines = ["| work | against | goal | ratio | least to most |", "|---|---|--:|--:|--:|"]
    for work, against, goal in WORKS:
        if cell := figures.get((work, against)):
            span = f"{cell['low']:.1f} to {cell['high']:.1f}"
            lines.append(f"| {work} | {against} | {goal} | {cell['ratio']:.2f} | {span} |")
    return "\n".join(lines)


def main() -> None:
    files: list[dict[str, Any]] = [json.loads(Path(name).read_bytes()) for name in sys.argv[1:]]
    figures = {(row["work"], row["against"]): row for file in files for row in file["rows"]}
    text = PAGE.read_text(encoding="utf-8")
    for name, table in (("tables", judged_tables(figures)), ("works", works(figures))):
        start, end = f"<!-- speed: {name} -->\n", f"<!-- /speed: {name} -->"
        before, _, rest = text.partition(start)
        text = f"{before}{start}{table}\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(text, encoding="utf-8")
    latency = figures.get(("evaluate on 10 rows (seconds, not a ratio)", "nothing"))
    print({file["machine"] for file in files}, "ten rows:", latency and latency["seconds"])


if __name__ == "__main__":
    main()
