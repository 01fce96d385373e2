"""What the commands of the shell work on: measures by name, judgements and runs from files."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import polars as pl

import polars_rank as rank
from polars_rank.command.arguments import Reading, columns_of
from polars_rank.core.errors import ArgumentError, DataError
from polars_rank.core.frames import unify_ids
from polars_rank.files.column_names import OtherKindError
from polars_rank.files.run_files import RunFile, read_runs
from polars_rank.measures.catalogue import expand, parse


def measures_named(given: Sequence[str], convention: str | None) -> list[str]:
    """Name the measures; refuse those that a ranking has no columns for, and repeated ones."""
    names = [name for text in given for name in expand(text, convention=convention)]
    for name in names:
        columns = parse(name, convention=convention).measure.columns
        if not set(columns) <= {"rank", "relevance", "score"}:
            raise ValueError(f"measure {name!r} takes the columns {columns}, which a ranking has not")
        if names.count(name) > 1:
            raise ValueError(f"measure {name!r} is given twice")
    return names


def read_tables(
    qrels: str | None, runs: Sequence[str], reading: Reading, *, same_ids: bool = True
) -> tuple[pl.DataFrame, list[RunFile]]:
    """Read the judgements and the runs, with ids of one type each unless `same_ids` is false."""
    if qrels is None or not runs:
        raise ValueError("name the qrels and at least one run" + ("" if qrels else ", or use --example"))
    if qrels in runs:
        raise ValueError(f"{qrels} is given as qrels and as a run")
    swapped = "QRELS come first, then RUNs"
    with reading_errors(swapped, columns="qrels_columns"):
        grades = rank.read_qrels(qrels, columns=columns_of(reading.qrels_columns), comments=reading.comments)
    with reading_errors(swapped):
        files = read_runs(runs, columns=columns_of(reading.columns), comments=reading.comments)
    if same_ids:
        tables = unify_ids({qrels: grades, **{file.path: file.rows for file in files}}, ["query", "item"])
        grades, files = tables[qrels], [file._replace(rows=tables[file.path]) for file in files]
    judgements = grades.collect()
    if judgements.is_empty():
        raise DataError(f"{qrels} has a header and no row: there is no judgement")
    return judgements, files


@contextmanager
def reading_errors(swapped: str, **options: str) -> Iterator[None]:
    """Name the options of the command where `read_run` and `read_qrels` name their arguments.

    Its --format is that of the output, so that a remedy with `format` is left out.
    """
    try:
        yield
    except OtherKindError as error:
        raise DataError(error.problem, remedy=swapped) from error
    except (DataError, ArgumentError) as error:
        raise error.renamed({"format": None, **options}) from error


def example_tables(qrels: str | None) -> tuple[pl.DataFrame, list[RunFile]]:
    """Give the bundled collection as if it had been read; what describes its queries is in the run."""
    if qrels is not None:
        raise ValueError("--example takes the bundled collection; leave the files out")
    run, grades, queries, _ = rank.example()
    rows = run.join(queries, on="query", how="left")
    return grades, [RunFile("the bundled run", rows.lazy(), run["system"].unique().to_list())]
