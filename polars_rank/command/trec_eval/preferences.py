"""The values of trec_eval from preferences between items, for ``-R prefs`` and ``-R qrels_prefs``.

A group is one judge. An item of a higher level is preferred to those of lower levels in the same subgroup.
Where a group has several subgroups, preferences are transitive: a over b in one and b over c in another put
a over c. The returned items that are judged have places from 0, in the order of the run; the other judged
items follow, in the order of their ids. A preference is fulfilled where its better item was returned and has
the smaller place.
"""

from collections.abc import Sequence

import polars as pl

from polars_rank.command.trec_eval.gains import in_order
from polars_rank.command.trec_eval.measures import StopError, Wanted
from polars_rank.core.checks import refuse_repeats
from polars_rank.core.ordering import ordinal, score_key
from polars_rank.measures.trec_eval_names import Version

_better, _worse, _level = pl.col("better"), pl.col("worse"), pl.col("level")
_returned = pl.col("place") < pl.col("num_returned")
_both_returned = pl.max_horizontal("better", "worse") < pl.col("num_returned")
_one_returned = pl.min_horizontal("better", "worse") < pl.col("num_returned")
_fulfilled = (_better < _worse) & _one_returned


def preference_values(
    run: pl.DataFrame,
    preferences: pl.DataFrame,
    wanted: Sequence[Wanted],
    depth: int | None,
    version: Version,
) -> pl.DataFrame:
    """Score the rankings of a run: one row per query, in byte order, one column per name."""
    groups, rows = _placed(_ranked(run, depth, version), preferences)
    whole = _marked(rows.filter(~pl.col("parted")))
    last_levels = rows.filter("parted").sort("subgroup", "level", descending=[False, True])
    parted = _marked(last_levels.unique(["judge", "item"], keep="last", maintain_order=True))
    _refuse_levels(whole, rows.filter("parted"), groups)
    closed = _closed(_pairs(rows.filter("parted")), parted, groups).join(groups, on="judge")
    items = _items_counted(pl.concat([whole, parted]))
    counts = pl.concat([_whole_counted(whole), _pairs_counted(closed)])
    counted = groups.join(items, on="judge", how="left").join(counts, on="judge", how="left")
    # Of one whole group, each pair has one preference: its share of pairs is that of preferences.
    several = groups.filter("several")
    repeated = _pairs(whole.join(several, on="judge", how="semi")).join(several, on="judge")
    pairs = pl.concat([repeated, closed.select(repeated.columns)])
    by_query = _by_query(counted.fill_null(0)).update(_pair_ratios(pairs), on="query")
    measures = [each.measure for each in wanted if each.measure in by_query.columns]
    return by_query.sort("query").select("query", *measures)


def _ranked(run: pl.DataFrame, depth: int | None, version: Version) -> pl.DataFrame:
    """Rank a run as trec_eval does for preferences: of equal scores the smaller id comes first."""
    key = score_key(pl.col("score"), descending=True, score_dtype="float32" if version == 9 else "float64")
    rank = ordinal(key, pl.col("item"), "item-ascending").over("query").cast(pl.Int64)
    ranked = run.select("query", "item", rank=rank)
    ranked = ranked if depth is None else ranked.filter(pl.col("rank") <= depth)
    refuse_repeats(ranked.select("query", "item"), "run")
    return ranked


