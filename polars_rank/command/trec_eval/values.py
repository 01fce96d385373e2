"""The values of trec_eval per query, with its order of additions.

The measures themselves are in `polars_rank.measures`. Here each sum is taken in the order of
trec_eval, because the last bit decides how a mean half way between two printed numbers, such as 0.00625, is
rounded. Six measures exist only here: yaap, relstring, binG, G, ndcg_rel, Rndcg.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from polars_rank.command.trec_eval.gains import (
    UNJUDGED,
    UNPOOLED,
    by_gain,
    choice_of,
    discount,
    numbers,
    running,
)
from polars_rank.command.trec_eval.measures import Wanted
from polars_rank.measures.trec_eval_names import Version

LEAST = 0.00001
"""The least value that enters a geometric mean."""

EPSILON = 0.00001
"""Smoothing constant of infAP."""


class Options(NamedTuple):
    """Options that apply to all measures."""

    version: Version = 10
    level: int = 1
    collection: int = 0


def ranking_values(judged: pl.DataFrame, wanted: Sequence[Wanted], options: Options) -> pl.DataFrame:
    """Score the rankings of a judged table: one row per query, in byte order, one column per name."""
    grades, returned = _coded(judged, options)
    scored = _facts(grades, returned)
    for part in (_binary(returned, wanted, options), *by_gain(grades, returned, wanted)):
        scored = scored.join(part, on="query", how="left")
    scored = scored.with_columns(pl.all().exclude("query", "relevances").fill_null(0))
    columns = [
        value.alias(name)
        for each in wanted
        if each.measure in FORMULAS
        for name, value in zip(each.names, FORMULAS[each.measure](each, options), strict=True)
    ]
    return scored.sort("query").select("query", *columns)


def _coded(judged: pl.DataFrame, options: Options) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return all judgements, and the returned rows by rank with their running counts."""
    code = (
        pl.when(pl.col("relevance") < 0)
        .then(UNJUDGED)
        .otherwise(pl.col("relevance").cast(pl.Int64).fill_null(UNPOOLED))
    )
    hit = (pl.col("code") >= options.level).alias("hit")
    other = pl.col("code").is_between(0, options.level - 1)
    coded = judged.select("query", "rank", code=code).with_columns(hit, other.alias("other"))
    grades = coded.filter(pl.col("code") != UNPOOLED).with_columns(
        relevant=pl.col("hit").sum().over("query"), others=pl.col("other").sum().over("query")
    )
    totals = grades.select("query", "relevant", "others").unique()
    returned = (
        coded.filter(pl.col("rank") >= 1)
        .join(totals, on="query", how="left")
        .with_columns(pl.col("relevant", "others").fill_null(0).cast(pl.Int64))
        .sort("query", "rank")
        .with_columns(
            found=running(pl.col("hit").cast(pl.Int64)),
            above=running(pl.col("other").cast(pl.Int64)),
            pooled=running((pl.col("code") == UNJUDGED).cast(pl.Int64)),
            length=pl.len().over("query").cast(pl.Int64),
        )
    )
    return grades, returned


def _facts(grades: pl.DataFrame, returned: pl.DataFrame) -> pl.DataFrame:
    totals = grades.group_by("query").agg(
        num_rel=pl.col("hit").sum().cast(pl.Int64),
    )
    counted = returned.group_by("query").agg(
        num_ret=pl.len().cast(pl.Int64),
        num_rel_ret=pl.col("hit").sum().cast(pl.Int64),
        num_other_ret=pl.col("other").sum().cast(pl.Int64),
    )
    queries = pl.concat([grades.select("query"), returned.select("query")]).unique()
    return queries.join(totals, on="query", how="left").join(counted, on="query", how="left")


