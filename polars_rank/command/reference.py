"""The commands that list measures and print SQL macros."""

from typing import get_args

import polars as pl

import polars_rank as rank
from polars_rank.command.arguments import Output
from polars_rank.command.output import TextFormat, output_format, put, write
from polars_rank.sql import init_text


def list_measures(
    *,
    format: TextFormat | None = None,  # noqa: A002 - no other word is as plain
    output: Output = None,
) -> None:
    """List the measures with their options, ranges and names in other tools.

    Parameters
    ----------
    format
        Output format: table (default), csv, json or markdown.
    output
        Output file instead of standard output; .csv, .json, .md and .txt select the format.
    """
    rows = [
        {
            "measure": measure.name,
            "summary": (measure.function.__doc__ or "").partition("\n")[0],
            "range": " to ".join(f"{bound:g}" for bound in measure.bounds),
            "over queries": measure.aggregate,
            "options": ", ".join(f"{name}={default}" for name, default in measure.options.items()),
            "elsewhere": "; ".join(
                f"{program}: {', '.join(names)}" for program, names in measure.names.items()
            ),
        }
        for measure in rank.MEASURES.values()
    ]
    put(pl.DataFrame(rows), output_format(format, output, get_args(TextFormat)), output)


def sql(*measures: str, convention: str | None = None, output: Output = None) -> None:
    """Print the SQL macros for `duckdb -init`, or the macro calls of the given measures.

    Parameters
    ----------
    measures
        Measures such as nDCG@10.
    convention
        Tool whose measure names to use, such as ranx.
    output
        Output file instead of standard output.
    """
    calls = [rank.to_sql(name, convention=convention) for name in measures]
    write("".join(f"{call}\n" for call in calls) or init_text(), output)
