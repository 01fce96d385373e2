"""How alike two orderings are: of systems by a measure, or of the items of each query."""

from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import NamedTuple, TypeVar

import polars as pl

from polars_rank.comparison.pairs import as_list, needs_scipy
from polars_rank.core.checks import no_nulls, require_number
from polars_rank.core.errors import DataError, require_choice, require_columns
from polars_rank.core.frames import (
    Frame,
    as_lazy,
    column,
    columns_apart,
    like,
    named_apart,
    named_back,
    own_name,
    refuse_names,
    unify_ids,
)

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)

_A, _B, _ALL = "_rank_a", "_rank_b", "_all"
_IN_BOTH = pl.col(_A).is_not_null() & pl.col(_B).is_not_null()


class _Columns(NamedTuple):
    item: str
    rank: str
    by: str | Sequence[str] | None
    descending: bool


def kendall_tau(
    first: FrameT,
    second: Frame,
    *,
    item: str = "item",
    rank: str = "rank",
    by: str | Sequence[str] | None = None,
    descending: bool = False,
) -> FrameT:
    r"""Kendall's tau-b between two orderings of the same items.

    $\tau_b = \frac{concordant - discordant}{\sqrt{untied_{first} \cdot untied_{second}}}$ over pairs of items

    Parameters
    ----------
    first, second
        Two orderings: one row an item (and query), with the column that orders. A null or NaN rank is not
        in the ordering; a group in which neither table has a rank still has a row.
    item
        Column of ids: ``"item"``, or ``"system"`` for two leaderboards.
    rank
        Column that orders, the least being the top.
    by
        Columns to compare within; default ``"query"`` if both have it, else none.
    descending
        True where the largest is the top, as for means of a measure.

    Returns
    -------
    DataFrame or LazyFrame
        As `first`, sorted by `by`: the `by` columns, `n` (items in both) and `unmatched` (items in one
        alone, left out), Int64, `kendall_tau`, Float64 in [-1, 1], and `reason`: with less than two items,
        or one ordering all tied, it is null. All pairs of items are looked at: time grows with their square.

    Raises
    ------
    DataError
        If a column is missing, ids are of different kinds, or an item repeats.
    ModuleNotFoundError
        Without SciPy (for NumPy).

    References
    ----------
    Kendall 1945 (doi:10.1093/biomet/33.3.239).

    Examples
    --------
    >>> import polars as pl, polars_rank as rank
    >>> a = pl.DataFrame({"system": ["s", "t", "u"], "value": [0.5, 0.4, 0.3]})
    >>> b = pl.DataFrame({"system": ["s", "t", "u"], "value": [0.5, 0.1, 0.3]})
    >>> rank.kendall_tau(a, b, item="system", rank="value", descending=True).rows()
    [(3, 0, 0.3333333333333333, None)]
    """
    return _over_pairs(first, second, _Columns(item, rank, by, descending), "kendall_tau")


def tau_ap(
    first: FrameT,
    second: Frame,
    *,
    item: str = "item",
    rank: str = "rank",
    by: str | Sequence[str] | None = None,
    descending: bool = False,
) -> FrameT:
    r"""AP correlation of an ordering with a reference: errors at the top weigh most.

    $\tau_{AP} = \frac{2}{n - 1} \sum_{i=2}^{n} \frac{C(i)}{i - 1} - 1$, where C(i) of the i - 1 items above
    rank i of `first` are above that item in `second` too

    Parameters
    ----------
    first
        The ordering to be judged; columns as in `kendall_tau`.
    second
        The reference. Swapping the two changes the value.
    item, rank, by, descending
        As in `kendall_tau`.

    Returns
    -------
    DataFrame or LazyFrame
        As in `kendall_tau`, with a column `tau_ap`, Float64 in [-1, 1]; null where two items tie as well.

    Raises
    ------
    DataError
        As `kendall_tau`.
    ModuleNotFoundError
        Without SciPy (for NumPy).

    References
    ----------
    Yilmaz, Aslam & Robertson 2008 (doi:10.1145/1390334.1390435).

    Examples
    --------
    >>> import polars as pl, polars_rank as rank
    >>> a = pl.DataFrame({"item": ["x", "y", "z"], "rank": [1, 2, 3]})
    >>> b = pl.DataFrame({"item": ["x", "y", "z"], "rank": [1, 3, 2]})
    >>> rank.tau_ap(a, b).rows()
    [(3, 0, 0.5, None)]
    """
    return _over_pairs(first, second, _Columns(item, rank, by, descending), "tau_ap")


