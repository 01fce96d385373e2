"""Options that several commands share, and the spelling of options in a shell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from polars_rank.core.errors import Setting
from polars_rank.core.ordering import OrderBy, ScoreType, Ties
from polars_rank.files.reading import Columns
from polars_rank.judging.options import Duplicates, Queries

Switch = Annotated[bool, Parameter(show_default=False)]
Output = Annotated[str | None, Parameter(name=["--output", "-o"])]
Fields = Annotated[list[str] | None, Parameter(consume_multiple=True)]


@Parameter(name="*", group="Reading files")
@dataclass(frozen=True)
class Reading:
    """Options for reading files.

    Parameters
    ----------
    columns
        Columns of the runs: the fields of a file without a header (query,item,score), or the header's names
        for them (query=topic,item=url).
    qrels_columns
        The same for the judgements.
    comments
        Skip lines that begin with #.
    """

    columns: Fields = None
    qrels_columns: Fields = None
    comments: Switch = False


@Parameter(name="*", group="Ranking and judging")
@dataclass(frozen=True)
class Judging:
    """Options for ranking and judging.

    Parameters
    ----------
    queries
        Queries to average over: qrels (default: all judged queries, as trec_eval -c), both (queries in run
        and qrels), run or all.
    judged_only
        Remove unjudged items before ranking (trec_eval -J).
    depth
        Number of items to keep per ranking (trec_eval -M).
    duplicates
        What to do with an item that occurs twice: error (default), first (keep the best-ranked) or max (also
        keep the highest grade).
    drop_identical
        Remove items whose id is that of the query (BEIR).
    order_by
        Column to rank by: score or rank. Default: score, if the run has one.
    distances
        Rank low scores first.
    ties
        Order of equal scores. Default: item-descending, as trec_eval; best and worst order by grade.
    score_dtype
        Precision of the scores: float64 (default), or float32 as trec_eval 9.
    rank_base
        First rank in the run: 1, or 0.
    keys
        Column that separates several rankings of one query and system, such as day; may be repeated.
    allow_no_match
        Score a run even if none of its items is judged.
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
        """Convert to the arguments of `evaluate`; options that are not given keep their defaults."""
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
    """Prepend the system, which is always a key, to the given keys."""
    return list(dict.fromkeys(["system", *(given or [])]))


def columns_of(given: Sequence[str] | None) -> Columns | None:
    """Parse `columns` of `read_run`: a list of fields, or pairs our-name=their-name."""
    parts = _parts(given)
    if any("=" in part for part in parts):
        return dict(_pair(part) for part in parts)
    return None if given is None else parts


def weights_of(given: Sequence[str] | None) -> Mapping[str, float] | list[float] | None:
    """Parse `weights` of `fuse`: numbers, or pairs name=number."""
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


def in_shell(setting: Setting) -> str:
    """Spell an argument as an option: ``rank_base=0`` becomes ``--rank-base 0``."""
    name, value = setting
    if (name, value) == ("descending", False):
        return "--distances"
    option = f"--{name.replace('_', '-')}"
    if value is None:
        return f"no {option}"
    if value is ... or value is True:
        return option
    if name in ("keys", "by"):
        # The commands always add the key "system".
        return " ".join(f"{option} {key}" for key in value if key != "system")
    if isinstance(value, Mapping):
        value = [f"{ours}={theirs}" for ours, theirs in value.items()]
    return f"{option} {','.join(map(str, value)) if isinstance(value, list) else value}"
