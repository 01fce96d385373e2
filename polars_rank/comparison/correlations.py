"""Correlation and overlap of two orderings: of systems by a measure, or of the items of each query."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from polars_rank.core.checks import no_nulls, require_number
from polars_rank.core.errors import DataError, needs_scipy, require_choice, require_columns
from polars_rank.core.frames import (
    Frame,
    FrameT,
    as_lazy,
    as_list,
    column,
    columns_apart,
    like,
    named_apart,
    named_back,
    own_name,
    refuse_names,
    unify_ids,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from polars_rank.core.resampling import Array

_A, _B, _ALL = "_rank_a", "_rank_b", "_all"
_IN_BOTH = pl.col(_A).is_not_null() & pl.col(_B).is_not_null()


class _OrderingColumns(NamedTuple):
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
        Two orderings: one row per item (and query). Rows with a null or NaN rank are left out; a group
        without any rank still has a row in the result.
    item
        Column of ids: ``"item"``, or ``"system"`` for two leaderboards.
    rank
        Column to order by, smallest first.
    by
        Columns to group by; default: ``"query"`` if both tables have it, otherwise none.
    descending
        True if the largest value comes first, as for means of a measure.

    Returns
    -------
    DataFrame or LazyFrame
        As `first`, sorted by `by`: the `by` columns, `n` (items in both) and `unmatched` (items in only
        one, left out), Int64, `kendall_tau`, Float64 in [-1, 1], and `reason` for a null: fewer than two
        items, or an ordering with all items tied.

    Raises
    ------
    DataError
        If a column is missing, ids are of different kinds, or an item repeats.
    ModuleNotFoundError
        If SciPy (which brings NumPy) is not installed.

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
    return _over_pairs(first, second, _OrderingColumns(item, rank, by, descending), "kendall_tau")


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

    $\tau_{AP} = \frac{2}{n - 1} \sum_{i=2}^{n} \frac{C(i)}{i - 1} - 1$, where $C(i)$ is the number of items
    above rank $i$ of `first` that are also above that item in `second`

    Parameters
    ----------
    first
        The ordering to assess; columns as in `kendall_tau`.
    second
        The reference. Swapping the two changes the value.
    item, rank, by, descending
        As in `kendall_tau`.

    Returns
    -------
    DataFrame or LazyFrame
        As in `kendall_tau`, with a column `tau_ap`, Float64 in [-1, 1]; also null if two items tie.

    Raises
    ------
    DataError
        As `kendall_tau`.
    ModuleNotFoundError
        If SciPy (which brings NumPy) is not installed.

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
    return _over_pairs(first, second, _OrderingColumns(item, rank, by, descending), "tau_ap")


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

    $\rho = corr(r_{first}, r_{second})$; tied items get their mean rank

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
    items, all_groups = _matched(first, second, _OrderingColumns(item, rank, by, descending))
    groups = all_groups.collect_schema().names()
    ranks = [pl.col(name).filter(_IN_BOTH).rank() for name in (_A, _B)]
    value = pl.corr(*ranks).fill_nan(None).clip(-1.0, 1.0).alias("spearman")
    values = items.group_by(groups).agg(*_counts(), value)
    return like(first, named_back(_with_reason(values, all_groups, "spearman")))


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
    r"""Extrapolated rank-biased overlap of two lists: items may differ, the top weighs most.

    $RBO = \frac{1-p}{p} \sum_{d=1}^{l} A_d\,p^d + A_l\,p^l,\quad
    A_d = \frac{2\,(X_d + A_s \max(0, d - s))}{|S_{:d}| + |L_{:d}|}$, with the shorter list $S$ of $s$
    items, the longer list $L$ of $l$ items, and $X_d$ items in common down to depth $d$

    Parameters
    ----------
    first, second, item, rank, by, descending
        As in `kendall_tau`. Tied items all count from the smallest depth of the tie. Below its end, the
        shorter list is assumed to agree as much as it did so far.
    persistence
        $p$, above 0 and below 1: probability that the reader continues to the next rank.

    Returns
    -------
    DataFrame or LazyFrame
        As `first`, sorted by `by`: the `by` columns, `n` (items in both) and `unmatched` (items in only
        one; they count), Int64, `rbo`, Float64 in [0, 1]: 1 for equal lists, 0 if nothing is shared or one
        list is empty, and `reason`: it is null if both lists are empty.

    Raises
    ------
    DataError
        As `kendall_tau`.
    ValueError
        If `persistence` is out of range.

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
    items, all_groups = _matched(first, second, _OrderingColumns(item, rank, by, descending))
    groups = all_groups.collect_schema().names()
    depth, shared, short = pl.col("_depth"), pl.col("_shared"), pl.col("_short")
    # A list that has ended counts as continued, one item per depth.
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
    return like(first, named_back(_with_reason(result, all_groups, "rbo")))


def _depths(items: pl.LazyFrame, groups: list[str]) -> pl.LazyFrame:
    """One row per depth and pair of lists: the number of items down to that depth in each, and in both."""
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


def _matched(first: Frame, second: Frame, columns: _OrderingColumns) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Join two orderings: one row per item of either, with its position in each, smallest first.

    The second frame has all groups, including those without any rank.
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
    positions, grouped = [], [pl.LazyFrame({_ALL: pl.Series([0], dtype=pl.Int8)})] * (not groups)
    for (table, frame), name in zip(sides.items(), (_A, _B), strict=True):
        number = column(rank).cast(pl.Float64).fill_nan(None)
        position = (-number if descending else number).alias(name)
        one_group = pl.lit(0, dtype=pl.Int8).alias(_ALL)
        rows = no_nulls(frame, [item], table).select(*columns_apart(apart), one_group, position)
        grouped.append(rows.select(group_names))
        ordered = rows.drop_nulls(name)
        refuse = partial(_refuse_repeats, keys=list(apart.values()), table=table)
        positions.append(ordered.map_batches(refuse, schema=ordered.collect_schema()))
    on = [*apart.values(), _ALL]
    joined = positions[0].join(positions[1], on=on, how="full", coalesce=True, nulls_equal=True)
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


