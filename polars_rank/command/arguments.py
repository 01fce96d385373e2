"""What the commands of the shell take, and how it is spelled there."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from polars_rank.core.ordering import OrderBy, ScoreType, Ties
from polars_rank.files.reading import Columns
from polars_rank.judging.options import Duplicates, Queries

Switch = Annotated[bool, Parameter(show_default=False)]
Output = Annotated[str | None, Parameter(name=["--output", "-o"])]
Fields = Annotated[list[str] | None, Parameter(consume_multiple=True)]


@Parameter(name="*", group="Reading files")
@dataclass(frozen=True)
class Reading:
    """How files are read.

    Parameters
    ----------
    columns
        Of runs: the fields of a file without a header (query,item,score), or what its header calls them
        (query=topic,item=url).
    qrels_columns
        The same of the judgements.
    comments
        Pass over lines that begin with #.
    """

    columns: Fields = None
    qrels_columns: Fields = None
    comments: Switch = False


@Parameter(name="*", group="Ranking and judging")
@dataclass(frozen=True)
class Judging:
    """How a run and its judgements become rankings.

    Parameters
    ----------
    queries
        Which count: the judged ones, missing or not (qrels, the default, as trec_eval -c); those in both
        files (both); those of the run; all.
    judged_only
        Rank judged items only (trec_eval -J).
    depth
        Keep the top of each ranking only (trec_eval -M).
    duplicates
        An item that comes twice is an error, by default; first keeps its best-ranked copy, max the highest
        grade too.
    drop_identical
        Leave out items that are the query itself (BEIR).
    order_by
        score or rank; default: the score if there is one.
    distances
        A low score is good.
    ties
        Order of equal scores: item-descending, the default, is trec_eval's; best and worst go by grade.
    score_dtype
        float32 narrows the scores as trec_eval 9 does; default: float64.
    rank_base
        0 for ranks that count from 0.
    keys
        Column, such as day, that tells rankings of a query apart, beside the system; may be repeated.
    allow_no_match
        Score a run without a single judged item, instead of refusing it.
    """

    queries: Queries | None = None
    judged_only: Switch = False
    depth: int | None = None
    duplicates: Duplicates | None = None
    drop_identical: Switch = False
    order_by: OrderBy | None = None
    distances: Switch = False
    ties: Ties | None = None
    score_dtype: ScoreType | None = None
    rank_base: Literal[0, 1] = 1
    keys: list[str] | None = None
    allow_no_match: Switch = False

    def options(self) -> dict[str, Any]:
        """Give them as `evaluate` takes them; what is not given is left to the convention."""
        given = {
            name: value
            for name, value in vars(self).items()
            if name not in ("distances", "keys", "allow_no_match")
            and value is not None
            and value is not False
        }
        return {**given, "descending": not self.distances, "keys": keys_of(self.keys)}


READING, JUDGING = Reading(), Judging()


def keys_of(given: Sequence[str] | None) -> list[str]:
    """Put the system, which tells rankings apart in any case, before the keys that are given."""
    return list(dict.fromkeys(["system", *(given or [])]))


def columns_of(given: Sequence[str] | None) -> Columns | None:
    """Read `columns` of the reader: names of fields, or ours=theirs of a header."""
    parts = _parts(given)
    if any("=" in part for part in parts):
        return dict(_pair(part) for part in parts)
    return None if given is None else parts


def weights_of(given: Sequence[str] | None) -> Mapping[str, float] | list[float] | None:
    """Read `weights` of `fuse`: numbers, or name=number."""
    parts = _parts(given)
    try:
        if any("=" in part for part in parts):
            return {name: float(weight) for name, weight in map(_pair, parts)}
        return None if given is None else [float(weight) for weight in parts]
    except ValueError:
        raise ValueError(
            f"weights must be numbers, as 2,1 or bm25=2,dense=1; got {','.join(parts)}"
        ) from None


def _parts(given: Sequence[str] | None) -> list[str]:
    return [part.strip() for part in ",".join(given or []).split(",")]


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals:
        raise ValueError(f"{text!r} has no =; write name=value for each, or for none")
    return name, value


# A measure is quoted as it was given; whatever else looks like an argument is one.
_ARGUMENT = re.compile(
    r"""measure '[^']*'|(?<![\w/'"])([a-z_]+)=(\[[^\]]*\]|\{[^}]*\}|'[^']*'|"[^"]*"|[\w.]*\w|\.{3})?"""
)
_WORDS = {
    "comments=True (--comments)": "--comments",
    ": read it by read_run": ": QRELS come first, then RUNs",
    ": read it by read_qrels": ": QRELS come first, then RUNs",
    " of per_query": " of the runs",
    # A command reads what a file looks like; its --format is that of what it writes.
    '; if that is meant, say what it is, as by format="trec"': "",
    ' (else, format="trec")': "",
    '; say format="trec" or "csv"': "; separate its fields in one way alone",
}
_FLAGS = {field.name for group in (Reading, Judging) for field in fields(group)} | {
    *(
        "baseline",
        "by",
        "convention",
        "format",
        "max_relevance",
        "method",
        "min_relevance",
        "normalize",
        "weights",
    )
}


def in_shell(message: str) -> str:
    """Spell arguments as the shell does: ``rank_base=0`` becomes ``--rank-base 0``."""

    def flag(match: re.Match[str]) -> str:
        name, value = match[1], match[2] or ""
        if (name, value) == ("descending", "False"):
            return "--distances"
        if name not in _FLAGS:
            return match[0]
        if value == "None":
            return f"no --{name.replace('_', '-')}"
        bare = re.sub(r"[\[\]{}'\" ]", "", value).replace(":", "=")
        return f"--{name.replace('_', '-')}" + (f" {bare}" if bare not in ("", "True") else "")

    for python, shell in _WORDS.items():
        message = message.replace(python, shell)
    return _ARGUMENT.sub(flag, message)