def _binary(returned: pl.DataFrame, wanted: Sequence[Wanted], options: Options) -> pl.DataFrame:
    """Aggregate the relevant rows, at all wanted cutoffs."""
    rank, found, above = pl.col("rank"), pl.col("found"), pl.col("above")
    relevant = pl.col("relevant")
    before = found - 1
    known = before + above
    inferred = 1 / rank + (rank - 1) / rank * ((known + pl.col("pooled")) / (rank - 1)) * (
        (before + EPSILON) / (known + 2 * EPSILON)
    )
    lost = pl.min_horizontal(above, relevant) / pl.min_horizontal("others", relevant)
    hits = returned.filter("hit").with_columns(
        precision=found / rank,
        kept=running(pl.when(above > 0).then(1 - lost).otherwise(1.0)),
        inferred=running(pl.when(rank == 1).then(1.0).otherwise(inferred)),
        gained=running(1 / discount(2 + rank - found, returned)),
    )
    hits = hits.with_columns(summed=running(pl.col("precision")))
    cutoffs = numbers(wanted, "P", "recall", "success", "map_cut", "relative_P")
    shares = numbers(wanted, "iprec_at_recall", "11pt_avg")
    multiples = numbers(wanted, "Rprec_mult")
    return hits.group_by("query").agg(
        pl.col("summed", "kept", "inferred", "gained").max(),
        first=rank.min(),
        found_at_r=(rank <= relevant).sum().cast(pl.Int64),
        **{f"found@{k}": (rank <= k).sum().cast(pl.Int64) for k in cutoffs},
        **{f"summed@{k}": pl.col("summed").filter(rank <= k).max() for k in cutoffs},
        **{
            f"precision@{share}": pl.col("precision")
            .filter(found >= _needed(share, relevant, options.version))
            .max()
            for share in shares
        },
        **{
            f"found*{multiple}": (rank <= _multiple(multiple, relevant)).sum().cast(pl.Int64)
            for multiple in multiples
        },
    )


def _needed(share: float, relevant: pl.Expr, version: Version) -> pl.Expr:
    """Number of relevant items for a recall level: 9 nearly always rounds up, 10 to the nearest."""
    if version == 9:
        return _multiple(share, relevant)
    return (share * relevant).round(0, mode="half_away_from_zero")


def _multiple(share: float, relevant: pl.Expr) -> pl.Expr:
    # No ranking is longer than 2^62, and a column can't hold much larger numbers.
    return (share * relevant + 0.9).clip(-(2.0**62), 2.0**62).cast(pl.Int64)


