"""Write runs: TREC text, tab- and comma-separated text, JSON lines, Parquet."""

import gzip
import os
from typing import IO, cast

import polars as pl

from polars_rank.core.errors import ArgumentError, DataError, Setting, require_choice, require_columns
from polars_rank.core.frames import Frame, as_lazy, id_kind
from polars_rank.core.ordering import ordinal, score_key
from polars_rank.files.column_names import ROLES
from polars_rank.files.detection import FORMATS, Format, written_format
from polars_rank.files.output_files import PathLike, replace_file
from polars_rank.files.text import TEXTS


def write_run(
    run: Frame,
    path: PathLike,
    *,
    format: Format | None = None,  # noqa: A002 - no other word is as plain
    system: str | None = None,
) -> None:
    r"""Write a run so that `read_run` returns the same table.

    The suffix selects the format: ``.csv``, ``.tsv``, ``.jsonl`` or ``.ndjson``, ``.parquet``, else TREC; a
    further ``.gz`` compresses text. The file is written completely or not at all.

    TREC: ``query Q0 item rank score tag``. Scores are written without loss. Without a ``rank`` column, items
    are ranked as trec_eval does: by score within system and query, higher first, equal scores by item
    descending, null and NaN last. Without a ``score``, the negated rank is written as the score.

    Parameters
    ----------
    run : DataFrame or LazyFrame, one row per item: ``query``, ``item``, ``score`` or ``rank``, ``system``.
    path : file to write.
    format : format, overriding the name.
    system : tag for a run without a ``system`` column; default in TREC: ``"polars_rank"``.

    Null and empty rule: null ids, and in TREC null scores, are errors; an empty run is a file without rows.

    Raises
    ------
    DataError
        If the format can't represent the run: in text an id that is null, empty or contains a line end; in
        TREC and TSV one with a tab; in TREC one with a blank, a query that begins with ``#``, or a column
        other than these five; in JSON lines a score that is NaN or infinite.
    ValueError
        If `system` is given and the run has a ``system`` column.

    Source: the run format of trec_eval (NIST).

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from polars_rank.files.writing import write_run
    >>> run = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [0.1, 0.7]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_run(run, folder + "/run.txt", system="bm25")
    ...     with open(folder + "/run.txt") as file:
    ...         lines = file.read().splitlines()
    >>> lines
    ['q Q0 a 2 0.1 bm25', 'q Q0 b 1 0.7 bm25']
    """
    require_choice("format", format, (None, *FORMATS))
    name = os.fspath(path)
    chosen = format or written_format(name)
    packed = name.lower().endswith(".gz")
    if packed and chosen == "parquet":
        raise ValueError(f"{name}: Parquet is packed already; leave out .gz")
    table = writable_run(run, chosen, system)
    with replace_file(name) as file:
        if packed:
            with gzip.open(file, "wb") as pack:
                write_rows(table, cast(IO[bytes], pack), chosen)
        else:
            write_rows(table, file, chosen)


def writable_run(run: Frame, chosen: Format, system: str | None) -> pl.DataFrame:
    """Collect a run as the rows of a file; raise if the format can't represent them."""
    table = as_lazy(run, "run").collect()
    require_columns(table.columns, ("query", "item"), "run")
    if not {"score", "rank"} & set(table.columns):
        raise DataError(f"run has neither score nor rank; its columns are {table.columns}")
    if system is not None and "system" in table.columns:
        raise ArgumentError(
            (Setting("system", system), " is for a run without a system column, and run has one")
        )
    if chosen == "trec" and "system" not in table.columns:
        system = system or "polars_rank"
    if system is not None:
        table = table.with_columns(system=pl.lit(system))
    nested = chosen in ("csv", "tsv")
    for column, dtype in table.schema.items():
        if dtype == pl.Object or (nested and (dtype.is_nested() or dtype == pl.Binary)):
            raise DataError(
                f"{chosen} can't hold run.{column}, which has type {dtype}; drop it or cast it to text"
            )
    return table if chosen == "parquet" else _writable(table, chosen)


def _writable(table: pl.DataFrame, chosen: Format) -> pl.DataFrame:
    """Cast ids to text; raise if the format can't represent a value."""
    for column in (name for name in TEXTS if name in table.columns):
        kind = id_kind(table.schema[column], column, "run")
        if kind == "binary":
            raise DataError(f"run.{column} is binary, which text can't hold; write Parquet")
        table = table.with_columns(pl.col(column).cast(pl.String))
        _refuse_values(table[column].is_null(), table[column], "an id can't be null")
        if chosen == "jsonl":
            _refuse_values(table[column] == "", table[column], "an id can't be empty")
        else:
            wrong = table[column].str.contains(UNWRITABLE[chosen][column])
            _refuse_values(wrong, table[column], f"{chosen} can't hold it; write Parquet or JSON lines")
    first = table.to_series()
    if chosen in ("csv", "tsv") and first.dtype == pl.String:
        marked = first.str.starts_with("\ufeff")
        _refuse_values(marked, first, "at the start of a line this is a byte order mark; write Parquet")
    if chosen == "jsonl" and "score" in table.columns:
        wrong = ~table["score"].cast(pl.Float64).is_finite()
        _refuse_values(wrong, table["score"], "JSON has no such number; write Parquet or CSV")
    return _trec_fields(table) if chosen == "trec" else table


# Ids that would not be read back unchanged.
LINE_END, BLANKS = r"^$|[\r\n]", r"^$|[ \t\r\n]"
UNWRITABLE = {
    "csv": dict.fromkeys(TEXTS, LINE_END),
    "tsv": dict.fromkeys(TEXTS, LINE_END + r"|\t"),
    "trec": {
        "query": BLANKS + r"|^[#\x{feff}]",
        "item": BLANKS,
        "system": LINE_END + r"|\t|^ | $|  ",
    },
}


def _refuse_values(wrong: pl.Series, values: pl.Series, problem: str) -> None:
    if wrong.any():
        row = wrong.arg_true()[0]
        raise DataError(f"run.{values.name} holds {values[row]!r} in row {row}: {problem}")


def _trec_fields(table: pl.DataFrame) -> pl.DataFrame:
    extra = [name for name in table.columns if name not in ROLES["run"]]
    if extra:
        raise DataError(f"TREC text can't hold the columns {extra}; drop them, or write Parquet or CSV")
    for name in ("score", "rank"):
        if name in table.columns:
            _refuse_values(table[name].is_null(), table[name], "TREC text has no null")
    if "rank" not in table.columns:
        key = score_key(pl.col("score"), descending=True, score_dtype="float64")
        place = ordinal(key, pl.col("item"), "item-descending").over("system", "query")
        table = table.with_columns(rank=place)
    if "score" not in table.columns:
        table = table.with_columns(score=-pl.col("rank").cast(pl.Float64))
    score = pl.col("score").cast(pl.Float64)
    return table.select("query", pl.lit("Q0").alias("Q0"), "item", "rank", score, "system")


def write_rows(table: pl.DataFrame, file: IO[bytes], chosen: Format) -> None:
    """Write the rows of `writable_run`."""
    if chosen == "parquet":
        table.write_parquet(file)
    elif chosen == "jsonl":
        table.write_ndjson(file)
    elif chosen == "csv":
        table.write_csv(file)
    else:
        blank = chosen == "trec"
        table.write_csv(file, separator=" " if blank else "\t", quote_style="never", include_header=not blank)
