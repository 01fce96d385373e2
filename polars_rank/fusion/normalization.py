"""Normalize the scores of each list to a common scale."""

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

import polars as pl

from polars_rank.core.errors import require_choice
from polars_rank.core.frames import as_frames, as_list, refuse_names
from polars_rank.core.ordering import ItemTies, OrderBy
from polars_rank.fusion.arguments import ListOrder, RepeatedItems, RunColumns, require_finite
from polars_rank.fusion.ranking import LIST, query_ids, ranked_rows, sorted_lists, with_missing_items
from polars_rank.fusion.runs import all_eager, stack

F = TypeVar("F", pl.DataFrame, pl.LazyFrame)

NORMALIZATIONS = (
    "min_max",
    "min_max_inverted",
    "max",
    "sum",
    "zscore",
    "rank",
    "borda",
    "sigmoid",
    "quantile",
)

BY_POSITION = ("rank", "borda")
"""Normalizations that do not use the scores."""


def normalize_scores(
    runs: F | Mapping[str, F] | Sequence[F],
    method: str = "min_max",
    *,
    on_constant: float = 0,
    ddof: int = 0,
    order_by: OrderBy | None = None,
    descending: bool = True,
    ties: ItemTies = "item-descending",
    rank_base: int = 1,
    duplicates: RepeatedItems | None = None,
    systems: Sequence[str] | None = None,
    keys: str | Sequence[str] = (),
    query: str = "query",
    item: str = "item",
    score: str = "score",
    rank: str = "rank",
    system: str = "system",
) -> F:
    r"""Normalize the scores of each list, the answer of a system to a query.

    $min\_max = (s - min) / (max - min)$; likewise:

    ================  ==========================================================================
    min_max           (s - min) / (max - min)
    min_max_inverted  (max - s) / (max - min), for distances; the smallest comes first
    max               s / max, or s / 1e-9 in a list without a positive score
    sum               (s - min) / sum of (s - min)
    zscore            (s - mean) / deviation
    rank              1 - (rank - 1) / n, n rows of the list
    borda             1 - (rank - 1) / C, C distinct items of the query in all lists; an item missing
                      from a list gets 0.5 - (n - 1) / 2C, in a row of its own
    sigmoid           1 / (1 + exp(-s))
    quantile          (number of scores below, ties count half, - 0.5) / (number of scores - 1)
    ================  ==========================================================================

    One row is an item in a list. A null or NaN score gives null, and an infinite one is an error, except in
    rank and borda, which use positions only.

    Parameters
    ----------
    runs
        As for `fuse`.
    order_by, descending, ties, rank_base, duplicates, systems, keys, query, item, score, rank, system
        As in `fuse`.
    method
        One of the above.
    on_constant
        Value if all scores of a list are equal, or it has one item, where the formula is 0 / 0.
    ddof
        zscore: standard deviation with n (0) or n - 1 (1).

    Range [0, 1], except zscore, and max with negative scores. An empty run gives no rows.

    Returns
    -------
    DataFrame or LazyFrame
        Lazy if a run is. `system`, `query`, the `keys`, `item`, `score` (Float64), `rank` (Float64; null for
        an item missing from the list); sorted by list, query, keys and rank.

    Raises
    ------
    DataError
        If a column is missing, ids are of different kinds, a score is infinite, a long table has an item
        twice in a list, or a given rank is below its base.
    ValueError
        If an option has an invalid value.

    References
    ----------
    Formulas and 1e-9 as ranx 0.3.21; Montague and Aslam 2001, doi:10.1145/502585.502657.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> run = pl.DataFrame({"query": "q", "item": ["a", "b", "c"], "score": [9.0, 4.0, 5.0]})
    >>> rank.normalize_scores({"bm25": run}, "min_max").select("item", "score").rows()
    [('a', 1.0), ('c', 0.2), ('b', 0.0)]
    """
    runs, keys = as_frames(runs, "runs"), as_list(keys)
    require_normalization(method, on_constant, ddof, NORMALIZATIONS)
    order = ListOrder(
        order_by,
        descending and method != "min_max_inverted",
        ties,
        rank_base,
        duplicates,
        finite=method not in BY_POSITION,
    )
    columns = RunColumns(query, item, score, rank, system, keys)
    refuse_names("system", [system], [query, item, score, rank])
    stacked = stack(runs, systems=systems, order=order, columns=columns)
    lists = sorted_lists(stacked)
    rows = ranked_rows(lists, stacked.order)
    if method == "borda":
        rows = with_missing_items(rows)
    scaled = (
        normalized(rows, method, on_constant=on_constant, ddof=ddof)
        .rename({"query": "number"})
        .join(query_ids(lists), on="number")
        .sort("list", "number", "position", "item", nulls_last=True)
    )
    ids = columns.ids(pl.col("query"))
    names = {"item": item, "value": score, "rank": rank}
    scaled = scaled.select(
        pl.col("system").alias(system), *ids, *(pl.col(old).alias(new) for old, new in names.items())
    )
    return cast(F, scaled.collect() if all_eager(runs) else scaled)


