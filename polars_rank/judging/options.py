"""Arguments of `judge`: types, validation, and the columns that identify a ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from polars_rank.core.errors import ArgumentError, Setting, refuse_patterns, require_choice
from polars_rank.core.frames import (
    Frame,
    as_frame,
    as_list,
    is_frame,
    refuse_names,
    require_different,
    with_system,
)
from polars_rank.core.ordering import OrderBy, ScoreType, Ties

Queries = Literal["qrels", "both", "run", "all"]
Duplicates = Literal["error", "first", "max"]


@dataclass(frozen=True)
class JudgeOptions:
    """Arguments of `judge`, validated."""

    keys: str | Sequence[str] | None = None
    attributes: str | Sequence[str] | Frame | None = None
    order_by: OrderBy | None = None
    descending: bool = True
    ties: Ties = "item-descending"
    score_dtype: ScoreType = "float64"
    rank_base: Literal[0, 1] = 1
    queries: Queries = "qrels"
    duplicates: Duplicates = "error"
    judged_only: bool = False
    drop_identical: bool = False
    depth: int | None = None
    query: str = "query"
    item: str = "item"
    score: str = "score"
    rank: str = "rank"
    relevance: str = "relevance"
    system: str | None = "system"

    def __post_init__(self) -> None:
        require_choice("order_by", self.order_by, (*get_args(OrderBy), None))
        require_choice("ties", self.ties, get_args(Ties))
        require_choice("score_dtype", self.score_dtype, get_args(ScoreType))
        require_choice("rank_base", self.rank_base, (0, 1))
        require_choice("queries", self.queries, get_args(Queries))
        require_choice("duplicates", self.duplicates, get_args(Duplicates))
        for switch in ("descending", "judged_only", "drop_identical"):
            require_choice(switch, getattr(self, switch), (True, False))
        if self.depth is not None and (isinstance(self.depth, bool) or self.depth < 1 or self.depth % 1):
            raise ArgumentError(
                f"depth must be a whole number of at least 1, got {self.depth!r}",
                remedy=("use ", Setting("depth", None), " for whole rankings"),
                argument="depth",
                value=self.depth,
            )
        if is_frame(self.attributes):
            object.__setattr__(self, "attributes", as_frame(self.attributes, "attributes"))
        columns = {name: getattr(self, name) for name in ("query", "item", "score", "rank", "relevance")}
        require_different(columns)
        for argument, name in columns.items():
            refuse_patterns(argument, [name])
        for argument in ("keys", "attributes", "system"):
            names = [] if is_frame(getattr(self, argument)) else as_list(getattr(self, argument))
            refuse_names(argument, names, ())
            refuse_patterns(argument, names)
            for name in set(columns.values()).intersection(names):
                raise ValueError(
                    f"{argument} names {name!r}, which is a column of the run already; leave it out"
                )


def ranking_keys(keys: str | Sequence[str] | None, system: str | None, columns: Sequence[str]) -> list[str]:
    """Return the columns that identify a ranking of a query.

    Without `keys`, that is the system, if the table has that column. A system that is not called
    ``"system"`` was named by the caller, so it always counts.
    """
    if keys is None or system != "system":
        return with_system(as_list(keys), system, columns)
    return as_list(keys)


def over_defaults(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults, replaced by the given arguments that are not None."""
    return {**defaults, **{name: value for name, value in given.items() if value is not None}}
