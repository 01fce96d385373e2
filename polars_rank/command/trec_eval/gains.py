"""The values of trec_eval from gains, persistence and unjudged items; see `values`."""

from collections.abc import Mapping, Sequence
from itertools import count
from math import log2

import polars as pl

from polars_rank.command.trec_eval.measures import Wanted

UNPOOLED, UNJUDGED = -1, -2
"""Codes of trec_eval for an item without a judgement, and one with a negative grade."""

GAINED = ("dcg", "ideal_dcg", "ndcg", "ndcg_rel", "Rndcg", "G", "ndcg_cut")
"""Measures based on gains."""


def running(value: pl.Expr) -> pl.Expr:
    """Cumulative sum by rank."""
    return value.cum_sum().over("query", order_by="rank")


def numbers(wanted: Sequence[Wanted], *measures: str) -> list[float]:
    """Sorted parameters of these measures."""
    return sorted({number for each in wanted if each.measure in measures for number in each.numbers})


def discount(place: pl.Expr, rows: pl.DataFrame) -> pl.Expr:
    """log2 of whole numbers exactly as in C; Polars divides two logarithms."""
    most = rows.select(place.max()).item() or 0
    return pl.lit(pl.Series([0.0, *(log2(i) for i in range(1, most + 1))])).gather(place)


def by_gain(grades: pl.DataFrame, returned: pl.DataFrame, wanted: Sequence[Wanted]) -> list[pl.DataFrame]:
    """Score the measures based on gains and persistence: one table per choice of parameters."""
    cutoffs = numbers(wanted, "ndcg_cut")
    choices = {choice_of(each): each.gains for each in wanted if each.measure in GAINED}
    tables = [_discounted(grades, returned, gains, cutoffs, name) for name, gains in choices.items()]
    for each in wanted:
        if each.measure == "rbp":
            tables.append(_rank_biased(grades, returned, each))
        elif each.measure == "rbp_resid":
            tables.append(_residual(returned, each))
        elif each.measure == "unj":
            unjudged = {
                f"unjudged@{k}": ((pl.col("code") < 0) & (pl.col("rank") <= k)).sum() for k in each.numbers
            }
            tables.append(returned.group_by("query").agg(**unjudged))
        elif each.measure == "relstring":
            tables.append(_relevances(returned, each.numbers[0]))
    return tables


def choice_of(wanted: Wanted) -> str:
    """Name of the chosen gains; empty if the gains are the grades."""
    return ",".join(f"{level}={gain}" for level, gain in wanted.gains.items())


def _gain(gains: Mapping[int, float]) -> pl.Expr:
    gain = pl.when(pl.col("code") >= 0).then(pl.col("code").cast(pl.Float64)).otherwise(0.0)
    for level, chosen in gains.items():
        gain = pl.when(pl.col("code") == level).then(pl.lit(chosen)).otherwise(gain)
    return gain.alias("gain")


def _discounted(
    grades: pl.DataFrame,
    returned: pl.DataFrame,
    gains: Mapping[int, float],
    cutoffs: Sequence[float],
    choice: str,
) -> pl.DataFrame:
    """Walk down the ranking and down the ideal one; the columns' names end in the choice of gains."""
    ideal = _ideal(grades, gains)
    size = ideal.group_by("query").agg(
        size=pl.len().cast(pl.Int64),
        ideal_dcg=pl.col("ideal").max(),
        ideal_gain=pl.col("gain").sort_by("place").cum_sum().last(),
        **{f"ideal@{k}": pl.col("ideal").filter(pl.col("place") <= k).max() for k in cutoffs},
    )
    place = pl.col("rank")
    walked = (
        returned.with_columns(_gain(gains))
        .with_columns(
            dcg=running(pl.col("gain") / discount(place + 1, returned)),
            gained=running(pl.col("gain")),
        )
        .join(size, on="query", how="left")
        .with_columns(pl.col("size").fill_null(0))
    )
    length = pl.col("length")
    whole = walked.group_by("query").agg(
        dcg=pl.col("dcg").filter(place == length).sum(),
        **{
            f"dcg@{k}": pl.col("dcg").filter(place == pl.min_horizontal(pl.lit(k), length)).sum()
            for k in cutoffs
        },
    )
    beside = walked.filter(pl.col("gain") != 0).join(
        ideal.select("query", "place", "ideal", "cost"),
        left_on=["query", pl.min_horizontal("rank", "size")],
        right_on=["query", "place"],
        how="left",
    )
    cost = pl.col("cost").fill_null(0.0) + pl.max_horizontal(place - pl.col("size"), 0)
    averaged = (
        beside.with_columns(
            share=pl.col("dcg") / pl.col("ideal"),
            worth=pl.col("gain") / (2 + cost - pl.col("gained")).log(2),
        )
        .group_by("query")
        .agg(
            in_order(pl.col("share").filter(pl.col("gain") > 0), place.filter(pl.col("gain") > 0)),
            in_order(pl.col("worth"), place),
            better=(pl.col("gain") > 0).sum().cast(pl.Int64),
        )
    )
    tables = [whole, averaged, _at_levels(ideal, walked)]
    for table in tables:
        size = size.join(table, on="query", how="full", coalesce=True)
    return size.rename({name: f"{name}|{choice}" for name in size.columns if name != "query"})


