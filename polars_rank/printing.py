"""A table as text: for the eye, for Markdown, or whole for another program."""

import json
import re
from collections.abc import Sequence
from typing import Any, Literal, get_args

import polars as pl

from polars_rank.errors import require_choice, shortened

TextFormat = Literal["table", "csv", "json", "markdown"]


def as_text(table: pl.DataFrame, format: TextFormat) -> str:  # noqa: A002 - the command's own word
    """Write a table as text that ends with a line end.

    ``table`` and ``markdown`` are for the eye: floats have 4 decimals, null is a hyphen. ``csv`` and
    ``json`` (an array, one object a line) hold every digit; JSON has no NaN and no infinity, so that these
    are null there.
    """
    require_choice("format", format, get_args(TextFormat))
    table = table.with_columns(pl.col(pl.Binary).bin.encode("hex"))
    if format == "json":
        lines = [json.dumps(row, ensure_ascii=False, default=str) for row in _finite(table).to_dicts()]
        return "[\n" + ",\n".join(f"  {line}" for line in lines) + "\n]\n" if lines else "[]\n"
    table = table.with_columns(pl.col(pl.List(pl.String)).list.join("; "))
    if format == "csv":
        return table.write_csv()
    rows = [table.columns, *([_cell(value) for value in row] for row in table.iter_rows())]
    numeric = [dtype.is_numeric() for dtype in table.dtypes]
    return _markdown(rows, numeric) if format == "markdown" else _aligned(rows, numeric)


def _finite(table: pl.DataFrame) -> pl.DataFrame:
    floats = pl.col(pl.Float64, pl.Float32)
    return table.with_columns(pl.when(floats.is_finite()).then(floats))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else shortened(re.sub(r"\s", " ", str(value)))


def _aligned(rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def _markdown(rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    header, *body = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    rule = ["---:" if right else "---" for right in numeric]
    return "".join(f"| {' | '.join(row)} |\n" for row in [header, rule, *body])
