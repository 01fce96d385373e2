"""Input files of `polars-rank trec-eval`: judgements in the formats of ``-R``, a run, z-scores."""

import re
from typing import NamedTuple

import polars as pl

from polars_rank.command.trec_eval.measures import StopError
from polars_rank.core.checks import refuse_repeats
from polars_rank.core.errors import DataError
from polars_rank.files.column_names import OtherKindError
from polars_rank.files.reading import read_qrels, read_run
from polars_rank.files.text import decode, fields_table, filled_line, refuse
from polars_rank.measures.trec_eval_names import Format, Version

MISSING_ZSCORE = -1_000_000.0
"""What trec_eval prints where the z-score file lacks a query's mean."""


class Files(NamedTuple):
    """Judgements, a run, and the tag of the run's last line."""

    judgements: pl.DataFrame
    run: pl.DataFrame
    tag: str


def read_files(qrels: str, run: str, format_name: Format, version: Version) -> Files:
    """Read both files; a bad file ends with exit code 2."""
    comments = version == 10
    try:
        judgements = _judgements(qrels, format_name, version)
        rows = read_run("/dev/stdin" if run == "-" else run, format="trec", comments=comments).collect()
        for table, name in ((judgements, qrels), (rows, run)):
            if table.is_empty():
                raise DataError(f"{name} is empty")
        if "system" not in rows.columns:
            raise DataError(f"{run} has no tag as its sixth field")
    except OSError as error:
        raise StopError(2, f"{error.filename}: {error.strerror}") from None
    except DataError as error:
        raise StopError(2, message_of(error)) from None
    tag = re.split(r"[ \t]", rows["system"][-1])[0]
    return Files(judgements, rows.select("query", "item", "score"), tag)


def message_of(error: DataError) -> str:
    """Write an error without advice to use an argument of the library."""
    if isinstance(error, OtherKindError):
        error = DataError(error.problem, remedy="are qrels and run swapped? QRELS comes first, then RUN")
    return str(error.renamed(lambda _: None))


def _judgements(path: str, format_name: Format, version: Version) -> pl.DataFrame:
    """Read judgements: `query`, `item`, `relevance`, and, where needed, `group` and `subgroup`."""
    columns = None if format_name == "qrels" else ["query", "group", "item", "relevance"]
    if format_name == "prefs":
        columns = ["query", "group", "subgroup", "item", "relevance"]
    rows = read_qrels(path, format="trec", columns=columns, comments=version == 10).collect()
    if format_name in ("qrels", "qrels_jg"):
        if format_name == "qrels_jg":
            refuse_repeats(rows.select("query", "group", "item"), path)
        if (rows["relevance"].cast(pl.Float64).fill_nan(0.0).abs() >= 2.0**53).any():
            raise DataError(f"{path} has a grade of 2^53 or more; grades must be smaller")
        # trec_eval reads whole numbers: a grade of 1.7 is 1, one of NaN is 0.
        return rows.with_columns(pl.col("relevance").cast(pl.Float64).fill_nan(0.0).cast(pl.Int64))
    if rows.schema["relevance"].is_float() and rows["relevance"].is_nan().any():
        raise DataError(f"{path} has a preference level of NaN; levels must be numbers")
    level = pl.col("relevance").cast(pl.Float32 if version == 9 else pl.Float64)
    return rows.with_columns(
        level, pl.col("subgroup") if format_name == "prefs" else pl.lit("0").alias("subgroup")
    )


def read_zscores(path: str) -> pl.DataFrame:
    """Read lines ``query measure mean deviation``; a bad file ends with exit code 255, as in trec_eval."""
    names = ("query", "measure", "mean", "deviation")
    try:
        with open(path, "rb") as file:
            text = decode(path, file.read(), comments=False)
        rows = fields_table(text, names)
        if rows.is_empty():
            raise DataError(f"{path} is empty")
        numbers = rows.with_columns(pl.col("mean", "deviation").cast(pl.Float64, strict=False))
        wrong = numbers.select(pl.any_horizontal(pl.col("mean", "deviation").is_null()).arg_true())
        if not wrong.is_empty():
            refuse(text, filled_line(text, wrong.item(0, 0)), "mean and deviation must be numbers")
        refuse_repeats(rows.select("query", "measure"), path)
    except OSError as error:
        raise StopError(255, f"{error.filename}: {error.strerror}") from None
    except DataError as error:
        raise StopError(255, message_of(error)) from None
    return numbers


def standardized(per_query: pl.DataFrame, zscores: pl.DataFrame) -> pl.DataFrame:
    """Convert values to z-scores by the mean and deviation of their query and measure."""
    numbers = per_query.select("query", pl.selectors.numeric().cast(pl.Float64))
    if numbers.width == 1:
        return per_query
    off = pl.col("value") - pl.col("mean")
    score = (
        pl.when(pl.col("deviation") != 0)
        .then(off / pl.col("deviation"))
        .when(off == 0)
        .then(0.0)
        .otherwise(MISSING_ZSCORE)
    )
    wide = (
        numbers.unpivot(index="query", variable_name="measure")
        .join(zscores, on=["query", "measure"], how="left")
        .select("query", "measure", value=score)
        .pivot("measure", index="query", values="value")
    )
    texts = per_query.select("query", pl.selectors.string().exclude("query"))
    return texts.join(wide, on="query", how="left", maintain_order="left")