def _with_reason(values: pl.LazyFrame, all_groups: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """Add the groups without items, and the reason of each null."""
    groups = all_groups.collect_schema().names()
    too_few = "both lists are empty" if name == "rbo" else "fewer than two items in both"
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
        all_groups.join(values, on=groups, how="left", nulls_equal=True)
        .sort(groups)
        .with_columns(pl.col("n", "unmatched").fill_null(0))
        .select(*groups, "n", "unmatched", name, reason)
        .drop(_ALL)
    )


def _over_pairs(first: FrameT, second: Frame, columns: _OrderingColumns, name: str) -> FrameT:
    """Compute a measure that compares pairs of items."""
    items, all_groups = _matched(first, second, columns)
    groups = all_groups.collect_schema().names()
    positions = [pl.col(side).filter(_IN_BOTH) for side in (_A, _B)]
    lists = items.group_by(groups).agg(*_counts(), *(position.sort_by(*positions) for position in positions))
    schema = {**lists.collect_schema(), name: pl.Float64()}
    values = lists.map_batches(partial(_with_pairs, name=name), schema=schema)
    return like(first, named_back(_with_reason(values, all_groups, name)))


@needs_scipy
def _with_pairs(lists: pl.DataFrame, name: str) -> pl.DataFrame:
    import numpy as np  # noqa: PLC0415 - may be missing

    from polars_rank.core.resampling import matrices, row_slices  # noqa: PLC0415

    measure = {"kendall_tau": _tau_b, "tau_ap": _tau_ap}[name]
    values = np.full(len(lists), np.nan)
    for rows, (a, b) in matrices(lists[_A], lists[_B]):
        for part in row_slices(len(rows) if a.shape[1] > 1 else 0, a.shape[1]):
            values[rows[part]] = measure(a[part], b[part])
    return lists.with_columns(pl.Series(name, values).fill_nan(None))


# Both measures take lists of equal length as rows, sorted by `a` and within its ties by `b`.


def _tau_b(a: Array, b: Array) -> Array:
    """Kendall's tau-b of each row; NaN if one side is all tied."""
    import numpy as np  # noqa: PLC0415 - may be missing

    pairs = a.shape[1] * (a.shape[1] - 1) / 2
    tied_a, tied_b = _tied_pairs(a[:, 1:] != a[:, :-1]), _tied_pairs(np.diff(np.sort(b, axis=1), axis=1) != 0)
    tied_both = _tied_pairs((a[:, 1:] != a[:, :-1]) | (b[:, 1:] != b[:, :-1]))
    ascending = _smaller_before(b).sum(axis=1)
    # Within a tie of `a`, the values of `b` ascend, but such pairs are not concordant.
    concordant, discordant = ascending - (tied_a - tied_both), pairs - tied_b - ascending
    untied = np.sqrt((pairs - tied_a) * (pairs - tied_b))
    return np.where(untied > 0, (concordant - discordant) / np.where(untied > 0, untied, 1.0), np.nan)


def _tau_ap(a: Array, b: Array) -> Array:
    """AP correlation of each row of `a` with the reference `b`; NaN if two items tie."""
    import numpy as np  # noqa: PLC0415 - may be missing

    above = np.arange(1, a.shape[1])
    correct = (_smaller_before(b)[:, 1:] / above).cumsum(axis=1)[:, -1]
    tied = [(np.diff(np.sort(side, axis=1), axis=1) == 0).any(axis=1) for side in (a, b)]
    return np.where(tied[0] | tied[1], np.nan, 2 * correct / len(above) - 1)


def _tied_pairs(changes: npt.NDArray[np.bool_]) -> Array:
    """Number of equal pairs in each sorted row, given where a value differs from the one before."""
    import numpy as np  # noqa: PLC0415 - may be missing

    places = np.arange(1, changes.shape[1] + 1)
    starts = np.maximum.accumulate(np.where(changes, places, 0), axis=1)
    tied: Array = (places - starts).sum(axis=1).astype(float)
    return tied


def _smaller_before(lists: Array) -> Array:
    """For each value, the number of smaller values to its left in the row, counted by merge sort.

    SciPy's kendalltau takes one list per call, 1.4 ms each, which is seconds for thousands of queries.
    """
    import numpy as np  # noqa: PLC0415 - may be missing

    number, size = lists.shape
    padded = 1 << (size - 1).bit_length()
    values = np.pad(lists, ((0, 0), (0, padded - size)), constant_values=np.inf)
    counts, origins = np.zeros_like(values), np.broadcast_to(np.arange(padded), values.shape)
    width = 1
    while width < padded:
        # The right half first, so that equal values of the left half come after it.
        values, counts, origins = (
            each.reshape(number, -1, 2, width)[:, :, ::-1].reshape(number, -1, 2 * width)
            for each in (values, counts, origins)
        )
        order = np.argsort(values, axis=2, kind="stable")
        values, counts, origins = (np.take_along_axis(each, order, 2) for each in (values, counts, origins))
        # A value of the right half moves up by the number of smaller values in the left half.
        counts += np.where(order < width, np.arange(2 * width) - order, 0)
        width *= 2
    result = np.empty((number, padded))
    np.put_along_axis(result, origins.reshape(number, padded), counts.reshape(number, padded), axis=1)
    return result[:, :size]
