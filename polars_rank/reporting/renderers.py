"""The table of systems in the formats that it is read in: terminal, Markdown, LaTeX, HTML."""

import io
import re
import sys
from collections.abc import Callable
from html import escape
from typing import Any, Literal, NamedTuple

import polars as pl

from polars_rank.core.errors import needs

Format = Literal["terminal", "markdown", "latex", "html"]
Side = Literal["left", "right"]


class Cell(NamedTuple):
    """What stands in one place of the table."""

    text: str
    interval: str = ""
    mark: str = ""
    bold: bool = False


class Board(NamedTuple):
    """The table without a format: names of columns and the side that their cells keep to, rows, notes."""

    header: list[tuple[str, Side]]
    rows: list[list[Cell]]
    notes: list[str]

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [name for name, _ in self.header]


def _markdown(board: Board) -> str:
    def escaped(text: str) -> str:
        # A backslash keeps what Markdown would read as markup.
        return re.sub(r"([\\`*_{}\[\]<>#|~&$])", r"\\\1", text)

    def cell(c: Cell) -> str:
        text = escaped(c.text)
        mark = c.mark if c.mark in ("↑", "↓", "") else f"<sup>{c.mark}</sup>"
        return (f"**{text}**" if c.bold else text) + mark + (f" {c.interval}" if c.interval else "")

    lines = [
        [cell(Cell(name)) for name in board.names],
        [":---" if side == "left" else "---:" for _, side in board.header],
        *([cell(c) for c in row] for row in board.rows),
    ]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), "", *map(escaped, board.notes)])


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    # After the end of a row these two would be read as its options.
    **{character: f"{{{character}}}" for character in "[*"},
    "`": r"\textasciigrave{}",
}


def _latex(board: Board) -> str:
    def text(plain: str) -> str:
        return "".join(_LATEX.get(character, character) for character in plain)

    def cell(c: Cell) -> str:
        value = rf"\textbf{{{text(c.text)}}}" if c.bold else text(c.text)
        mark = rf"\textsuperscript{{{text(c.mark)}}}" if c.mark else ""
        return value + mark + (rf" {{\scriptsize {c.interval}}}" if c.interval else "")

    lines = [
        " & ".join(map(cell, row)) + r" \\" for row in [[Cell(name) for name in board.names], *board.rows]
    ]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{''.join(side[0] for _, side in board.header)}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            *(f"% {note}" for note in board.notes),
        ]
    )


@needs("tables of HTML", "great-tables", "great_tables")
def _html(board: Board) -> str:
    import great_tables as gt  # noqa: PLC0415 - an extra; half a second

    def cell(c: Cell) -> str:
        value = f"<strong>{escape(c.text)}</strong>" if c.bold else escape(c.text)
        interval = f' <small style="white-space: nowrap">{c.interval}</small>' if c.interval else ""
        return value + (f"<sup>{escape(c.mark)}</sup>" if c.mark else "") + interval

    # Columns by their places: two measures have a column of one name each.
    columns = {f"column-{place}": side for place, (_, side) in enumerate(board.header)}
    frame = pl.DataFrame([[cell(c) for c in row] for row in board.rows], schema=list(columns), orient="row")
    labels: dict[str, Any] = dict(zip(columns, board.names, strict=True))
    table = gt.GT(frame).fmt_passthrough(columns=list(columns), escape=False).cols_label(labels)
    for side in ("left", "right"):
        table = table.cols_align(side, columns=[name for name, own in columns.items() if own == side])
    for note in board.notes:
        table = table.tab_source_note(gt.html(escape(note)))
    return table.as_raw_html()


def _terminal(board: Board) -> str:
    from rich import box  # noqa: PLC0415 - a tenth of a second
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    # As Text, since a name may look like markup.
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, side in board.header:
        grid.add_column(Text(name), justify=side, overflow="fold")
    widest = [max(len(row[place].mark) for row in board.rows) for place in range(len(board.header))]
    for row in board.rows:
        grid.add_row(
            *(
                Text.assemble(
                    (c.text, "bold" if c.bold else ""),
                    f" {c.mark:{width}}" if width else "",
                    f" {c.interval}".rstrip(),
                )
                for c, width in zip(row, widest, strict=True)
            )
        )
    seen = sys.stdout.isatty()
    out = io.StringIO()
    Console(file=out, width=None if seen else 200, force_terminal=seen).print(grid)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return "\n".join([*filter(None, lines), "", *board.notes])


FORMATS: dict[Format, Callable[[Board], str]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "latex": _latex,
    "html": _html,
}
