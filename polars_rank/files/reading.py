"""Run and qrels files, told apart by content: TREC, tab- and comma-separated, JSON lines, Parquet."""

import gzip
import os
from collections.abc import Mapping, Sequence
from typing import IO, cast

import polars as pl

from polars_rank.core.errors import ArgumentError, DataError, Setting, require_choice, require_columns
from polars_rank.core.frames import Frame, as_lazy, id_kind
from polars_rank.core.ordering import ordinal, score_key
from polars_rank.files.column_names import ROLES, Kind, in_order, roles
from polars_rank.files.detection import FORMATS, Format, hint, told_format, written_format
from polars_rank.files.output_files import PathLike, replace_file
from polars_rank.files.text import (
    NUMBERS,
    QRELS_FIELDS,
    RUN_FIELDS,
    SEPARATORS,
    TEXTS,
    LineOf,
    Text,
    decode,
    delimited_table,
    fields_table,
    filled_line,
    first_line,
    json_table,
    records,
    typed,
)

Columns = Mapping[str, str] | Sequence[str]


def read_run(
    path: PathLike,
    *,
    format: Format | None = None,  # noqa: A002 - no other word is as plain
    columns: Columns | None = None,
    comments: bool = False,
) -> pl.LazyFrame:
    r"""Read a run: what one or more systems returned, one row an item, in the order of the file.

    A text file is read and checked at once, so that a bad line is refused here and not by a later
    ``collect``; Parquet stays lazy. Any of the text formats may be gzipped, in several members too.

    ========  ================================================================================
    trec      ``query Q0 item rank score tag``, fields separated by blanks or tabs; the tag may be
              left out, on every line, and may hold blanks
    tsv       a header, then fields separated by a tab, never quoted (as in BEIR)
    csv       a header, then fields separated by a comma, quoted where needed
    jsonl     one object a line
    parquet   a file, a glob or a URL
    ========  ================================================================================

    A row is one item of one query: ``query`` and ``item`` (text, whatever it looks like; in Parquet as
    stored), ``score`` (Float64), ``rank`` (Int64; the file's own, Float64 if it has fractions) and
    ``system`` (the tag). A run has a score, a rank or both. Other columns follow and are kept.

    Parameters
    ----------
    path : the file; its content tells the format, its name does not.
    format : one of the formats above, for a file that can't be told, such as an empty one.
    columns : for a file with a header, our name to the file's: ``{"query": "topic", "item": "url"}``. Else
        usual names are understood: qid, query_id, query-id; docno, doc_id, corpus-id; tag, run_id, ...
        For a file without a header, the list of its fields: ``["query", "item", "rank"]``.
    comments : skip the lines that begin with ``#``. Such a line is refused otherwise in TREC text, as an id
        may begin so.

    Null and empty rule: an id that is null or empty is refused. An empty score in CSV, or null in JSON, is
    null; NaN and infinities are kept. An empty file is refused unless `format` is given.

    Raises
    ------
    DataError
        With file, line number and line: too few or too many fields, an empty id, a score that is no
        number or overflows, bytes that are not UTF-8, a ``#``; a file without header whose third field may
        be a score or a rank.

    Source: the run format of trec_eval (NIST); qrels and runs of BEIR (Thakur et al. 2021) and MS MARCO.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from polars_rank.files.reading import read_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/run"
    ...     with open(path, "w") as file:
    ...         _ = file.write("q1 Q0 007 1 2.5 bm25\nq1 Q0 b#1 2 1.5 bm25\n")
    ...     read_run(path).select("query", "item", "score", "rank", "system").collect().rows()
    [('q1', '007', 2.5, 1, 'bm25'), ('q1', 'b#1', 1.5, 2, 'bm25')]
    """
    return _read(path, "run", format, columns, comments)


