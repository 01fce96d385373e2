"""Paired comparison of systems: differences, intervals, effect sizes and tests."""

from collections.abc import Sequence
from functools import partial
from typing import get_args

import polars as pl

from polars_rank.comparison.corrections import Correction, adjust
from polars_rank.comparison.pairs import (
    OUTCOMES,
    Alternative,
    ComparisonSetup,
    Interval,
    Missing,
    Test,
    TestOptions,
    WilcoxonMethod,
    ZeroMethod,
    paired_values,
    prepare,
)
from polars_rank.core.checks import require_sampling
from polars_rank.core.errors import needs_scipy, require_choice
from polars_rank.core.frames import FrameT, as_lazy, as_list, like, named_back, refuse_names


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
    r"""Paired comparison of systems: difference, interval, wins, effect size, tests.

    $d_q = system_q - baseline_q,\quad difference = \bar d,\quad t = \sqrt{n}\,\bar d / s_d,\quad
    effect\_size = \bar d / s_d$

    Parameters
    ----------
    per_query
        One row per query and system (and slice), one column per measure, as returned by `evaluate`. Rows
        are paired by query id; their order does not matter.
    baseline
        System to compare every other one with. None compares all pairs, each once, with the system that
        sorts first as `system`.
    by
        Columns that slice the comparison, such as an attribute or another key of the rankings. Null is a
        slice of its own.
    measures
        Columns to compare; default: all numeric columns named like a measure (``"nDCG@10"``).
    tests
        ``"t"``: Student's paired t. ``"wilcoxon"``: signed ranks. ``"sign"``: wins against losses, without
        ties. ``"randomization"``: Fisher's, by flipping the signs of the differences: exact if at most 16
        queries differ, otherwise `samples` random flips with $p = (b+1)/(samples+1)$; sums that differ
        only by rounding are ties. ``"bootstrap"``: Student's t over resampled queries (Sakai 2006).
        ``"tukey"``: randomised HSD over all systems of the slice, on the queries for which all of them have
        a value; it includes its own correction for the number of systems.
    corrections
        Applied to every test except ``"tukey"``, see `adjust`. A family is one test and one measure, with
        all pairs in all slices. Null p values are not counted.
    alternative
        ``"greater"``: the system is better than the baseline; ``"less"``: worse. The interval is then
        one-sided too.
    interval
        ``"t"``; ``"bootstrap"``: percentiles; ``"basic"``: reflected percentiles; ``"bca"``: corrected for
        bias and skewness (Efron 1987).
    level
        Coverage of the interval, above 0 and below 1.
    missing
        What to do if one system has no row for a query for which another system has a value: ``"error"``,
        ``"zero"`` (count it as 0) or ``"drop"`` (leave it out of the pair). A null value (nothing is
        judged) is always left out of the pair.
    zero_method
        How ``"wilcoxon"`` treats differences of zero: ``"wilcox"`` drops them, ``"pratt"`` ranks them and
        drops their ranks, ``"zsplit"`` splits their ranks between both sides.
    wilcoxon_method
        ``"auto"`` is exact up to 50 queries without zeros and ties, and up to 16 with them. ``"exact"`` is
        the distribution without zeros and ties, ``"asymptotic"`` the normal approximation. As in SciPy,
        differences are ranked unrounded: 0.3 - 0.1 and 0.2 - 0 do not tie.
    continuity
        Apply the continuity correction to the normal approximation of ``"wilcoxon"``.
    samples, seed
        Number of random samples for ``"randomization"``, ``"bootstrap"``, ``"tukey"`` and bootstrap
        intervals, and their seed. The same seed gives the same result with any number of threads.
    system, query
        Names of the columns.

    Returns
    -------
    DataFrame or LazyFrame
        As `per_query`. One row per slice, measure and pair, in that order: the `by` columns, `measure`,
        `system`, `baseline`; `n` (queries compared: both values are finite) and `missing` (queries without
        a value in one of the two systems, left out or counted as 0), Int64; `mean`, `mean_baseline`,
        `difference`, `low`, `high` in units of the measure; `wins`, `ties`, `losses`, Int64, which sum to
        `n`; `effect_size` (Cohen's d of paired samples, in standard deviations of the difference);
        `statistic_t`, `statistic_wilcoxon`, and one column per test, ``p_t``, in [0, 1], each followed by
        its corrections, ``p_t_holm``; `reason` for a null. All other numbers are Float64.

        With one query, or if all differences are equal, there is no variance: interval, effect size and
        the p values of ``"t"`` and ``"bootstrap"`` are null. If all differences are zero, the p values of
        the other tests are 1. A NaN or infinite value makes everything null except `n` and `missing`.

    Raises
    ------
    DataError
        If a column is missing, a query repeats within system and slice, or a system lacks a query.
    ValueError
        If `baseline` is not a system of the table, or an option is out of range.
    ModuleNotFoundError
        If SciPy is not installed.

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
    options = TestOptions(
        tests=as_list(tests),
        alternative=alternative,
        interval=interval,
        level=level,
        zero_method=zero_method,
        wilcoxon_method=wilcoxon_method,
        continuity=continuity,
        samples=samples,
        seed=seed,
    )
    methods: list[Correction] = as_list(corrections)
    _check(options, methods, missing)
    table, setup = prepare(
        as_lazy(per_query, "per_query"),
        baseline=baseline,
        by=by,
        measures=measures,
        system=system,
        query=query,
        missing=missing,
    )
    schema = _schema(setup.key_schema(table.collect_schema()), options, methods)
    # One step over the whole table: tests and resamples need all of it, and it is small.
    compared = partial(_compare, setup=setup, options=options, corrections=methods, columns=list(schema))
    return like(per_query, named_back(table.map_batches(compared, schema=schema)))


def _schema(
    keys: dict[str, pl.DataType], options: TestOptions, corrections: list[Correction]
) -> dict[str, pl.DataType]:
    numbers = options.number_columns
    tested: list[str] = []
    for test in options.tests:
        tested += [name for name in numbers if name == f"statistic_{test}"] + [f"p_{test}"]
        tested += [corrected_column(test, name) for name in corrections if test != "tukey"]
    return {
        **keys,
        **dict.fromkeys(["n", "missing"], pl.Int64()),
        **dict.fromkeys(numbers[:5], pl.Float64()),
        **dict.fromkeys(OUTCOMES, pl.Int64()),
        **dict.fromkeys(["effect_size", *tested], pl.Float64()),
        "reason": pl.String(),
    }


def corrected_column(test: str, correction: str) -> str:
    """Name of the column with the corrected p values of a test; Tukey's test corrects its own."""
    return f"p_{test}" if test == "tukey" else f"p_{test}_{correction.replace('-', '_')}"


