"""Parse text into tables: lines of fields, delimited text, JSON lines; errors give the line number."""

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import polars as pl

from polars_rank.core.errors import DataError, Message, Setting

RUN_FIELDS = ("query", "Q0", "item", "rank", "score", "system")
QRELS_FIELDS = ("query", "iteration", "item", "relevance")
SEPARATORS = {"csv": ",", "tsv": "\t"}

NUMBERS = ("score", "rank", "relevance")
TEXTS = ("query", "item", "system")


@dataclass(frozen=True)
class Text:
    """A text file: its name, for errors, and its bytes, with line feeds as line ends."""

    name: str
    data: bytes


LineOf = Callable[[Text, int], int]
"""Returns the line number, from 1, of a row, from 0."""


HintOf = Callable[[str], tuple[Message, type[DataError]]]
"""Returns the remedy for a first line with the wrong number of fields, and the error to raise."""


_NO_TEXT = {
    rb"\x28\xb5\x2f\xfd": "is packed by zstd: unpack it first, or pack it by gzip",
    rb"BZh[1-9]1AY&SY": "is packed by bzip2: unpack it first, or pack it by gzip",
    rb"\xfd7zXZ\x00": "is packed by xz: unpack it first, or pack it by gzip",
    rb"PK\x03\x04": "is a zip archive: unpack it first, or pack the file alone by gzip",
    rb"(?s:PAR1.*PAR1\Z)": "is Parquet, which is only read from an unpacked file: unpack or save it first",
    rb"\x04\x22\x4d\x18": "is packed by lz4: unpack it first, or pack it by gzip",
    rb"x(?:\x9c|\xda[^\x80-\xbf])": "is packed by zlib: unpack it first, or pack it by gzip",
    rb"(?s:.{257}ustar(?:  )?\x00)": "is a tar archive: unpack it first",
    rb"\xff\xfe\x00\x00|\x00\x00\xfe\xff": "is UTF-32: convert it first (iconv -f UTF-32 -t UTF-8)",
    rb"\xff\xfe|\xfe\xff|(?:[^\x00]\x00){4}|(?:\x00[^\x00]){4}": (
        "is UTF-16: convert it first (iconv -f UTF-16 -t UTF-8)"
    ),
    rb"ARROW1\x00\x00": "is an Arrow file: read it by polars.read_ipc, or save it as Parquet",
    rb"SQLite format 3\x00": "is an SQLite database: export the table as CSV or Parquet",
    rb"(?s:.{8}DUCK[^\x00]\x00)": "is a DuckDB database: export the table by COPY ... TO 'run.parquet'",
    rb"\x80[\x02-\x05]": "is a Python pickle: load it in Python, and save the table as Parquet",
    rb"\x93NUMPY": "is a NumPy array: convert it to a table, and save that as Parquet",
    rb"(?i:\s*<(?:!doctype|\?xml|html))": "is HTML or XML; was an error page downloaded instead?",
}
_MARK = b"\xef\xbb\xbf"


def decode(name: str, raw: bytes, *, comments: bool) -> Text:
    """Decompress gzip, remove byte order marks, normalize line ends, blank out comment lines."""
    while raw.startswith(b"\x1f\x8b"):
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{name} is not a complete gzip file: {error}") from error
    for start, problem in _NO_TEXT.items():
        if re.match(start, raw):
            raise DataError(f"{name} {problem}")
    data = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if _MARK in data:
        # Concatenated files have a mark in the middle.
        data = re.sub(rb"(?m)^(?:%b)+" % _MARK, b"", data)
    if comments and b"#" in data:
        data = re.sub(rb"\n[ \t]*#[^\n]*", b"\n", b"\n" + data)[1:]
    return Text(name, data)


def first_line(text: Text) -> str:
    """First line that is not blank, or an empty text."""
    data = text.data.lstrip(b" \t\n")
    end = data.find(b"\n")
    return data[: end if end >= 0 else None].decode("utf-8", "replace")


def refuse(
    text: Text, line: int, problem: str, remedy: Message = "", error: type[DataError] = DataError
) -> NoReturn:
    """Raise an error with the file, the line number and the line."""
    shown = text.data.split(b"\n", line)[line - 1].decode("utf-8", "backslashreplace")
    shown = shown if len(shown) <= 100 else shown[:100] + "…"
    raise error(f"{text.name}, line {line}: {problem}; the line is {shown!r}", remedy=remedy)


def refuse_unreadable(text: Text, error: Exception) -> NoReturn:
    """Raise an error with the byte that is not UTF-8, or else the message of the reader."""
    try:
        text.data.decode()
    except UnicodeDecodeError as wrong:
        line = text.data.count(b"\n", 0, wrong.start) + 1
        byte = text.data[wrong.start]
        problem = f"byte 0x{byte:02x} is not UTF-8: convert the file first (iconv -f LATIN1 -t UTF-8)"
        refuse(text, line, problem)
    raise DataError(f"{text.name}: {str(error).splitlines()[0]}") from error