def spearman(
    first: FrameT,
    second: Frame,
    *,
    item: str = "item",
    rank: str = "rank",
    by: str | Sequence[str] | None = None,
    descending: bool = False,
) -> FrameT:
    r"""Spearman's correlation between two orderings of the same items.

    $\rho = corr(r_{first}, r_{second})$, tied items having the mean of their ranks

    Parameters
    ----------
    first, second, item, rank, by, descending
        As in `kendall_tau`.

    Returns
    -------
    DataFrame or LazyFrame
        As in `kendall_tau`, with a column `spearman`, Float64 in [-1, 1].

    Raises
    ------
    DataError
        As `kendall_tau`.

    References
    ----------
    Spearman 1904 (doi:10.2307/1412159).

    Examples
    --------
    >>> import polars as pl, polars_rank as rank
    >>> a = pl.DataFrame({"item": ["x", "y", "z"], "rank": [1, 2, 3]})
    >>> b = pl.DataFrame({"item": ["x", "y", "z"], "rank": [1, 3, 2]})
    >>> rank.spearman(a, b).rows()
    [(3, 0, 0.5, None)]
    """
    items, everyone = _matched(first, second, _Columns(item, rank, by, descending))
    groups = everyone.collect_schema().names()
    ranks = [pl.col(name).filter(_IN_BOTH).rank() for name in (_A, _B)]
    value = pl.corr(*ranks).fill_nan(None).clip(-1.0, 1.0).alias("spearman")
    values = items.group_by(groups).agg(*_counts(), value)
    return like(first, named_back(_with_reason(values, everyone, "spearman")))


def rbo(
    first: FrameT,
    second: Frame,
    *,
    persistence: float = 0.9,
    item: str = "item",
    rank: str = "rank",
    by: str | Sequence[str] | None = None,
    descending: bool = False,
) -> FrameT:
    r"""Rank-biased overlap of two lists, extrapolated: items may differ, the top weighs most.

    $RBO = \frac{1-p}{p} \sum_{d=1}^{l} A_d\,p^d + A_l\,p^l,\quad
    A_d = \frac{2\,(X_d + A_s \max(0, d - s))}{|S_{:d}| + |L_{:d}|}$, with the shorter list S of s items, the
    longer L of l, and X_d items in common down to depth d

    Parameters
    ----------
    first, second, item, rank, by, descending
        As in `kendall_tau`. Tied items enter together, at the first depth that they touch; below its end
        the shorter list is taken to agree as it did so far.
    persistence
        p, above 0 and below 1: the reader goes on to the next rank with this probability.

    Returns
    -------
    DataFrame or LazyFrame
        As `first`, sorted by `by`: the `by` columns, `n` (items in both) and `unmatched` (items in one
        alone, which count), Int64, `rbo`, Float64 in [0, 1]: 1 for equal lists, 0 where nothing is shared
        or one list is empty, and `reason`: where both lists are empty, it is null.

    Raises
    ------
    DataError
        As `kendall_tau`.
    ValueError
        If `persistence` is out of its range.

    References
    ----------
    Webber, Moffat & Zobel 2010 (doi:10.1145/1852102.1852106), equations 28 and 32.

    Examples
    --------
    >>> import polars as pl, polars_rank as rank
    >>> a = pl.DataFrame({"item": ["x", "y", "z"], "rank": [1, 2, 3]})
    >>> b = pl.DataFrame({"item": ["x", "w", "y"], "rank": [1, 2, 3]})
    >>> rank.rbo(a, b).select("n", "unmatched", pl.col("rbo").round(6)).rows()
    [(2, 2, 0.685)]
    """
    if not (isinstance(persistence, Real) and 0 < persistence < 1):
        raise ValueError(f"persistence must be above 0 and below 1, got {persistence!r}; 0.9 is usual")
    items, everyone = _matched(first, second, _Columns(item, rank, by, descending))
    groups = everyone.collect_schema().names()
    depth, shared, short = pl.col("_depth"), pl.col("_shared"), pl.col("_short")
    # A list that has ended is taken to go on, one item a depth.
    size = pl.sum_horizontal(
        pl.when(depth > pl.col(f"_length_{side}")).then(depth).otherwise(f"_in_{side}") for side in "ab"
    )
    at_end = (2 * shared / size).filter(depth == short).first().over(groups)
    unseen = at_end.fill_null(0.0) * (depth - short).clip(0)
    agreement, weight = pl.col("_agreement"), persistence**depth
    last = (agreement * weight).filter(depth == depth.max()).sum()
    value = (agreement * weight).sum() * (1 - persistence) / persistence + last
    result = (
        _depths(items, groups)
        .with_columns((2 * (shared + unseen) / size).alias("_agreement"))
        .group_by(groups)
        .agg(pl.col("n", "unmatched").first(), value.clip(0.0, 1.0).alias("rbo"))
    )
    return like(first, named_back(_with_reason(result, everyone, "rbo")))


