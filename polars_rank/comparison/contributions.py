"""Contributions to a difference between two systems: by query and by item."""

from collections.abc import Callable, Sequence

import polars as pl

from polars_rank.core.checks import no_nulls, require_number
from polars_rank.core.errors import DataError, nearest, require_columns
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
from polars_rank.measures.catalogue import MEASURES
from polars_rank.measures.names import Call, parse
from polars_rank.measures.rows import number, ratio


def diff(
    judged_a: FrameT,
    judged_b: Frame,
    measure: str,
    *,
    keys: str | Sequence[str] | None = None,
    convention: str | None = None,
    query: str = "query",
    item: str = "item",
    rank: str = "rank",
    relevance: str = "relevance",
) -> FrameT:
    r"""Break the difference between two systems down by item.

    $measure_b - measure_a = \sum_{items} (contribution_b - contribution_a)$, where the contribution
    of an item is its term in the sum that defines the measure: the discounted gain over the ideal (nDCG),
    $i / rank_i / R$ for the i-th relevant item (average precision), $1 / k$ (precision), the whole value
    for the first relevant item (reciprocal rank, success).

    Parameters
    ----------
    judged_a, judged_b
        Judged tables of one system each, as returned by `judge`: one row per item that was returned,
        judged, or both. ``judged.filter(system="bm25")`` selects one of several systems.
    measure
        A name, such as ``"nDCG@10"``, of a measure that is a sum over items: dcg, ndcg, precision, recall,
        f_measure, average_precision, r_precision, success, reciprocal_rank, rbp, err, judged_share,
        num_returned, num_relevant_returned.
    keys
        Columns that identify a ranking together with the query, such as a day; not `system`.
    convention
        A program, such as ``"ranx"``, that decides the meaning of an ambiguous name.
    query, item, rank, relevance
        Names of the columns.

    Returns
    -------
    DataFrame or LazyFrame
        As `judged_a`. One row per ranking and item in either table: `query`, keys, `item`, `rank_a`,
        `rank_b` (as given; null if not returned), `relevance` (null if unjudged), `contribution_a`,
        `contribution_b`, `contribution` (b minus a), Float64, in units of the measure. Within a ranking,
        the largest absolute contribution comes first. The sum of `contribution` is the measure of b minus
        that of a, to 1e-12; a ranking missing from one table counts as 0 there, and a NaN (a grade above
        `max_relevance`) stays NaN.

    Raises
    ------
    DataError
        If a column is missing, an item repeats (several systems in one table), ids are of different
        kinds, or the tables disagree on a relevance.
    ValueError
        If the measure is unknown, not a sum over items, or has an option `empty` or `judged_only`.

    Examples
    --------
    >>> import polars as pl, polars_rank as rank
    >>> a = pl.DataFrame({"query": "q", "item": ["x", "y"], "rank": [1, 2], "relevance": [0, 2]})
    >>> b = a.with_columns(rank=pl.Series([None, 1]))
    >>> changes = rank.diff(a, b, "RR")
    >>> changes.select("item", "rank_a", "rank_b", "contribution").rows()
    [('y', 2, 1, 0.5), ('x', 1, None, 0.0)]
    """
    call = parse(measure, convention=convention)
    names: list[str] = as_list(keys)
    refuse_names("keys", names, [query, item])
    apart: dict[str, str] = named_apart([query, *names, item], "keys")
    place: list[str] = list(apart.values())
    given = call.options.get("num_relevant")
    totals: list[str] = [given] if isinstance(given, str) and given not in {"rank", "relevance"} else []
    tables = {"judged_a": as_lazy(judged_a, "judged_a"), "judged_b": as_lazy(judged_b, "judged_b")}
    for table, rows in tables.items():
        schema = rows.collect_schema()
        require_columns(schema, [*apart, rank, relevance, *totals], table)
        for name in (rank, relevance):
            require_number(schema[name], f"{table}.{name}")
    part = contribution(call, place[:-1], text=measure, item=place[-1])
    sides = {
        table: no_nulls(rows, [query, item], table)
        .select(
            *columns_apart(apart),
            pl.col(rank).alias("rank"),
            number(relevance).fill_nan(None).alias("relevance"),
            *totals,
        )
        .map_batches(_refusing_repeats(place, table), validate_output_schema=False)
        .with_columns(part.alias("contribution"))
        for table, rows in unify_ids(tables, [query, item]).items()
    }
    both = sides["judged_a"].join(
        sides["judged_b"].with_columns(_in_b=True), on=place, how="full", coalesce=True, suffix="_b"
    )
    both = both.map_batches(_refuse_disagreement, validate_output_schema=False)
    a, b = pl.col("contribution").fill_null(0.0), pl.col("contribution_b").fill_null(0.0)
    result = both.select(
        *place,
        pl.col("rank").alias("rank_a"),
        "rank_b",
        pl.coalesce("relevance", "relevance_b"),
        a.alias("contribution_a"),
        b.alias("contribution_b"),
        (b - a).alias("contribution"),
    )
    # Rounded, so that rounding errors do not order equal contributions.
    size = pl.col("contribution").abs().round(12)
    top = pl.min_horizontal("rank_a", "rank_b")
    order = [*place[:-1], -size, top, place[-1]]
    return like(judged_a, named_back(result.sort(order, nulls_last=True, maintain_order=True), "keys"))