def filled_line(text: Text, row: int) -> int:
    """Line number of a row, not counting blank lines as rows."""
    lines = (number for number, line in enumerate(text.data.split(b"\n"), 1) if line.strip(b" \t"))
    return next(number for i, number in enumerate(lines) if i == row)


def fields_table(text: Text, names: Sequence[str], *, hint: HintOf | None = None) -> pl.DataFrame:
    """Split lines at blanks and tabs only: an id may contain any other whitespace.

    Every line has one field per name. In a TREC run the tag is optional, and may contain blanks.
    `hint` explains a first line with the wrong number of fields.
    """
    data = text.data.replace(b"\t", b" ")
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    run = tuple(names) == RUN_FIELDS
    parts = list(names) if run else [*names, "\n"]
    line = pl.col("line").str.strip_chars(" ")
    # Polars decompresses data that starts like zlib, such as "x^", so prepend a blank line.
    split = (
        pl.scan_lines(io.BytesIO(b"\n" + data if data.startswith(b"x") else data), name="line")
        .filter(line != "")
        .select(line.str.splitn(" ", len(parts)))
    )
    try:
        table = split.select(pl.col("line").struct.rename_fields(parts).struct.unnest()).collect(
            engine="streaming"
        )
    except pl.exceptions.ComputeError as error:
        refuse_unreadable(text, error)
    last = pl.col(names[-2 if run else -1])
    wrong = last.is_null() if run else last.is_null() | pl.col("\n").is_not_null()
    row = _first(table, wrong | pl.col(names[0]).str.starts_with("#"))
    if row is not None:
        _refuse_fields(text, row, names, hint)
    if not run:
        return table.drop("\n")
    if _MARK in text.data:
        row = _first(table, pl.col("system").str.contains(r"\x{feff}\S+ \S+ \S+ \S+ "))
        if row is not None:
            refuse(
                text,
                filled_line(text, row),
                "a byte order mark inside: is a line end missing between two files?",
            )
    if table["system"].null_count() == table.height:
        return table.drop("system")
    row = _first(table, pl.col("system").is_null())
    if row is not None:
        refuse(text, filled_line(text, row), "expected a tag as the sixth field, as on other lines")
    return table


def _first(table: pl.DataFrame, condition: pl.Expr) -> int | None:
    row: int | None = table.select(condition.arg_true().first()).item()
    return row


def _refuse_fields(text: Text, row: int, names: Sequence[str], hint: HintOf | None) -> NoReturn:
    number = filled_line(text, row)
    line = text.data.split(b"\n", number)[number - 1].decode()
    if line.lstrip(" \t").startswith("#"):
        skip = (
            "use ",
            Setting("comments", True),
            " to skip such lines; ids that begin with # can be kept in CSV",
        )
        refuse(text, number, "begins with #, which may be a comment or an id", skip)
    found = len(re.findall(r"[^ \t]+", line))
    expected = f"expected {len(names)} fields ({' '.join(names)}), found {found}"
    if row == 0 and hint is not None:
        refuse(text, number, expected, *hint(line))
    refuse(text, number, expected)


