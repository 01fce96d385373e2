"""What trec_eval computes, query by query, with its own order of additions.

The measures themselves are in `polars_rank.measures`. Here each sum is taken in the order in which
trec_eval takes it, because a mean that lies half way between two printed numbers, such as 0.00625, is
printed up or down by its last bit. Six measures are nowhere else: yaap, relstring, binG, G, ndcg_rel, Rndcg.
"""

from collections.abc import Callable, Mapping, Sequence
from math import log2
from typing import Literal, NamedTuple

import polars as pl

Version = Literal[9, 10]

UNPOOLED, UNJUDGED = -1, -2
"""What trec_eval calls an item without a judgement, and one with a negative grade."""

LEAST = 0.00001
"""The least value that enters a geometric mean."""

EPSILON = 0.00001
"""What smooths the shares of infAP."""


class Wanted(NamedTuple):
    """A measure, what is printed for its name, one a number, and its parameters."""

    measure: str
    names: Sequence[str]
    numbers: Sequence[float] = ()
    gains: Mapping[int, float] = {}
    persistence: float = 0.9


class Options(NamedTuple):
    """What the command line says of all measures."""

    version: Version = 10
    level: int = 1
    collection: int = 0


def values(judged: pl.DataFrame, wanted: Sequence[Wanted], options: Options) -> pl.DataFrame:
    """Score the rankings of a judged table: one row a query, in order of their bytes, one column a name."""
    grades, returned = _coded(judged, options)
    scored = _facts(grades, returned)
    for part in (_binary(returned, wanted, options), *_by_gain(grades, returned, wanted)):
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
    """Give all judgements, and the returned rows by rank with what was seen down to them."""
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
            found=_running(pl.col("hit").cast(pl.Int64)),
            above=_running(pl.col("other").cast(pl.Int64)),
            pooled=_running((pl.col("code") == UNJUDGED).cast(pl.Int64)),
            length=pl.len().over("query").cast(pl.Int64),
        )
    )
    return grades, returned


