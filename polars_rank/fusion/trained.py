"""Trained fusion methods: look up the fitted estimate for each returned item."""

from collections.abc import Callable, Sequence
from math import log

import polars as pl

from polars_rank.core.errors import ArgumentError, DataError, Setting, require_columns
from polars_rank.core.frames import Frame, as_lazy
from polars_rank.fusion.arguments import require_whole

TRAINED = ("mapfuse", "posfuse", "probfuse", "segfuse", "slidefuse", "bayesfuse")

# Last rank of each segment: 10 * 2**(k - 1) - 5 (Shokouhi 2007); the cutoffs of trec_eval.
SEGMENT_ENDS = {
    "segfuse": [10 * 2 ** (k - 1) - 5 for k in range(1, 11)],
    "bayesfuse": [5, 10, 15, 20, 30, 100, 200, 500, 1000],
}

# Estimates of 0 and 1 have no finite odds.
LEAST_SHARE = 0.001
_MISSING_ITEM = log(LEAST_SHARE / (1 - LEAST_SHARE))


def with_estimate(rows: pl.LazyFrame, method: str, fitted: Frame | None, half_window: int) -> pl.LazyFrame:
    """Add `estimate`, the fitted value for the system and rank of a row."""
    if fitted is None:
        needed = f" needs fitted=fit_fusion(runs, qrels, {method!r})"
        raise ArgumentError((Setting("method", method), needed))
    require_whole("half_window", half_window, 0)
    table = as_lazy(fitted, "fitted")
    require_columns(table.collect_schema().names(), ["method", "system", "segment", "value"], "fitted")
    for_method = pl.col("method").map_batches(
        _refuse_other(method), return_dtype=pl.Boolean, is_elementwise=True
    )
    table = table.filter(for_method).select("system", "segment", estimate="value")
    systems = table.group_by("system").agg(segments=pl.col("segment").max())
    known = pl.map_batches(
        ["segments", "system"], _refuse_unfitted, return_dtype=pl.Boolean, is_elementwise=True
    )
    rows = rows.join(systems, on="system", how="left").filter(known)
    if method == "slidefuse":
        return _with_window_mean(rows, table, half_window)
    rank, estimate = pl.col("rank"), pl.col("estimate")
    segment = {
        "mapfuse": pl.lit(1, pl.Int64),
        "posfuse": rank.floor().cast(pl.Int64),
        "probfuse": segment_of(None, pl.col("segments")),
    }
    rows = rows.with_columns(
        segment=segment[method] if method in segment else segment_of(SEGMENT_ENDS[method], 0)
    ).join(table, on=["system", "segment"], how="left")
    scaled = {"mapfuse": estimate / rank, "probfuse": estimate / pl.col("segment")}.get(method, estimate)
    return rows.with_columns(estimate=scaled.fill_null(_MISSING_ITEM if method == "bayesfuse" else 0.0))


def _with_window_mean(rows: pl.LazyFrame, table: pl.LazyFrame, half_window: int) -> pl.LazyFrame:
    """Average the estimates within `half_window` ranks of a row, clipped to its list."""
    first = (pl.col("rank") - half_window).clip(1)
    last = pl.min_horizontal(pl.col("rank") + half_window, "length")
    rows = rows.with_columns(before=first.ceil() - 1, last=last.floor())
    sums = table.sort("segment").select(
        "system", pl.col("segment").cast(pl.Float64), estimate=pl.col("estimate").cum_sum().over("system")
    )
    for end in ("before", "last"):
        rows = rows.sort(end, nulls_last=True).join_asof(
            sums.rename({"estimate": f"up_to_{end}", "segment": f"at_{end}"}).sort(f"at_{end}"),
            left_on=end,
            right_on=f"at_{end}",
            by="system",
            check_sortedness=False,
        )
    total = pl.col("up_to_last").fill_null(0.0) - pl.col("up_to_before").fill_null(0.0)
    return rows.with_columns(estimate=(total / (pl.col("last") - pl.col("before"))).fill_null(0.0))


def _refuse_other(method: str) -> Callable[[pl.Series], pl.Series]:
    def check(methods: pl.Series) -> pl.Series:
        others = [name for name in methods.unique() if name != method]
        if others:
            raise DataError(f"fitted is for method {others[0]!r}, not {method!r}; call fit_fusion again")
        return methods.is_not_null()

    return check


def _refuse_unfitted(series: Sequence[pl.Series]) -> pl.Series:
    segments, system = series
    if segments.null_count():
        name = system.filter(segments.is_null())[0]
        raise DataError(f"fitted has no row for the system {name!r}; fit it on runs of every system")
    return segments.is_not_null()


def segment_of(ends: Sequence[int] | None, segments: int | pl.Expr) -> pl.Expr:
    """Number the segment of the list that a rank is in, from 1; null for an item that the list lacks."""
    rank = pl.col("rank")
    if ends is not None:
        passed = pl.sum_horizontal((rank > end).cast(pl.Int64) for end in ends)
        return pl.when(rank.is_not_null()).then(1 + passed)
    return (rank / (pl.col("length") / segments).ceil()).ceil().cast(pl.Int64)
