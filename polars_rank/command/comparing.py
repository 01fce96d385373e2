"""The command that compares systems."""

import io
from contextlib import nullcontext, redirect_stdout
from typing import Annotated, Literal, get_args

from cyclopts import Parameter

import polars_rank as rank
from polars_rank.command.arguments import JUDGING, READING, Judging, Output, Reading, Switch
from polars_rank.command.inputs import (
    example_tables,
    judged_files,
    measures_named,
    read_descriptions,
    read_tables,
    without_keys,
)
from polars_rank.command.output import keep_inputs, output_format, put, say, write
from polars_rank.comparison.pairs import Missing

CompareFormat = Literal["terminal", "markdown", "latex", "html", "csv", "json"]


def compare_runs(
    qrels: str | None = None,
    /,
    *runs: str,
    baseline: str | None = None,
    measure: Annotated[list[str] | None, Parameter(name=["--measure", "-m"])] = None,
    by: list[str] | None = None,
    html: str | None = None,
    query_texts: str | None = None,
    item_texts: str | None = None,
    example: Switch = False,
    format: CompareFormat | None = None,  # noqa: A002 - as in the other commands
    output: Output = None,
    judging: Judging = JUDGING,
    reading: Reading = READING,
) -> None:
    """Compare systems query by query: means, confidence intervals, significance, wins; as a table or a page.

    Files and system names are as in `polars-rank evaluate`. Significance is from a paired t-test with Holm's
    correction, which needs SciPy. With --queries both or run, two systems are compared on their common
    queries.

    Parameters
    ----------
    qrels
        Judgements.
    runs
        Runs: the ranked items of one or more systems.
    baseline
        System to compare the others with. Default: all pairs in the table, the best system on the page.
    measure
        Measure such as nDCG@10; may be repeated. The first one orders the systems. Default: nDCG@10, AP, RR.
    by
        Column of the query texts or runs that describes the query: adds a table of its slices, and a filter
        on the page; may be repeated.
    html
        HTML page to write: a single file that works offline.
    query_texts
        File with one row per query: its id, its text and other columns, for --by and the page. CSV, TSV,
        JSON lines or Parquet; the file name selects the format.
    item_texts
        The same for items.
    example
        Use the bundled collection instead of files. Slice it with --by kind or --by length.
    format
        Output format: terminal (default), markdown, latex and html are rounded; csv and json have full
        precision, with one row per measure and system (and slice, with --by).
    output
        Output file for the table; .csv, .json, .md, .tex and .html select the format.
    """
    from polars_rank.reporting.leaderboards import leaderboard, standings  # noqa: PLC0415
    from polars_rank.reporting.page import page  # noqa: PLC0415 - only this command needs it

    keep_inputs([output, html], [qrels, *runs, query_texts, item_texts])
    shown = output_format(format, output, get_args(CompareFormat))
    names = measures_named(measure or ("nDCG@10", "AP", "RR"), None)
    grades, files = example_tables(qrels) if example else read_tables(qrels, runs, reading)
    if judging.keys:
        raise ValueError(
            "compare has no --keys: it pairs systems query by query; compare one day (or the like) at a "
            "time, or slice queries with --by"
        )
    texts, items = (
        read_descriptions(path, key, grades) if path else None
        for key, path in (("query", query_texts), ("item", item_texts))
    )
    if example:
        texts, items = rank.example().queries, rank.example().items
    slices = list(dict.fromkeys(by or []))
    with without_keys():
        judged, said = judged_files(
            files, grades, slices, texts, judging.options(), allow_no_match=judging.allow_no_match
        )
    say(said)
    per_query = rank.evaluate(judged, names, by=slices)
    missing: Missing = "drop" if judging.queries in ("both", "run") else "error"
    if html is not None:
        write(page(judged, names, baseline, by=slices, queries=texts, items=items, missing=missing), html)
    if shown in ("csv", "json"):
        put(standings(per_query, baseline, by=slices, measures=names, missing=missing), shown, output)
        return
    # Files have no colours, even if standard output is a terminal.
    with nullcontext() if output is None else redirect_stdout(io.StringIO()):
        tables = [
            leaderboard(per_query, baseline, by=part, measures=names, format=shown, missing=missing)
            for part in ([[], slices] if slices else [[]])
        ]
    write("\n\n".join(tables) + "\n", output)