def _depths(items: pl.LazyFrame, groups: list[str]) -> pl.LazyFrame:
    """Give a row for each depth of each pair of lists: how many items each has by then, and both."""
    starts = items.with_columns(pl.col(_A, _B).rank("min").over(groups).cast(pl.Int64))
    lengths = {
        f"_length_{side}": pl.col(name).count().cast(pl.Int64) for side, name in (("a", _A), ("b", _B))
    }
    ends = pl.max_horizontal("_length_a", "_length_b"), pl.min_horizontal("_length_a", "_length_b")
    depths = (
        starts.group_by(groups)
        .agg(*_counts(), **lengths)
        .with_columns(pl.int_ranges(1, ends[0] + 1).alias("_depth"), ends[1].alias("_short"))
        .explode("_depth")
    )
    entering = {
        "_in_a": pl.col(_A),
        "_in_b": pl.col(_B),
        "_shared": pl.when(_IN_BOTH).then(pl.max_horizontal(_A, _B)),
    }
    for name, depth in entering.items():
        counted = starts.group_by(*groups, depth.alias("_depth")).agg(pl.len().cast(pl.Float64).alias(name))
        depths = depths.join(counted, on=[*groups, "_depth"], how="left", nulls_equal=True)
    return depths.with_columns(pl.col(*entering).fill_null(0.0).cum_sum().over(groups, order_by="_depth"))


