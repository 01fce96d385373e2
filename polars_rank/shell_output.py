"""Where results and notes of the command go: standard output or a file, standard error."""

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from polars_rank import scanning
from polars_rank.errors import DataWarning
from polars_rank.formats import replace_file
from polars_rank.printing import TextFormat, as_text
from polars_rank.shell_arguments import in_shell

_SUFFIXES: dict[str, TextFormat] = {".csv": "csv", ".json": "json", ".md": "markdown"}


def put(table: pl.DataFrame, chosen: TextFormat | None, output: str | None) -> None:
    """Write a table, in the format that was chosen, else in the one that the file's name tells."""
    told = _SUFFIXES.get(Path(output or "").suffix.lower(), "table")
    write(as_text(table, chosen or told), output)


def write(text: str, output: str | None) -> None:
    """Print a text, or let it take the place of a file."""
    if output is None:
        print_bytes(text.encode())
        return
    with replace_file(output) as temporary:
        Path(temporary).write_bytes(text.encode())


def print_bytes(data: bytes) -> None:
    """Write to standard output; bytes, since ids are UTF-8 whatever the terminal's encoding."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def say(notes: Sequence[str]) -> None:
    """Tell what a reader of the results should know."""
    for note in notes:
        print(f"polars-rank: note: {note}", file=sys.stderr)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print what Python would warn of as notes, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        yield
    say([in_shell(text) for text in dict.fromkeys(str(each.message) for each in caught)])


@contextmanager
def progress(name: str) -> Iterator[None]:
    """Show how far a long run is, where somebody looks."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - a tenth of a second that most calls don't need
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        token = scanning.PROGRESS.set(lambda done, rows: bar.update(task, completed=done, total=rows))
        try:
            yield
        finally:
            scanning.PROGRESS.reset(token)