def _placed(ranked: pl.DataFrame, preferences: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Number the groups; add the number of the group and the place of the item to each row."""
    judged = preferences.select("query", "item").unique()
    items = (
        judged.join(ranked, on=["query", "item"], how="left")
        .sort("query", "rank", "item", nulls_last=True)
        .with_columns(
            place=pl.int_range(pl.len()).over("query"),
            num_returned=pl.col("rank").count().over("query").cast(pl.Int64),
        )
    )
    rows = preferences.join(items, on=["query", "item"])
    groups = (
        rows.group_by("query", "group")
        .agg(
            pl.col("num_returned").first(),
            parted=pl.col("subgroup").n_unique() > 1,
            repeated=pl.len() > pl.col("place").n_unique(),
        )
        .with_columns(several=(pl.len().over("query") > 1) | pl.col("repeated"))
        .sort("query", "group")
        .with_row_index("judge")
    )
    rows = rows.join(groups.select("query", "group", "judge", "parted"), on=["query", "group"])
    return groups, rows.select(
        "judge", "subgroup", "item", "place", "num_returned", "parted", level="relevance"
    )


def _marked(items: pl.DataFrame) -> pl.DataFrame:
    """Mark the items that the measures with Rnonrel keep: at most as many nonrelevant items as relevant ones.

    In a group of one subgroup, the items of the lowest level may be left out; else those of level 0.
    """
    relevant = pl.when(_level > 0)
    many = relevant.then(1).sum().over("judge")
    few = relevant.then(_returned.cast(pl.Int64)).sum().over("judge")
    last = pl.when("parted").then(_level == 0).otherwise(_level == _level.min().over("judge"))
    nth = last.cast(pl.Int64).cum_sum().over("judge", order_by="place")
    return items.with_columns(
        last=last,
        kept=~last | (nth <= many),
        kept_returned=~last | (nth <= pl.when("parted").then(many).otherwise(few)),
    )


def _refuse_levels(whole: pl.DataFrame, parted: pl.DataFrame, groups: pl.DataFrame) -> None:
    twice = whole.group_by("judge", "item").agg(wrong=_level.n_unique() > 1)
    _refuse(twice.filter("wrong"), groups, "has two levels in one subgroup")
    mixed = parted.group_by("judge", "item").agg(wrong=(_level == 0).any() & (_level > 0).any())
    _refuse(mixed.filter("wrong"), groups, "has level 0 in one subgroup and a higher one in another")


def _refuse(wrong: pl.DataFrame, groups: pl.DataFrame, problem: str) -> None:
    if not wrong.is_empty():
        first = wrong.join(groups, on="judge").sort("judge", "item").row(0, named=True)
        where = f"query {first['query']!r}, group {first['group']!r}"
        raise StopError(4, f"{where}: item {first['item']!r} {problem}")


def _pairs(rows: pl.DataFrame) -> pl.DataFrame:
    """Pair each item with those of lower levels in its subgroup; levels are paired first, being few."""
    within = ["judge", "subgroup"]
    levels = rows.select(*within, "level").unique()
    steps = levels.join(levels.rename({"level": "lower"}), on=within).filter(_level > pl.col("lower"))
    upper = rows.select(*within, "level", better="place")
    lower = rows.select(*within, lower="level", worse="place")
    pairs = steps.join(upper, on=[*within, "level"]).join(lower, on=[*within, "lower"])
    return pairs.select("judge", "better", "worse")


def _closed(pairs: pl.DataFrame, items: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Add the pairs that follow from others, until there are no more; refuse a circle."""
    both = ["better", "worse"]
    known, size = pairs.unique(), -1
    while known.height > size:
        size = known.height
        onward = known.rename({"better": "worse", "worse": "end"})
        longer = known.join(onward, on=["judge", "worse"]).select("judge", "better", worse="end")
        known = pl.concat([known, longer]).unique()
    known = known.filter(_better != _worse)
    circle = known.join(known, left_on=["judge", *both], right_on=["judge", *reversed(both)], how="semi")
    named = circle.join(items, left_on=["judge", "better"], right_on=["judge", "place"])
    _refuse(named, groups, "is preferred to another item, which is preferred to it")
    marks = items.select("judge", "place", "kept", "kept_returned")
    for end in both:
        known = known.join(marks, left_on=["judge", end], right_on=["judge", "place"], suffix=f" {end}")
    return known.select(
        "judge",
        *both,
        kept=pl.col("kept") & pl.col("kept worse"),
        kept_returned=pl.col("kept_returned") & pl.col("kept_returned worse"),
    )


def _items_counted(items: pl.DataFrame) -> pl.DataFrame:
    """Count relevant and nonrelevant items, and the pairs that trec_eval makes within the lowest level.

    It pairs each item of the lowest level with each item of that level that Rnonrel keeps.
    """
    last = pl.col("last") & ~pl.col("parted")
    above = pl.col("place").rank("min").over("judge", "last").cast(pl.Int64) - 1
    relevant = _level > 0
    nonrelevant = pl.when("parted").then(_level == 0).otherwise(_level <= 0)
    returned_last = last & _returned
    kept, kept_returned = last & pl.col("kept"), returned_last & pl.col("kept_returned")
    items = items.with_columns(above=above, last_returned=returned_last.sum().over("judge").cast(pl.Int64))
    lower = pl.min_horizontal("above", "last_returned")
    return items.group_by("judge").agg(
        num_rel=relevant.sum().cast(pl.Int64),
        num_rel_ret=(relevant & _returned).sum().cast(pl.Int64),
        num_nonrel=nonrelevant.sum().cast(pl.Int64),
        num_nonrel_ret=(nonrelevant & _returned).sum().cast(pl.Int64),
        same_ful=lower.filter(kept).sum(),
        same_poss=last.sum().cast(pl.Int64) * kept.sum(),
        same_ful_ret=pl.col("above").filter(kept_returned).sum(),
        same_poss_ret=returned_last.sum().cast(pl.Int64) * kept_returned.sum(),
    )


def _whole_counted(whole: pl.DataFrame) -> pl.DataFrame:
    """Count the preferences of groups of one subgroup as `_pairs_counted` does, without the pairs.

    For each item: how many of higher levels have a smaller place, and how many there are.
    """
    levels = whole.select("judge", lower="level").unique()
    is_higher = (_level > pl.col("lower")).cast(pl.Int64)
    rows = (
        whole.join(levels, on="judge")
        .sort("judge", "lower", "place")
        .with_columns(
            above=is_higher.cum_sum().over("judge", "lower"),
            higher=is_higher.sum().over("judge", "lower"),
            higher_returned=(is_higher * _returned).sum().over("judge", "lower"),
        )
        .filter(_level == pl.col("lower"))
    )
    above, higher, returned = pl.col("above"), pl.col("higher"), pl.col("higher_returned")
    ful, ful_ret = pl.when(_returned).then(above).otherwise(returned), above * _returned
    poss_ret = returned * _returned
    kept, kept_returned = pl.col("kept"), pl.col("kept_returned")
    return rows.group_by("judge").agg(
        ful=ful.sum(),
        ful_ret=ful_ret.sum(),
        poss=higher.sum(),
        poss_ret=poss_ret.sum(),
        poss_imp=pl.when(_returned).then(higher).otherwise(returned).sum(),
        kept_ful=(ful * kept).sum(),
        kept_poss=(higher * kept).sum(),
        kept_ful_ret=(ful_ret * kept_returned).sum(),
        kept_poss_ret=(poss_ret * kept_returned).sum(),
    )


def _pairs_counted(pairs: pl.DataFrame) -> pl.DataFrame:
    """Count the preferences of each group: fulfilled and possible, of all, of returned and of kept items."""
    kept, kept_returned = pl.col("kept"), pl.col("kept_returned") & _both_returned
    counts = {
        "ful": _fulfilled,
        "ful_ret": _fulfilled & _both_returned,
        "poss": pl.lit(True),
        "poss_ret": _both_returned,
        "poss_imp": _one_returned,
        "kept_ful": _fulfilled & kept,
        "kept_poss": kept,
        "kept_ful_ret": _fulfilled & kept_returned,
        "kept_poss_ret": kept_returned,
    }
    return pairs.with_columns(**counts).group_by("judge").agg(pl.col(*counts).sum().cast(pl.Int64))


def _share(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    return pl.when(whole > 0).then(part / whole).otherwise(0.0)


def _as_many_nonrelevant(end: str) -> pl.Expr:
    """Share of preferences fulfilled, with as many nonrelevant items as relevant ones (0 / 0 is NaN)."""
    column = {name: pl.col(f"{name}{end}") for name in ("num_rel", "num_nonrel", "ful", "poss")}
    missing = column["num_rel"] - column["num_nonrel"]
    added = (column["ful"] + pl.col("num_rel_ret") * missing) / (column["poss"] + pl.col("num_rel") * missing)
    kept = pl.col(f"kept_ful{end}") + pl.col(f"same_ful{end}")
    return (
        pl.when(missing >= 0)
        .then(added)
        .otherwise(kept / (pl.col(f"kept_poss{end}") + pl.col(f"same_poss{end}")))
    )


def _by_query(counted: pl.DataFrame) -> pl.DataFrame:
    """Sum the counts of preferences over groups, and average the shares of each group."""
    ful, ful_ret = pl.col("ful"), pl.col("ful_ret")
    poss, poss_ret, poss_imp = pl.col("poss"), pl.col("poss_ret"), pl.col("poss_imp")
    shares = {
        "prefs_avgjg": _share(ful, poss),
        "prefs_avgjg_ret": _share(ful_ret, poss_ret),
        "prefs_avgjg_imp": _share(ful, poss_imp),
        "prefs_avgjg_Rnonrel": _as_many_nonrelevant(""),
        "prefs_avgjg_Rnonrel_ret": _as_many_nonrelevant("_ret"),
    }
    of_all = {
        "": _share(ful.sum(), poss.sum()),
        "_ret": _share(ful_ret.sum(), poss_ret.sum()),
        "_imp": _share(ful.sum(), poss_imp.sum()),
    }
    # As there, one group that divides nothing by nothing makes the query 0.
    averages = {name: in_order(pl.col(name), pl.col("judge")).fill_nan(0.0) / pl.len() for name in shares}
    return (
        counted.with_columns(**shares)
        .group_by("query")
        .agg(
            prefs_num_prefs_poss=poss.sum(),
            prefs_num_prefs_ful=ful.sum(),
            prefs_num_prefs_ful_ret=ful_ret.sum(),
            **{
                f"{name}{end}": share
                for name in ("prefs_simp", "prefs_pair")
                for end, share in of_all.items()
            },
            **averages,
        )
    )


def _pair_ratios(pairs: pl.DataFrame) -> pl.DataFrame:
    """Average over pairs of items the share of their preferences that is fulfilled."""
    first, second = pl.min_horizontal("better", "worse"), pl.max_horizontal("better", "worse")
    num_returned = pl.col("num_returned")
    ratios = (
        pairs.group_by("query", "num_returned", first=first, second=second)
        .agg(share=(_better < _worse).mean())
        .with_columns(implied=pl.col("second") >= num_returned)
        .sort("query", "implied", "first", "second")
    )
    share, returned = pl.col("share"), ~pl.col("implied")
    seen = pl.col("first") < num_returned
    return ratios.group_by("query", maintain_order=True).agg(
        prefs_pair=share.filter(seen).cum_sum().last().fill_null(0.0) / pl.len(),
        prefs_pair_ret=share.filter(returned).cum_sum().last() / returned.sum(),
        prefs_pair_imp=share.filter(seen).cum_sum().last() / seen.sum(),
    )