def read_qrels(
    path: PathLike,
    *,
    format: Format | None = None,  # noqa: A002 - no other word is as plain
    columns: Columns | None = None,
    comments: bool = False,
) -> pl.LazyFrame:
    r"""Read judgements: one row a judged item, in the order of the file.

    The formats, arguments and refusals are those of `read_run`; TREC lines are ``query iteration item
    grade`` (as MS MARCO's qrels), and the iteration is left out.

    A row is one judgement: ``query`` and ``item`` (text; in Parquet as stored) and ``relevance`` (Int64, so
    that ``2``, ``+2``, ``02`` and ``2.0`` are the same; Float64 if any grade has a fraction or is NaN). In
    BEIR's files the grade's column is called ``score``: that is understood unless there is a rank. A file
    that has no grade at all gives no ``relevance``: each row then means grade 1.

    Null and empty rule: an id that is null or empty is refused; an empty grade in CSV, or null in JSON, is
    null: unjudged.

    Parameters
    ----------
    path
        File to read.
    format
        As in `read_run`; default: told by the content.
    columns
        As in `read_run`.
    comments
        Pass over lines that begin with ``#``.

    Raises
    ------
    DataError
        As `read_run`; a grade that is no number, such as ``yes``, or that no Int64 holds.

    Source: the qrels format of trec_eval (NIST); BEIR (Thakur et al. 2021).

    Examples
    --------
    >>> import tempfile
    >>> from polars_rank.files.reading import read_qrels
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/test.tsv"
    ...     with open(path, "w") as file:
    ...         _ = file.write("query-id\tcorpus-id\tscore\nPLAIN-2\tMED-10\t2\n")
    ...     read_qrels(path).collect().rows()
    [('PLAIN-2', 'MED-10', 2)]
    """
    return _read(path, "qrels", format, columns, comments)


def _read(
    path: PathLike, kind: Kind, chosen: Format | None, columns: Columns | None, comments: bool
) -> pl.LazyFrame:
    require_choice("format", chosen, (None, *FORMATS))
    name = os.fspath(path)
    names = columns if isinstance(columns, Mapping) else {}
    fields = None if columns is None or isinstance(columns, Mapping) else _field_names(columns, kind)
    if "://" in name and chosen not in (None, "parquet"):
        problem = (Setting("format", chosen), " can't be read from a URL, which is read as Parquet only")
        raise ArgumentError(problem, remedy=f"download {name} first")
    if "://" in name or ("*" in name and not os.path.exists(name)):
        return _scan_parquet(name, kind, names, fields)
    with open(name, "rb") as file:
        if chosen == "parquet" or (chosen is None and _is_parquet(file)):
            return _scan_parquet(name, kind, names, fields)
        text = decode(name, file.read(), comments=comments)
    chosen = chosen or told_format(text, names, fields)
    if chosen == "jsonl" and not first_line(text):
        # Nothing tells the columns.
        chosen, names = "trec", {}
    if chosen == "trec":
        table = _read_fields(text, kind, names, fields)
    elif chosen == "jsonl":
        _require_no_fields(fields, "JSON lines")
        table = json_table(text)
        table = typed(
            table.rename(roles(table.columns, name, kind, names)), text, filled_line, _numbers(kind)
        )
    else:
        table = _read_delimited(text, SEPARATORS[chosen], kind, names, fields)
    return in_order(table.lazy(), kind)


def _field_names(columns: Sequence[str], kind: Kind) -> list[str]:
    if isinstance(columns, str):
        raise TypeError(f"columns must be a mapping or a list of names, got {columns!r}")
    fields = list(columns)
    ordered = kind == "qrels" or "score" in fields or "rank" in fields
    if not {"query", "item"} <= set(fields) or len(set(fields)) < len(fields) or not ordered:
        needed = "query, item" + (" and score or rank" if kind == "run" else "")
        raise ValueError(f"columns must name each field once, {needed} among them; got {fields}")
    return fields


def _require_no_fields(fields: Sequence[str] | None, format_name: str) -> None:
    if fields is not None:
        raise ArgumentError(
            f"{format_name} names its columns",
            remedy=("use a mapping, such as ", Setting("columns", {"query": "qid"})),
        )


def _is_parquet(file: IO[bytes]) -> bool:
    if not file.seekable():
        # A pipe, as the shell's <(...): read once, as text.
        return False
    start, size = file.read(4), file.seek(0, os.SEEK_END)
    file.seek(max(size - 4, 0))
    end = file.read(4)
    file.seek(0)
    return start == end == b"PAR1"


def _scan_parquet(
    name: str, kind: Kind, names: Mapping[str, str], fields: Sequence[str] | None
) -> pl.LazyFrame:
    _require_no_fields(fields, "Parquet")
    try:
        # A name that exists is that file, whatever signs it holds.
        frame = pl.scan_parquet(name, glob=not os.path.exists(name))
        found = frame.collect_schema().names()
    except pl.exceptions.ComputeError as error:
        raise DataError(f"{name} can't be read as Parquet: {str(error).splitlines()[0]}") from error
    frame = frame.rename(roles(found, name, kind, names))
    schema = frame.collect_schema()
    for column in ("query", "item"):
        id_kind(schema[column], column, name)
    for column in _numbers(kind):
        if column in schema and not (schema[column].is_numeric() or schema[column] in (pl.Boolean, pl.Null)):
            raise DataError(f"{name}: {column} has type {schema[column]}; expected numbers")
    return in_order(frame, kind)


