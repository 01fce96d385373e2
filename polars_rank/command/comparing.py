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
    """Compare systems query by query: means, intervals, what is significant, wins; a page to look into.

    Files and names are as for `polars-rank evaluate`. The test is the paired t test, corrected by Holm, and
    needs SciPy. With --queries both or run, two systems are compared by the queries that both have.

    Parameters
    ----------
    qrels
        Judgements.
    runs
        What systems returned.
    baseline
        System that the others are compared with. Default: in the table all pairs, on the page the best one.
    measure
        A measure, such as nDCG@10; may be repeated, the first orders the systems. Default: nDCG@10, AP, RR.
    by
        Column of the query texts, or of the runs, that describes the query: a second table has its slices,
        and the page picks them; may be repeated.
    html
        File to write a page to: one file that opens without network.
    query_texts
        File of one row a query, with its id, text and other columns, for --by and the page: CSV, tsv, JSON
        lines or Parquet, told by its name.
    item_texts
        The same of items.
    example
        Take the bundled collection; no files are needed. --by kind and --by length slice it.
    format
        How to print: terminal (default), markdown, latex and html are rounded; csv and json hold every digit,
        a row a measure and system, with --by for each slice alone.
    output
        File to write the table, instead of printing; .csv, .json, .md, .tex and .html tell the format.
    """
    from polars_rank.reporting.leaderboards import leaderboard, standings  # noqa: PLC0415
    from polars_rank.reporting.page import page  # noqa: PLC0415 - only this command needs it

    keep_inputs([output, html], [qrels, *runs, query_texts, item_texts])
    shown = output_format(format, output, get_args(CompareFormat))
    names = measures_named(measure or ("nDCG@10", "AP", "RR"), None)
    grades, files = example_tables(qrels) if example else read_tables(qrels, runs, reading)
    if judging.keys:
        raise ValueError(
            "compare pairs systems query by query and takes no --keys; compare one day (or the like) at a "
            "time, or slice by what describes queries: --by"
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
    # A file is plain, whatever standard output is.
    with nullcontext() if output is None else redirect_stdout(io.StringIO()):
        tables = [
            leaderboard(per_query, baseline, by=part, measures=names, format=shown, missing=missing)
            for part in ([[], slices] if slices else [[]])
        ]
    write("\n\n".join(tables) + "\n", output)
