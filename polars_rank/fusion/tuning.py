"""Tune fusion by cross-validation over a grid of settings, in one pass."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import TypeVar, cast

import polars as pl

from polars_rank.core.errors import DataError, require_choice, require_columns
from polars_rank.core.frames import Frame, as_frames, as_lazy, as_list, column, named_apart, renamed
from polars_rank.core.ordering import ItemTies, OrderBy
from polars_rank.evaluation.per_query import evaluate
from polars_rank.fusion.arguments import (
    ListOrder,
    RepeatedItems,
    RunColumns,
    require_finite,
    require_whole,
)
from polars_rank.fusion.methods import (
    BY_RANK,
    BY_SCORE,
    OWN_NORMALIZATION,
    MethodOptions,
    Normalization,
    fuse_rows,
)
from polars_rank.fusion.normalization import BY_POSITION, NORMALIZATIONS
from polars_rank.fusion.ranking import query_ids, ranked_rows, sorted_lists, sorted_sum
from polars_rank.fusion.runs import Runs, all_eager, stack
from polars_rank.fusion.weights import Weights, exact_unit, resolve_weights
from polars_rank.measures.names import parse

F = TypeVar("F", pl.DataFrame, pl.LazyFrame)

_SETTING = ("method", "normalize", "k", "weights")


def tune_fusion(
    runs: F | Mapping[str, F] | Sequence[F],
    qrels: Frame,
    measure: str = "nDCG@10",
    *,
    methods: Sequence[str] = ("rrf",),
    normalize: Sequence[str | None] = ("min_max",),
    k: Sequence[float] = (0, 1, 2, 5, 10, 20, 40, 60, 100, 200),
    weights: float | Sequence[Weights] | None = None,
    folds: int = 5,
    seed: int = 0,
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
    relevance: str = "relevance",
) -> F:
    r"""Choose method, k and weights by cross-validation over queries.

    $held\_out = mean_q \, measure(q, \text{the best setting on the other folds})$

    Every setting is scored on every judged query in one pass. For each fold, the best setting on the other
    folds is scored on it. `in_sample` is the value on the queries used for the choice, and is too high if
    many settings were tried; `held_out` is the value to expect on new queries.

    Parameters
    ----------
    runs
        As for `fuse`.
    order_by, descending, ties, rank_base, duplicates, systems, keys
    query, item, score, rank, system, relevance
        As in `fuse`; `relevance` is the name of the grade column.
        With `keys`, all rankings of a query are in the same fold.
    qrels
        One row per judgement: `query`, `item`, `relevance`.
    measure
        Name of the measure; its mean over the judged queries is optimized.
    methods, normalize, k, weights
        Values to try: `normalize` for methods by score without a fixed normalization, `k` for rrf.
        `weights` is a list of weights as in `fuse`, or a number, the step of a grid of weights that sum
        to 1; None is all 1. The defaults of `fuse` are always tried too.
    folds
        Number of folds, at least 2.
    seed
        Seed of the random assignment of queries to folds.

    Returns
    -------
    DataFrame or LazyFrame
        Lazy if a run is. One row per fold, and a last row for the choice on all queries, whose `fold` is
        null: `fold` (Int64), `queries` (number of held-out queries), `method`, `normalize`, `k`, `weights`
        (in the order of the lists; null is all 1), `in_sample`, `held_out`, `untuned` (the default `fuse`
        on the same queries). In the last row `held_out` is the mean over the queries of all folds.

    Raises
    ------
    DataError
        If a table is invalid, as in `fuse` and `judge`, or there are fewer judged queries than folds.
    ValueError
        If an option has an invalid value, or the method is a trained one.

    References
    ----------
    Stone 1974, doi:10.1111/j.2517-6161.1974.tb00994.x (cross-validated choice).

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> good = pl.DataFrame({"query": [1, 2, 3, 4], "item": [1, 2, 3, 4], "score": 1.0})
    >>> bad = good.with_columns(item=pl.lit(9))
    >>> tuned = rank.tune_fusion(
    ...     {"bad": bad, "good": good}, good.select("query", "item"), "RR", weights=[[1, 2], [2, 1]], folds=2
    ... )
    >>> tuned.select("fold", "weights", "in_sample", "held_out", "untuned").rows()[-1]
    (None, [1.0, 2.0], 1.0, 1.0, 0.5)
    """
    runs, keys = as_frames(runs, "runs"), as_list(keys)
    call = parse(measure)
    _check_grid(methods, normalize, k, descending=descending)
    require_whole("folds", folds, 2)
    require_whole("seed", seed, 0)
    names = _system_names(runs, systems, system)
    settings = _settings(methods, normalize, k, _weightings(weights, names))
    by_score = not {*methods}.isdisjoint(BY_SCORE)
    order = ListOrder(
        order_by,
        descending,
        ties,
        rank_base,
        duplicates,
        needs_score=by_score,
        finite=by_score and not {*normalize} <= {*BY_POSITION},
    )
    columns = RunColumns(query, item, score, rank, system, keys)
    stacked = stack(runs, systems=systems, order=order, columns=columns)
    lists = sorted_lists(stacked)
    if all_eager(runs):
        lists = lists.collect().lazy()
    rows = ranked_rows(lists, stacked.order)
    fused = _fuse_all(rows, settings, by_position=not stacked.by_rank).join(query_ids(lists), on="number")
    if keys:
        fused = fused.unnest("query")
    apart: list[str] = list(named_apart(keys, "keys").values())
    fused = fused.select("system", "query", *apart, "item", "rank")
    judged = renamed(as_lazy(qrels, "qrels"), {query: "query", item: "item", relevance: "relevance"})
    run = cast(F, fused.collect() if all_eager(runs) else fused)
    per_query = evaluate(run, [measure], qrels=judged, keys=["system", *apart], order_by="rank")
    values = per_query.lazy().select("query", setting="system", value=pl.col(measure).cast(pl.Float64))
    report = _cross_validated(values, folds, seed, lower_is_better=not call.measure.higher_is_better)
    report = report.join(settings.lazy(), on="setting", how="left").sort("fold", nulls_last=True)
    shown = report.select("fold", "queries", *_SETTING, "in_sample", "held_out", "untuned")
    return cast(F, shown.collect() if all_eager(runs) else shown)


def _check_grid(
    methods: Sequence[str],
    normalize: Sequence[str | None],
    k: Sequence[float],
    *,
    descending: bool,
) -> None:
    for argument, values in (("methods", methods), ("normalize", normalize), ("k", k)):
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise ValueError(f"{argument} must be a list of values to try, got {values!r}")
    for method in methods:
        require_choice("methods", method, (*BY_RANK, *BY_SCORE))
    for name in normalize:
        require_choice("normalize", name, (None, *NORMALIZATIONS))
    if "min_max_inverted" in normalize and descending:
        raise ValueError(
            "normalize holds 'min_max_inverted', which is for distances: use descending=False too"
        )
    for number in k:
        require_finite("k", number, low=0)


def _system_names(runs: Runs, systems: Sequence[str] | None, system: str) -> list[str] | None:
    """Names of the lists in their order; None for a lazy table."""
    if systems is not None:
        return list(systems)
    if isinstance(runs, Mapping):
        return list(runs)
    if isinstance(runs, pl.LazyFrame):
        return None
    if isinstance(runs, pl.DataFrame):
        require_columns(runs.columns, [system], "runs")
        return runs.select(column(system).drop_nulls().unique().sort()).to_series().to_list()
    return [str(place) for place in range(1, len(runs) + 1)]


def _weightings(
    weights: float | Sequence[Weights] | None, names: list[str] | None
) -> list[list[float] | None]:
    if weights is None:
        return [None]
    if names is None:
        raise ValueError("weights of a lazy table need systems=[...], so that each weight has a system")
    if isinstance(weights, Sequence) and not isinstance(weights, str) and len(weights):
        return [resolve_weights(each, names) for each in weights]
    step = float(weights) if isinstance(weights, int | float) and 0 < weights <= 1 else 0.0
    parts = round(1 / step) if step else 0
    if not parts or abs(parts * step - 1) > 1e-9:
        raise ValueError(f"weights must be a list of weights, or a step that divides 1, got {weights!r}")
    return [[part / parts for part in split] for split in _splits(parts, len(names))]


def _splits(parts: int, among: int) -> Iterator[tuple[int, ...]]:
    if among == 1:
        yield (parts,)
        return
    for first in range(parts, -1, -1):
        for rest in _splits(parts - first, among - 1):
            yield first, *rest


def _settings(
    methods: Sequence[str],
    normalize: Sequence[str | None],
    k: Sequence[float],
    weightings: Sequence[list[float] | None],
) -> pl.DataFrame:
    """List the settings; setting 0 is the default of `fuse`."""
    tried: list[tuple[str, str | None, float | None, list[float] | None]] = [("rrf", None, 60.0, None)]
    for method in methods:
        scales = normalize if method in BY_SCORE and method not in OWN_NORMALIZATION else [None]
        constants = [float(number) for number in k] if method == "rrf" else [None]
        tried += product([method], scales, constants, weightings)
    types = [pl.String(), pl.String(), pl.Float64(), pl.List(pl.Float64())]
    schema = dict(zip(_SETTING, types, strict=True))
    return pl.DataFrame(tried, schema=schema, orient="row").with_row_index("setting")


def _fuse_all(rows: pl.LazyFrame, settings: pl.DataFrame, *, by_position: bool) -> pl.LazyFrame:
    """Fuse with every setting: `system` (number of the setting), `number` of the query, `item`, `rank`."""
    weights = pl.col("weights")
    weighed = settings.with_columns(
        counted=weights.list.eval(pl.element() > 0).list.sum().cast(pl.Float64), total=weights.list.sum()
    )
    plans, unit = [], exact_unit(settings["k"].drop_nulls().to_list(), *settings["weights"].to_list())
    for (method, normalize), group in weighed.group_by("method", "normalize", maintain_order=True):
        each = rows.join(group.lazy().drop("method", "normalize"), how="cross").with_columns(
            weight=weights.list.get(pl.col("list")).fill_null(1.0),
            systems=pl.coalesce("counted", "systems"),
            total_weight=pl.coalesce("total", "total_weight"),
            # From here on, a query with a setting is a query of its own.
            query=pl.col("setting").cast(pl.Int64) * 2**32 + pl.col("query"),
        )
        each = each.drop("setting", "weights", "counted", "total")
        parameters = MethodOptions(k=pl.col("k"), unit=unit, by_position=by_position)
        plans.append(fuse_rows(each, str(method), parameters, Normalization(cast("str | None", normalize))))
    known = pl.col("score").fill_nan(None)
    order = pl.struct(known.is_not_null().alias("known"), known, -pl.col("first"))
    return (
        pl.concat(plans)
        .with_columns(rank=order.rank("ordinal", descending=True).over("query"))
        .with_columns(number=(pl.col("query") % 2**32).cast(pl.UInt32), system=pl.col("query") // 2**32)
        .select("system", "number", "item", "rank")
    )


def _cross_validated(values: pl.LazyFrame, folds: int, seed: int, *, lower_is_better: bool) -> pl.LazyFrame:
    """Choose a setting for each fold from the other folds, and one from all."""
    queries = values.select("query").unique().sort("query").map_batches(_refuse_fewer(folds))
    fold = (pl.int_range(pl.len()).shuffle(seed=seed) % folds + 1).alias("fold")
    by_fold = (
        values.join(queries.with_columns(fold), on="query")
        .group_by("setting", "fold")
        .agg(total=sorted_sum(pl.col("value")), queries=pl.col("value").count())
    )
    mean = sorted_sum(pl.col("total")) / pl.col("queries").sum()
    others = by_fold.join(by_fold.select("setting", held="fold"), on="setting").filter(
        pl.col("fold") != pl.col("held")
    )
    by_others = others.group_by("setting", "held").agg(in_sample=mean)
    by_all = by_fold.group_by("setting").agg(in_sample=mean, held=pl.lit(None, pl.Int64))
    candidates = pl.concat([by_others, by_all.select("setting", "held", "in_sample")])
    # Of equal settings the first: the untuned one, then in grid order.
    best_first = pl.col("setting", "in_sample").sort_by(
        "in_sample", "setting", descending=[not lower_is_better, False]
    )
    chosen = candidates.group_by("held").agg(best_first.first()).rename({"held": "fold"})
    untuned = by_fold.filter(pl.col("setting") == 0).select("fold", untuned_total="total")
    parts = chosen.join(by_fold, on=["setting", "fold"]).join(untuned, on="fold")
    scores = {"held_out": pl.col("total"), "untuned": pl.col("untuned_total")}
    per_fold = parts.select(
        "fold",
        "setting",
        "in_sample",
        "queries",
        *((total / pl.col("queries")).alias(name) for name, total in scores.items()),
    )
    overall = parts.select(
        pl.col("queries").sum(),
        *((sorted_sum(total) / pl.col("queries").sum()).alias(name) for name, total in scores.items()),
    )
    last = chosen.filter(pl.col("fold").is_null()).join(overall, how="cross")
    return pl.concat([per_fold, last], how="diagonal")


def _refuse_fewer(folds: int) -> Callable[[pl.DataFrame], pl.DataFrame]:
    def check(queries: pl.DataFrame) -> pl.DataFrame:
        if queries.height < folds:
            raise DataError(
                f"there are {queries.height} judged queries for {folds} folds; use at most that many folds"
            )
        return queries

    return check