def records(text: Text, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Iterate over delimited text with line numbers; slow, for the header and to find errors.

    Comma-separated text may have quoted fields; tab-separated text has no quoting.
    """
    longest = csv.field_size_limit(max(csv.field_size_limit(), len(text.data)))
    reader = csv.reader(
        (line.decode("utf-8", "replace") for line in io.BytesIO(text.data)),
        delimiter=separator,
        quoting=csv.QUOTE_MINIMAL if separator == "," else csv.QUOTE_NONE,
        strict=True,
    )
    number = 1
    try:
        for fields in reader:
            filled = any(field.strip(" \t") for field in fields)
            if filled or (separator == "," and len(fields) > 1):
                yield number, fields
            number = reader.line_num + 1
    except csv.Error as error:
        refuse(text, number, str(error))
    finally:
        csv.field_size_limit(longest)


def delimited_table(
    text: Text, separator: str, names: Sequence[str], *, header: bool, as_text: Sequence[str]
) -> pl.DataFrame:
    """Read delimited text; types are inferred for columns that are not in `as_text`."""
    data = text.data
    if b"\n " in data or b"\n\t" in data or data[:1] in (b" ", b"\t"):
        # Polars would read a line of blanks as a short row.
        data = re.sub(rb"\n[ \t]+(?=\n|$)", b"\n", b"\n" + data)
    data = data.strip(b"\n")
    blank_lines_or_short_rows = b"\n\n" in data
    try:
        table = pl.read_csv(
            # As in fields_table; a byte order mark is not a row.
            b"\xef\xbb\xbf" + data if data.startswith(b"x") else data,
            separator=separator,
            has_header=header,
            new_columns=list(names),
            quote_char='"' if separator == "," else None,
            schema_overrides=dict.fromkeys(as_text, pl.String),
            infer_schema_length=None if set(names) - set(as_text) else 0,
        )
    except pl.exceptions.PolarsError as error:
        _require_whole_records(text, separator, names)
        refuse_unreadable(text, error)
    if table.width != len(names) or blank_lines_or_short_rows or table[names[-1]].has_nulls():
        _require_whole_records(text, separator, names)
        table = table.filter(~pl.all_horizontal(pl.all().is_null()))
    return table


def _require_whole_records(text: Text, separator: str, names: Sequence[str]) -> None:
    for number, fields in records(text, separator):
        if len(fields) != len(names):
            expected = f"expected {len(names)} fields ({', '.join(names)})"
            refuse(text, number, f"{expected}, found {len(fields)}")
        if not any(fields):
            refuse(text, number, "every field is empty")


def json_table(text: Text) -> pl.DataFrame:
    """Read one JSON object per line; a repeated key is an error, as Polars takes the first."""
    try:
        table = pl.read_ndjson(io.BytesIO(text.data), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        for number, line in enumerate(text.data.split(b"\n"), 1):
            if line.strip(b" \t") and json_object(line.decode("utf-8", "replace"), unique=True) is None:
                expected = "expected a JSON object, each key once and not nested deeply"
                refuse(text, number, f"{expected} (NaN and Infinity are not JSON)")
        refuse_unreadable(text, error)
    source = pl.col("line")
    # Keys may also be equal after \u is decoded. A nested object may repeat a key of the outer one.
    keys = [pl.escape_regex(json.dumps(name, ensure_ascii=False)) + r"\s*:" for name in table.columns]
    twice = [source.str.count_matches(key) > 1 for key in keys]
    suspects = (
        pl.scan_lines(io.BytesIO(text.data), name="line", row_index_name="number", row_index_offset=1)
        .filter(pl.any_horizontal(source.str.contains(r'\\u[^"]*"\s*:'), *twice))
        .collect(engine="streaming")
    )
    for number, suspect in suspects.rows():
        if json_object(suspect, unique=True) is None:
            refuse(text, number, "a key occurs twice in one JSON object")
    return table


def json_object(line: str, *, unique: bool = False) -> dict[str, object] | None:
    """Parse a line that is one strict JSON object, with `unique` without repeated keys; else return None."""

    def no_constant(name: str) -> NoReturn:
        raise ValueError(name)

    def of_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if unique and len(dict(pairs)) < len(pairs):
            raise ValueError(pairs)
        return dict(pairs)

    try:
        found = json.loads(line, parse_constant=no_constant, object_pairs_hook=of_pairs)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def typed(table: pl.DataFrame, text: Text, line_of: LineOf, numbers: Sequence[str] = NUMBERS) -> pl.DataFrame:
    """Cast ids to text and numbers to numbers; an error gives the line of the first bad value."""
    for column in TEXTS:
        if column in table.columns and table.schema[column].is_integer():
            table = table.with_columns(pl.col(column).cast(pl.String))
    for column in ("query", "item"):
        if table.schema[column] not in (pl.String, pl.Null):
            raise DataError(
                f"{text.name}: {column} has type {table.schema[column]}; ids are text or integers"
            )
        row = _first(table, pl.col(column).is_null() | (pl.col(column).cast(pl.String) == ""))
        if row is not None:
            refuse(text, line_of(text, row), f"{column} is empty")
    return table.with_columns(
        _number(table[name], text, line_of) for name in numbers if name in table.columns
    )


def _number(values: pl.Series, text: Text, line_of: LineOf) -> pl.Series:
    """Cast a score to Float64, and a rank or grade to Int64 if all are whole (as 2.0), else to Float64."""

    def refuse_any(wrong: pl.Series, problem: str) -> None:
        if wrong.any():
            row = wrong.arg_true()[0]
            refuse(text, line_of(text, row), f"{values.name} {str(values[row])!r} {problem}")

    if values.dtype == pl.String:
        values = values.str.strip_chars(" ").replace("", None)
    elif not (values.dtype.is_numeric() or values.dtype in (pl.Boolean, pl.Null)):
        raise DataError(f"{text.name}: {values.name} has type {values.dtype}; expected numbers")
    floats = values.cast(pl.Float64, strict=False)
    refuse_any(floats.is_null() & values.is_not_null(), "is not a number")
    if values.name == "score":
        if values.dtype == pl.String and floats.is_infinite().any():
            said = values.str.to_lowercase().str.contains("inf", literal=True)
            refuse_any(floats.is_infinite() & ~said, "is too large for a float")
        return floats
    whole = values.cast(pl.Int64, strict=False)
    # NaN is greater than every number in Polars.
    refuse_any(
        whole.is_null() & (floats.abs() >= 2.0**63) & ~floats.is_nan(), "is too large for a whole number"
    )
    if floats.is_nan().any() or (floats.floor() != floats).any():
        return floats
    return whole.fill_null(floats.cast(pl.Int64, strict=False))