def contribution(
    call: Call,
    ranking: Sequence[str],
    *,
    text: str,
    item: str = "item",
    rank: str = "rank",
    relevance: str = "relevance",
) -> pl.Expr:
    """Contribution of each item to the value of its ranking, for a measure that is a sum over items."""
    name, terms = call.measure.name, call.measure.terms
    if terms is None:
        sums = ", ".join(other.name for other in MEASURES.values() if other.terms is not None)
        raise ValueError(
            f"measure {text!r} is {name}, which is not a sum over items; measures that are: {sums}"
        )
    if call.judged_only:
        raise ValueError(f"measure {text!r}: judged_only changes the ranking; give it to judge")
    if not _empty_is_0(call):
        raise ValueError(
            f"measure {text!r}: no item contributes the value of an empty query; leave empty out"
        )
    r, g = number(rank).fill_nan(None), number(relevance).fill_nan(None)
    in_order = [r, -g, pl.col(item)]
    term = terms(r, g, call.measure.options | call.options).cast(pl.Float64).fill_null(0.0)
    value = call.expression(rank=rank, relevance=relevance)
    # Scaled so that the terms sum to the measure, whatever its denominator.
    return (value * ratio(term, term.sum())).over(ranking, order_by=in_order)


def is_sum_over_items(call: Call) -> bool:
    """Whether `contribution` accepts the measure."""
    return call.measure.terms is not None and not call.judged_only and _empty_is_0(call)


def _empty_is_0(call: Call) -> bool:
    return bool(call.options.get("empty", 0.0) == 0)


