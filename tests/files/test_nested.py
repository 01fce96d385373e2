"""Tables from lists in columns and from dicts of dicts."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from polars_rank.core.errors import DataError
from polars_rank.files.from_python import from_dict, from_lists


def test_lists_become_ranks_and_the_rest_is_kept():
    frame = pl.DataFrame(
        {
            "user": [1, 2, 1],
            "recs": [["a", "b", "a"], ["b"], ["c"]],
            "system": ["x", "x", "y"],
            "tags": [[1], [2], []],
        }
    )
    run = from_lists(frame, "user", "recs")
    assert run.schema == {
        "query": pl.Int64,
        "item": pl.String,
        "rank": pl.Int64,
        "system": pl.String,
        "tags": pl.List(pl.Int64),
    }
    assert run.sort("system", "query", "rank").rows() == [
        (1, "a", 1, "x", [1]),
        (1, "b", 2, "x", [1]),
        (1, "a", 3, "x", [1]),
        (2, "b", 1, "x", [2]),
        (1, "c", 1, "y", []),
    ]


def test_scores_and_grades_come_from_their_lists():
    frame = pl.DataFrame({"query": ["q"], "items": [["a", "b"]], "values": [[0.5, None]]})
    scored = from_lists(frame, scores="values")
    assert (scored.columns, scored.rows()) == (
        ["query", "item", "score"],
        [("q", "a", 0.5), ("q", "b", None)],
    )
    graded = from_lists(frame.with_columns(values=pl.Series([[2, 1]])), relevance="values")
    assert graded.rows() == [("q", "a", 2), ("q", "b", 1)]
    bare = from_lists(frame.drop("values"), relevance=1)
    assert bare.schema["relevance"] == pl.Int64
    assert bare.rows() == [("q", "a", 1), ("q", "b", 1)]


def test_lists_may_be_arrays():
    frame = pl.DataFrame(
        {"query": [1], "items": [[5, 6]], "scores": [[1, 2]]},
        schema={"query": pl.Int64, "items": pl.Array(pl.Int64, 2), "scores": pl.Array(pl.Int64, 2)},
    )
    assert from_lists(frame.drop("scores")).rows() == [(1, 5, 1), (1, 6, 2)]
    assert from_lists(frame, scores="scores").rows() == [(1, 5, 1), (1, 6, 2)]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 9),
            st.none() | st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 3))),
        )
    )
)
def test_every_listed_item_is_one_row(lists):
    frame = pl.DataFrame(
        {
            "query": [query for query, _ in lists],
            "items": [None if pairs is None else [item for item, _ in pairs] for _, pairs in lists],
            "scores": [None if pairs is None else [score for _, score in pairs] for _, pairs in lists],
        },
        schema={"query": pl.Int64, "items": pl.List(pl.String), "scores": pl.List(pl.Int64)},
    )
    eager = from_lists(frame, scores="scores")
    assert eager.rows() == [(query, *pair) for query, pairs in lists for pair in pairs or []]
    lazy = from_lists(frame.lazy(), scores="scores")
    assert isinstance(lazy, pl.LazyFrame)
    for engine in ("in-memory", "streaming"):
        assert_frame_equal(lazy.collect(engine=engine), eager, check_row_order=False)
    ranks = from_lists(frame.drop("scores")).rows()
    assert ranks == [(query, item, i) for query, pairs in lists for i, (item, _) in enumerate(pairs or [], 1)]


@pytest.mark.parametrize("second", [[1.0], [], None, [1.0, 2.0, 3.0]])
def test_lists_of_two_lengths_are_refused_by_their_query(second):
    frame = pl.DataFrame({"query": ["p", "q"], "items": [["a"], ["a", "b"]], "values": [[1.0], second]})
    message = rf"query 'q' has 2 items, but {len(second or [])} values"
    for option in ("scores", "relevance"):
        with pytest.raises(DataError, match=message):
            from_lists(frame, **{option: "values"})
        lazy = from_lists(frame.lazy(), **{option: "values"})
        for engine in ("in-memory", "streaming"):
            with pytest.raises(DataError, match=message):
                lazy.select("query").collect(engine=engine)


def test_refusals_of_lists():
    frame = pl.DataFrame({"query": ["q"], "items": [["a"]], "score": [[1.0]], "rank": [3]})
    with pytest.raises(DataError, match="already"):
        from_lists(frame)
    with pytest.raises(DataError, match=r"no column 'itmes'.*did you mean 'items'"):
        from_lists(frame, items="itmes")
    with pytest.raises(DataError, match=r"frame\.rank has type Int64; expected one list per row"):
        from_lists(frame, items="rank")
    with pytest.raises(ValueError, match="not both"):
        from_lists(frame, scores="score", relevance="score")
    with pytest.raises(TypeError, match="Polars frame"):
        from_lists({"query": ["q"], "items": [["a"]]})


def test_dicts_of_numbers():
    run = from_dict({"q1": {"a": 2, "b": 0.5}, "q2": {"a": None}, "q3": {}})
    assert run.schema == {"query": pl.String, "item": pl.String, "score": pl.Float64}
    assert run.rows() == [("q1", "a", 2.0), ("q1", "b", 0.5), ("q2", "a", None)]
    qrels = from_dict({1: {10: 1, 11: 0, 12: True, 13: None}}, "relevance")
    assert qrels.schema == {"query": pl.Int64, "item": pl.Int64, "relevance": pl.Int64}
    assert qrels.rows() == [(1, 10, 1), (1, 11, 0), (1, 12, 1), (1, 13, None)]
    assert from_dict({"q": {"a": 0.5, "b": 1}}, "relevance")["relevance"].to_list() == [0.5, 1.0]
    assert from_dict({"q": {"a": float("nan")}}, "relevance")["relevance"].is_nan().all()
    assert from_dict({"q": {"a": 1e300}}, "relevance")["relevance"].to_list() == [1e300]


def test_numbers_of_other_libraries():
    run = from_dict({np.int64(1): {np.int32(2): np.float32(0.5), 3: Decimal("0.25"), 4: Fraction(1, 8)}})
    assert run.rows() == [(1, 2, 0.5), (1, 3, 0.25), (1, 4, 0.125)]
    assert from_dict({np.str_("q"): {"a": np.int64(2)}}, "relevance").rows() == [("q", "a", 2)]


def test_bare_items():
    assert from_dict({"q": ["b", "a", "b"], "r": ()}).to_dicts() == [
        {"query": "q", "item": "b", "rank": 1},
        {"query": "q", "item": "a", "rank": 2},
        {"query": "q", "item": "b", "rank": 3},
    ]
    assert from_dict({"q": ["b", "a"]}, "relevance").rows() == [("q", "b", 1), ("q", "a", 1)]
    found = from_dict({1: {7, 8}, 2: frozenset({9})}, "relevance")
    assert found.sort("query", "item").rows() == [(1, 7, 1), (1, 8, 1), (2, 9, 1)]


def test_no_row_leaves_the_kind_of_ids_open():
    wide = from_dict({1: {2**64 - 1: 1, 7: 2}})
    assert (wide.schema["item"], wide["item"].to_list()) == (pl.UInt64, [2**64 - 1, 7])
    for empty in ({}, {"q": {}}, {"q": []}):
        assert from_dict(empty).is_empty()
        assert from_dict(empty).schema["item"] == pl.Null


@pytest.mark.parametrize(
    ("mapping", "value", "message"),
    [
        ({"q": {"a": 1.0, 2: 1.0}}, "score", "item ids must be all text or all integers, got 'a' and 2"),
        (
            {"q": {"a": 1.0}, 1: {"a": 1.0}},
            "score",
            "query ids must be all text or all integers, got 'q' and 1",
        ),
        ({None: {"a": 1.0}}, "score", "query ids .* got None"),
        ({"q": {True: 1.0}}, "score", "item ids .* got True"),
        ({"q": {1.5: 1.0}}, "score", "item ids .* got 1.5"),
        ({"q": {"a": "high"}}, "score", "query 'q', item 'a' has 'high'"),
        ({"system": {"q": {"a": 1.0}}}, "score", "query 'system', item 'q' has {'a': 1.0}"),
        ({"q": {"a": 1.0}, "r": ["a"]}, "score", "the same for all"),
        ({"q": {"a", "b"}}, "score", "a set, which has no order"),
        ({"q": {2**64: 1.0}}, "score", "item ids must fit in 64 bits, but there is 18446744073709551616"),
        ({"q": {-1: 1.0, 2**63: 1.0}}, "score", "item ids must fit in 64 bits"),
        ({"q": "abc"}, "score", "query 'q' has 'abc'"),
        ({"q": 1.0}, "score", "query 'q' has 1.0"),
    ],
)
def test_refusals_of_dicts(mapping, value, message):
    with pytest.raises(DataError, match=message):
        from_dict(mapping, value)


def test_wrong_calls_are_refused():
    with pytest.raises(ValueError, match="value must be one of 'score', 'relevance'"):
        from_dict({}, "grade")
    with pytest.raises(TypeError, match="mapping must be a dict"):
        from_dict([("q", "a", 1.0)])
