"""Inputs of the commands: measures, judgements, runs, and texts of queries and items."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

import polars_rank as rank
from polars_rank.command.arguments import Reading, columns_of
from polars_rank.command.warnings import (
    counts_by_system,
    missing_number_notes,
    no_match_notes,
    rows_with_grade,
    unmatched_query_notes,
)
from polars_rank.core.errors import ArgumentError, DataError, Setting
from polars_rank.core.frames import Frame, unify_ids
from polars_rank.evaluation import batches
from polars_rank.files.column_names import OtherKindError
from polars_rank.files.run_files import RunFile, read_runs
from polars_rank.judging.judged_table import judge
from polars_rank.measures.names import expand, parse

_IDS = {
    "query": ("query", "query_id", "qid", "_id", "id"),
    "item": ("item", "item_id", "doc_id", "docno", "_id", "id"),
}


def measures_named(given: Sequence[str], convention: str | None) -> list[str]:
    """Expand and check the measures: rankings must have their columns, and none may be repeated."""
    names = [name for text in given for name in expand(text, convention=convention)]
    for name in names:
        columns = parse(name, convention=convention).measure.columns
        if not set(columns) <= {"rank", "relevance", "score"}:
            raise ValueError(f"measure {name!r} takes the columns {columns}, which rankings do not have")
        if names.count(name) > 1:
            raise ValueError(f"measure {name!r} is given twice")
    return names


def read_tables(
    qrels: str | None, runs: Sequence[str], reading: Reading, *, same_ids: bool = True
) -> tuple[pl.DataFrame, list[RunFile]]:
    """Read the judgements and runs; `same_ids` casts their ids to common types."""
    if qrels is None or not runs:
        raise ValueError("name the qrels and at least one run" + ("" if qrels else ", or use --example"))
    if qrels in runs:
        raise ValueError(f"{qrels} is given as qrels and as a run")
    swapped = "are qrels and run swapped? QRELS come first, then RUNs"
    with reading_errors(swapped, columns="qrels_columns"):
        grades = rank.read_qrels(qrels, columns=columns_of(reading.qrels_columns), comments=reading.comments)
    with reading_errors(swapped):
        files = read_runs(runs, columns=columns_of(reading.columns), comments=reading.comments)
    if same_ids:
        tables = unify_ids({qrels: grades, **{file.path: file.rows for file in files}}, ["query", "item"])
        grades, files = tables[qrels], [file._replace(rows=tables[file.path]) for file in files]
    judgements = grades.collect()
    if judgements.is_empty():
        raise DataError(f"{qrels} has a header but no rows: there are no judgements")
    return judgements, files


@contextmanager
def reading_errors(swapped: str, **options: str) -> Iterator[None]:
    """Replace arguments of `read_run` and `read_qrels` in errors by options of the command.

    Advice to use `format` is left out, as --format is that of the output.
    """
    try:
        yield
    except OtherKindError as error:
        raise DataError(error.problem, remedy=swapped) from error
    except (DataError, ArgumentError) as error:
        raise error.renamed(lambda name: {"format": None, **options}.get(name, name)) from error


@contextmanager
def without_keys() -> Iterator[None]:
    """Leave out advice to use --keys, for a command without that option."""
    try:
        yield
    except (DataError, ArgumentError) as error:
        raise error.renamed(lambda name: None if name == "keys" else name) from error


def example_tables(qrels: str | None) -> tuple[pl.DataFrame, list[RunFile]]:
    """Load the bundled collection; the run has the columns that describe its queries."""
    if qrels is not None:
        raise ValueError("--example takes the bundled collection; leave the files out")
    run, grades, queries, _ = rank.example()
    rows = run.join(queries, on="query", how="left")
    return grades, [RunFile("the bundled run", rows.lazy(), run["system"].unique().to_list(), scanned=False)]


def loaded(file: RunFile) -> Frame:
    """Load a run; a large Parquet file stays lazy and is scored in parts."""
    if file.scanned and file.rows.select(pl.len()).collect().item() > batches.ROWS_AT_ONCE:
        return file.rows
    return file.rows.collect()


def judged_files(
    files: Sequence[RunFile],
    grades: pl.DataFrame,
    by: Sequence[str],
    described: pl.DataFrame | None,
    options: Mapping[str, Any],
    *,
    allow_no_match: bool = False,
) -> tuple[pl.DataFrame, list[str]]:
    """Judge each run; return one table and the notes on it.

    Attributes come from the table of query texts, or else from the runs.
    """
    for name in {"query", "system", "item", "rank", "score", "relevance"}.intersection(by):
        raise ArgumentError((Setting("by", [name]), " describes no query, and can't slice a comparison"))
    about = None
    if described is not None:
        about = described.select("query", *(name for name in by if name in described.columns))
    of_run = [name for name in by if about is None or name not in about.columns]
    facts, said, parts = [], [], []
    for file in files:
        run: Any = loaded(file)
        columns = run.collect_schema().names()
        for name in of_run:
            if name not in columns:
                raise DataError(
                    f"{file.path} has no column {name!r} to slice by, nor has a file of --query-texts; "
                    f"its columns are {columns}"
                )
        facts.append(counts_by_system(run, grades, options))
        said += no_match_notes(facts[-1], run, grades, allow_no_match=allow_no_match)
        judged = judge(run, grades, **{**options, "attributes": of_run}).lazy()
        if about is not None:
            # In a run, this column is null for items that were not returned.
            judged = judged.drop(about.columns[1:], strict=False).join(about.lazy(), on="query", how="left")
        parts.append(judged.select("query", "system", "item", "rank", "relevance", *by).collect())
    known, asked = pl.concat(facts).sort("system"), rows_with_grade(grades).collect()["query"].n_unique()
    said += unmatched_query_notes(known, asked, options.get("queries", "qrels")) + missing_number_notes(known)
    table = pl.concat(parts, how="vertical_relaxed")
    systems = table["system"].unique().to_list()
    if len(systems) < 2:
        raise DataError(f"the runs contain one system, {', '.join(systems)}; a comparison needs two")
    return table, said


def read_descriptions(path: str, key: str, grades: pl.DataFrame) -> pl.DataFrame:
    """Read texts of queries or items: the id, named `key`, the text if there is one, and all other columns.

    The suffix selects the format: .parquet, .jsonl or .ndjson, .tsv, else CSV with a header. A title is
    prepended to the text.
    """
    table = _described(path)
    found = [name for name in _IDS[key] if name in table.columns]
    if not found:
        names = ", ".join(_IDS[key])
        raise DataError(f"{path} has no column for the {key} ({names}); its columns are {table.columns}")
    table = table.rename({found[0]: key})
    try:
        table = table.with_columns(pl.col(key).cast(grades.schema[key]))
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{path}: {key} ids must be {grades.schema[key]}, as in the qrels: {error}"
        ) from error
    repeated = table.filter(pl.col(key).is_duplicated())
    if len(repeated):
        raise DataError(f"{path} has two rows for {key} {repeated[key][0]!r}; keep one")
    if "title" in table.columns:
        words = [pl.col(name).cast(pl.String) for name in ("title", "text") if name in table.columns]
        table = table.with_columns(
            text=pl.concat_str(words, separator=" ", ignore_nulls=True).str.strip_chars()
        )
    return table


def _described(path: str) -> pl.DataFrame:
    # open() names a missing file in its error.
    with open(path, "rb") as file:
        content = file.read()
    suffix = Path(path).suffix.lower()
    try:
        if suffix == ".parquet":
            return pl.read_parquet(content)
        if suffix in (".jsonl", ".ndjson"):
            return pl.read_ndjson(content, infer_schema_length=None)
        return pl.read_csv(content, separator="\t" if suffix == ".tsv" else ",", infer_schema=False)
    except pl.exceptions.PolarsError as error:
        words = {".parquet": "Parquet", ".jsonl": "JSON lines", ".ndjson": "JSON lines", ".tsv": "tsv"}
        told = str(error).splitlines()[0]
        raise DataError(f"{path} can't be read as {words.get(suffix, 'CSV')}: {told}") from error
