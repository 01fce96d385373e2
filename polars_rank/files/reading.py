"""Read run and qrels files: TREC, tab- and comma-separated text, JSON lines, Parquet."""

import os
from collections.abc import Mapping, Sequence
from typing import IO, NamedTuple

import polars as pl

from polars_rank.core.errors import ArgumentError, DataError, Setting, require_choice
from polars_rank.core.frames import id_kind
from polars_rank.files.column_names import ROLES, Kind, in_order, roles
from polars_rank.files.detection import FORMATS, Format, detected_format, hint
from polars_rank.files.output_files import PathLike
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
    r"""Read a run: one row per item that a system returned, in the order of the file.

    Text files are read and checked immediately, so that a bad line raises here and not in a later
    ``collect``; Parquet stays lazy. All text formats may be gzipped, also with several members.

    ========  ================================================================================
    trec      ``query Q0 item rank score tag``, fields separated by blanks or tabs; the tag may
              contain blanks, or be missing on every line
    tsv       a header, then fields separated by tabs, never quoted (as in BEIR)
    csv       a header, then fields separated by commas, quoted where needed
    jsonl     one object per line
    parquet   a file, a glob or a URL
    ========  ================================================================================

    Columns: ``query`` and ``item`` (always text; in Parquet as stored), ``score`` (Float64), ``rank`` (as in
    the file; Int64, or Float64 if a rank has a fraction) and ``system`` (the tag). A run has a score, a rank
    or both. Other columns are kept after these.

    Parameters
    ----------
    path : file to read; the format is detected by the content, not by the name.
    format : one of the formats above, for a file whose format cannot be detected, such as an empty one.
    columns : for a file with a header, a mapping of our names to those of the file, such as
        ``{"query": "topic", "item": "url"}``. Common names need no mapping: qid, query_id, query-id; docno,
        doc_id, corpus-id; tag, run_id, ... For a file without a header, the list of its fields:
        ``["query", "item", "rank"]``.
    comments : skip lines that begin with ``#``. Otherwise such a line is an error in TREC text, as it may be
        a comment or an id.

    Null and empty rule: a null or empty id is an error. An empty score in CSV, or null in JSON, is null; NaN
    and infinities are kept. An empty file is an error unless `format` is given.

    Raises
    ------
    DataError
        With file, line number and line: too few or too many fields, an empty id, a score that is not a
        number or overflows, bytes that are not UTF-8, a ``#``; a file without a header whose third field may
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
    return read_file(path, "run", format, columns, comments).rows


def read_qrels(
    path: PathLike,
    *,
    format: Format | None = None,  # noqa: A002 - no other word is as plain
    columns: Columns | None = None,
    comments: bool = False,
) -> pl.LazyFrame:
    r"""Read judgements: one row per judged item, in the order of the file.

    Formats, arguments and errors are those of `read_run`; TREC lines are ``query iteration item grade`` (as
    in the qrels of MS MARCO), and the iteration is dropped.

    Columns: ``query`` and ``item`` (text; in Parquet as stored) and ``relevance`` (Int64, so that ``2``,
    ``+2``, ``02`` and ``2.0`` are equal; Float64 if a grade has a fraction or is NaN). A column ``score``, as
    in the files of BEIR, is the grade unless there is a rank. Without a grade there is no column
    ``relevance``, and each row means grade 1.

    Null and empty rule: a null or empty id is an error; an empty grade in CSV, or null in JSON, is null:
    unjudged.

    Parameters
    ----------
    path
        File to read.
    format
        As in `read_run`; default: detected by the content.
    columns
        As in `read_run`.
    comments
        Skip lines that begin with ``#``.

    Raises
    ------
    DataError
        As `read_run`; a grade that is not a number, such as ``yes``, or does not fit in Int64.

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
    return read_file(path, "qrels", format, columns, comments).rows


class File(NamedTuple):
    """The rows of a file; `scanned` if they stay on disk until they are collected."""

    rows: pl.LazyFrame
    scanned: bool


def read_file(
    path: PathLike, kind: Kind, chosen: Format | None, columns: Columns | None, comments: bool
) -> File:
    """Read a run or qrels, as `read_run` and `read_qrels` describe."""
    require_choice("format", chosen, (None, *FORMATS))
    name = os.fspath(path)
    names = columns if isinstance(columns, Mapping) else {}
    fields = None if columns is None or isinstance(columns, Mapping) else _field_names(columns, kind)
    if "://" in name and chosen not in (None, "parquet"):
        problem = (Setting("format", chosen), " can't be read from a URL, which is read as Parquet only")
        raise ArgumentError(problem, remedy=f"download {name} first")
    if "://" in name or ("*" in name and not os.path.exists(name)):
        return File(_scan_parquet(name, kind, names, fields), scanned=True)
    with open(name, "rb") as file:
        if chosen == "parquet" or (chosen is None and _is_parquet(file)):
            return File(_scan_parquet(name, kind, names, fields), scanned=True)
        text = decode(name, file.read(), comments=comments)
    chosen = chosen or detected_format(text, names, fields)
    if chosen == "jsonl" and not first_line(text):
        # An empty file has no columns.
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
    return File(in_order(table.lazy(), kind), scanned=False)


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
        # A pipe, such as <(...) of the shell, can be read only once: as text.
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
        # An existing file is read even if its name looks like a pattern.
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
    """Columns that must be numbers; a run may have a text column called relevance."""
    return [role for role in NUMBERS if role in ROLES[kind]]


def _record_line(separator: str, *, header: bool) -> LineOf:
    def line_of(text: Text, row: int) -> int:
        wanted = row + header
        return next(number for i, (number, _) in enumerate(records(text, separator)) if i == wanted)

    return line_of
