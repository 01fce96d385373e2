"""The contract that every measure keeps, in both engines."""

import math
import os
import tomllib
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pytest
import reference
from engines import (
    ENGINES,
    Call,
    as_expression,
    as_macro,
    ask,
    by_reference,
    eager,
    is_column,
    parse_call,
    same,
    select,
    sql,
    sql_whole,
)
from hypothesis import given
from hypothesis import strategies as st
from pieces import complete

from polars_rank.measures.blocks import Blocks
from polars_rank.measures.catalogue import MEASURES as ALL_MEASURES

# A measure that lacks a piece is named by test_pieces.py alone.
MEASURES = {name: ALL_MEASURES[name] for name in complete()}
CASES = [
    case
    for file in sorted((Path(__file__).parents[1] / "cases").glob("*.toml"))
    for case in tomllib.loads(file.read_text(encoding="utf-8"))["case"]
]

# What each option may be: every value is asked for at least once, and all of them at random.
ANY_MEASURE = {
    "k": [None, 1, 2, 3, 5, 300],
    "min_relevance": [1, 0, 0.5, 2, 3],
    "gain": ["linear", "exponential", {0: 2, 1: 0.5, 3: 7}],
    "ideal": ["judged", "list", "k"],
    "empty": [0.0, 1.0, None, 0.5],
    "num_relevant": [None, 0, 1, 4, "total"],
    "beta": [1.0, 0.5, 2.0],
    "persistence": [0.8, 0, 0.5, 0.95],
    "recall": [0.0, 0.1, 0.5, 1],
    "alpha": [0.5, 0, 0.3, 1],
    "rounding": ["up", "nearest"],
    "multiple": [1.0, 0.2, 0.5, 2],
    "target": [1.0, 0.25, 0.7, 3],
    "equation": [8, 9, 10, 11],
    "normalized": [True, False],
    "relevant_returned": [1.0, 2, 0],
    "others_returned": [-1.0, 0.5],
    "relevant_missed": [0.0, -1.5],
    "not_found": ["zero", "skip", 1, 7, 2.5, "instead"],
}
ONE_MEASURE = {
    ("precision", "denominator"): ["k", "returned", "min", "judged", "reachable"],
    ("recall", "denominator"): ["relevant", "min"],
    ("average_precision", "denominator"): ["relevant", "min", "k", "returned", "found"],
    ("rbp", "max_relevance"): [None, 1, 2.5, 4, 5, "highest", "unscaled"],
    ("err", "max_relevance"): [4, 1, 2.5, 5],
    ("nerr", "persistence"): [0.9, 0, 0.5, 0.95],
    ("compatibility", "persistence"): [0.95, 0, 0.5, 0.8],
    **{(name, "persistence"): [0.5, 0, 0.8] for name in ("nrbp", "nnrbp")},
    **{(name, "gain"): ["linear", "exponential"] for name in ("expected_dcg", "expected_ndcg")},
    ("expected_ndcg", "ideal"): ["judged", "list"],
    **{(name, "max_relevance"): [1, 2.5, 4, 5] for name in ("sdcg", "bpm", "insq", "inst", "nerr")},
}
# Binding a macro and planning an expression take milliseconds each, so an example draws a few measures.
MEASURES_AT_ONCE = None if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 10
RANKED = sorted(name for name, m in MEASURES.items() if set(m.columns) <= {"rank", "relevance"})
LINK = {"mean_reciprocal_rank", "hits_at_k", "mean_rank"}


def domain(name, option):
    return ONE_MEASURE.get((name, option)) or ANY_MEASURE[option]


EACH_VALUE = [Call(name, {}) for name in MEASURES] + [
    Call(name, {option: value})
    for name, measure in MEASURES.items()
    for option in measure.options
    for value in domain(name, option)
]


# Tables


def whole(low, high):
    return lambda value: value is None or (not math.isnan(value) and value % 1 == 0 and low <= value <= high)


