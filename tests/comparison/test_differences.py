"""Contributions are told by hand, and add up to what the measure itself says."""

import inspect
import math
import re

import contributions
import polars as pl
import pytest
from engines import Call, as_expression, same
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_every_measure import domain

import polars_rank as rank
from polars_rank import diff, gains
from polars_rank.comparison.contributions import contribution
from polars_rank.core.errors import DataError
from polars_rank.measures.catalogue import MEASURES
from polars_rank.measures.names import Call as MeasureCall

SUMS = [
    "dcg@3",
    "dcg(gain=exponential)",
    "nDCG",
    "nDCG@3",
    "nDCG(ideal=list)@2",
    "nDCG(ideal=k)@3",
    "P",
    "P@3",
    "P(denominator=judged)@3",
    "P(denominator=min, min_relevance=2)@2",
    "R@3",
    "f_measure(beta=2)@3",
    "AP",
    "AP(min_relevance=2)@3",
    "AP(denominator=found)@3",
    "AP(denominator=returned)",
    "Rprec",
    "success@2",
    "RR",
    "RR(min_relevance=2)@3",
    "RBP",
    "RBP(max_relevance=3, p=0.5)@4",
    "ERR@3",
    "judged@3",
    "num_ret",
    "num_rel_ret",
]


@st.composite
def two_judged_tables(draw):
    """Two rankings of the same judged items; either may return an item that the other doesn't."""
    grades = draw(
        st.dictionaries(
            st.sampled_from("abcdefgh"), st.sampled_from([None, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0]), min_size=1
        )
    )
    tables = []
    for _ in range(2):
        returned = draw(st.permutations(sorted(grades)))[: draw(st.integers(0, len(grades)))]
        places = draw(
            st.lists(
                st.integers(1, 12), min_size=len(returned), max_size=len(returned), unique=draw(st.booleans())
            )
        )
        ranks = dict(zip(returned, places, strict=True))
        rows = [
            (item, ranks.get(item), grade)
            for item, grade in grades.items()
            if item in ranks or grade is not None
        ]
        schema = {"item": pl.String, "rank": pl.Int64, "relevance": pl.Float64}
        table = pl.DataFrame(draw(st.permutations(rows)), schema=schema, orient="row")
        tables.append(table.select(pl.lit("q").alias("query"), pl.all()))
    return tables


def value(judged, measure):
    """Score a table that may have no row."""
    return rank.evaluate(judged, [measure])[measure].sum()


@pytest.mark.parametrize("measure", SUMS)
@given(tables=two_judged_tables())
def test_contributions_add_up_to_the_difference(measure, tables):
    a, b = tables
    changes = diff(a, b, measure)
    assert changes["contribution_a"].sum() == pytest.approx(value(a, measure), abs=1e-12)
    assert changes["contribution_b"].sum() == pytest.approx(value(b, measure), abs=1e-12)
    difference = value(b, measure) - value(a, measure)
    assert changes["contribution"].sum() == pytest.approx(difference, abs=1e-12)
    assert sorted(changes["item"]) == sorted({*a["item"], *b["item"]})


@given(measure=st.sampled_from(SUMS), tables=two_judged_tables(), seed=st.integers(0, 9))
def test_row_order_and_laziness_change_nothing(measure, tables, seed):
    a, b = tables
    changes = diff(a, b, measure)
    shuffled = diff(a.sample(fraction=1, shuffle=True, seed=seed).lazy(), b.lazy(), measure)
    assert isinstance(shuffled, pl.LazyFrame)
    other = shuffled.collect()
    names = [name for name in changes.columns if not name.startswith("contribution")]
    assert other.select(names).rows() == changes.select(names).rows()
    assert other["contribution"].to_list() == pytest.approx(changes["contribution"].to_list(), abs=1e-12)


SUMS_OVER_ITEMS = [name for name, measure in MEASURES.items() if measure.terms]
GRADES = st.sampled_from([None, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 5.0, math.nan])
RANKS = st.sampled_from([None, 0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 7.0, math.nan])


@st.composite
def calls(draw):
    """Draw a measure that is a sum over items, every option at random."""
    name = draw(st.sampled_from(SUMS_OVER_ITEMS))
    options = [option for option in MEASURES[name].options if option != "empty"]
    return Call(name, {option: draw(st.sampled_from(domain(name, option))) for option in options})


