"""Means over queries and how sure they are: weights, totals, standard errors, intervals."""

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import NormalDist
from typing import Literal, NamedTuple, get_args

import polars as pl

from polars_rank.core.checks import require_number, require_sampling
from polars_rank.core.errors import DataError, needs_scipy, require_choice, require_columns
from polars_rank.core.frames import OURS, as_list, columns_apart, long, named_apart, named_back, own_name
from polars_rank.measures.catalogue import Aggregate

SummaryInterval = Literal["t", "bootstrap", "basic", "bca", "wilson"]

GEOMETRIC_FLOOR = 1e-5  # trec_eval's: a single 0 would make the geometric mean 0
_ROUNDING = 1e-12
_WEIGHT = f"{OURS}weight"  # stands beside measures, which may be called anything


class _Options(NamedTuple):
    interval: SummaryInterval
    level: float
    samples: int
    seed: int
    weighted: bool


def summary_statistics(
    per_query: pl.LazyFrame,
    aggregates: Mapping[str, Aggregate],
    by: str | Sequence[str] | None = None,
    *,
    interval: SummaryInterval | None = None,
    level: float = 0.95,
    weight: str | None = None,
    totals: bool = False,
    keys: Sequence[str] = ("system",),
    samples: int = 2000,
    seed: int = 0,
) -> pl.LazyFrame:
    r"""Sum up measures over queries, slice by slice, with standard errors and intervals.

    Mean $m = \sum w v / \sum w$, its standard error $\sqrt{\frac{n}{n-1} \sum w^2 (v - m)^2} / \sum w$
    (without weights $s / \sqrt n$); geometric mean $\exp$ of the mean of $\ln \max(v, 10^{-5})$; sum
    $\sum w v$. The intervals of the latter two are those of a mean, turned by the same rule.

    Parameters
    ----------
    per_query
        One row a ranking, one numeric or Boolean column a measure.
    aggregates
        Measure column to ``"mean"``, ``"geometric"`` or ``"sum"``; also the order of the result.
    by
        Columns to slice by. Null is a slice of its own.
    interval
        None; ``"t"``; ``"bootstrap"``, percentiles of resampled queries; ``"basic"``, these mirrored;
        ``"bca"``, corrected for bias and skewness (Efron 1987); ``"wilson"``, for means of 0 and 1 alone.
    level
        Coverage of the interval, above 0 and below 1.
    weight
        Column of weights from 0, such as the traffic of a query.
    totals
        Add rows that leave out the columns of `by`, the last first, down to the total of all. In them the
        columns left out are null, and `total_over` names them.
    keys
        Columns of `by` that totals never pool.
    samples, seed
        Resamples of the bootstrap, and where they start. The same seed gives the same interval, whatever
        the number of threads and the order of the rows.

    Returns
    -------
    LazyFrame
        One row a slice and measure, in that order: the `by` columns; `total_over` (text, null for a slice
        itself) with `totals`; `measure`; `value`; `n` (rankings with a finite value) and `missing`
        (rankings whose value is null; they are left out), Int64; `standard_deviation` of the values,
        without weights; `standard_error` of `value`; `low` and `high` with `interval`; `reason` for a
        null. Numbers are Float64, in
        the units of the measure.

        A value that is NaN or infinite makes all numbers of its slice null, never a plausible mean. One
        ranking has no error and no interval, nor have values that are all equal (save by Wilson).

    Raises
    ------
    DataError
        If a column is missing, a weight is null, NaN or negative, or ``"wilson"`` meets another value than
        0 and 1.
    ValueError
        If an option is out of its range.
    ModuleNotFoundError
        For ``"t"`` and the bootstraps without SciPy.

    References
    ----------
    Wilson 1927 (doi:10.1080/01621459.1927.10502953); Efron & Tibshirani 1993; trec_eval,
    m_gm_map.c.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank.evaluation.summary import summary_statistics
    >>> per_query = pl.LazyFrame({"locale": ["de", "de", "fr"], "AP": [0.25, 0.75, 1.0]})
    >>> summary = summary_statistics(per_query, {"AP": "mean"}, by="locale", totals=True)
    >>> summary.select("locale", "total_over", "value", "n").collect()
    shape: (3, 4)
    ┌────────┬────────────┬──────────┬─────┐
    │ locale ┆ total_over ┆ value    ┆ n   │
    │ ---    ┆ ---        ┆ ---      ┆ --- │
    │ str    ┆ str        ┆ f64      ┆ i64 │
    ╞════════╪════════════╪══════════╪═════╡
    │ de     ┆ null       ┆ 0.5      ┆ 2   │
    │ fr     ┆ null       ┆ 1.0      ┆ 1   │
    │ null   ┆ locale     ┆ 0.666667 ┆ 3   │
    └────────┴────────────┴──────────┴─────┘
    """
    apart, measures = named_apart(as_list(by)), list(aggregates)
    slices = list(apart.values())
    schema = per_query.collect_schema()
    require_columns(schema, [*apart, *measures, *as_list(weight)], "per_query")
    require_sampling(level, samples, seed)
    if interval is not None:
        require_choice("interval", interval, get_args(SummaryInterval))
    if interval == "wilson" and (weight is not None or set(aggregates.values()) != {"mean"}):
        raise ValueError(
            'interval="wilson" is for plain means of 0 and 1; use "bootstrap", or fewer measures'
        )

    for name in (*measures, *as_list(weight)):
        require_number(schema[name], f"per_query.{name}")
    weights = pl.lit(1.0) if weight is None else pl.col(weight).cast(pl.Float64)
    rows = per_query.select(
        *columns_apart(apart),
        *measures,
        weights.alias(_WEIGHT),
    )
    if weight is not None:
        rows = rows.map_batches(partial(_refuse_weights, weight=weight), schema=rows.collect_schema())
    terms = long(rows, measures, [*slices, _WEIGHT], "_value").join(_kinds(aggregates), on="measure")
    terms = terms.with_columns(
        # A NaN would pass through the clip as a number.
        pl.when(_kind="geometric")
        .then(pl.when(pl.col("_value").is_finite()).then(pl.col("_value").clip(GEOMETRIC_FLOOR).log()))
        .when(_kind="sum")
        .then(pl.col("_value") * pl.col(_WEIGHT))
        .otherwise("_value")
        .alias("_term"),
        pl.when(_kind="sum").then(1.0).otherwise(_WEIGHT).alias(_WEIGHT),
    )
    levels = _roll_up(slices, totals, [apart[name] for name in keys if name in apart])
    sums = pl.concat([_sums(terms, kept, slices, interval) for kept in levels])
    if interval is not None:
        options = _Options(interval, level, samples, seed, weight is not None)
        ends = {"_low": pl.Float64(), "_high": pl.Float64()}
        sums = sums.map_batches(
            partial(_with_ends, options=options), schema={**sums.collect_schema(), **ends}
        )
    return named_back(_finished(sums, slices, totals, interval))


