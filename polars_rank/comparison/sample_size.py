"""Power of a paired t test: queries needed, and the smallest difference that can be detected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, get_args

import polars as pl

from polars_rank.comparison.pairs import (
    Alternative,
    ComparisonSetup,
    Missing,
    paired_values,
    prepare,
)
from polars_rank.core.errors import needs_scipy, require_choice
from polars_rank.core.frames import FrameT, as_lazy, like, named_back

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from polars_rank.core.resampling import Array

    Mask = npt.NDArray[np.bool_]

_MOST_QUERIES = 2**40  # an effect that needs more counts as undetectable


class _PowerOptions(NamedTuple):
    difference: float | None
    alpha: float
    target_power: float
    alternative: Alternative


def power(
    per_query: FrameT,
    baseline: object = None,
    *,
    difference: float | None = None,
    by: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    alpha: float = 0.05,
    target_power: float = 0.8,
    alternative: Alternative = "two-sided",
    missing: Missing = "error",
    system: str = "system",
    query: str = "query",
) -> FrameT:
    r"""Power of a paired t test, and the number of queries that it needs.

    $power = P(|T'_{n-1}(\delta \sqrt n / s_d)| > t_{n-1, 1 - \alpha/2})$ for a true difference $\delta$, with
    the noncentral t distribution $T'$ and the observed standard deviation $s_d$ of the differences.

    Parameters
    ----------
    per_query, baseline, by, measures, missing, system, query
        As in `compare`.
    difference
        The true difference to detect, in units of the measure. None takes the observed one, which
        overstates the power if the pair was picked for its large difference.
    alpha
        Significance level, above 0 and below 1.
    target_power
        Power to reach, above `alpha` and below 1.
    alternative
        As in `compare`; ``"less"`` and ``"greater"`` detect only differences of that sign.

    Returns
    -------
    DataFrame or LazyFrame
        As `per_query`. One row a slice, measure and pair: the `by` columns, `measure`, `system`,
        `baseline`, `n` and `missing` (queries, as in `compare`, Int64), `difference` (to detect),
        `standard_deviation` of the differences, `power` (with `n` queries, in [0, 1]), `queries_needed`
        (for `target_power`; Int64, at least 2), `smallest_difference` (absolute, detected with
        `target_power` by `n` queries), `reason` for a null. All other numbers are Float64.

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
    if not (isinstance(alpha, Real) and isinstance(target_power, Real) and 0 < alpha < target_power < 1):
        raise ValueError(
            f"0 < alpha < target_power < 1 must hold, got alpha={alpha!r} and target_power={target_power!r}"
        )
    if difference is not None and not _is_difference(difference):
        raise ValueError(f"difference must be a number other than 0, got {difference!r}")
    table, setup = prepare(
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
        **setup.key_schema(table.collect_schema()),
        **dict.fromkeys(["n", "missing"], pl.Int64()),
        **real,
        "queries_needed": pl.Int64(),
        "smallest_difference": pl.Float64(),
        "reason": pl.String(),
    }
    options = _PowerOptions(difference, alpha, target_power, alternative)
    powered = partial(_power, setup=setup, options=options, columns=list(schema))
    return like(per_query, named_back(table.map_batches(powered, schema=schema)))


def _is_difference(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value) and value != 0


@needs_scipy
def _power(
    per_query: pl.DataFrame, setup: ComparisonSetup, options: _PowerOptions, columns: list[str]
) -> pl.DataFrame:
    import numpy as np  # noqa: PLC0415 - may be missing

    from polars_rank.comparison import statistics  # noqa: PLC0415

    pairs = paired_values(per_query, setup)
    used, mean, deviation, reason = statistics.spread(pairs)
    wanted = mean if options.difference is None else np.where(np.isnan(mean), np.nan, options.difference)
    known = ~np.isnan(deviation)
    test = options.alpha, options.alternative, options.target_power
    reached, needed, smallest = (np.full(len(pairs), np.nan) for _ in range(3))
    if known.any():
        effect, n = wanted[known] / deviation[known], used[known].astype(float)
        reached[known] = power_of(effect, n, options.alpha, options.alternative)
        needed[known] = queries_needed(effect, *test)
        smallest[known] = smallest_effect(n, *test) * deviation[known]
        reason[known & np.isnan(needed)] = "no number of queries shows this difference"
    numbers = {
        "difference": wanted,
        "standard_deviation": deviation,
        "power": reached,
        "queries_needed": needed,
        "smallest_difference": smallest,
    }
    table = pairs.with_columns(
        pl.Series("n", used).cast(pl.Int64),
        *(pl.Series(name, column).fill_nan(None) for name, column in numbers.items()),
        pl.Series("reason", reason.tolist(), dtype=pl.String),
    )
    return table.with_columns(pl.col("queries_needed").cast(pl.Int64)).select(columns)


# statsmodels' TTestPower would be another dependency and solves one row per call; these solve all at once.


def power_of(effect: Array, n: Array, alpha: float, alternative: Alternative) -> Array:
    """Power of a paired t test with n queries; `effect` is in standard deviations of the difference."""
    import numpy as np  # noqa: PLC0415 - may be missing
    from scipy.special import nctdtr, stdtrit  # noqa: PLC0415

    critical = stdtrit(n - 1, 1 - alpha / (2 if alternative == "two-sided" else 1))
    shift = np.abs(effect) * np.sqrt(n)
    # Far in the lower tail, SciPy gives NaN for 0.
    below: Array = np.nan_to_num(nctdtr(n - 1, shift, -critical))
    above: Array = np.nan_to_num(nctdtr(n - 1, shift, critical))
    if alternative == "two-sided":
        return 1 - above + below
    return np.where((effect > 0) == (alternative == "greater"), 1 - above, below)


def queries_needed(effect: Array, alpha: float, alternative: Alternative, target_power: float) -> Array:
    """Fewest queries that detect an effect; NaN where no number of queries does."""
    import numpy as np  # noqa: PLC0415 - may be missing

    def enough(n: Array) -> Mask:
        # One query has no variance.
        return (n > 1) & (power_of(effect, n, alpha, alternative) >= target_power)

    few, many = np.ones_like(effect), np.full_like(effect, 2.0)
    while (more := ~enough(many) & (many < _MOST_QUERIES)).any():
        few, many = np.where(more, many, few), np.where(more, many * 2, many)
    return np.where(enough(many), _bisected(enough, few, many, whole=True), np.nan)


def smallest_effect(n: Array, alpha: float, alternative: Alternative, target_power: float) -> Array:
    """Smallest absolute effect, in standard deviations, that n queries detect."""
    import numpy as np  # noqa: PLC0415 - may be missing

    sign = -1.0 if alternative == "less" else 1.0

    def enough(effect: Array) -> Mask:
        return power_of(sign * effect, n, alpha, alternative) >= target_power

    low, high = np.zeros_like(n), np.ones_like(n)
    while (more := ~enough(high)).any():
        high = np.where(more, high * 2, high)
    return _bisected(enough, low, high, whole=False)


def _bisected(enough: Callable[[Array], Mask], low: Array, high: Array, *, whole: bool) -> Array:
    """Smallest value that is `enough`, given that `high` is and `low` is not."""
    import numpy as np  # noqa: PLC0415 - may be missing

    for _ in range(60):
        middle = np.floor((low + high) / 2) if whole else (low + high) / 2
        yes = enough(middle)
        low, high = np.where(yes, low, middle), np.where(yes, middle, high)
    return high