DTYPES = {
    pl.Float64: lambda _: True,
    pl.Float32: lambda _: True,
    pl.Int64: whole(-(2**63), 2**63 - 1),
    pl.Int8: whole(-128, 127),
    pl.UInt8: whole(0, 255),
    pl.UInt64: whole(0, 2**64 - 1),
    pl.Decimal(10, 2): lambda value: value is None or math.isfinite(value),
    pl.Boolean: lambda value: value in (None, 0, 1),
}
NUMBERS = [dtype for dtype in DTYPES if dtype != pl.Boolean]
RANKS = [None, math.nan, 0, -1, 0.5, 1, 1.5, 2, 2.25, 3, 4, 5, 6, 10, 127, 200, 255]
GRADES = [None, math.nan, -2, -1, 0, 0.5, 0.75, 1, 1, 2, 3, 4, 5]
SCORES = [None, math.nan, -math.inf, -3, -0.0, 0, 0.25, 1, 1, 2, 2, 7]
RATINGS = [None, math.nan, 0, 0.5, 1, 2.75, 3, 5, 100]


def series(values, dtype):
    if dtype == pl.String:
        return pl.Series(values, dtype=dtype)
    if dtype == pl.Boolean:
        values = [None if value is None else bool(value) for value in values]
    elif isinstance(dtype, pl.Decimal):
        values = [None if value is None else Decimal(str(value)) for value in values]
    elif dtype not in (pl.Float64, pl.Float32):
        values = [None if value is None else int(value) for value in values]
    return pl.Series(values, dtype=dtype)


@st.composite
def groups(draw, ranks=RANKS, unique=False, dtypes=tuple(DTYPES)):
    """Draw up to three rankings, some without a row, with columns for every measure."""
    kinds = {
        "rank": draw(st.sampled_from([dtype for dtype in NUMBERS if dtype in dtypes])),
        "relevance": draw(st.sampled_from(dtypes)),
        "prediction": draw(st.sampled_from(NUMBERS)),
        "actual": draw(st.sampled_from(NUMBERS)),
        "instead": draw(st.sampled_from(NUMBERS)),
        "ideal_rank": draw(st.sampled_from([dtype for dtype in NUMBERS if dtype in dtypes])),
        "score": draw(st.sampled_from(NUMBERS)),
        "subtopic": draw(st.sampled_from([pl.String, pl.Int8])),
    }
    values = {
        "rank": ranks,
        "relevance": GRADES,
        "prediction": RATINGS,
        "actual": RATINGS,
        "instead": RANKS,
        "ideal_rank": ranks,
        "score": SCORES,
    }
    fitting = {name: [v for v in values[name] if DTYPES[kinds[name]](v)] for name in values}
    fitting["subtopic"] = [None, "a", "b", "B"] if kinds["subtopic"] == pl.String else [None, 1, 2, 10]
    frames = []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.integers(0, min(9, len(fitting["rank"])) if unique else 9))
        columns = {
            name: draw(
                st.lists(
                    st.sampled_from(fitting[name]),
                    min_size=size,
                    max_size=size,
                    unique=unique and name == "rank",
                )
            )
            for name in kinds
        }
        total = draw(st.sampled_from([None, 0, 1, 4, 9]))
        frame = pl.DataFrame({name: series(columns[name], kind) for name, kind in kinds.items()})
        frames.append(frame.with_columns(pl.lit(total, pl.Int64).alias("total")))
    return frames


@st.composite
def calls(draw, names=tuple(MEASURES)):
    """Draw some measures, every option at random; the thorough profile draws all of them each time."""
    first = draw(st.integers(0, len(names) - 1))
    some = [*names[first:], *names[:first]][: MEASURES_AT_ONCE or len(names)]
    return [
        Call(name, {o: draw(st.sampled_from(domain(name, o))) for o in MEASURES[name].options})
        for name in some
    ]


def shown(group):
    return group.to_dict(as_series=False)


def assert_engines_agree(frames, asked, engines=ENGINES):
    wanted = {place: [by_reference(call, frame) for call in asked] for place, frame in enumerate(frames)}
    for engine, answer in engines.items():
        values = answer(frames, asked)
        assert values.keys() >= {place for place, frame in enumerate(frames) if frame.height}
        for place, got in values.items():
            for call, value, right in zip(asked, got, wanted[place], strict=True):
                assert same(value, right), f"{engine} {call}: {value}, not {right}, of {shown(frames[place])}"


# Golden cases


def case_frame(case):
    columns = []
    for name, values in case.items():
        if isinstance(values, list):
            known = [value for value in values if value != "null"]
            default = pl.Float64 if not known or any(isinstance(v, float) for v in known) else None
            dtype = getattr(pl, case["dtypes"][name]) if name in case.get("dtypes", {}) else default
            columns.append(
                pl.Series(name, [None if value == "null" else value for value in values], dtype=dtype)
            )
    return pl.DataFrame(columns)