def _kinds(aggregates: Mapping[str, Aggregate]) -> pl.LazyFrame:
    for name, aggregate in aggregates.items():
        require_choice(f"aggregates[{name!r}]", aggregate, get_args(Aggregate))
    kinds = {"measure": list(aggregates), "_kind": list(aggregates.values())}
    return pl.LazyFrame(kinds, schema={"measure": pl.String, "_kind": pl.String}).with_row_index("_place")


def _roll_up(slices: list[str], totals: bool, keys: Sequence[str]) -> list[list[str]]:
    """Give the columns that each level keeps: all, then one less, but for the keys."""
    pooled = [name for name in slices if name not in keys]
    levels = range(len(pooled), -1, -1) if totals else [len(pooled)]
    return [[name for name in slices if name in keys or name in pooled[:level]] for level in levels]


def _sums(terms: pl.LazyFrame, kept: list[str], slices: list[str], interval: str | None) -> pl.LazyFrame:
    """Sum up by the columns kept, the others being null."""
    value, has = pl.col("_value"), pl.col("_value").is_not_null()
    term, weight = pl.col("_term").filter(has), pl.col(_WEIGHT).filter(has)
    # A value of weight 0 is no variance.
    counted = pl.col("_term").filter(has & (pl.col(_WEIGHT) > 0))
    mean, n = (term * weight).sum() / weight.sum(), has.sum().cast(pl.Float64)
    listed = []
    if interval not in (None, "wilson"):
        # In an order of their own, so that the rows' order can't matter.
        order = {"_terms": term.sort_by(term, weight), "_weights": weight.sort_by(term, weight)}
        listed = [expression.alias(name) for name, expression in order.items()]
    dropped = [name for name in slices if name not in kept]
    schema = terms.collect_schema()
    return (
        terms.group_by(*kept, "measure", "_kind", "_place")
        .agg(
            value.is_finite().sum().cast(pl.Int64).alias("n"),
            value.null_count().cast(pl.Int64).alias("missing"),
            (~value.is_finite()).sum().alias("_wild"),
            value.std().alias("standard_deviation"),
            mean.alias("_mean"),
            (((weight * (term - mean)) ** 2).sum() * n / (n - 1))
            .sqrt()
            .truediv(weight.sum())
            .alias("_error"),
            weight.sum().alias("_total"),
            (counted.max() - counted.min() <= _ROUNDING * counted.abs().max()).alias("_flat"),
            value.filter(~value.is_in([0.0, 1.0])).first().alias("_not_binary"),
            *listed,
        )
        .with_columns(
            *(pl.lit(None, dtype=schema[name]).alias(name) for name in dropped),
            pl.lit(", ".join(map(own_name, dropped)) or None, dtype=pl.String).alias("total_over"),
            pl.lit(len(dropped)).alias("_level"),
        )
        .select(*slices, pl.exclude(slices))
    )


