"""Ranks from scores: one total order, so that no row order and no engine can change a rank."""

from typing import Literal

import polars as pl

from polars_rank.core.errors import DataError, Setting

ItemTies = Literal["item-descending", "item-ascending", "item-text-descending"]
Ties = Literal[ItemTies, "best", "worst"]
OrderBy = Literal["score", "rank"]
ScoreType = Literal["float64", "float32"]


def score_key(score: pl.Expr, *, descending: bool, score_dtype: ScoreType) -> pl.Expr:
    """What orders a ranking: higher is better, null (no score, or NaN) is last."""
    real = score.cast(pl.Float32).cast(pl.Float64) if score_dtype == "float32" else score.cast(pl.Float64)
    real = real.fill_nan(None)
    # Zero has two signs, and a sort tells them apart.
    return (real if descending else -real) + 0.0


def tie_rule(ties: Ties, item: pl.DataType) -> Ties:
    """Give the tie rule for items of a type: only integers have another order as text."""
    return "item-descending" if ties == "item-text-descending" and not item.is_integer() else ties


def item_key(item: pl.Expr, ties: Ties) -> pl.Expr:
    """What orders items of equal scores, up or down."""
    return item.cast(pl.String) if ties == "item-text-descending" else item


def whole_rest(
    score: pl.Expr, dtype: pl.DataType, *, descending: bool, score_dtype: ScoreType
) -> pl.Expr | None:
    """What whole numbers lose as floats: beyond 2^53 it parts those that have one `score_key`."""
    if score_dtype == "float32" or not isinstance(dtype, pl.Int64 | pl.UInt64 | pl.Int128):
        return None
    lost = score.cast(pl.Int128) - score.cast(pl.Float64).cast(pl.Int128, strict=False)
    rest = lost.cast(pl.Float64).fill_null(0.0)
    return rest if descending else -rest


def ordinal(
    key: pl.Expr, item: pl.Expr, ties: Ties, grade: pl.Expr | None = None, rest: pl.Expr | None = None
) -> pl.Expr:
    """Position by `key`, then `rest`, equal ones by the tie rule; to be taken ``.over`` a ranking.

    Text is compared by its UTF-8 bytes, integers by value. `grade` is needed for the ties ``"best"``
    and ``"worst"`` alone.
    """
    fields = [key.is_not_null().alias("known"), key.fill_null(0.0).alias("key")]
    if rest is not None:
        fields.append(rest.alias("rest"))
    if ties in ("best", "worst"):
        assert grade is not None
        known = grade.fill_nan(None).fill_null(0.0)
        fields.append((known if ties == "best" else -known).alias("grade"))
    if ties == "item-ascending":
        down = [
            (~key.is_not_null()).alias("unknown"),
            (-key.fill_null(0.0)).alias("down"),
            *([] if rest is None else [(-rest).alias("rest")]),
            item.alias("item"),
        ]
        return pl.struct(down).rank("ordinal")
    fields.append(item_key(item, ties).alias("item"))
    return pl.struct(fields).rank("ordinal", descending=True)


def given_rank(rank: pl.Expr, name: str, rank_base: int) -> pl.Expr:
    """Ranks of a run that is ordered by rank, counted from 1; one below the base or infinite is refused."""

    def check(ranks: pl.Series) -> pl.Series:
        if (ranks < 1).any():
            below = ranks.min() - 1 + rank_base  # type: ignore[operator]
            remedy = ("use ", Setting("rank_base", 0), " if it counts from 0") if rank_base == 1 else ""
            raise DataError(
                f"{name} holds {below:g}, but a run ordered by rank counts from {rank_base}", remedy=remedy
            )
        refuse_infinite_rank(ranks, name)
        return ranks

    real = rank.cast(pl.Float64).fill_nan(None) + (1 - rank_base)
    # A look at each batch as it passes: it streams, and nothing is collected.
    return real.map_batches(check, return_dtype=pl.Float64, is_elementwise=True)


def refuse_infinite_rank(ranks: pl.Series, name: str) -> None:
    """Refuse a place that no list has."""
    if ranks.is_infinite().any():
        raise DataError(f"{name} holds an infinite rank; write null for an item that was not returned")


def distinct_places(given: pl.Expr, order: pl.Expr) -> pl.Expr:
    r"""Make given ranks places that no two rows share: equal ones count on, gaps are kept.

    $place_i = i + \max_{j \le i} (\lfloor given_j \rfloor - j)$; `order` is i, the position by given rank
    and tie rule, and the rows must be in this order within a ranking.
    """
    return (order + (given.floor() - order).cum_max()).cast(pl.Int64)


def in_order_of_queries(
    rows: pl.LazyFrame, key: pl.Expr, *, query: str, item: str, rank: str, ties: Ties, nulls: bool
) -> pl.LazyFrame:
    """Rank rows that are sorted by query, as `ordinal` does, but streaming: `query`, `item`, `rank` alone.

    `nulls` tells whether a key may be null: to put them last costs a third more.
    """
    by = [key, item_key(pl.col(item), ties)]
    best_first = pl.col(item).sort_by(by, descending=[True, ties != "item-ascending"], nulls_last=nulls)
    return (
        rows.with_columns(pl.col(query).set_sorted())
        .group_by(query)
        .agg(best_first, pl.int_range(1, pl.len() + 1).alias(rank))
        .explode(item, rank)
    )
