"""Column names of run and qrels files, and their mapping to the names used here."""

from collections.abc import Mapping, Sequence
from typing import Literal

import polars as pl
import polars.selectors as cs

from polars_rank.core.errors import DataError, Setting, require_columns

Kind = Literal["run", "qrels"]


class OtherKindError(DataError):
    """A file that looks like qrels was read as a run, or a run as qrels."""


# Names of each column in files with a header, in lower case.
NAMES = {
    "query": {"query", "query_id", "query-id", "queryid", "qid", "q_id"},
    "item": {"item", "item_id", "doc_id", "docid", "docno", "did", "document_id", "corpus-id", "corpus_id"},
    "score": {"score"},
    "rank": {"rank"},
    "system": {"system", "tag", "run", "run_id", "run-id"},
    "relevance": {"relevance", "rel", "label", "grade"},
}
ROLES = {"run": ("query", "item", "score", "rank", "system"), "qrels": ("query", "item", "relevance")}


def candidates(role: str, names: Sequence[str], columns: Mapping[str, str]) -> list[str]:
    """Columns of a file that may be `role`: the requested one, else those with a known name."""
    if role in columns:
        return [name for name in names if name == columns[role]]
    taken = set(columns.values())
    return [name for name in names if name not in taken and name.strip().lower() in NAMES[role]]


def roles(names: Sequence[str], file: str, kind: Kind, columns: Mapping[str, str]) -> dict[str, str]:
    """Map the names of a file to ours, by `columns` or by known names."""
    require_columns(names, columns.values(), file)
    renames = {theirs: ours for ours, theirs in columns.items()}
    for role in ROLES[kind]:
        found = candidates(role, names, columns)
        # An id column must be unambiguous: next to "qid", "query" is often the text of the query.
        if len(found) > 1 and (role not in found or role in ("query", "item")):
            asked = (
                "say which by ",
                Setting("columns", {role: found[0]}),
                ", with another name for the other",
            )
            raise DataError(f"{file}: each of {found} could be the {role}", remedy=asked)
        if found:
            renames[role if role in found else found[0]] = role
    have = set(renames.values())
    graded = candidates("score", names, columns)
    if kind == "qrels" and "relevance" not in have and graded:
        if candidates("rank", names, columns) or candidates("system", names, columns):
            raise OtherKindError(
                f"{file} looks like a run: its columns are {list(names)}, without a relevance",
                remedy=("read it by read_run, or name the grade by ", Setting("columns")),
            )
        renames[graded[0]] = "relevance"
    if not {"query", "item"} <= have:
        lacking = " and ".join(role for role in ("query", "item") if role not in have)
        raise DataError(
            f"{file} has no column for {lacking}; its columns are {list(names)}",
            remedy=("name it by ", Setting("columns", {"query": "...", "item": "..."})),
        )
    if kind == "run" and not {"score", "rank"} & have:
        raise DataError(f"{file} has neither score nor rank; its columns are {list(names)}: is it qrels?")
    clashes = [
        ours for theirs, ours in renames.items() if ours in names and ours != theirs and ours not in renames
    ]
    if clashes:
        renamed = Setting("columns", {"...": "...", f"old_{clashes[0]}": clashes[0]})
        remedy = ("give that one another name, as ", renamed)
        raise DataError(f"{file} has another column {clashes[0]!r}", remedy=remedy)
    return renames


def in_order(frame: pl.LazyFrame, kind: Kind) -> pl.LazyFrame:
    """Put our columns first; keep the order of the others."""
    names = frame.collect_schema().names()
    first = [role for role in ROLES[kind] if role in names]
    # By name, since a file may call a column ^a.*$.
    return frame.select(cs.by_name(*first, *(name for name in names if name not in first)))
