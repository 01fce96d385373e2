"""Which differences between systems are real: paired tests, intervals and corrections."""

from collections.abc import Sequence
from functools import partial
from typing import TypeVar, get_args, overload

import polars as pl

from polars_rank.comparison.pairs import (
    OUTCOMES,
    Alternative,
    Correction,
    Design,
    Interval,
    Missing,
    Options,
    Test,
    WilcoxonMethod,
    ZeroMethod,
    as_list,
    check_sampling,
    needs_scipy,
    paired,
    plan,
)
from polars_rank.core.errors import require_choice
from polars_rank.core.frames import as_lazy, like, named_back, refuse_names

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)


def compare(
    per_query: FrameT,
    baseline: object = None,
    *,
    by: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    tests: Test | Sequence[Test] = ("t",),
    corrections: Correction | Sequence[Correction] = ("holm",),
    alternative: Alternative = "two-sided",
    interval: Interval = "t",
    level: float = 0.95,
    missing: Missing = "error",
    zero_method: ZeroMethod = "wilcox",
    wilcoxon_method: WilcoxonMethod = "auto",
    continuity: bool = False,
    samples: int = 10_000,
    seed: int = 0,
    system: str = "system",
    query: str = "query",
) -> FrameT:
    r"""Compare systems query by query: difference, interval, wins, effect size, tests.

    $d_q = system_q - baseline_q,\quad difference = \bar d,\quad t = \sqrt{n}\,\bar d / s_d,\quad
    effect\_size = \bar d / s_d$

    Parameters
    ----------
    per_query
        One row a query and system (and slice), one column a measure, as `evaluate` gives it. Rows are
        paired by the query's id, whatever their order.
    baseline
        The system that every other one is compared with; None compares all pairs, each once: the system
        earlier in order against the later one.
    by
        Columns that slice the comparison, such as an attribute or another key of the rankings. Null is a
        slice of its own.
    measures
        Columns to compare; default: all whose names are measures (``"nDCG@10"``).
    tests
        ``"t"``: Student's paired t. ``"wilcoxon"``: signed ranks. ``"sign"``: wins against losses, ties
        left out. ``"randomization"``: Fisher's, by flips of the differences' signs: all of them where at
        most 16 queries differ, else `samples` random ones, $p = (b+1)/(samples+1)$; sums that are equal
        but for rounding count as ties. ``"bootstrap"``: Student's t over resampled queries (Sakai 2006).
        ``"tukey"``: randomised HSD over all systems of the slice, those of the other rows too, on the
        queries that each of them has; it is corrected for the number of systems by itself.
    corrections
        For every test but ``"tukey"``, see `adjust`. A family is a test and a measure: all its pairs in all
        its slices. P values that are null don't count.
    alternative
        ``"greater"``: the system is better than the baseline; ``"less"``: worse. The interval is
        one-sided alike.
    interval
        ``"t"``; ``"bootstrap"``, its percentiles; ``"basic"``, these mirrored; ``"bca"`` (Efron 1987),
        corrected for bias and skewness.
    level
        Coverage of the interval, above 0 and below 1.
    missing
        A query that one system has no row for, but another has a value for, is an error; ``"zero"`` counts
        it as 0, ``"drop"`` leaves it out of the pair. A null value (a ranking without judgements) is always
        left out of the pair.
    zero_method
        What ``"wilcoxon"`` does with differences of zero: ``"wilcox"`` drops them, ``"pratt"`` ranks them
        and drops their ranks, ``"zsplit"`` splits their ranks between both sides.
    wilcoxon_method
        ``"auto"`` is exact up to 50 queries without zeros and ties, and up to 16 with; ``"exact"`` is the
        distribution without zeros and ties, ``"asymptotic"`` the normal one. As in SciPy, differences
        are ranked as they are: 0.3 - 0.1 and 0.2 - 0, which their last digits part, do not tie.
    continuity
        Correct the normal distribution of ``"wilcoxon"`` for continuity.
    samples, seed
        Random samples of ``"randomization"``, ``"bootstrap"``, ``"tukey"`` and of bootstrap intervals,
        and where they start. The same seed gives the same result, whatever the number of threads.
    system, query
        Names of the columns.

    Returns
    -------
    DataFrame or LazyFrame
        As `per_query`. One row a slice, measure and pair, in that order: the `by` columns, `measure`,
        `system`, `baseline`; `n` (queries compared: both values are finite) and `missing` (queries
        without a value in one of the two, left out or counted as 0), Int64; `mean`, `mean_baseline`, `difference`, `low`,
        `high` in the units of the measure; `wins`, `ties`, `losses`, Int64, which sum to `n`; `effect_size`
        (Cohen's d of paired samples, in standard deviations of the difference); `statistic_t`,
        `statistic_wilcoxon`, and a column a test, ``p_t``, in [0, 1], each followed by its corrections,
        ``p_t_holm``; `reason`, why something is null. All other numbers are Float64.

        With one query, or where all differences are equal, there is no variance: interval, effect size
        and the p values of ``"t"`` and ``"bootstrap"`` are null. Where all are zero, those of the other
        tests are 1. A NaN or infinite value makes all but the counts of queries null.

    Raises
    ------
    DataError
        If a column is missing, a query repeats within system and slice, or a system lacks a query.
    ValueError
        If `baseline` is no system of the table, or an option is out of its range.
    ModuleNotFoundError
        Without SciPy.

    References
    ----------
    Smucker, Allan & Carterette 2007 (doi:10.1145/1321440.1321528); Sakai 2006
    (doi:10.1145/1148170.1148261); Carterette 2012 (doi:10.1145/2094072.2094076).

    Examples
    --------
    >>> import polars as pl, polars_rank as rank
    >>> per_query = pl.DataFrame({
    ...     "query": ["q1", "q2", "q3", "q4"] * 2,
    ...     "system": ["bm25"] * 4 + ["dense"] * 4,
    ...     "AP": [0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.9],
    ... })
    >>> result = rank.compare(per_query, "bm25", tests=["t", "randomization"])
    >>> result.select("system", "difference", "wins", pl.col("p_t").round(4), "p_randomization")
    shape: (1, 5)
    ┌────────┬────────────┬──────┬────────┬─────────────────┐
    │ system ┆ difference ┆ wins ┆ p_t    ┆ p_randomization │
    │ ---    ┆ ---        ┆ ---  ┆ ---    ┆ ---             │
    │ str    ┆ f64        ┆ i64  ┆ f64    ┆ f64             │
    ╞════════╪════════════╪══════╪════════╪═════════════════╡
    │ dense  ┆ 0.25       ┆ 4    ┆ 0.0305 ┆ 0.125           │
    └────────┴────────────┴──────┴────────┴─────────────────┘
    """
    options = Options(
        tests=as_list(tests),
        corrections=as_list(corrections),
        alternative=alternative,
        interval=interval,
        level=level,
        zero_method=zero_method,
        wilcoxon_method=wilcoxon_method,
        continuity=continuity,
        samples=samples,
        seed=seed,
    )
    _check(options)
    require_choice("missing", missing, get_args(Missing))
    table, design = plan(
        as_lazy(per_query, "per_query"),
        baseline=baseline,
        by=by,
        measures=measures,
        system=system,
        query=query,
        missing=missing,
    )
    schema = _schema(design.key_schema(table.collect_schema()), options)
    # One step over the whole table: tests and resamples need all of it, and it is small.
    compared = partial(_compare, design=design, options=options, columns=list(schema))
    return like(per_query, named_back(table.map_batches(compared, schema=schema)))


