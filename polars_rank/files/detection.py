"""Detect the format of a file by its first line, and of a file to write by its name."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from polars_rank.core.errors import ArgumentError, DataError, Message, Setting
from polars_rank.files.column_names import Kind, OtherKindError, candidates
from polars_rank.files.text import SEPARATORS, Text, first_line, json_object, records

Format = Literal["trec", "tsv", "csv", "jsonl", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)

_SEPARATED: tuple[Format, ...] = ("tsv", "csv")
_FIELD = re.compile(r"[^ \t]+")
_SUFFIXES: dict[str, Format] = {
    ".tsv": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}


def detected_format(text: Text, names: Mapping[str, str], fields: Sequence[str] | None) -> Format:
    """Detect the format by the first line; the fallback is TREC."""
    line = first_line(text)
    if not line:
        remedy = ("if that is right, name its format, as by ", Setting("format", "trec"))
        raise DataError(f"{text.name} is empty", remedy=remedy)
    if fields is not None:
        return _detected_separator(text, line, len(fields))
    if line.startswith("[{"):
        raise DataError(
            f"{text.name} looks like one JSON array: write one object per line",
            remedy=("if it is TREC text, use ", Setting("format", "trec")),
        )
    if re.match(r"\S+[ \t]+qid:", line):
        raise DataError(
            f"{text.name} looks like a list for learning to rank (LETOR, SVMlight): grade, qid:query and "
            f"features; convert it to a table of query, item and relevance. Its first line is {line!r}"
        )
    found = json_object(line)
    if found and all(isinstance(entry, dict | list) for entry in found.values()):
        raise DataError(f"{text.name} is one JSON object of queries: read it by from_dict(json.load(file))")
    spoilt = line.startswith("{") and (named_format(text.name) == "jsonl" or re.match(r'\{\s*"[^"]*":', line))
    if found or spoilt:
        return "jsonl"
    for separated in _SEPARATED:
        cells = _cells(line, separated)
        if all(candidates(role, cells, names) for role in ("query", "item")):
            return separated
    if names:
        raise DataError(f"{text.name} has no header with {list(names.values())}; its first line is {line!r}")
    return "trec"


def _detected_separator(text: Text, line: str, width: int) -> Format:
    by_blanks = len(_FIELD.findall(line)) == width
    by_commas = len(_cells(line, "csv")) == width
    if by_blanks and by_commas:
        raise DataError(
            f"{text.name}: {line!r} can be split at blanks or at commas; separate fields in one way only",
            remedy=("or use ", Setting("format", "trec"), " or ", Setting("format", "csv")),
        )
    if by_commas:
        return "csv"
    return "tsv" if not by_blanks and len(_cells(line, "tsv")) == width else "trec"


def _cells(line: str, separated: Format) -> list[str]:
    try:
        return next(records(Text("", line.encode()), SEPARATORS[separated]))[1]
    except (DataError, StopIteration):
        return []


def named_format(name: str) -> Format | None:
    """Format of a file name by its suffix, ignoring .gz."""
    path = Path(name)
    return _SUFFIXES.get(Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower())


# Suffixes of formats that are not supported.
_UNSUPPORTED = {
    *(".arrow", ".bz2", ".db", ".duckdb", ".feather", ".htm", ".html", ".ipc", ".json", ".md", ".pkl"),
    *(".tex", ".xls", ".xlsx", ".xz", ".zip", ".zst"),
}


def written_format(name: str) -> Format:
    """Format of a run to write by its name; TREC text has no suffix of its own."""
    suffix = Path(name).suffix.lower()
    if suffix in _UNSUPPORTED:
        suffixes = ", ".join(_SUFFIXES)
        remedy = (f"use {suffixes}, or say ", Setting("format"))
        raise ArgumentError(f"{name}: a run can't be written as {suffix}", remedy=remedy)
    return named_format(name) or "trec"


class Hint(NamedTuple):
    """Remedy for a first line that is not TREC text, and the error to raise."""

    remedy: Message = ""
    error: type[DataError] = DataError


def hint(line: str, kind: Kind) -> Hint:
    """Guess the content of a file whose first line does not have the fields of TREC text."""
    if line.lstrip(" \t")[0] in "{[":
        return Hint("if this is JSON, write one object per line, or read it by from_dict(json.load(file))")
    count = len(_FIELD.findall(line))
    if count == 1:
        names, fields = Setting("columns", {"query": "...", "item": "..."}), Setting("columns", ["..."])
        return Hint(("if this is a header, use ", names, "; if the file has no header, ", fields))
    if count == 3:
        columns = [Setting("columns", ["query", "item", third]) for third in _THIRD_FIELDS[kind]]
        choices = [part for each in columns for part in (" or ", each)][1:]
        return Hint(("a file with three fields and no header needs ", *choices))
    looks_like_other = count == 4 if kind == "run" else count in (5, 6)
    other = "qrels: read it by read_qrels" if kind == "run" else "a run: read it by read_run"
    return Hint(f"it looks like {other}", OtherKindError) if looks_like_other else Hint()


_THIRD_FIELDS = {"run": ("score", "rank"), "qrels": ("relevance",)}