def _check(options: TestOptions, corrections: list[Correction], missing: Missing) -> None:
    for test in options.tests:
        require_choice("tests", test, get_args(Test))
    for correction in corrections:
        require_choice("corrections", correction, get_args(Correction))
    refuse_names("tests", options.tests, ())
    refuse_names("corrections", corrections, ())
    require_choice("alternative", options.alternative, get_args(Alternative))
    require_choice("interval", options.interval, get_args(Interval))
    require_choice("zero_method", options.zero_method, get_args(ZeroMethod))
    require_choice("wilcoxon_method", options.wilcoxon_method, get_args(WilcoxonMethod))
    require_choice("missing", missing, get_args(Missing))
    if "tukey" in options.tests and options.alternative != "two-sided":
        raise ValueError(
            f'tests="tukey" is two-sided, got alternative={options.alternative!r}; leave one out'
        )
    require_sampling(options.level, options.samples, options.seed)


@needs_scipy
def _compare(
    per_query: pl.DataFrame,
    setup: ComparisonSetup,
    options: TestOptions,
    corrections: list[Correction],
    columns: list[str],
) -> pl.DataFrame:
    from polars_rank.comparison import statistics  # noqa: PLC0415 - imports SciPy, which is slow or missing

    pairs = paired_values(per_query, setup)
    table = pairs.with_columns(statistics.pair_statistics(pairs["x"], pairs["y"], options))
    if "tukey" in options.tests:
        p_values = statistics.tukey(per_query, pairs.select("system", "baseline").unique(), setup, options)
        table = table.join(p_values, on=setup.keys, nulls_equal=True, how="left", maintain_order="left")
    corrected = [
        adjust(f"p_{test}", correction).over("measure").alias(corrected_column(test, correction))
        for test in options.tests
        for correction in corrections
        if test != "tukey"
    ]
    return table.with_columns(corrected).select(columns)