def _running(value: pl.Expr) -> pl.Expr:
    """Sum down each ranking, one row after the other."""
    return value.cum_sum().over("query", order_by="rank")


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
    """Sum up what needs relevant rows alone, at all cutoffs that somebody wants."""
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
        kept=_running(pl.when(above > 0).then(1 - lost).otherwise(1.0)),
        inferred=_running(pl.when(rank == 1).then(1.0).otherwise(inferred)),
        gained=_running(1 / _discount(2 + rank - found, returned)),
    )
    hits = hits.with_columns(summed=_running(pl.col("precision")))
    cutoffs = _numbers(wanted, "P", "recall", "success", "map_cut", "relative_P")
    shares = _numbers(wanted, "iprec_at_recall", "11pt_avg")
    multiples = _numbers(wanted, "Rprec_mult")
    return hits.group_by("query").agg(
        pl.col("summed", "kept", "inferred", "gained").max(),
        first=rank.min(),
        found_at_r=(rank <= relevant).sum().cast(pl.Int64),
        **{f"found@{k:g}": (rank <= k).sum().cast(pl.Int64) for k in cutoffs},
        **{f"summed@{k:g}": pl.col("summed").filter(rank <= k).max() for k in cutoffs},
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


def _numbers(wanted: Sequence[Wanted], *measures: str) -> list[float]:
    return sorted({number for each in wanted if each.measure in measures for number in each.numbers})


def _needed(share: float, relevant: pl.Expr, version: Version) -> pl.Expr:
    """How many relevant items make up a share of recall: 9 rounds nearly always up, 10 to the nearest."""
    if version == 9:
        return _multiple(share, relevant)
    return (share * relevant).round(0, mode="half_away_from_zero")


def _multiple(share: float, relevant: pl.Expr) -> pl.Expr:
    return (share * relevant + 0.9).cast(pl.Int64)


def _discount(place: pl.Expr, rows: pl.DataFrame) -> pl.Expr:
    """Give log2 of whole numbers, exactly as C does, where Polars divides two logarithms."""
    most = rows.select(place.max()).item() or 0
    return pl.lit(pl.Series([0.0, *(log2(i) for i in range(1, most + 1))])).gather(place)


def _by_gain(grades: pl.DataFrame, returned: pl.DataFrame, wanted: Sequence[Wanted]) -> list[pl.DataFrame]:
    """Score what goes by gains and by persistence: one table for each choice of these."""
    cutoffs = _numbers(wanted, "ndcg_cut")
    choices = {_choice(each): each.gains for each in wanted if each.measure in (*GAINED, "ndcg_cut")}
    tables = [_discounted(grades, returned, gains, cutoffs, name) for name, gains in choices.items()]
    for each in wanted:
        if each.measure == "rbp":
            tables.append(_rank_biased(grades, returned, each))
        elif each.measure == "rbp_resid":
            tables.append(_residual(returned, each))
        elif each.measure == "unj":
            unjudged = {
                f"unjudged@{k:g}": ((pl.col("code") < 0) & (pl.col("rank") <= k)).sum() for k in each.numbers
            }
            tables.append(returned.group_by("query").agg(**unjudged))
        elif each.measure == "relstring":
            tables.append(_relevances(returned, int(each.numbers[0])))
    return tables


def _choice(wanted: Wanted) -> str:
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
        **{f"ideal@{k:g}": pl.col("ideal").filter(pl.col("place") <= k).max() for k in cutoffs},
    )
    place = pl.col("rank")
    walked = (
        returned.with_columns(_gain(gains))
        .with_columns(
            dcg=_running(pl.col("gain") / _discount(place + 1, returned)),
            gained=_running(pl.col("gain")),
        )
        .join(size, on="query", how="left")
        .with_columns(pl.col("size").fill_null(0))
    )
    length = pl.col("length")
    whole = walked.group_by("query").agg(
        dcg=pl.col("dcg").filter(place == length).sum(),
        **{
            f"dcg@{k:g}": pl.col("dcg").filter(place == pl.min_horizontal(pl.lit(k), length)).sum()
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
            _in_order(pl.col("share").filter(pl.col("gain") > 0), place.filter(pl.col("gain") > 0)),
            _in_order(pl.col("worth"), place),
            better=(pl.col("gain") > 0).sum().cast(pl.Int64),
        )
    )
    tables = [whole, averaged, _at_levels(ideal, walked)]
    for table in tables:
        size = size.join(table, on="query", how="full", coalesce=True)
    return size.rename({name: f"{name}|{choice}" for name in size.columns if name != "query"})


