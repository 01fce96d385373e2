"""Measures between orderings: against SciPy, against slow loops from the papers, and laws."""

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats

from polars_rank.comparison.correlations import kendall_tau, rbo, spearman, tau_ap
from polars_rank.core.errors import DataError

ALL = [kendall_tau, tau_ap, spearman, rbo]


def ordering(ranks):
    """Make a table of one ordering from item: rank."""
    schema = {"item": pl.Int64, "rank": pl.Float64}
    return pl.DataFrame({"item": list(ranks), "rank": [float(r) for r in ranks.values()]}, schema=schema)


def value(function, first, second, **options):
    return function(ordering(first), ordering(second), **options)[function.__name__].item()


RANKS = st.dictionaries(st.integers(0, 12), st.integers(1, 8), min_size=1, max_size=12)
SAME_ITEMS = st.integers(2, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(1, n), min_size=n, max_size=n)] * 2)
)
PERMUTATIONS = st.integers(2, 12).flatmap(lambda n: st.tuples(*[st.permutations(range(1, n + 1))] * 2))


@given(SAME_ITEMS)
def test_kendall_and_spearman_are_scipy_s(ranks):
    first, second = (dict(enumerate(side)) for side in ranks)
    tied = any(len(set(side)) == 1 for side in ranks)
    for function, theirs in ((kendall_tau, stats.kendalltau), (spearman, stats.spearmanr)):
        got = function(ordering(first), ordering(second)).row(0, named=True)
        assert (got["n"], got["unmatched"]) == (len(first), 0)
        if tied:
            assert got[function.__name__] is None
            assert got["reason"] == "one ordering is all tied"
        else:
            assert got[function.__name__] == pytest.approx(theirs(*ranks).statistic, abs=1e-12)
            assert got["reason"] is None