def _read_fields(
    text: Text, kind: Kind, names: Mapping[str, str], fields: Sequence[str] | None
) -> pl.DataFrame:
    if names:
        problem = (Setting("columns", dict(names)), f" renames what a header names, but {text.name} has none")
        raise ArgumentError(problem, remedy="list its fields instead")
    if fields is not None:
        return typed(fields_table(text, fields), text, filled_line)
    trec = RUN_FIELDS if kind == "run" else QRELS_FIELDS
    table = fields_table(text, trec, hint=lambda line: hint(line, kind))
    return typed(table.drop("Q0", "iteration", strict=False), text, filled_line)


def _read_delimited(
    text: Text, separator: str, kind: Kind, names: Mapping[str, str], fields: Sequence[str] | None
) -> pl.DataFrame:
    header = fields is None
    if fields is None:
        fields = next((cells for _, cells in records(text, separator)), [])
        if len(set(fields)) < len(fields):
            raise DataError(f"{text.name}: the header names a column twice: {fields}")
        renames = roles(fields, text.name, kind, names)
    else:
        renames = {name: name for name in fields}
    as_text = [theirs for theirs, ours in renames.items() if ours in TEXTS + NUMBERS]
    table = delimited_table(text, separator, fields, header=header, as_text=as_text)
    numbers = _numbers(kind) if header else NUMBERS
    return typed(table.rename(renames), text, _record_line(separator, header=header), numbers)


def _numbers(kind: Kind) -> list[str]:
    """Name the columns that must be numbers: a run may well have a text called relevance."""
    return [role for role in NUMBERS if role in ROLES[kind]]


def _record_line(separator: str, *, header: bool) -> LineOf:
    def line_of(text: Text, row: int) -> int:
        wanted = row + header
        return next(number for i, (number, _) in enumerate(records(text, separator)) if i == wanted)

    return line_of


def write_run(
    run: Frame,
    path: PathLike,
    *,
    format: Format | None = None,  # noqa: A002 - no other word is as plain
    system: str | None = None,
) -> None:
    r"""Write a run so that `read_run` gives the same table again.

    The format is told by the name: ``.csv``, ``.tsv``, ``.jsonl`` or ``.ndjson``, ``.parquet``, else TREC;
    ``.gz`` after it packs the text. The file appears whole or not at all.

    TREC: ``query Q0 item rank score tag``. Scores are written to the last bit. Without a ``rank`` column the
    rank is the place by score within system and query, higher first, equal scores by item descending, null
    and NaN last, as trec_eval orders; without a ``score`` the negated rank is written as the score.

    Parameters
    ----------
    run : DataFrame or LazyFrame, one row an item: ``query``, ``item``, ``score`` or ``rank``, ``system``.
    path : the file to write.
    format : overrules the name.
    system : the tag of a run that has no ``system`` column; ``"polars_rank"`` in TREC, if not given.

    Null and empty rule: null ids, and in TREC null scores, are refused; an empty run gives a file of no rows.

    Raises
    ------
    DataError
        What the format can't hold: in text an id that is null, empty or holds a line end; in TREC and tsv
        one with a tab; in TREC one with a blank, a query that begins with ``#``, or a column besides the
        five; in JSON lines a score that is NaN or infinite.
    ValueError
        ``system`` is given although the run has one.

    Source: the run format of trec_eval (NIST).

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from polars_rank.files.reading import write_run
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
    """Collect a run as the rows of a file of this format, or refuse what the format can't hold."""
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
    """Make ids text and refuse what the format can't hold."""
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
        _refuse_values(marked, first, "at the start of a line that would be a byte order mark; write Parquet")
    if chosen == "jsonl" and "score" in table.columns:
        wrong = ~table["score"].cast(pl.Float64).is_finite()
        _refuse_values(wrong, table["score"], "JSON has no such number; write Parquet or CSV")
    return _trec_fields(table) if chosen == "trec" else table


# What an id can't be in text: what would not be read back as it is.
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