def _share(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Divide; 0 / 0 is 0."""
    return pl.when(whole != 0).then(part / whole).otherwise(0.0)


def _divisor(number: float) -> pl.Expr:
    """Convert a number to a column: Polars divides by a literal as * (1 / number), which is off by a bit."""
    return _retrieved * 0 + number


def _geometric(value: pl.Expr) -> pl.Expr:
    return pl.max_horizontal(value, LEAST).log()


_retrieved, _relevant, _hits = pl.col("num_ret"), pl.col("num_rel"), pl.col("num_rel_ret")


def _set_f(wanted: Wanted, _: Options) -> list[pl.Expr]:
    x = wanted.numbers[0]
    precision, recall = _hits / _retrieved, _hits / _relevant
    return [pl.when(_hits > 0).then((x + 1) * precision * recall / (x * precision + recall)).otherwise(0.0)]


def _utility(wanted: Wanted, options: Options) -> list[pl.Expr]:
    a, b, c, d = wanted.numbers
    rest = options.collection + _hits - _retrieved - _relevant
    return [a * _hits + b * (_retrieved - _hits) + c * (_relevant - _hits) + d * rest]


def _cut(column: str, whole: Callable[[float], pl.Expr]) -> "Formula":
    return lambda wanted, _: [_share(pl.col(f"{column}@{k}"), whole(k)) for k in wanted.numbers]


def _interpolated(wanted: Wanted, _: Options) -> list[pl.Expr]:
    return [pl.col(f"precision@{share}") for share in wanted.numbers]


def _eleven_points(wanted: Wanted, _: Options) -> list[pl.Expr]:
    # trec_eval adds up from the highest recall down.
    total = pl.lit(0.0)
    for share in reversed(wanted.numbers):
        total = total + pl.col(f"precision@{share}")
    return [total / _divisor(len(wanted.numbers))]


def _gained(value: Callable[[Callable[[str], pl.Expr]], pl.Expr]) -> "Formula":
    def formula(wanted: Wanted, _: Options) -> list[pl.Expr]:
        return [value(lambda column: pl.col(f"{column}|{choice_of(wanted)}"))]

    return formula


def _ndcg_rel(column: Callable[[str], pl.Expr]) -> pl.Expr:
    missed = (column("size") - column("better")) * column("dcg") / column("ideal_dcg")
    total = column("share") + missed.fill_nan(0.0)
    return pl.when(total > 0).then(total / column("size")).otherwise(0.0)


def _single(value: pl.Expr) -> "Formula":
    return lambda *_: [value]


Formula = Callable[[Wanted, Options], list[pl.Expr]]

FORMULAS: dict[str, Formula] = {
    "num_ret": _single(_retrieved),
    "num_rel": _single(_relevant),
    "num_rel_ret": _single(_hits),
    "map": _single(_share(pl.col("summed"), _relevant)),
    "gm_map": _single(_geometric(_share(pl.col("summed"), _relevant))),
    "Rprec": _single(_share(pl.col("found_at_r"), _relevant)),
    "bpref": _single(_share(pl.col("kept"), _relevant)),
    "recip_rank": _single(_share(pl.lit(1.0), pl.col("first"))),
    "iprec_at_recall": _interpolated,
    "P": _cut("found", _divisor),
    "relstring": _single(pl.col("relevances").fill_null("")),
    "recall": _cut("found", lambda _: _relevant),
    "infAP": _single(_share(pl.col("inferred"), _relevant)),
    "gm_bpref": _single(_geometric(_share(pl.col("kept"), _relevant))),
    "Rprec_mult": lambda wanted, _: [
        _share(pl.col(f"found*{number}"), _multiple(number, _relevant)) for number in wanted.numbers
    ],
    "utility": _utility,
    "11pt_avg": _eleven_points,
    "binG": _single(_share(pl.col("gained"), _relevant)),
    "dcg": _gained(lambda column: column("dcg")),
    "ideal_dcg": _gained(lambda column: column("ideal_dcg")),
    "ndcg": _gained(lambda column: _share(column("dcg"), column("ideal_dcg"))),
    "ndcg_rel": _gained(_ndcg_rel),
    "Rndcg": _gained(lambda column: pl.when(_relevant > 0).then(column("levels")).otherwise(0.0)),
    "G": _gained(lambda column: _share(column("worth"), column("ideal_gain"))),
    "ndcg_cut": lambda wanted, _: [
        _share(pl.col(f"dcg@{k}|"), pl.col(f"ideal@{k}|")) for k in wanted.numbers
    ],
    "map_cut": lambda wanted, _: [_share(pl.col(f"summed@{k}"), _relevant) for k in wanted.numbers],
    "relative_P": _cut("found", lambda k: pl.min_horizontal(pl.lit(k), _relevant)),
    "success": lambda wanted, _: [(pl.col(f"found@{k}") > 0).cast(pl.Float64) for k in wanted.numbers],
    "set_P": _single(_share(_hits, _retrieved)),
    "set_relative_P": _single(_share(_hits, pl.min_horizontal(_retrieved, _relevant))),
    "set_recall": _single(_share(_hits, _relevant)),
    "set_map": _single(_share(_hits * _hits, _retrieved * _relevant)),
    "set_F": _set_f,
    "num_nonrel_judged_ret": _single(pl.col("num_other_ret")),
    "yaap": _single(((1 + pl.col("summed")) / (1 + _relevant - pl.col("summed"))).log()),
    "rbp": lambda wanted, _: [pl.col("|".join(wanted.names))],
    "rbp_resid": lambda wanted, _: [pl.col("|".join(wanted.names))],
    "unj": _cut("unjudged", _divisor),
}