@pytest.mark.parametrize("kinds", [7, 10_000])
def test_long_lists_are_not_quadratic(kinds):
    """A loop over all pairs of 200,000 items would take minutes."""
    size = 200_000
    # A prime step visits every place; fewer kinds of values are ties.
    first = pl.DataFrame({"item": range(size), "rank": [i * 7_919 % size % kinds for i in range(size)]})
    second = pl.DataFrame({"item": range(size), "rank": [i * 104_729 % size // 3 for i in range(size)]})
    wanted = stats.kendalltau(first["rank"], second["rank"]).statistic
    assert kendall_tau(first, second)["kendall_tau"].item() == pytest.approx(wanted, abs=1e-12)
    assert tau_ap(first.with_columns(rank="item"), first.with_columns(rank="item"))["tau_ap"].item() == 1


@given(PERMUTATIONS)
def test_tau_ap_is_the_sum_of_the_paper(ranks):
    first, second = ranks
    items = sorted(range(len(first)), key=lambda i: first[i])
    total = 0.0
    for i in range(1, len(items)):
        total += sum(second[above] < second[items[i]] for above in items[:i]) / i
    wanted = 2 / (len(items) - 1) * total - 1
    assert value(tau_ap, dict(enumerate(first)), dict(enumerate(second))) == pytest.approx(wanted, abs=1e-12)


def test_tau_ap_by_hand_weighs_the_top():
    reference = {1: 1, 2: 2, 3: 3, 4: 4}
    top, bottom = {1: 2, 2: 1, 3: 3, 4: 4}, {1: 1, 2: 2, 3: 4, 4: 3}
    # Swapped at the top: C(i)/(i-1) = 0, 1, 1. At the bottom: 1, 1, 2/3.
    assert value(tau_ap, top, reference) == pytest.approx(2 / 3 * 2 - 1, abs=1e-12)
    assert value(tau_ap, bottom, reference) == pytest.approx(2 / 3 * (2 + 2 / 3) - 1, abs=1e-12)
    assert value(kendall_tau, top, reference) == value(kendall_tau, bottom, reference)


def test_tau_ap_with_ties_says_so():
    got = tau_ap(ordering({1: 1, 2: 1, 3: 2}), ordering({1: 1, 2: 2, 3: 3})).row(0, named=True)
    assert (got["tau_ap"], got["reason"]) == (None, "items tie")


def slow_rbo(first, second, p):
    """Equations 28 and 32 of Webber, Moffat & Zobel, depth by depth over sets."""
    starts = [
        {i: 1 + sum(other < r for other in side.values()) for i, r in side.items()}
        for side in (first, second)
    ]
    s, longest = sorted(map(len, (first, second)))

    def prefix(side, d):
        return {i for i, start in side.items() if start <= d}

    def agreement(d, seen_agreement):
        sets = [prefix(side, d) for side in starts]
        sizes = [len(found) if d <= len(side) else d for found, side in zip(sets, starts, strict=True)]
        return 2 * (len(sets[0] & sets[1]) + seen_agreement * max(0, d - s)) / sum(sizes)

    seen = agreement(s, 0.0) if s else 0.0
    values = [agreement(d, seen) for d in range(1, longest + 1)]
    return (1 - p) / p * sum(a * p**d for d, a in enumerate(values, 1)) + values[-1] * p**longest


@given(RANKS, RANKS, st.sampled_from([0.5, 0.9, 0.98]))
def test_rbo_is_the_sum_over_depths(first, second, p):
    got = value(rbo, first, second, persistence=p)
    assert got == pytest.approx(min(1.0, slow_rbo(first, second, p)), abs=1e-12)
    assert 0 <= got <= 1
    assert got == pytest.approx(value(rbo, second, first, persistence=p), abs=1e-12)


@given(RANKS)
def test_equal_lists_overlap_wholly_ties_or_not(ranks):
    assert value(rbo, ranks, ranks) == pytest.approx(1.0, abs=1e-12)


def test_rbo_without_ties_is_the_closed_form_of_the_paper():
    # Equation 32 written out for lists of 2 and 4 items.
    first, second, p = {1: 1, 2: 2}, {2: 1, 3: 2, 1: 3, 4: 4}, 0.8
    overlap = [0, 1, 2, 2]
    summed = sum(x / d * p**d for d, x in enumerate(overlap, 1))
    extended = sum(overlap[1] * (d - 2) / (2 * d) * p**d for d in (3, 4))
    wanted = (1 - p) / p * (summed + extended) + ((overlap[3] - overlap[1]) / 4 + overlap[1] / 2) * p**4
    assert value(rbo, first, second, persistence=p) == pytest.approx(wanted, abs=1e-12)


def test_disjoint_lists_and_an_empty_one_share_nothing():
    assert value(rbo, {1: 1, 2: 2}, {3: 1}) == 0
    assert value(rbo, {1: 1, 2: 2}, {}) == 0


@pytest.mark.parametrize("function", ALL)
def test_two_empty_lists_have_a_row_and_a_reason(function):
    reason = "both lists are empty" if function is rbo else "fewer than two items in both"
    assert function(ordering({}), ordering({})).rows() == [(0, 0, None, reason)]
    # Null ranks are in no list, and a query whose lists are both empty is still a query.
    first = pl.DataFrame({"query": [None, 1, 1, 2], "item": list("aabc"), "rank": [None, 1, 2, None]})
    second = pl.DataFrame({"query": [1, 1, 2, 3], "item": list("abcd"), "rank": [1.0, 2.0, math.nan, None]})
    for got in (function(first, second), function(first.lazy(), second).collect()):
        assert got["query"].to_list() == [None, 1, 2, 3]
        assert got["n"].to_list() == [0, 2, 0, 0]
        assert got[function.__name__].to_list() == [None, pytest.approx(1.0), None, None]
        assert got["reason"].to_list() == [reason, None, reason, reason]


@pytest.mark.parametrize("function", ALL)
def test_each_query_by_itself_lazy_or_not(function):
    first = pl.DataFrame({"query": [1, 1, 1, 2, 2, 3], "item": list("abcabz"), "rank": [1, 2, 3, 2, 1, 1]})
    second = pl.DataFrame({"query": [2, 2, 1, 1, 1, 4], "item": list("abcbaz"), "rank": [1, 2, 2, 3, 1, 1]})
    got = function(first, second)
    assert got["query"].to_list() == [1, 2, 3, 4]
    assert got["n"].to_list() == [3, 2, 0, 0]
    assert got["unmatched"].to_list() == [0, 0, 1, 1]
    for query in (1, 2):
        alone = function(*(side.filter(pl.col("query") == query) for side in (first, second)), by=[])
        assert alone[function.__name__].item() == pytest.approx(got[function.__name__][query - 1], abs=1e-15)
    lazy = function(first.lazy(), second)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect_schema() == got.schema
    assert_frame_equal(lazy.collect(), got)
    if function is not rbo:
        assert got["reason"].to_list()[2:] == ["fewer than two items in both"] * 2


@pytest.mark.parametrize("function", ALL)
def test_leaderboards_order_by_the_largest(function):
    first = pl.DataFrame({"system": list("abcd"), "value": [0.9, 0.8, 0.7, 0.6]})
    second = pl.DataFrame({"system": list("dcba"), "value": [0.1, 0.2, 0.3, 0.4]})
    got = function(first, second, item="system", rank="value", descending=True)
    assert got[function.__name__].item() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("function", ALL)
def test_null_ranks_are_outside_the_ordering(function):
    first = ordering({1: 1, 2: 2, 3: 3})
    second = pl.DataFrame({"item": [1, 2, 3, 4], "rank": [1.0, 2.0, None, math.nan]})
    got = function(first, second).row(0, named=True)
    assert (got["n"], got["unmatched"]) == (2, 1)


@pytest.mark.parametrize("function", ALL)
def test_what_is_refused(function):
    good = ordering({1: 1, 2: 2})
    with pytest.raises(DataError, match="first has 2 rows for item 1"):
        function(pl.concat([good, good]), good)
    with pytest.raises(DataError, match="second has no column 'rank'"):
        function(good, good.drop("rank"))
    with pytest.raises(DataError, match="id types differ"):
        function(good, good.with_columns(pl.col("item").cast(pl.String)))
    with pytest.raises(DataError, match=r"second.rank has type String, which is no number"):
        function(good, good.cast({"rank": pl.String}))
    with pytest.raises(DataError, match=r"first.item has a null"):
        function(pl.concat([good, good.head(1).with_columns(item=None)]), good)
    with pytest.raises(ValueError, match="descending must be one of True, False; got 'yes'"):
        function(good, good, descending="yes")
    with pytest.raises(ValueError, match="by names 'rank' twice"):
        function(good, good, by=["rank", "rank"])


def test_rbo_refuses_a_persistence_that_is_none():
    with pytest.raises(ValueError, match="persistence must be above 0 and below 1, got 1"):
        rbo(ordering({1: 1}), ordering({1: 1}), persistence=1)
    with pytest.raises(ValueError, match="persistence must be above 0 and below 1, got '0"):
        rbo(ordering({1: 1}), ordering({1: 1}), persistence="0.9")


@pytest.mark.parametrize("function", [kendall_tau, tau_ap, spearman, rbo])
def test_a_group_may_be_called_anything_but_a_result(function):
    ordering = pl.DataFrame({"item": ["x", "y", "z"], "rank": [1, 2, 3], "group": "u"})
    other = ordering.with_columns(rank=pl.Series([1, 3, 2]))
    for name in ("len", "first", "place"):
        renamed = [frame.rename({"group": name}) for frame in (ordering, other)]
        assert function(*renamed, by=name).rows() == function(ordering, other, by="group").rows()
    for name in {*function(ordering, other, by="group").columns, "rank"} - {"group"}:
        renamed = [frame.with_columns(**{name: pl.lit(1)}) for frame in (ordering, other)]
        with pytest.raises(ValueError, match=f"by='{name}' is what a column of the result is called"):
            function(*renamed, by=name)


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize("name", ["*", "^.*$"])
def test_columns_may_look_like_patterns(function, name):
    first = pl.DataFrame({"query": 1, "item": list("xyz"), "rank": [1, 2, 3]})
    second = first.with_columns(rank=pl.Series([1, 3, 2]))
    expected = function(first, second)
    for role in ("query", "item", "rank"):
        options = {"by": [name]} if role == "query" else {role: name}
        got = function(first.rename({role: name}), second.rename({role: name}), **options)
        assert_frame_equal(got, expected.rename({"query": name}) if role == "query" else expected)


@pytest.mark.parametrize("function", ALL)
def test_groups_that_are_refused(function):
    frame = pl.DataFrame({"item": ["x", "y"], "rank": [1, 2], "day": 1})
    thing = frame.with_columns(thing=pl.Series([object(), object()], dtype=pl.Object))
    with pytest.raises(DataError, match=r"first\.thing has type Object, which Polars can't group"):
        function(thing, thing, by="thing")
    with pytest.raises(DataError, match=r"first\.day is Int32, second\.day is String; cast one"):
        function(frame, frame.cast({"day": pl.String}), by="day")


@pytest.mark.parametrize("function", ALL)
def test_chunks_that_filters_emptied(function):
    items = pl.DataFrame({"item": range(20)})
    rows = (
        pl.DataFrame({"query": range(600)})
        .join(items, how="cross")
        .with_columns(
            rank=(pl.col("item") * 7 + pl.col("query")) % 23,
            other=(pl.col("item") * 3 + pl.col("query")) % 19,
        )
    )
    chunked = pl.concat([rows.clear(), *rows.iter_slices(991)], rechunk=False).filter(pl.col("query") > 100)
    expected = function(chunked.rechunk(), chunked.rechunk().with_columns(rank="other"))
    assert expected.height == 499
    other = chunked.lazy().with_columns(rank="other")
    assert_frame_equal(function(chunked, other.collect()), expected)
    assert_frame_equal(function(chunked.lazy(), other).collect(engine="streaming"), expected)