@settings(max_examples=300)
@given(calls(), st.lists(st.tuples(RANKS, GRADES), min_size=1, max_size=8), st.sampled_from([0, 1, 4]))
@example(Call("ndcg", {"k": 10, "gain": {1: 1, 2: 100}}), [(1.0, 1.0), (2.0, 2.0), (3.0, 1.0)], 1)
@example(Call("r_precision", {"multiple": 2.0}), [(1.0, 0.0), (2.0, 1.0), (None, 0.0)], 1)
@example(Call("err", {"max_relevance": 1000}), [(1.0, 999.0), (2.0, 1000.0)], 1)
def test_each_contribution_is_that_of_a_slow_loop(call, rows, total):
    judged = pl.DataFrame(rows, schema={"rank": pl.Float64, "relevance": pl.Float64}, orient="row")
    judged = judged.with_columns(query=1, total=total).with_row_index("item")
    options = {name: total if value == "total" else value for name, value in call.options.items()}
    expected = getattr(contributions, call.name)(rows, **options)
    part = contribution(MeasureCall(MEASURES[call.name], dict(call.options)), ["query"], text=str(call))
    shuffled = judged.sample(fraction=1, shuffle=True, seed=3).lazy().with_columns(part=part)
    for found in (judged.with_columns(part=part), shuffled.collect(engine="streaming").sort("item")):
        assert all(map(same, found["part"].to_list(), expected)), (found, expected)
    assert same(judged.select(as_expression(call)).item(), math.fsum(expected))


def test_every_sum_over_items_has_a_slow_loop():
    assert set(SUMS_OVER_ITEMS) == {name for name in MEASURES if hasattr(contributions, name)}


JUDGED = pl.DataFrame(
    {
        "query": "q",
        "item": ["a", "b", "c", "d", "e"],
        "rank": [1, 2, 3, 4, None],
        "relevance": [0.0, 2.0, None, 1.0, 3.0],
    }
)
BY_HAND = {
    # 2 / log2(3) for b, 1 / log2(5) for d
    "dcg": {"b": 1.2618595071429148, "d": 0.43067655807339306},
    # the grade's gain 2^g - 1
    "dcg(gain=exponential)@3": {"b": 1.8927892607143724},
    # over 3 + 2 / log2(3), the ideal of two items
    "nDCG@2": {"b": 1.2618595071429148 / 4.261859507142915},
    "P@4": {"b": 1 / 4, "d": 1 / 4},
    "R@3": {"b": 1 / 3},
    # first at 2, second at 4, three relevant
    "AP": {"b": 1 / 2 / 3, "d": 2 / 4 / 3},
    # three relevant, so three places count
    "Rprec": {"b": 1 / 3},
    "RR": {"b": 1 / 2},
    "RR(min_relevance=1)@1": {},
    "success@5": {"b": 1.0},
    "RBP(p=0.5)": {"b": 0.25, "d": 0.0625},
    # chances 3/16 and 1/16 to stop
    "ERR": {"b": 3 / 16 / 2, "d": 1 / 16 / 4 * (1 - 3 / 16)},
    "judged@2": {"a": 1 / 2, "b": 1 / 2},
    "num_ret": dict.fromkeys("abcd", 1.0),
}


@pytest.mark.parametrize("measure", BY_HAND)
def test_contribution_of_each_item(measure):
    changes = diff(JUDGED, JUDGED.with_columns(rank=pl.lit(None, dtype=pl.Int64)), measure)
    found = {item: c for item, c in changes.select("item", "contribution_a").rows() if c}
    assert found == pytest.approx(BY_HAND[measure], abs=1e-15)
    assert changes["contribution_b"].to_list() == [0.0] * 5


def test_equal_ranks_share_their_places():
    tied = JUDGED.with_columns(rank=pl.Series([1, 2, 3, 2, None]))
    changes = diff(tied, tied, "AP")
    assert dict(changes.select("item", "contribution_a").rows())["b"] == pytest.approx(1.5 / 2 / 3)
    both = dict(diff(tied, tied, "RR").select("item", "contribution_a").rows())
    assert (both["b"], both["d"]) == (0.25, 0.25)


