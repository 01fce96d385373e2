"""Read several run files, and name their systems without repetition."""

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from polars_rank.core.errors import DataError
from polars_rank.files.reading import Columns, read_file

_SUFFIX = re.compile(r"(\.(txt|trec|run|res|tsv|csv|jsonl|ndjson|parquet))?(\.gz)?$", re.IGNORECASE)


class RunFile(NamedTuple):
    """A run, the path of its file, and the names of its systems, which no other file has."""

    path: str
    rows: pl.LazyFrame
    systems: list[str]
    scanned: bool


def read_runs(paths: Sequence[str], *, columns: Columns | None, comments: bool) -> list[RunFile]:
    """Read runs; systems are named by their tags, or by their files if there is no tag.

    If two files share a tag, all systems are named by file names, and if these are equal too, by paths.
    """
    seen: set[str] = set()
    for path in paths:
        if os.path.realpath(path) in seen:
            raise ValueError(f"the run {path} is given twice")
        seen.add(os.path.realpath(path))
    rows, tags, scanned = [], [], []
    for path in paths:
        run, from_disk = read_file(path, "run", None, columns, comments)
        scanned.append(from_disk)
        if "system" not in run.collect_schema():
            run = run.with_columns(system=pl.lit(None, pl.String))
        run = run.with_columns(pl.col("system").cast(pl.String).replace("", None))
        rows.append(run)
        tags.append(run.select(pl.col("system").unique().sort()).collect())
        if tags[-1].is_empty():
            raise DataError(f"{path} has a header but no rows: there is nothing to score")
        if len(tags[-1]) > 1 and tags[-1]["system"].has_nulls():
            lacking, named = run.filter(pl.col("system").is_null()), tags[-1]["system"].drop_nulls().to_list()
            query, item = lacking.select("query", "item").head(1).collect().row(0)
            raise DataError(
                f"{path} has rows without a system, such as query {query!r}, item {item!r}, next to rows of "
                f"{named}",
                remedy="give every row a system, or drop the column",
            )
    for level in range(3):
        names = [_name(path, tag["system"].to_list(), level) for path, tag in zip(paths, tags, strict=True)]
        systems = [tag.select(name).to_series().to_list() for tag, name in zip(tags, names, strict=True)]
        flat = [system for each in systems for system in each]
        if len(set(flat)) == len(flat):
            break
    return [
        RunFile(path, run.with_columns(name.alias("system")), each, from_disk)
        for path, run, name, each, from_disk in zip(paths, rows, names, systems, scanned, strict=True)
    ]


def _name(path: str, tags: Sequence[str | None], level: int) -> pl.Expr:
    stem = _SUFFIX.sub("", os.path.basename(path)) or path
    tag, file = pl.col("system"), pl.lit(path if level == 2 else stem)
    if level == 0 and list(tags) != [None]:
        return tag
    return file if len(tags) <= 1 else pl.concat_str(file, pl.lit(":"), tag)
