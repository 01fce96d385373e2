"""Results as text, on standard output or in a file; notes on standard error."""

import io
import json
import os
import re
import stat
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import glob
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import polars as pl

from polars_rank.command.arguments import in_shell
from polars_rank.core.errors import DataWarning, Explained, require_choice, shortened
from polars_rank.evaluation import batches as scanning
from polars_rank.files.output_files import replace_file

TextFormat = Literal["table", "csv", "json", "markdown"]
_SUFFIXES = {".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex", ".html": "html"}
F = TypeVar("F", bound=str)


def output_format(chosen: F | None, output: str | None, formats: Sequence[F]) -> F:
    """Return the chosen format, else that of the output's suffix.

    The first format is the default for printing and for files without a suffix or with ``.txt``.
    """
    suffix = Path(output or "").suffix.lower()
    if chosen is not None:
        return chosen
    if suffix in ("", ".txt"):
        return formats[0]
    for each in formats:
        if _SUFFIXES.get(suffix) == each:
            return each
    known = ", ".join([*(end for end, each in _SUFFIXES.items() if each in formats), ".txt"])
    raise ValueError(f"{output}: {suffix} names no format that can be written here; use {known}, or --format")


def keep_inputs(outputs: Sequence[str | None], inputs: Sequence[str | None]) -> None:
    """Refuse to overwrite an input, or to write two outputs to one file."""
    named = [path for path in outputs if path is not None]
    if len({os.path.realpath(path) for path in named}) < len(named):
        raise ValueError(f"{named[0]} is given as two outputs; one of them would be lost")
    read = [
        path
        for given in inputs
        if given is not None
        for path in ([given] if os.path.exists(given) else glob(given, recursive=True))
    ]
    for path in read:
        for output in named:
            if os.path.exists(output) and _is_same_file(os.stat(output), path):
                raise ValueError(f"the output {output} is also an input ({path}); write to another file")
        if _is_same_file(_standard_output(), path):
            raise ValueError(f"standard output is the input {path}; write to another file")


def _standard_output() -> os.stat_result | None:
    try:
        return os.fstat(1)
    except OSError:
        return None


def _is_same_file(output: os.stat_result | None, path: str) -> bool:
    # A terminal or a pipe may well be both.
    if output is None or not stat.S_ISREG(output.st_mode):
        return False
    return os.path.samestat(output, os.stat(path))


def put(table: pl.DataFrame, chosen: TextFormat, output: str | None) -> None:
    """Print a table in this format, or write it to a file."""
    write(as_text(table, chosen), output)


def write(text: str, output: str | None) -> None:
    """Print a text, or write it to a file."""
    if output is None:
        print_bytes(text.encode())
        return
    with replace_file(output) as file:
        file.write(text.encode())


def as_text(table: pl.DataFrame, format: TextFormat) -> str:  # noqa: A002 - the command's own word
    """Format a table as text that ends with a line end.

    In ``table`` and ``markdown``, floats have 4 decimals and null is a hyphen. ``csv`` and ``json`` (an
    array, one object per line) have full precision; JSON has no NaN or infinity, so they become null.
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


def open_streams() -> None:
    """Set standard output and error to UTF-8, and reopen those that the shell has closed (``>&-``).

    Otherwise the next file to be opened would get the descriptor of a closed stream, and notes would be
    written into it. Writing to a closed standard output fails; a closed standard error is ignored.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # This takes the lowest free number; writing to it fails.
            os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - open to the end
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)


def close_streams() -> None:
    """Flush both streams; discard the rest on failure, since Python would report it on exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_bytes(data: bytes) -> None:
    """Write bytes to standard output: ids are UTF-8 whatever the encoding of the terminal."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        error.filename = "standard output"
        raise


def say(notes: Sequence[str], kind: str = "note: ") -> None:
    """Print notes to standard error."""
    for note in notes:
        with suppress(OSError):
            print(f"polars-rank: {kind}{shortened(note)}", file=sys.stderr)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings as notes, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        yield
    notes = [each.message for each in caught]
    said = [note.spelled(in_shell) if isinstance(note, Explained) else str(note) for note in notes]
    say(list(dict.fromkeys(said)))


@contextmanager
def progress(name: str) -> Iterator[None]:
    """Show a progress bar if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - takes a tenth of a second, and most calls do not need it
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        token = scanning.PROGRESS.set(lambda done, rows: bar.update(task, completed=done, total=rows))
        try:
            yield
        finally:
            scanning.PROGRESS.reset(token)