def _matched(first: Frame, second: Frame, columns: _Columns) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Join two orderings: a row an item of either, with its place in each, the least being the top.

    The groups come beside, those too in which nothing has a place.
    """
    sides = {"first": as_lazy(first, "first"), "second": as_lazy(second, "second")}
    item, rank, by, descending = columns
    shared = [set(frame.collect_schema()) for frame in sides.values()]
    groups = as_list(by) if by is not None else ["query"] if all("query" in names for names in shared) else []
    require_choice("descending", descending, (True, False))
    refuse_names("item", [item], [rank])
    refuse_names("by", groups, [item, rank])
    apart = named_apart([*groups, item])
    group_names = [*(apart[name] for name in groups), _ALL]
    for table, frame in sides.items():
        schema = frame.collect_schema()
        require_columns(schema, [*groups, item, rank], table)
        require_number(schema[rank], f"{table}.{rank}")
    sides = unify_ids(sides, [name for name in (*groups, item) if name in ("query", item)])
    types = [[frame.collect_schema()[name] for name in groups] for frame in sides.values()]
    for name, ours, theirs in zip(groups, *types, strict=True):
        if ours != theirs:
            raise DataError(
                f"types differ: first.{name} is {ours}, second.{name} is {theirs}; cast one of them"
            )
    places, grouped = [], [pl.LazyFrame({_ALL: pl.Series([0], dtype=pl.Int8)})] * (not groups)
    for (table, frame), name in zip(sides.items(), (_A, _B), strict=True):
        number = column(rank).cast(pl.Float64).fill_nan(None)
        place = (-number if descending else number).alias(name)
        one_group = pl.lit(0, dtype=pl.Int8).alias(_ALL)
        rows = no_nulls(frame, [item], table).select(*columns_apart(apart), one_group, place)
        grouped.append(rows.select(group_names))
        ordered = rows.drop_nulls(name)
        refuse = partial(_refuse_repeats, keys=list(apart.values()), table=table)
        places.append(ordered.map_batches(refuse, schema=ordered.collect_schema()))
    on = [*apart.values(), _ALL]
    joined = places[0].join(places[1], on=on, how="full", coalesce=True, nulls_equal=True)
    return joined, pl.concat(grouped).unique()


def _refuse_repeats(rows: pl.DataFrame, keys: list[str], table: str) -> pl.DataFrame:
    repeated = rows.group_by(keys).len(_ALL).filter(pl.col(_ALL) > 1).sort(keys)
    if len(repeated):
        row = repeated.row(0, named=True)
        where = ", ".join(f"{own_name(key)} {row[key]!r}" for key in keys)
        raise DataError(f"{table} has {row[_ALL]} rows for {where}; an ordering has each item once (see by=)")
    return rows


def _counts() -> list[pl.Expr]:
    return [_IN_BOTH.sum().cast(pl.Int64).alias("n"), (~_IN_BOTH).sum().cast(pl.Int64).alias("unmatched")]


def _with_reason(values: pl.LazyFrame, everyone: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """Give each group its row, and say why a value is null."""
    groups = everyone.collect_schema().names()
    too_few = "both lists are empty" if name == "rbo" else "less than two items in both"
    reason = (
        pl.when(pl.col(name).is_null())
        .then(
            pl.when(pl.col("n") < 2)
            .then(pl.lit(too_few))
            .otherwise(pl.lit("items tie" if name == "tau_ap" else "one ordering is all tied"))
        )
        .alias("reason")
    )
    return (
        everyone.join(values, on=groups, how="left", nulls_equal=True)
        .sort(groups)
        .with_columns(pl.col("n", "unmatched").fill_null(0))
        .select(*groups, "n", "unmatched", name, reason)
        .drop(_ALL)
    )


def _over_pairs(first: FrameT, second: Frame, columns: _Columns, name: str) -> FrameT:
    """Lay out a measure that looks at pairs of items: their places in lists, a row a group."""
    items, everyone = _matched(first, second, columns)
    groups = everyone.collect_schema().names()
    places = [pl.col(side).filter(_IN_BOTH) for side in (_A, _B)]
    # The order of the items changes nothing but the rounding of sums.
    lists = items.group_by(groups).agg(*_counts(), *(place.sort_by(*places) for place in places))
    schema = {**lists.collect_schema(), name: pl.Float64()}
    values = lists.map_batches(partial(_with_pairs, name=name), schema=schema)
    return like(first, named_back(_with_reason(values, everyone, name)))


@needs_scipy
def _with_pairs(lists: pl.DataFrame, name: str) -> pl.DataFrame:
    from polars_rank.comparison import item_pairs  # noqa: PLC0415 - NumPy may be missing

    measure = item_pairs.tau_b if name == "kendall_tau" else item_pairs.tau_ap_of
    return lists.with_columns(item_pairs.by_row(measure, lists[_A], lists[_B]).alias(name))