def gains(
    per_query: FrameT,
    a: object,
    b: object,
    measure: str,
    *,
    by: str | Sequence[str] | None = None,
    system: str = "system",
    query: str = "query",
) -> FrameT:
    r"""Queries by their gain from system a to system b, largest first.

    $gain_q = measure_{b,q} - measure_{a,q}$

    Parameters
    ----------
    per_query
        One row per query and system, one column per measure, as returned by `evaluate`.
    a, b
        Two systems; a gain is a higher value of b.
    measure
        The column to compare.
    by
        Further columns to keep, attributes or keys; with the query, they identify a row of each system.
    system, query
        Names of the columns.

    Returns
    -------
    DataFrame or LazyFrame
        As `per_query`. One row per query (and `by`) of either system: `query`, `by`, `value_a`, `value_b`,
        `gain` (Float64, in units of the measure; null if one of them has no value). Sorted by gain, largest
        first and null last, then by query: ``.head(10)`` has the largest gains,
        ``.drop_nulls("gain").tail(10)`` the largest losses.

    Raises
    ------
    DataError
        If a column is missing, or a query (and `by`) repeats within a system.
    ValueError
        If a system has no row.

    Examples
    --------
    >>> import polars as pl, polars_rank as rank
    >>> per_query = pl.DataFrame({
    ...     "query": ["q1", "q1", "q2", "q2"], "system": ["x", "y"] * 2, "AP": [0.5, 0.25, 0.0, 1.0]
    ... })
    >>> rank.gains(per_query, "x", "y", "AP").rows()
    [('q2', 0.0, 1.0, 1.0), ('q1', 0.5, 0.25, -0.25)]
    """
    rows = as_lazy(per_query, "per_query")
    carried: list[str] = as_list(by)
    schema = rows.collect_schema()
    require_columns(schema, [query, system, measure, *carried], "per_query")
    require_number(schema[measure], f"per_query.{measure}")
    refuse_names("by", carried, [query])
    apart: dict[str, str] = named_apart([query, *carried])
    place: list[str] = list(apart.values())
    rows = rows.select(
        *columns_apart(apart),
        column(system).alias("system"),
        number(column(measure)).alias("value"),
    )
    rows = rows.map_batches(_refusing_unknown(a, b, place), validate_output_schema=False)
    of = {
        side: rows.filter(pl.col("system") == name).select(*place, pl.col("value").alias(f"value_{side}"))
        for side, name in (("a", a), ("b", b))
    }
    both = of["a"].join(of["b"], on=place, how="full", coalesce=True, nulls_equal=True)
    gain = (pl.col("value_b") - pl.col("value_a")).fill_nan(None)
    order = [False, True, *[False] * len(place)]
    result = both.with_columns(gain=gain).sort(
        pl.col("gain").is_null(), "gain", *place, descending=order, maintain_order=True
    )
    return like(per_query, named_back(result))


def _refusing_unknown(a: object, b: object, place: Sequence[str]) -> Callable[[pl.DataFrame], pl.DataFrame]:
    def check(rows: pl.DataFrame) -> pl.DataFrame:
        systems = rows["system"].unique().drop_nulls().sort().to_list()
        for side, name in (("a", a), ("b", b)):
            if name not in systems:
                hint = nearest(str(name), map(str, systems))
                raise ValueError(
                    f"{side}={name!r} is not a system of per_query{hint}; its systems are {systems}"
                )
        repeated = rows.filter(pl.col("system").is_in([a, b]) & pl.struct(*place, "system").is_duplicated())
        if len(repeated):
            raise DataError(
                f"per_query has two rows of {_first(repeated, [*place, 'system'])}; "
                "name the columns that tell them apart in by=, or filter"
            )
        return rows

    return check


def _refusing_repeats(place: Sequence[str], table: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    def check(rows: pl.DataFrame) -> pl.DataFrame:
        repeated = rows.filter(pl.struct(place).is_duplicated())
        if len(repeated):
            raise DataError(
                f"{table} has two rows of {_first(repeated, place)}; "
                "keep one system, as in judged.filter(system=...), and name other keys of a ranking in keys="
            )
        return rows

    return check


def _first(rows: pl.DataFrame, columns: Sequence[str]) -> str:
    return ", ".join(f"{own_name(name)} {rows[name][0]!r}" for name in columns)


def _refuse_disagreement(both: pl.DataFrame) -> pl.DataFrame:
    in_both = pl.col("_in_b") & pl.col("contribution").is_not_null()
    apart = both.filter(in_both & pl.col("relevance").ne_missing(pl.col("relevance_b")))
    if len(apart):
        row = apart.row(0, named=True)
        place = apart.columns[: apart.columns.index("rank")]
        raise DataError(
            f"relevance of {_first(apart, place)} is {row['relevance']} in judged_a "
            f"and {row['relevance_b']} in judged_b; judge both runs with the same qrels"
        )
    return both