def _schema(keys: dict[str, pl.DataType], options: Options) -> dict[str, pl.DataType]:
    real = options.real
    tested: list[str] = []
    for test in options.tests:
        tested += [name for name in real if name == f"statistic_{test}"] + [f"p_{test}"]
        tested += [_adjusted(test, name) for name in options.corrections if test != "tukey"]
    return {
        **keys,
        **dict.fromkeys(["n", "missing"], pl.Int64()),
        **dict.fromkeys(real[:5], pl.Float64()),
        **dict.fromkeys(OUTCOMES, pl.Int64()),
        **dict.fromkeys(["effect_size", *tested], pl.Float64()),
        "reason": pl.String(),
    }


def _adjusted(test: str, correction: str) -> str:
    return f"p_{test}_{correction.replace('-', '_')}"


def _check(options: Options) -> None:
    for test in options.tests:
        require_choice("tests", test, get_args(Test))
    for correction in options.corrections:
        require_choice("corrections", correction, get_args(Correction))
    for argument, names in (("tests", options.tests), ("corrections", options.corrections)):
        refuse_names(argument, names, ())
    require_choice("alternative", options.alternative, get_args(Alternative))
    require_choice("interval", options.interval, get_args(Interval))
    require_choice("zero_method", options.zero_method, get_args(ZeroMethod))
    require_choice("wilcoxon_method", options.wilcoxon_method, get_args(WilcoxonMethod))
    if "tukey" in options.tests and options.alternative != "two-sided":
        raise ValueError(
            f'tests="tukey" is two-sided, got alternative={options.alternative!r}; leave one out'
        )
    check_sampling(options.level, options.samples, options.seed)


