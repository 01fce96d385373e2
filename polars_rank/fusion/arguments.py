"""Arguments that the functions of fusion share: column names, the order of a list, numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Literal, get_args

import polars as pl

from polars_rank.core.errors import require_choice
from polars_rank.core.frames import named_apart, refuse_names, require_different
from polars_rank.core.ordering import ItemTies, OrderBy

RepeatedItems = Literal["first", "error"]


@dataclass(frozen=True)
class RunColumns:
    """Names of a run's columns."""

    query: str = "query"
    item: str = "item"
    score: str = "score"
    rank: str = "rank"
    system: str = "system"
    keys: Sequence[str] = ()

    def __post_init__(self) -> None:
        parts = {"query": self.query, "item": self.item, "score": self.score, "rank": self.rank}
        require_different(parts)
        refuse_names("keys", self.keys, ())
        for name in self.keys:
            if name in (*parts.values(), self.system):
                raise ValueError(f"keys names {name!r}, which fusion uses already; leave it out")

    def ids(self, query: pl.Expr) -> list[pl.Expr]:
        """Split an internal query id into the query and its keys, under the user's names."""
        if not self.keys:
            return [query.alias(self.query)]
        fields = {self.query: "query", **named_apart(self.keys, "keys")}
        return [query.struct.field(field).alias(name) for name, field in fields.items()]


@dataclass(frozen=True)
class ListOrder:
    """How to sort the items of a list, and what to do with a repeated item.

    Without `duplicates`, a repeated item counts at its best rank if each list is given separately. In one
    long table it is an error, because several lists may have been mixed up; `others` are the columns that
    could separate them. `needs_score` makes the score column mandatory, `finite` refuses infinite scores.
    """

    order_by: OrderBy | None = None
    descending: bool = True
    ties: ItemTies = "item-descending"
    rank_base: int = 1
    duplicates: RepeatedItems | None = None
    needs_score: bool = False
    finite: bool = False
    others: Sequence[str] = ()

    def __post_init__(self) -> None:
        require_choice("order_by", self.order_by, (None, "score", "rank"))
        require_choice("descending", self.descending, (True, False))
        require_choice("ties", self.ties, get_args(ItemTies))
        require_choice("rank_base", self.rank_base, (1, 0))
        require_choice("duplicates", self.duplicates, (None, *get_args(RepeatedItems)))


def require_finite(argument: str, value: object, low: float | None = None, high: float | None = None) -> None:
    """Refuse anything but a finite number within the bounds."""
    if isinstance(value, Real) and not isinstance(value, bool) and isfinite(value):
        number = float(value)
        if (low is None or number >= low) and (high is None or number <= high):
            return
    bounds = "" if low is None else f" of at least {low}" + ("" if high is None else f" and at most {high}")
    raise ValueError(f"{argument} must be a finite number{bounds}, got {value!r}")


def require_whole(argument: str, value: object, least: int) -> None:
    """Refuse anything but an int of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{argument} must be a whole number of at least {least}, got {value!r}")
