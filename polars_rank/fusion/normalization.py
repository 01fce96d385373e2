"""Scores of different systems on one scale, list by list."""

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

import polars as pl

from polars_rank.core.errors import require_choice
from polars_rank.core.frames import as_frames, as_list, refuse_names
from polars_rank.core.ordering import ItemTies, OrderBy
from polars_rank.fusion.list_ranks import LIST, in_lists, placed, query_ids, with_absent
from polars_rank.fusion.runs import (
    Columns,
    Duplicates,
    Ordering,
    all_eager,
    gather,
    require_number,
)

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

BY_PLACE = ("rank", "borda")
"""Those that look at no score."""


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
    duplicates: Duplicates | None = None,
    systems: Sequence[str] | None = None,
    keys: str | Sequence[str] = (),
    query: str = "query",
    item: str = "item",
    score: str = "score",
    rank: str = "rank",
    system: str = "system",
) -> F:
    r"""Bring the scores of each list, a query of a system, to one scale.

    $min\_max = (s - min) / (max - min)$, and so for the others:

    ================  ==========================================================================
    min_max           (s - min) / (max - min)
    min_max_inverted  (max - s) / (max - min), for distances; the nearest is first
    max               s / max, or s / 1e-9 in a list without a positive score
    sum               (s - min) / sum of (s - min)
    zscore            (s - mean) / deviation
    rank              1 - (rank - 1) / n, n rows of the list
    borda             1 - (rank - 1) / C, C different items of the query in all lists; an item that
                      a list lacks gets 0.5 - (n - 1) / 2C, in a row of its own
    sigmoid           1 / (1 + exp(-s))
    quantile          (number of scores below, ties counted half - 0.5) / (number of scores - 1)
    ================  ==========================================================================

    One row is an item in a list. A null or NaN score stays null and an infinite one is refused, save in
    rank and borda, which go by places alone.

    Parameters
    ----------
    runs
        As for `fuse`.
    order_by, descending, ties, rank_base, duplicates, systems, keys, query, item, score, rank, system
        As in `fuse`.
    method
        One of the above.
    on_constant
        Value in a list whose scores are all equal, or that holds one item, where the formula is 0 / 0.
    ddof
        zscore: deviation with n (0) or n - 1 (1).

    Range [0, 1], save zscore, and max with negative scores. An empty run gives no row.

    Returns
    -------
    DataFrame or LazyFrame
        Lazy if a run is. `system`, `query`, the `keys`, `item`, `score` (Float64), `rank` (Float64; null for
        an item that the list lacks); sorted by list, query, keys and rank.

    Raises
    ------
    DataError
        If a column is missing, ids are of different kinds, a score is infinite, an item of a long table
        is twice in a list, or a given rank is below its base.
    ValueError
        If an option has no such value.

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
    ordering = Ordering(
        order_by,
        descending and method != "min_max_inverted",
        ties,
        rank_base,
        duplicates,
        finite=method not in BY_PLACE,
    )
    columns = Columns(query, item, score, rank, system, keys)
    refuse_names("system", [system], [query, item, score, rank])
    gathered = gather(runs, systems=systems, ordering=ordering, columns=columns)
    lists = in_lists(gathered)
    rows = placed(lists, gathered.ordering)
    if method == "borda":
        rows = with_absent(rows)
    scaled = (
        normalized(rows, method, on_constant=on_constant, ddof=ddof)
        .rename({"query": "number"})
        .join(query_ids(lists), on="number")
        .sort("list", "number", "place", "item", nulls_last=True)
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
    """Refuse settings of a normalisation that are outside their range."""
    require_choice("method" if None not in choices else "normalize", normalize, choices)
    require_choice("ddof", ddof, (0, 1))
    require_number("on_constant", on_constant)


_LARGE, _LARGE_UNIT = 2.0**960, 2.0**-64


def normalized(rows: pl.LazyFrame, method: str | None, *, on_constant: float, ddof: int) -> pl.LazyFrame:
    """Add `value`, the normalised score of each row of the lists.

    A row without a score has no value, save where the place alone decides.
    """
    rank, score = pl.col("rank"), pl.col("score")
    if method is None:
        return rows.with_columns(value=score)
    if method == "rank":
        return rows.with_columns(value=1 - (rank - 1) / pl.col("length"))
    if method == "borda":
        candidates = pl.col("candidates")
        # An item that a list lacks gets the mean of what the list has left to give.
        absent = 0.5 - (pl.col("length") - 1.0) / (2 * candidates)
        return rows.with_columns(value=(1 - (rank - 1) / candidates).fill_null(absent))
    if method == "sigmoid":
        return rows.with_columns(value=1 / (1 + (-score).exp()))

    low, high, value = pl.col("low"), pl.col("high"), pl.col("value")
    rows = rows.with_columns(low=score.min().over(LIST), high=score.max().over(LIST))
    if method == "max":
        return rows.with_columns(value=score / pl.max_horizontal(high, 1e-9))
    # Differences and sums of the largest floats would be infinite. A power of two changes no digit.
    large = pl.max_horizontal(low.abs(), high.abs()) > _LARGE
    unit = pl.when(large).then(_LARGE_UNIT).otherwise(1.0)
    rows = rows.with_columns(low=low * unit, high=high * unit, value=score * unit)

    def in_order(statistic: pl.Expr) -> pl.Expr:
        # Lists of the same scores must get the same to the last bit, or items that tie would not.
        return statistic.over(LIST, order_by="place")

    share = (value - low) / (high - low)
    scaled = {
        "min_max": share,
        "min_max_inverted": (high - value) / (high - low),
        "sum": (value - low) / in_order((value - low).sum()),
        # Of the share, since squares of very small or large scores are 0 or infinite.
        "zscore": (share - in_order(share.mean())) / in_order(share.std(ddof=ddof)),
        "quantile": (value.rank("average").over(LIST) - 1) / (value.count().over(LIST) - 1.0),
    }[method]
    constant = low.eq_missing(high)
    return rows.with_columns(
        value=pl.when(value.is_not_null()).then(pl.when(constant).then(float(on_constant)).otherwise(scaled))
    )