@needs_scipy
def _compare(per_query: pl.DataFrame, design: Design, options: Options, columns: list[str]) -> pl.DataFrame:
    from polars_rank.comparison import statistics as pair_results  # noqa: PLC0415 - SciPy takes its time, and may be missing

    pairs = paired(per_query, design)
    table = pairs.with_columns(pair_results.numbers(pairs["x"], pairs["y"], options))
    if "tukey" in options.tests:
        p_values = pair_results.tukey(per_query, pairs.select("system", "baseline").unique(), design, options)
        table = table.join(p_values, on=design.keys, nulls_equal=True, how="left", maintain_order="left")
    adjusted = [
        adjust(f"p_{test}", correction).over("measure").alias(_adjusted(test, correction))
        for test in options.tests
        for correction in options.corrections
        if test != "tukey"
    ]
    return table.with_columns(adjusted).select(columns)


@overload
def adjust(p_values: str | pl.Expr, method: Correction = "holm") -> pl.Expr: ...
@overload
def adjust(p_values: pl.Series, method: Correction = "holm") -> pl.Series: ...
def adjust(p_values: str | pl.Expr | pl.Series, method: Correction = "holm") -> pl.Expr | pl.Series:
    r"""Correct p values for their number, all of a column (or of a window) being one family.

    With $m$ p values, $p_{(i)}$ the i-th from the least: Bonferroni $m\,p$; Holm
    $\max_{j \le i} (m - j + 1)\,p_{(j)}$; Benjamini-Hochberg $\min_{j \ge i} m\,p_{(j)} / j$;
    Benjamini-Yekutieli that times $\sum_{j=1}^{m} 1/j$; none above 1.

    Parameters
    ----------
    p_values
        A column name or expression, or a Series. Null and NaN (no test was possible) stay null and don't
        count in $m$.
    method
        ``"bonferroni"`` and ``"holm"`` bound the chance of any false discovery (Holm is never weaker),
        ``"benjamini-hochberg"`` the share of false ones among the discoveries, for p values that are
        independent or positively dependent, ``"benjamini-yekutieli"`` for any.

    Returns
    -------
    Expr or Series
        An expression, which ``.over`` cuts into families, or a Series for a Series: Float64, in [0, 1].

    Raises
    ------
    ValueError
        If the method is unknown, or a Series holds a value outside [0, 1].

    References
    ----------
    Holm 1979; Benjamini & Hochberg 1995 (doi:10.1111/j.2517-6161.1995.tb02031.x); Benjamini &
    Yekutieli 2001 (doi:10.1214/aos/1013699998).

    Examples
    --------
    >>> import polars as pl, polars_rank as rank
    >>> rank.adjust(pl.Series("p", [0.01, 0.011, 0.6, None]), "holm").round(3).to_list()
    [0.03, 0.03, 0.6, None]
    """
    require_choice("method", method, get_args(Correction))
    if isinstance(p_values, pl.Series):
        real = p_values.cast(pl.Float64).fill_nan(None)
        if not real.drop_nulls().is_between(0, 1).all():
            raise ValueError(f"p_values must be in [0, 1], got {real.min()!r} to {real.max()!r}")
        return real.to_frame("p").select(adjust("p", method).alias(p_values.name)).to_series()
    if not isinstance(p_values, str | pl.Expr):
        kind = type(p_values).__name__
        raise TypeError(f"p_values must be a column, an expression or a Series, got {kind}; use pl.Series")
    p = pl.col(p_values) if isinstance(p_values, str) else p_values
    p = p.cast(pl.Float64).fill_nan(None)
    number, place = p.count(), pl.int_range(pl.len()) + 1
    # Equal p values get equal results, so that their order among each other doesn't matter.
    ordered = p.sort(nulls_last=True)
    if method == "bonferroni":
        return (p * number).clip(upper_bound=1.0)
    if method == "holm":
        stepped = ((number + 1 - place) * ordered).cum_max()
    else:
        harmonic = (1 / place).filter(place <= number).sum() if method == "benjamini-yekutieli" else 1.0
        stepped = (ordered * number * harmonic / place).cum_min(reverse=True)
    return stepped.clip(upper_bound=1.0).gather(p.rank("ordinal") - 1)