@pytest.mark.parametrize("engine", [*ENGINES, "reference"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['call']}, {case['why']}")
def test_golden_case(case, engine):
    call, frame = parse_call(case["call"]), case_frame(case)
    expected = None if case["expected"] == "null" else case["expected"]
    if engine == "reference":
        assert same(by_reference(call, frame), expected)
        return
    values = ENGINES[engine]([frame], [call])
    assert values or not frame.height
    for (value,) in values.values():
        assert same(value, expected)


@pytest.mark.parametrize("case", [case for case in CASES if "by_hand" in case], ids=lambda case: case["call"])
def test_golden_value_follows_from_its_arithmetic(case):
    value = eval(case["by_hand"], {"__builtins__": {}, "log2": math.log2, "sqrt": math.sqrt, "min": min})
    assert same(value, case["expected"])


def test_every_option_away_from_its_default_has_a_golden_case():
    seen = {
        (call.name, o, repr(v))
        for call in (parse_call(c["call"]) for c in CASES)
        for o, v in call.options.items()
    }
    for name, measure in MEASURES.items():
        for option, default in measure.options.items():
            tried = {value for n, o, value in seen if (n, o) == (name, option)}
            assert tried - {repr(default)}, f"no case of {name} with another {option}"
            if isinstance(default, str) and option != "not_found":
                assert tried >= set(map(repr, domain(name, option))) - {repr(default)}, (
                    f"{name}: {option} has words without a case"
                )


# Engines against the slow loops


@pytest.mark.parametrize("name", MEASURES)
def test_each_option_value(name):
    frames = [
        pl.DataFrame(
            {
                "rank": [3, 1, None, 2, 2, 7, None, 0],
                "relevance": [2.0, 0.0, 3.0, None, 1.0, 4.0, math.nan, 0.5],
                "total": [5] * 8,
                "instead": [9, None, 4, 3, 2, 1, 0, 6],
                "prediction": [1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0, 8.0],
                "actual": [1.5, None, 3.0, 2.0, 5.0, 9.0, 7.0, 8.0],
                "subtopic": ["b", "a", "a", None, "b", "b", "c", "a"],
                "ideal_rank": [2, None, 1, 4, 2, 5, 3, 6],
                "score": [2.0, 3.0, None, 2.0, 2.0, 0.0, math.nan, -1.0],
            }
        ),
        pl.DataFrame(
            {
                "rank": [2, 1],
                "relevance": [-1.0, 0.0],
                "total": [0] * 2,
                "instead": [9, 1],
                "prediction": [None, 2.0],
                "actual": [1.5, None],
                "subtopic": ["b", "a"],
                "ideal_rank": [1, 2],
                "score": [0.0, 0.0],
            },
            schema_overrides={"rank": pl.Int64, "prediction": pl.Float64},
        ),
    ]
    assert_engines_agree(frames, [call for call in EACH_VALUE if call.name == name])


@given(frames=groups(), asked=calls())
def test_engines_agree(frames, asked):
    assert_engines_agree(frames, asked)


@given(frames=groups(), asked=calls())
def test_columns_may_be_renamed_or_expressions(frames, asked):
    places = {
        column: f"my {column}"
        for column in ("rank", "relevance", "prediction", "actual", "subtopic", "ideal_rank", "score")
    }
    renamed = [frame.rename(places) for frame in frames]
    as_names = [as_expression(call, **places).alias(str(i)) for i, call in enumerate(asked)]
    through = {column: pl.coalesce(pl.col(place)) for column, place in places.items()}
    as_exprs = [as_expression(call, **through).alias(str(i)) for i, call in enumerate(asked)]
    in_sql = ", ".join(
        as_macro(call, **{column: f'coalesce("{place}")' for column, place in places.items()})
        for call in asked
    )
    for plain, frame in zip(frames, renamed, strict=True):
        wanted = [by_reference(call, plain) for call in asked]
        answers = [
            frame.select(as_names).row(0),
            frame.select(as_exprs).row(0),
            ask(f"SELECT {in_sql} FROM judged", frame)[0],
        ]
        for answer in answers:
            for call, value, right in zip(asked, answer, wanted, strict=True):
                assert same(value, right), f"{call}: {value}, not {right}, of {shown(plain)}"


# Invariants


@given(frames=groups(), asked=calls(), seed=st.integers(0, 99))
def test_row_order_does_not_matter(frames, asked, seed):
    shuffled = [frame.sample(fraction=1, shuffle=True, seed=seed) for frame in frames]
    for engine in (select, sql_whole):
        before, after = engine(frames, asked), engine(shuffled, asked)
        for place, frame in enumerate(frames):
            for call, one, other in zip(asked, before[place], after[place], strict=True):
                assert same(one, other), f"{engine.__name__} {call}: {one} and {other} of {shown(frame)}"


GROWS_WITH_K = [
    *("dcg", "expected_dcg", "recall", "success", "reciprocal_rank", "average_precision", "rbp", "err"),
    *("num_relevant_returned", "num_nonrelevant_returned"),
]


@given(frames=groups(), k=st.integers(1, 10))
def test_the_top_k_never_exceeds_the_whole_list(frames, k):
    asked = [Call(name, {"k": cutoff}) for name in GROWS_WITH_K for cutoff in (k, None)]
    for engine in (eager, sql):
        for place, values in engine(frames, asked).items():
            for call, top, whole in zip(asked[::2], values[::2], values[1::2], strict=True):
                if not (math.isnan(top) or math.isnan(whole)):
                    assert top <= whole, (
                        f"{engine.__name__} {call}: {top} > {whole} of {shown(frames[place])}"
                    )


@pytest.mark.parametrize("k", [1, 999, 1000, 10**5, 10**6])
def test_a_deep_ideal_is_the_sum_of_its_discounts(k):
    exact = math.fsum(1 / math.log2(place + 1) for place in range(1, k + 1))
    frame = pl.DataFrame({"rank": [1], "relevance": [1]})
    for values in (select([frame], [deep_ndcg(k)]), sql_whole([frame], [deep_ndcg(k)])):
        assert values[0][0] == pytest.approx(1 / exact, rel=1e-13)


def deep_ndcg(k):
    return Call("ndcg", {"k": k, "ideal": "k"})


@pytest.mark.parametrize("k", [10**12, 10**18, 2**63, 10**30])
def test_memory_does_not_grow_with_k(k):
    frame = pl.DataFrame({"rank": [1], "relevance": [1]})
    polars, duck = select([frame], [deep_ndcg(k)])[0][0], sql_whole([frame], [deep_ndcg(k)])[0][0]
    assert 0 < polars < 1e-9
    assert duck == pytest.approx(polars, rel=1e-12)


class Spy(Blocks):
    """Notes whether a formula counts every returned row."""

    counts_rows = False

    def returned(self, k):
        self.counts_rows = True
        return super().returned(k)

    def ideal(self, gain, k, of="judged"):
        self.counts_rows |= of == "k" and k is None
        return super().ideal(gain, k, of)


def counts_returned_rows(call):
    """Whether an unjudged row that was returned may change the value."""
    measure = MEASURES[call.name]
    if measure.formula is None:
        return not measure.ignores_unjudged
    spy = Spy("rank", "relevance")
    measure.formula(spy, **{**measure.options, **call.options})
    return spy.counts_rows


@given(frames=groups(), asked=calls(tuple(name for name in RANKED if name not in LINK)))
def test_a_missing_unjudged_row_does_not_matter(frames, asked):
    asked = [call for call in asked if not counts_returned_rows(call)]
    judged = pl.col("relevance").is_not_null() & pl.col("relevance").cast(pl.Float64).is_not_nan()
    kept = [frame.filter(judged) for frame in frames]
    for engine in (select, sql_whole):
        before, after = engine(frames, asked), engine(kept, asked)
        for place, frame in enumerate(frames):
            if not kept[place].height:
                continue  # a group without rows is empty, whatever num_relevant says
            for call, one, other in zip(asked, before[place], after[place], strict=True):
                assert same(one, other), f"{engine.__name__} {call}: {one} and {other} of {shown(frame)}"


@given(frames=groups(), asked=calls(tuple(name for name in RANKED if name not in LINK)))
def test_a_row_neither_returned_nor_judged_does_not_matter(frames, asked):
    extra = [
        pl.concat(
            [frame, frame.head(1).with_columns(pl.lit(None).alias("rank"), pl.lit(None).alias("relevance"))],
            how="vertical_relaxed",
        )
        for frame in frames
    ]
    for engine in (select, sql_whole):
        before, after = engine(frames, asked), engine(extra, asked)
        for place, frame in enumerate(frames):
            for call, one, other in zip(asked, before[place], after[place], strict=True):
                assert same(one, other), f"{engine.__name__} {call}: {one} and {other} of {shown(frame)}"


@given(frames=groups(ranks=[None, *range(1, 12)], unique=True), asked=calls())
def test_values_stay_in_the_range_of_the_catalogue(frames, asked):
    # A number of relevant items below what the rows show is a lie: no range is promised for it.
    asked = [Call(c.name, {o: v for o, v in c.options.items() if o != "num_relevant"}) for c in asked]
    for engine in (select, sql_whole):
        for place, values in engine(frames, asked).items():
            for call, value in zip(asked, values, strict=True):
                low, high = MEASURES[call.name].bounds
                if call.options.get("max_relevance") == "unscaled":
                    continue  # without a scale there is no top
                assert value is None or math.isnan(value) or low - 1e-12 <= value <= high + 1e-12, (
                    f"{engine.__name__} {call}: {value} of {shown(frames[place])}"
                )


def pads_to_k(call):
    """Tell whether places below the end of the list count."""
    return (
        call.name in ("f_measure", "unjudged_share", "sdcg", "alpha_dcg", "err_ia", "p_ia")
        or call.options.get("denominator") == "k"
        or call.options.get("ideal") == "k"
    )


@given(frames=groups(), asked=calls(tuple(name for name, m in MEASURES.items() if "k" in m.options)))
def test_a_cutoff_beyond_the_list_is_no_cutoff(frames, asked):
    asked = [call for call in asked if not pads_to_k(call)]
    beyond = [Call(call.name, {**call.options, "k": 1000}) for call in asked]
    without = [Call(call.name, {**call.options, "k": None}) for call in asked]
    for engine in (select, sql_whole):
        cut, uncut = engine(frames, beyond), engine(frames, without)
        for place, frame in enumerate(frames):
            for call, one, other in zip(asked, cut[place], uncut[place], strict=True):
                assert same(one, other), f"{engine.__name__} {call}: {one} and {other} of {shown(frame)}"


@given(frames=groups(), data=st.data())
def test_the_cutoff_may_be_a_grouping_column_in_sql(frames, data):
    names = tuple(name for name, m in MEASURES.items() if "k" in m.options)
    asked = data.draw(calls(names))
    cutoffs = [1, 2, 5]
    chosen = ", ".join(
        as_macro(call).replace(f"k := {call.options['k'] or 'NULL'}", "k := cutoff") for call in asked
    )
    for frame in frames:
        rows = ask(
            f"SELECT cutoff, {chosen} FROM judged, (SELECT unnest({cutoffs}) AS cutoff) GROUP BY cutoff",
            frame,
        )
        assert len(rows) == (len(cutoffs) if frame.height else 0)
        for cutoff, *values in rows:
            for call, value in zip(asked, values, strict=True):
                right = by_reference(Call(call.name, {**call.options, "k": cutoff}), frame)
                assert same(value, right), f"{call} at {cutoff}: {value}, not {right}, of {shown(frame)}"


# Refusals

WRONG = {
    "k": [0, -1, 1.5],
    "min_relevance": [-1, -0.5, None],
    "gain": ["exp", "Linear", None, {1: "x"}],
    "recall": [-0.1, 1.5, None],
    "alpha": [-0.1, 1.5, None],
    "rounding": ["down", None],
    "multiple": [0, -1, None],
    "target": [0, -1, None],
    "equation": [7, None],
    "normalized": [None],
    "relevant_returned": [None],
    "others_returned": [None],
    "relevant_missed": [None],
    "ideal": ["qrels", None],
    "denominator": ["relevent", "K", None],
    "persistence": [-0.1, 1, 1.5, None],
    "beta": [0, -1, None],
    "max_relevance": [0, -1],
    "not_found": [None, -1],
}
REFUSED = [
    Call(name, {option: value})
    for name, measure in MEASURES.items()
    for option in measure.options
    for value in WRONG.get(option, [])
] + [
    Call("err", {"max_relevance": None}),
    Call("rbp", {"max_relevance": "highst"}),
    Call("precision", {"denominator": "relevant"}),
]
TABLE = pl.DataFrame(
    {"rank": [1, 2], "relevance": [1, 0], "subtopic": ["a", "a"], "ideal_rank": [1, None], "score": [2, 1]},
    schema_overrides={"ideal_rank": pl.Int64},
)


@pytest.mark.parametrize("call", REFUSED, ids=str)
def test_a_wrong_option_is_refused_in_python(call):
    (option,) = call.options
    with pytest.raises((ValueError, TypeError), match=option):
        as_expression(call)


# In SQL not_found is a column: its values are looked at, and a null or negative one adds 0.
@pytest.mark.parametrize("rows", [TABLE, TABLE.clear()], ids=["two rows", "no row"])
@pytest.mark.parametrize("call", [call for call in REFUSED if "not_found" not in call.options], ids=str)
def test_a_wrong_option_is_refused_in_sql(call, rows):
    (option,) = call.options
    with pytest.raises(duckdb.Error, match=rf"{option} must be"):
        sql_whole([rows], [call])


@pytest.mark.parametrize("name", sorted(LINK))
def test_a_word_that_not_found_does_not_know_is_refused_in_sql(name):
    with pytest.raises(duckdb.Error, match="not_found must be"):
        ask(f"SELECT rank.{name}(rank, not_found := 'sero') FROM judged", TABLE)


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_an_unknown_option_is_refused(name):
    with pytest.raises(TypeError):
        as_expression(Call(name, {"cutoff": 3}))
    with pytest.raises(duckdb.Error):
        sql_whole([TABLE], [Call(name, {"cutoff": 3})])


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_options_are_keywords_in_python(name):
    measure = MEASURES[name]
    if measure.options:
        with pytest.raises(TypeError):
            measure.function(*measure.columns, 3)


# Labels


@pytest.mark.parametrize("call", EACH_VALUE, ids=str)
def test_label(call):
    options = MEASURES[call.name].options
    changed = {
        o: v
        for o, v in call.options.items()
        if not (v == options[o] and isinstance(v, bool) == isinstance(options[o], bool))
    }
    cutoff = changed.pop("k", None)
    words = ", ".join(f"{option}={value}" for option, value in changed.items())
    label = call.name + (f"({words})" if words else "") + (f"@{cutoff}" if cutoff else "")
    assert as_expression(call).meta.output_name() == label


@pytest.mark.parametrize(
    ("call", "label"),
    [
        ("ndcg(k=10)", "ndcg@10"),
        ("precision(k=5, min_relevance=2)", "precision(min_relevance=2)@5"),
        ("ndcg(k=3, gain='exponential', empty=None)", "ndcg(gain=exponential, empty=None)@3"),
        ("average_precision(num_relevant='total')", "average_precision(num_relevant=total)"),
        ("rbp()", "rbp"),
    ],
)
def test_label_in_words(call, label):
    assert as_expression(parse_call(call)).meta.output_name() == label


def test_two_cutoffs_stand_side_by_side():
    asked = [parse_call(text) for text in ("ndcg(k=1)", "ndcg(k=2)", "ndcg()", "precision(k=1)")]
    frame = TABLE.select(as_expression(call) for call in asked)
    assert frame.columns == ["ndcg@1", "ndcg@2", "ndcg", "precision@1"]


# The types of values


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_values_are_floats_in_both_engines(name):
    columns = ("rank", "relevance", "prediction", "actual", "subtopic", "ideal_rank", "score")
    frame = pl.DataFrame({column: pl.Series([1, 2], dtype=pl.UInt8) for column in columns})
    assert frame.select(as_expression(Call(name, {}))).dtypes == [pl.Float64]
    assert ask(f"SELECT typeof({as_macro(Call(name, {}))}) FROM judged", frame) == [("DOUBLE",)]


def test_the_reference_has_every_measure():
    assert all(callable(getattr(reference, name)) for name in MEASURES)


def test_option_domains_cover_every_option():
    for name, measure in MEASURES.items():
        for option, default in measure.options.items():
            assert default in domain(name, option), f"{name} {option}"
            assert is_column(option, "total") or "total" not in domain(name, option)