def in_order(value: pl.Expr, place: pl.Expr) -> pl.Expr:
    """Sum in the order of `place`, one value after the other."""
    return value.sort_by(place).cum_sum().last()


def _ideal(grades: pl.DataFrame, gains: Mapping[int, float]) -> pl.DataFrame:
    """Sort what gains anything, the best first, with what was gained and at what cost down to each."""
    place = pl.int_range(1, pl.len() + 1).over("query")
    ideal = (
        grades.filter(pl.col("code") >= 0)
        .select("query", _gain(gains))
        .filter(pl.col("gain") > 0)
        .sort("query", "gain", descending=[False, True])
        .with_columns(place=place)
    )
    discounted = pl.col("gain") / discount(pl.col("place") + 1, ideal)
    return ideal.with_columns(
        ideal=discounted.cum_sum().over("query", order_by="place"),
        cost=pl.max_horizontal("gain", 1.0).cum_sum().over("query", order_by="place"),
    )


def _at_levels(ideal: pl.DataFrame, walked: pl.DataFrame) -> pl.DataFrame:
    """Average ndcg over the places where the ideal gain changes, and the end of what was returned."""
    changes = ideal.group_by("query", "gain").agg(pl.col("place").max(), pl.col("ideal").max())
    ends = walked.filter(pl.col("rank") == pl.col("length"))
    last = ends.filter(pl.col("length") >= pl.col("size") + 2).select(
        "query", place=pl.col("length"), ideal=pl.col("ideal_dcg")
    )
    points = pl.concat([changes.select("query", "place", "ideal"), last])
    points = points.join(ends.select("query", "length"), on="query", how="left")
    seen = points.join(
        walked.select("query", "rank", "dcg"),
        left_on=["query", pl.min_horizontal("place", "length")],
        right_on=["query", "rank"],
        how="left",
    )
    share = pl.col("dcg").fill_null(0.0) / pl.col("ideal")
    return seen.group_by("query").agg(levels=in_order(share, pl.col("place")) / pl.len())


def _rank_biased(grades: pl.DataFrame, returned: pl.DataFrame, wanted: Wanted) -> pl.DataFrame:
    """Sum gains that wear off; gains beyond 0 to 1 are brought there by the query's own range."""
    # All levels up to the query's highest grade count, whether an item has them or not.
    lowest = next(level for level in count() if level not in wanted.gains)
    highest = pl.col("code").max()
    for level in sorted(wanted.gains, reverse=True):
        highest = pl.when(highest == level).then(level - 1).otherwise(highest)
    plain = highest >= lowest
    chosen = [pl.lit(gain) for gain in wanted.gains.values()]
    ranges = grades.group_by("query").agg(
        least=pl.min_horizontal(pl.when(plain).then(float(lowest)), *chosen),
        most=pl.max_horizontal(pl.when(plain).then(highest.cast(pl.Float64)), *chosen),
    )
    known = (pl.col("code") >= 0) | pl.col("code").is_in(list(wanted.gains))
    beyond = (pl.col("least") < 0) | (pl.col("most") > 1)
    scaled = (pl.col("gain") - pl.col("least")) / (pl.col("most") - pl.col("least"))
    worth = pl.when(known & beyond).then(scaled).otherwise("gain") * _weight(wanted.persistence, returned)
    rows = returned.with_columns(_gain(wanted.gains)).join(ranges, on="query", how="left")
    total = in_order(worth, pl.col("rank"))
    return rows.group_by("query").agg(((1 - wanted.persistence) * total).alias("|".join(wanted.names)))


def _residual(returned: pl.DataFrame, wanted: Wanted) -> pl.DataFrame:
    p = wanted.persistence
    weight = _weight(p, returned)
    unjudged = pl.col("code") < 0
    total = in_order(pl.when(unjudged).then(weight).otherwise(0.0), pl.col("rank"))
    rest = weight.filter(pl.col("rank") == pl.col("length")).sum() * p
    value = pl.when(unjudged.any()).then(rest + (1 - p) * total).otherwise(0.0)
    return returned.group_by("query").agg(value.alias("|".join(wanted.names)))


def _weight(persistence: float, returned: pl.DataFrame) -> pl.Expr:
    """Multiply step by step, as trec_eval does."""
    longest = returned.select(pl.col("rank").max()).item() or 0
    weights = pl.Series([1.0] + [persistence] * longest).cum_prod()
    return pl.lit(weights).gather(pl.col("rank") - 1)


def _relevances(returned: pl.DataFrame, length: float) -> pl.DataFrame:
    code = pl.col("code")
    letter = (
        pl.when(code > 9)
        .then(pl.lit(">"))
        .when(code >= 0)
        .then(code.cast(pl.String))
        .otherwise(pl.when(code == UNPOOLED).then(pl.lit("-")).otherwise(pl.lit(".")))
    )
    top = returned.filter(pl.col("rank") <= length)
    return top.group_by("query").agg(relevances=letter.sort_by("rank").str.join(""))
