"""How many queries a difference needs to be seen, and how small a one the queries at hand can show."""

from collections.abc import Sequence
from functools import partial
from math import isfinite
from numbers import Real
from typing import NamedTuple, TypeVar, get_args

import polars as pl

from polars_rank.comparison.pairs import Alternative, Design, Missing, needs_scipy, paired, plan
from polars_rank.core.errors import require_choice
from polars_rank.core.frames import as_lazy, like, named_back

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)


class _Options(NamedTuple):
    difference: float | None
    alpha: float
    chance: float
    alternative: Alternative


def power(
    per_query: FrameT,
    baseline: object = None,
    *,
    difference: float | None = None,
    by: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    alpha: float = 0.05,
    chance: float = 0.8,
    alternative: Alternative = "two-sided",
    missing: Missing = "error",
    system: str = "system",
    query: str = "query",
) -> FrameT:
    r"""Tell how many queries a paired t test needs, with the variance that the pairs have.

    The test sees a true difference $\delta$ with the chance
    $P(|T'_{n-1}(\delta \sqrt n / s_d)| > t_{n-1, 1 - \alpha/2})$, $T'$ being noncentral t and $s_d$ the
    standard deviation of the differences.

    Parameters
    ----------
    per_query, baseline, by, measures, missing, system, query
        As in `compare`.
    difference
        The true difference to be seen, in the units of the measure; None takes the one observed, which
        overstates the chance where it was chosen for being large.
    alpha
        Level of the test, above 0 and below 1.
    chance
        Wanted chance to see the difference, above `alpha` and below 1.
    alternative
        As in `compare`; ``"less"`` and ``"greater"`` look for a difference of that sign alone.

    Returns
    -------
    DataFrame or LazyFrame
        As `per_query`. One row a slice, measure and pair: the `by` columns, `measure`, `system`,
        `baseline`, `n` and `missing` (queries, Int64), `difference` (the one to be seen),
        `standard_deviation` of the differences, `power` (the chance to see it with `n` queries, in [0, 1]),
        `queries_needed` (Int64, at least 2), `smallest_difference` (its size, that `n` queries show with
        `chance`), `reason`, why something is null. All other numbers are Float64.

    Raises
    ------
    DataError
        As `compare`.
    ValueError
        If an option is out of its range.
    ModuleNotFoundError
        Without SciPy.

    References
    ----------
    Cohen 1988; Sakai 2016 (doi:10.1007/s10791-015-9273-z).

    Examples
    --------
    >>> import polars as pl, polars_rank as rank
    >>> per_query = pl.DataFrame({
    ...     "query": ["q1", "q2", "q3", "q4"] * 2,
    ...     "system": ["a"] * 4 + ["b"] * 4,
    ...     "AP": [0.5, 0.25, 0.5, 0.75, 0.25, 0.5, 0.5, 0.25],
    ... })
    >>> rank.power(per_query, difference=0.1).select("n", pl.col("power").round(3), "queries_needed")
    shape: (1, 3)
    ┌─────┬───────┬────────────────┐
    │ n   ┆ power ┆ queries_needed │
    │ --- ┆ ---   ┆ ---            │
    │ i64 ┆ f64   ┆ i64            │
    ╞═════╪═══════╪════════════════╡
    │ 4   ┆ 0.074 ┆ 84             │
    └─────┴───────┴────────────────┘
    """
    require_choice("missing", missing, get_args(Missing))
    require_choice("alternative", alternative, get_args(Alternative))
    if not (isinstance(alpha, Real) and isinstance(chance, Real) and 0 < alpha < chance < 1):
        raise ValueError(f"0 < alpha < chance < 1 must hold, got alpha={alpha!r} and chance={chance!r}")
    if difference is not None and not _is_difference(difference):
        raise ValueError(f"difference must be a number other than 0, got {difference!r}")
    table, design = plan(
        as_lazy(per_query, "per_query"),
        baseline=baseline,
        by=by,
        measures=measures,
        system=system,
        query=query,
        missing=missing,
    )
    real = dict.fromkeys(["difference", "standard_deviation", "power"], pl.Float64())
    schema: dict[str, pl.DataType] = {
        **design.key_schema(table.collect_schema()),
        **dict.fromkeys(["n", "missing"], pl.Int64()),
        **real,
        "queries_needed": pl.Int64(),
        "smallest_difference": pl.Float64(),
        "reason": pl.String(),
    }
    options = _Options(difference, alpha, chance, alternative)
    powered = partial(_power, design=design, options=options, columns=list(schema))
    return like(per_query, named_back(table.map_batches(powered, schema=schema)))


def _is_difference(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value) and value != 0


@needs_scipy
def _power(per_query: pl.DataFrame, design: Design, options: _Options, columns: list[str]) -> pl.DataFrame:
    import numpy as np  # noqa: PLC0415 - may be missing

    from polars_rank.comparison import noncentral  # noqa: PLC0415
    from polars_rank.comparison import statistics as pair_results  # noqa: PLC0415

    pairs = paired(per_query, design)
    used, mean, deviation, reason = pair_results.spread(pairs)
    wanted = mean if options.difference is None else np.where(np.isnan(mean), np.nan, options.difference)
    known = ~np.isnan(deviation)
    test = options.alpha, options.alternative, options.chance
    seen, needed, smallest = (np.full(len(pairs), np.nan) for _ in range(3))
    if known.any():
        effect, n = wanted[known] / deviation[known], used[known].astype(float)
        seen[known] = noncentral.chance_to_see(effect, n, options.alpha, options.alternative)
        needed[known] = noncentral.queries_needed(effect, *test)
        smallest[known] = noncentral.smallest_effect(n, *test) * deviation[known]
        reason[known & np.isnan(needed)] = "no number of queries shows this difference"
    numbers = {
        "difference": wanted,
        "standard_deviation": deviation,
        "power": seen,
        "queries_needed": needed,
        "smallest_difference": smallest,
    }
    table = pairs.with_columns(
        pl.Series("n", used).cast(pl.Int64),
        *(pl.Series(name, column).fill_nan(None) for name, column in numbers.items()),
        pl.Series("reason", reason.tolist(), dtype=pl.String),
    )
    return table.with_columns(pl.col("queries_needed").cast(pl.Int64)).select(columns)