def test_largest_difference_first_and_both_ranks():
    other = JUDGED.with_columns(rank=pl.Series([None, None, 2, 3, 1]))
    changes = diff(JUDGED, other, "nDCG")
    assert changes.columns == [
        "query",
        "item",
        "rank_a",
        "rank_b",
        "relevance",
        "contribution_a",
        "contribution_b",
        "contribution",
    ]
    assert changes.select("item", "rank_a", "rank_b", "relevance").rows() == [
        ("e", None, 1, 3.0),
        ("b", 2, None, 2.0),
        ("d", 4, 3, 1.0),
        ("a", 1, None, 0.0),
        ("c", 3, 2, None),
    ]


def test_on_the_bundled_collection_query_by_query():
    run, qrels, _, _ = rank.example()
    judged = rank.judge(run, qrels)
    per_query = rank.evaluate(judged, ["nDCG@10", "AP"])
    for measure in ("nDCG@10", "AP"):
        changes = diff(judged.filter(system="bm25"), judged.filter(system="char-tfidf"), measure)
        sums = changes.group_by("query").agg(pl.col("contribution").sum())
        both = sums.join(gains(per_query, "bm25", "char-tfidf", measure), on="query")
        assert len(both) == 261
        assert (both["contribution"] - both["gain"]).abs().max() <= 1e-12


def test_keys_tell_rankings_apart_and_ids_match_by_value():
    a = pl.DataFrame(
        {
            "query": pl.Series(["q", "q"], dtype=pl.Categorical),
            "day": [1, 2],
            "item": ["x", "x"],
            "rank": [1, 2],
            "relevance": [1, 1],
        }
    )
    b = a.with_columns(pl.col("query").cast(pl.String), rank=pl.Series([2, 2]))
    with pytest.raises(DataError, match=r"judged_[ab] has two rows of query 'q', item 'x'.*keys="):
        diff(a, b, "RR")
    assert diff(a, b, "RR", keys="day").select("day", "contribution").rows() == [(1, -0.5), (2, 0.0)]


def test_a_ranking_that_one_table_lacks_counts_as_0():
    changes = diff(JUDGED, JUDGED.clear(), "RR")
    assert changes["contribution"].sum() == -0.5
    assert changes["rank_b"].null_count() == 5


def test_names_of_columns_are_arguments():
    names = {"query": "qid", "item": "doc", "rank": "place", "relevance": "grade"}
    other = diff(JUDGED.rename(names), JUDGED.rename(names), "RR", **names)
    assert other.columns[:4] == ["qid", "doc", "rank_a", "rank_b"]
    assert other["contribution_a"].sum() == 0.5


