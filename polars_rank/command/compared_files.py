"""What the command compares: runs in files made one judged table, and texts that describe ids."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from polars_rank.command.warnings import graded, number_notes, query_notes, run_facts, strangers
from polars_rank.core.errors import ArgumentError, DataError, Setting
from polars_rank.files.run_files import RunFile, loaded
from polars_rank.judging.judged_table import judge

_IDS = {
    "query": ("query", "query_id", "qid", "_id", "id"),
    "item": ("item", "item_id", "doc_id", "docno", "_id", "id"),
}


def judged_files(
    files: Sequence[RunFile],
    grades: pl.DataFrame,
    by: Sequence[str],
    described: pl.DataFrame | None,
    options: Mapping[str, Any],
    *,
    allow_no_match: bool = False,
) -> tuple[pl.DataFrame, list[str]]:
    """Judge each run, and give all as one table with what a reader should know of them.

    Attributes come from the table that describes the queries, those that it lacks from the runs.
    """
    for name in {"query", "system", "item", "rank", "score", "relevance"}.intersection(by):
        raise ArgumentError((Setting("by", [name]), " describes no query, and can't slice a comparison"))
    about = None
    if described is not None:
        about = described.select("query", *(name for name in by if name in described.columns))
    of_run = [name for name in by if about is None or name not in about.columns]
    facts, said, parts = [], [], []
    for file in files:
        run: Any = loaded(file.rows)
        columns = run.collect_schema().names()
        for name in of_run:
            if name not in columns:
                raise DataError(
                    f"{file.path} has no column {name!r} to slice by, nor has a file of --query-texts; "
                    f"its columns are {columns}"
                )
        facts.append(run_facts(run, grades, options))
        said += strangers(facts[-1], run, grades, allow_no_match=allow_no_match)
        judged = judge(run, grades, **{**options, "attributes": of_run}).lazy()
        if about is not None:
            # The same column of a run is null where an item was missed.
            judged = judged.drop(about.columns[1:], strict=False).join(about.lazy(), on="query", how="left")
        parts.append(judged.select("query", "system", "item", "rank", "relevance", *by).collect())
    known, asked = pl.concat(facts).sort("system"), graded(grades).collect()["query"].n_unique()
    said += query_notes(known, asked, options.get("queries", "qrels")) + number_notes(known)
    table = pl.concat(parts, how="vertical_relaxed")
    systems = table["system"].unique().to_list()
    if len(systems) < 2:
        raise DataError(f"the runs hold one system, {', '.join(systems)}; a comparison takes two")
    return table, said


def read_descriptions(path: str, key: str, grades: pl.DataFrame) -> pl.DataFrame:
    """Read what describes queries or items: the id under its name, a text if there is one, all other columns.

    The format is told by the name: .parquet, .jsonl or .ndjson, .tsv, else CSV with a header. A title stands
    before its text.
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
        raise DataError(f"{path} has two rows of {key} {repeated[key][0]!r}; it takes one")
    if "title" in table.columns:
        words = [pl.col(name).cast(pl.String) for name in ("title", "text") if name in table.columns]
        table = table.with_columns(
            text=pl.concat_str(words, separator=" ", ignore_nulls=True).str.strip_chars()
        )
    return table


def _described(path: str) -> pl.DataFrame:
    # Opened first, since the error of a file that is not there then names it.
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
