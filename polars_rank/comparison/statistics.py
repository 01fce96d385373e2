"""Statistics of pairs of systems, computed on matrices of values: one row per pair, one column per query."""

from math import inf

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank.comparison import paired_tests
from polars_rank.comparison.pairs import OUTCOMES, ComparisonSetup, TestOptions, crossed_values
from polars_rank.core.resampling import Array, Places, bootstrap_interval, matrices

Numbers = dict[str, Array]


def pair_statistics(x_lists: pl.Series, y_lists: pl.Series, options: TestOptions) -> list[pl.Series]:
    """Compute all statistics of each pair from the values of its two systems."""
    sizes = x_lists.list.len().to_numpy()
    used = sizes.copy()
    real = {name: np.full(len(sizes), np.nan) for name in options.number_columns}
    whole = {name: np.where(sizes == 0, 0.0, np.nan) for name in OUTCOMES}
    reason = np.full(len(sizes), None, dtype=object)
    reason[sizes == 0] = "no query in common"
    for places, (x_all, y_all) in matrices(x_lists, y_lists):
        numeric = np.isfinite(x_all) & np.isfinite(y_all)
        used[places], finite = numeric.sum(axis=1), numeric.all(axis=1)
        reason[places[~finite]] = "a value is NaN or infinite"
        rows, x, y = places[finite], x_all[finite], y_all[finite]
        if not len(rows):
            continue
        d = paired_tests.differences(x, y)
        scale = np.maximum(np.abs(x), np.abs(y)).max(axis=1)
        real["mean"][rows], real["mean_baseline"][rows] = x.mean(axis=1), y.mean(axis=1)
        real["difference"][rows] = d.mean(axis=1)
        for name, outcome in zip(OUTCOMES, (d > 0, d == 0, d < 0), strict=True):
            whole[name][rows] = outcome.sum(axis=1)
        _test_all(real, rows, d, scale, options)
        varying = paired_tests.varies(d, scale)
        one = "one query has no variance" if d.shape[1] == 1 else "all differences are equal: no variance"
        reason[np.delete(rows, varying)] = one
        if len(varying):
            _test_varying(real, rows[varying], d[varying], options)
    return [
        pl.Series("n", used).cast(pl.Int64),
        *(pl.Series(name, column).fill_nan(None).cast(pl.Int64) for name, column in whole.items()),
        *(pl.Series(name, column).fill_nan(None) for name, column in real.items()),
        pl.Series("reason", reason.tolist(), dtype=pl.String),
    ]


def _test_all(real: Numbers, rows: Places, d: Array, scale: Array, options: TestOptions) -> None:
    """Run the tests that need no variance of the differences."""
    side, samples, seed = options.alternative, options.samples, options.seed
    if "sign" in options.tests:
        real["p_sign"][rows] = paired_tests.sign_test(d, side)
    if "randomization" in options.tests:
        real["p_randomization"][rows] = paired_tests.randomization(d, scale, side, samples, seed)
    if "wilcoxon" in options.tests:
        real["statistic_wilcoxon"][rows], real["p_wilcoxon"][rows] = paired_tests.wilcoxon(
            d, side, options.zero_method, options.wilcoxon_method, continuity=options.continuity
        )


def _test_varying(real: Numbers, rows: Places, d: Array, options: TestOptions) -> None:
    """Compute the statistics that divide by the standard deviation of the differences."""
    side, samples, seed = options.alternative, options.samples, options.seed
    real["effect_size"][rows] = d.mean(axis=1) / d.std(axis=1, ddof=1)
    statistic, p, low, high = paired_tests.paired_t(d, side, options.level)
    if options.interval != "t":
        low, high = bootstrap_interval(
            d, method=options.interval, tail=options.tail, samples=samples, seed=seed
        )
    real["low"][rows] = -inf if side == "less" else low
    real["high"][rows] = inf if side == "greater" else high
    if "t" in options.tests:
        real["statistic_t"][rows], real["p_t"][rows] = statistic, p
    if "bootstrap" in options.tests:
        real["p_bootstrap"][rows] = paired_tests.bootstrap_test(d, side, samples, seed)


def tukey(
    per_query: pl.DataFrame, pairs: pl.DataFrame, setup: ComparisonSetup, options: TestOptions
) -> pl.DataFrame:
    """Compute p values of the randomised Tukey HSD, on the queries for which every system has a value."""
    group, query, system = [*setup.by, "measure"], setup.query, setup.system
    cells = crossed_values(per_query, setup)
    complete = pl.col("value").is_not_null().all().over(*group, query)
    blocks = cells.filter(complete).group_by(group).agg(pl.col("value").sort_by(query, system))
    names = cells[system].unique().sort().to_list()
    both = np.array([[names.index(a), names.index(b)] for a, b in pairs.iter_rows()])
    p = np.full((len(blocks), len(pairs)), np.nan)
    for places, (flat,) in matrices(blocks["value"]):
        finite = np.isfinite(flat).all(axis=1)
        if finite.any():
            cubes = flat[finite].reshape(finite.sum(), -1, len(names))
            p[places[finite]] = paired_tests.tukey(cubes, both, options.samples, options.seed)
    crossed = blocks.select(group).with_row_index("block").join(pairs.with_row_index("pair"), how="cross")
    p_values = pl.Series("p_tukey", p[crossed["block"].to_numpy(), crossed["pair"].to_numpy()])
    return crossed.drop("block", "pair").with_columns(p_values.fill_nan(None))


def spread(pairs: pl.DataFrame) -> tuple[Places, Array, Array, npt.NDArray[np.object_]]:
    """Compute number, mean and standard deviation of each pair's differences, and the reason of a null."""
    used = np.zeros(len(pairs), dtype=np.intp)
    mean, deviation = np.full(len(pairs), np.nan), np.full(len(pairs), np.nan)
    reason = np.full(len(pairs), "no query in common", dtype=object)
    for places, (x_all, y_all) in matrices(pairs["x"], pairs["y"]):
        numeric = np.isfinite(x_all) & np.isfinite(y_all)
        used[places], finite = numeric.sum(axis=1), numeric.all(axis=1)
        reason[places] = "a value is NaN or infinite"
        rows, x, y = places[finite], x_all[finite], y_all[finite]
        if len(rows):
            d = paired_tests.differences(x, y)
            mean[rows] = d.mean(axis=1)
            reason[rows] = "one query, or all differences equal: no variance"
            varying = paired_tests.varies(d, np.maximum(np.abs(x), np.abs(y)).max(axis=1))
            reason[rows[varying]] = None
            if len(varying):
                deviation[rows[varying]] = d[varying].std(axis=1, ddof=1)
    return used, mean, deviation, reason