@pytest.mark.parametrize(
    ("measure", "told"),
    [
        ("bpref", "bpref, which is not a sum over items; measures that are: "),
        ("ideal_dcg", "not a sum over items"),
        ("nDCG(empty=1)@3", "leave empty out"),
        ("AP(empty=None)", "leave empty out"),
        ("P(judged_only=True)@3", "give it to judge"),
        ("ndgc@3", "did you mean 'ndcg'"),
    ],
)
def test_what_is_no_sum_over_items_is_refused(measure, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        diff(JUDGED, JUDGED, measure)


def test_documentation_names_the_measures_that_are_taken():
    taken = []
    for name, measure in MEASURES.items():
        if set(measure.columns) <= {"rank", "relevance"}:
            try:
                diff(JUDGED, JUDGED, name)
            except ValueError:
                continue
            taken.append(name)
    section = re.search(r"is a sum over items: (.*?)\.\n", inspect.getdoc(diff), flags=re.DOTALL)
    assert sorted(re.findall(r"\w+", section[1])) == sorted(taken)


def test_tables_that_disagree_are_refused():
    with pytest.raises(DataError, match=r"relevance of query 'q', item 'b' is 2\.0 in judged_a and 1\.0"):
        diff(JUDGED, JUDGED.with_columns(relevance=pl.lit(1.0)).filter(item="b"), "RR")
    with pytest.raises(DataError, match="judged_b has no column 'rank'"):
        diff(JUDGED, JUDGED.drop("rank"), "RR")
    with pytest.raises(DataError, match="id types differ"):
        diff(JUDGED, JUDGED.with_columns(item=pl.lit(1)), "RR")
    with pytest.raises(DataError, match=r"judged_b.item has a null"):
        diff(JUDGED, JUDGED.with_columns(item=pl.lit(None, pl.String)), "RR")
    with pytest.raises(DataError, match=r"judged_a.rank has type String, which is no number"):
        diff(JUDGED.cast({"rank": pl.String}), JUDGED, "RR")


def moved(grades, before, after, measure):
    """Give each item's contribution to the difference, and the difference itself."""
    a, b = (
        pl.DataFrame({"query": "q", "item": list("abcdef")[: len(grades)], "rank": r, "relevance": grades})
        for r in (before, after)
    )
    changes = diff(a, b, measure)
    assert changes["contribution"].sum() == pytest.approx(value(b, measure) - value(a, measure), abs=1e-12)
    return dict(changes.select("item", "contribution").rows()), value(b, measure) - value(a, measure)


def test_gains_by_grade_are_those_of_the_measure():
    parts, _ = moved([1, 2, 1], [1, 2, 3], [2, 3, 1], "nDCG(gains={1:1,2:100})@10")
    best = 100 + 1 / math.log2(3) + 1 / 2
    assert parts["b"] == pytest.approx((100 / 2 - 100 / math.log2(3)) / best)
    assert parts["b"] == pytest.approx(-0.1294655887081208)


def test_r_precision_looks_at_its_multiple_of_places():
    parts, difference = moved([1, 0, 0], [None, 1, 2], [2, 1, 3], "Rprec_mult_2.0")
    assert (parts, difference) == ({"a": 0.5, "b": 0.0, "c": 0.0}, 0.5)


def test_a_scale_of_grades_that_no_float_holds_is_none_to_err():
    parts, difference = moved([1, 0, 2], [1, 2, 3], [2, 3, 1], "ERR(max_relevance=2000)")
    assert (set(parts.values()), difference) == ({0.0}, 0.0)


def test_a_number_of_relevant_items_may_be_a_column():
    totals = JUDGED.with_columns(total=5)
    changes = diff(totals, totals, "R(num_relevant=total)@3")
    assert dict(changes.select("item", "contribution_a").rows())["b"] == 1 / 5
    with pytest.raises(DataError, match="judged_a has no column 'total'"):
        diff(JUDGED, JUDGED, "R(num_relevant=total)@3")


PER_QUERY = pl.DataFrame(
    {
        "query": ["q1", "q2", "q3", "q4", "q1", "q2", "q3", "q5"],
        "system": ["x"] * 4 + ["y"] * 4,
        "kind": ["k", None, "k", "k"] * 2,
        "AP": [0.5, 0.25, 0.0, 1.0, 0.0, 0.5, 1.0, 0.5],
    }
)


def test_gains_are_in_order_and_what_is_missing_is_null():
    expected = [
        ("q3", 0.0, 1.0, 1.0),
        ("q2", 0.25, 0.5, 0.25),
        ("q1", 0.5, 0.0, -0.5),
        ("q4", 1.0, None, None),
        ("q5", None, 0.5, None),
    ]
    assert gains(PER_QUERY, "x", "y", "AP").rows() == expected
    lazy = gains(PER_QUERY.lazy(), "x", "y", "AP", by="kind").collect()
    assert lazy.columns == ["query", "kind", "value_a", "value_b", "gain"]
    assert lazy.drop("kind").rows() == expected


def test_gains_refuse_what_they_cannot_tell_apart():
    with pytest.raises(ValueError, match=r"b='z' is not a system of per_query; its systems are \['x', 'y'\]"):
        gains(PER_QUERY, "x", "z", "AP")
    with pytest.raises(DataError, match="per_query has two rows of query 'q"):
        gains(pl.concat([PER_QUERY, PER_QUERY]), "x", "y", "AP")
    with pytest.raises(DataError, match="no column 'ap'"):
        gains(PER_QUERY, "x", "y", "ap")
    with pytest.raises(DataError, match=r"per_query.kind has type String, which is no number"):
        gains(PER_QUERY, "x", "y", "kind")


@pytest.mark.parametrize("name", ["rank_a", "contribution", "query"])
def test_a_key_that_is_called_as_a_result_is_refused(name):
    judged = pl.DataFrame({"query": 1, "item": ["x", "y"], "rank": [1, 2], "relevance": [1, 0]})
    judged = judged.with_columns(pl.lit(1).alias(name))
    with pytest.raises(ValueError, match=f"keys='{name}' is what a column of the result is called"):
        diff(judged, judged, "RR", keys=name)


def test_gains_refuse_to_carry_what_is_called_as_a_result():
    table = pl.DataFrame({"query": 1, "system": ["a", "b"], "AP": 1.0, "gain": 1})
    with pytest.raises(ValueError, match="by='gain' is what a column of the result is called"):
        gains(table, "a", "b", "AP", by="gain")