def _in_order(value: pl.Expr, place: pl.Expr) -> pl.Expr:
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
    discount = _discount(pl.col("place") + 1, ideal)
    return ideal.with_columns(
        ideal=(pl.col("gain") / discount).cum_sum().over("query", order_by="place"),
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
    return seen.group_by("query").agg(levels=_in_order(share, pl.col("place")) / pl.len())


def _rank_biased(grades: pl.DataFrame, returned: pl.DataFrame, wanted: Wanted) -> pl.DataFrame:
    """Sum gains that wear off; gains beyond 0 to 1 are brought there by the query's own range."""
    chosen = list(wanted.gains.values())
    ranges = (
        grades.group_by("query")
        .agg(code=pl.int_ranges(0, pl.col("code").max() + 1))
        .explode("code")
        .select("query", _gain(wanted.gains))
        .group_by("query")
        .agg(
            least=pl.min_horizontal(pl.col("gain").min(), *map(pl.lit, chosen)),
            most=pl.max_horizontal(pl.col("gain").max(), *map(pl.lit, chosen)),
        )
    )
    known = (pl.col("code") >= 0) | pl.col("code").is_in(list(wanted.gains))
    beyond = (pl.col("least") < 0) | (pl.col("most") > 1)
    scaled = (pl.col("gain") - pl.col("least")) / (pl.col("most") - pl.col("least"))
    worth = pl.when(known & beyond).then(scaled).otherwise("gain") * _weight(wanted.persistence, returned)
    rows = returned.with_columns(_gain(wanted.gains)).join(ranges, on="query", how="left")
    total = _in_order(worth, pl.col("rank"))
    return rows.group_by("query").agg(((1 - wanted.persistence) * total).alias("|".join(wanted.names)))


def _residual(returned: pl.DataFrame, wanted: Wanted) -> pl.DataFrame:
    p = wanted.persistence
    weight = _weight(p, returned)
    unjudged = pl.col("code") < 0
    total = _in_order(pl.when(unjudged).then(weight).otherwise(0.0), pl.col("rank"))
    rest = weight.filter(pl.col("rank") == pl.col("length")).sum() * p
    value = pl.when(unjudged.any()).then(rest + (1 - p) * total).otherwise(0.0)
    return returned.group_by("query").agg(value.alias("|".join(wanted.names)))


def _weight(persistence: float, returned: pl.DataFrame) -> pl.Expr:
    """Multiply step by step, as trec_eval does."""
    longest = returned.select(pl.col("rank").max()).item() or 0
    weights = pl.Series([1.0] + [persistence] * longest).cum_prod()
    return pl.lit(weights).gather(pl.col("rank") - 1)


def _relevances(returned: pl.DataFrame, length: int) -> pl.DataFrame:
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


def _share(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Divide; nothing of nothing is nothing."""
    return pl.when(whole != 0).then(part / whole).otherwise(0.0)


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
    return lambda wanted, _: [_share(pl.col(f"{column}@{k:g}"), whole(k)) for k in wanted.numbers]


def _interpolated(wanted: Wanted, _: Options) -> list[pl.Expr]:
    return [pl.col(f"precision@{share}") for share in wanted.numbers]


def _eleven_points(wanted: Wanted, _: Options) -> list[pl.Expr]:
    # trec_eval adds up from the highest recall down.
    total = pl.lit(0.0)
    for share in reversed(wanted.numbers):
        total = total + pl.col(f"precision@{share}")
    return [total / len(wanted.numbers)]


def _gained(value: Callable[[Callable[[str], pl.Expr]], pl.Expr]) -> "Formula":
    def formula(wanted: Wanted, _: Options) -> list[pl.Expr]:
        return [value(lambda column: pl.col(f"{column}|{_choice(wanted)}"))]

    return formula


def _ndcg_rel(column: Callable[[str], pl.Expr]) -> pl.Expr:
    missed = (column("size") - column("better")) * column("dcg") / column("ideal_dcg")
    total = column("share") + missed.fill_nan(0.0)
    return pl.when(total > 0).then(total / column("size")).otherwise(0.0)


def _single(value: pl.Expr) -> "Formula":
    return lambda *_: [value]


Formula = Callable[[Wanted, Options], list[pl.Expr]]

GAINED: dict[str, Formula] = {
    "dcg": _gained(lambda column: column("dcg")),
    "ideal_dcg": _gained(lambda column: column("ideal_dcg")),
    "ndcg": _gained(lambda column: _share(column("dcg"), column("ideal_dcg"))),
    "ndcg_rel": _gained(_ndcg_rel),
    "Rndcg": _gained(lambda column: pl.when(_relevant > 0).then(column("levels")).otherwise(0.0)),
    "G": _gained(lambda column: _share(column("worth"), column("ideal_gain"))),
}

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
    "P": _cut("found", pl.lit),
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
    **GAINED,
    "ndcg_cut": lambda wanted, _: [
        _share(pl.col(f"dcg@{k:g}|"), pl.col(f"ideal@{k:g}|")) for k in wanted.numbers
    ],
    "map_cut": lambda wanted, _: [_share(pl.col(f"summed@{k:g}"), _relevant) for k in wanted.numbers],
    "relative_P": _cut("found", lambda k: pl.min_horizontal(pl.lit(k), _relevant)),
    "success": lambda wanted, _: [(pl.col(f"found@{k:g}") > 0).cast(pl.Float64) for k in wanted.numbers],
    "set_P": _single(_share(_hits, _retrieved)),
    "set_relative_P": _single(_share(_hits, pl.min_horizontal(_retrieved, _relevant))),
    "set_recall": _single(_share(_hits, _relevant)),
    "set_map": _single(_share(_hits * _hits, _retrieved * _relevant)),
    "set_F": _set_f,
    "num_nonrel_judged_ret": _single(pl.col("num_other_ret")),
    "yaap": _single(((1 + pl.col("summed")) / (1 + _relevant - pl.col("summed"))).log()),
    "rbp": lambda wanted, _: [pl.col("|".join(wanted.names))],
    "rbp_resid": lambda wanted, _: [pl.col("|".join(wanted.names))],
    "unj": _cut("unjudged", pl.lit),
}