def _finished(sums: pl.LazyFrame, slices: list[str], totals: bool, interval: str | None) -> pl.LazyFrame:
    """Turn means of terms into values, blank what can't be, and say why."""
    binary = interval == "wilson"
    given = pl.col("n") + pl.col("_wild")
    reasons = (
        pl.when(given == 0)
        .then(pl.lit("no value"))
        .when(pl.col("_wild") > 0)
        .then(pl.concat_str("_wild", pl.lit(" of "), given, pl.lit(" values are NaN or infinite")))
        .when(pl.col("_total") == 0)
        .then(pl.lit("all weights are 0"))
        .when(n=1)
        .then(pl.lit("one value has no variance"))
        .when("_flat")
        .then(pl.lit("all values are equal: no variance"))
    )
    some = (pl.col("n") > 0) & (pl.col("_wild") == 0) & (pl.col("_total") > 0)
    varied = some if binary else some & (pl.col("n") > 1) & ~pl.col("_flat")
    n = pl.col("n").cast(pl.Float64)

    def turned(end: str) -> pl.Expr:
        return (
            pl.when(_kind="geometric")
            .then(pl.col(end).exp())
            .when(_kind="sum")
            .then(pl.col(end) * n)
            .otherwise(end)
        )

    value = turned("_mean")
    scale = pl.when(_kind="geometric").then(value).when(_kind="sum").then(n).otherwise(1.0)
    ends = (
        []
        if interval is None
        else [pl.when(varied).then(turned(f"_{end}")).alias(end) for end in ("low", "high")]
    )
    return sums.sort("_level", *slices, "_place").select(
        *slices,
        *(["total_over"] if totals else []),
        "measure",
        pl.when(some).then(value).alias("value"),
        "n",
        "missing",
        pl.when(some).then("standard_deviation").alias("standard_deviation"),
        pl.when(some & (pl.col("n") > 1)).then(pl.col("_error") * scale).alias("standard_error"),
        *ends,
        reasons.alias("reason"),
    )


def _refuse_weights(rows: pl.DataFrame, weight: str) -> pl.DataFrame:
    bad = rows[_WEIGHT].filter(~(rows[_WEIGHT].is_finite() & (rows[_WEIGHT] >= 0)).fill_null(False))
    if len(bad):
        raise DataError(f"weight={weight!r} holds {bad[0]} in {len(bad)} rows; weights are numbers from 0")
    return rows


def _with_ends(sums: pl.DataFrame, options: _Options) -> pl.DataFrame:
    if options.interval == "wilson":
        return _with_wilson(sums, options.level)
    return _with_sampled(sums, options)


def _with_wilson(sums: pl.DataFrame, level: float) -> pl.DataFrame:
    other = sums.filter(pl.col("_not_binary").is_not_null()).sort("_place")
    if len(other):
        raise DataError(
            f'interval="wilson" is for values of 0 and 1, but {other["measure"][0]!r} holds '
            f'{other["_not_binary"][0]}; use "bootstrap" or "t", or name the measures'
        )
    z = NormalDist().inv_cdf((1 + level) / 2)
    n, share = pl.col("n").cast(pl.Float64), pl.col("_mean")
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * (share * (1 - share) / n + z**2 / (4 * n**2)).sqrt() / (1 + z**2 / n)
    return sums.with_columns(_low=(centre - half).clip(0.0), _high=(centre + half).clip(upper_bound=1.0))


@needs_scipy
def _with_sampled(sums: pl.DataFrame, options: _Options) -> pl.DataFrame:
    """Add the ends of intervals that need SciPy, in the units of the terms."""
    import numpy as np  # noqa: PLC0415 - may be missing
    from scipy.special import stdtrit  # noqa: PLC0415

    from polars_rank.core.resampling import bootstrap_interval, matrices  # noqa: PLC0415

    tail = (1 - options.level) / 2
    if options.interval == "t":
        n = sums["n"].to_numpy()
        half = pl.Series(stdtrit(np.maximum(n - 1, 1), 1 - tail)) * sums["_error"]
        return sums.with_columns(_low=sums["_mean"] - half, _high=sums["_mean"] + half)
    low, high = np.full(len(sums), np.nan), np.full(len(sums), np.nan)
    usable = (~sums["_flat"] & (sums["_wild"] == 0) & (sums["_total"] > 0)).fill_null(False).to_numpy()
    for all_places, (all_terms, all_weights) in matrices(sums["_terms"], sums["_weights"]):
        kept = usable[all_places]
        if kept.any():
            places = all_places[kept]
            low[places], high[places] = bootstrap_interval(
                all_terms[kept],
                all_weights[kept] if options.weighted else None,
                method=options.interval,
                tail=tail,
                samples=options.samples,
                seed=options.seed,
            )
    return sums.with_columns(_low=pl.Series(low).fill_nan(None), _high=pl.Series(high).fill_nan(None))
