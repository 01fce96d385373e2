"""The commands that print what the package knows: the measures and the SQL macros."""

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
    """List the measures, with their options, ranges and names elsewhere.

    Parameters
    ----------
    format
        How to print: table (default), csv, json or markdown.
    output
        File to write, instead of printing; .csv, .json, .md and .txt tell the format.
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
    """Print the macros, for duckdb -init; with measures, print their macro calls instead.

    Parameters
    ----------
    measures
        Names such as nDCG@10.
    convention
        A program, such as ranx, that decides what an ambiguous name means.
    output
        File to write, instead of printing.
    """
    calls = [rank.to_sql(name, convention=convention) for name in measures]
    write("".join(f"{call}\n" for call in calls) or init_text(), output)