def require_normalization(
    normalize: object,
    on_constant: object,
    ddof: object,
    choices: Sequence[str | None] = (None, *NORMALIZATIONS),
) -> None:
    """Refuse an unknown normalization or invalid options."""
    require_choice("method" if None not in choices else "normalize", normalize, choices)
    require_choice("ddof", ddof, (0, 1))
    require_finite("on_constant", on_constant)


_LARGE, _LARGE_UNIT = 2.0**960, 2.0**-64


def normalized(rows: pl.LazyFrame, method: str | None, *, on_constant: float, ddof: int) -> pl.LazyFrame:
    """Add `value`, the normalized score of each row; null without a score, unless only positions count."""
    rank, score = pl.col("rank"), pl.col("score")
    if method is None:
        return rows.with_columns(value=score)
    if method == "rank":
        return rows.with_columns(value=1 - (rank - 1) / pl.col("length"))
    if method == "borda":
        candidates = pl.col("candidates")
        # A missing item gets the mean of the values that the list has not given out.
        absent = 0.5 - (pl.col("length") - 1.0) / (2 * candidates)
        return rows.with_columns(value=(1 - (rank - 1) / candidates).fill_null(absent))
    if method == "sigmoid":
        return rows.with_columns(value=1 / (1 + (-score).exp()))

    low, high, value = pl.col("low"), pl.col("high"), pl.col("value")
    rows = rows.with_columns(low=score.min().over(LIST), high=score.max().over(LIST))
    if method == "max":
        return rows.with_columns(value=score / pl.max_horizontal(high, 1e-9))
    # Scale down by a power of two (exact) so that differences and sums stay finite.
    large = pl.max_horizontal(low.abs(), high.abs()) > _LARGE
    unit = pl.when(large).then(_LARGE_UNIT).otherwise(1.0)
    rows = rows.with_columns(low=low * unit, high=high * unit, value=score * unit)

    def in_order(statistic: pl.Expr) -> pl.Expr:
        # Sum in list order, so that lists with equal scores get equal values to the last bit.
        return statistic.over(LIST, order_by="position")

    share = (value - low) / (high - low)
    scaled = {
        "min_max": share,
        "min_max_inverted": (high - value) / (high - low),
        "sum": (value - low) / in_order((value - low).sum()),
        # Use the share: squares of very small or large scores are 0 or infinite.
        "zscore": (share - in_order(share.mean())) / in_order(share.std(ddof=ddof)),
        "quantile": (value.rank("average").over(LIST) - 1) / (value.count().over(LIST) - 1.0),
    }[method]
    constant = low.eq_missing(high)
    return rows.with_columns(
        value=pl.when(value.is_not_null()).then(pl.when(constant).then(float(on_constant)).otherwise(scaled))
    )
