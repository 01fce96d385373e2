"""What a user's columns are called changes no value: no name meets one that the functions work with."""

import ast
import json
import re
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from test_report import Page

import polars_rank as rank
from polars_rank.reporting.charts import by_cutoff, precision_recall, slices_chart
from polars_rank.reporting.leaderboards import leaderboard, standings
from polars_rank.reporting.page import page

PLAIN = "a plain name"
STRANGE = ["", " ", '"', "a\nb", "</script>", "🦆", "{}", "column: a plain name", "__proto__"]
PATTERNS = ["*", "^a.*$"]
MODULES = [
    *(
        "comparison/compared_systems",
        "comparison/contributions",
        "comparison/pairs",
        "comparison/sample_size",
    ),
    *("comparison/statistics", "core/frames", "evaluation/per_query", "evaluation/shared_plan"),
    *(
        "evaluation/summary",
        "reporting/charts",
        "reporting/curves",
        "reporting/page/__init__",
        "reporting/leaderboards",
    ),
]
PROBE = "a name of no column"
REFUSED = r"is what a column of the result is called|has another role"
OPTIONS = {"tests": ["t", "wilcoxon", "tukey"], "samples": 20}


def names_within():
    """Give every name that the code gives to a column: .alias("x"), .agg(x=...), with_row_index("x")."""
    found = set()
    for module in MODULES:
        path = Path(rank.__file__).parent / f"{module}.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr in ("alias", "with_row_index", "prefix"):
                found |= {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
            if node.func.attr in ("with_columns", "select", "agg"):
                found |= {keyword.arg for keyword in node.keywords if keyword.arg}
    return found


NAMES = sorted({*STRANGE, *names_within(), "_code_0", "gaining", "best", "len", "literal"})


@pytest.fixture(scope="module")
def judged():
    run = pl.DataFrame(
        {
            "query": [f"q{place // 6}" for place in range(48)],
            "system": ["x", "x", "x", "y", "y", "y"] * 8,
            "item": list("abcbcdacbdab") * 4,
            "score": [3.0, 2.0, 1.0] * 16,
        }
    ).with_columns(pl.col("query").replace_strict({f"q{n}": f"s{n % 2}" for n in range(8)}).alias(PLAIN))
    qrels = pl.DataFrame({"query": [f"q{n}" for n in range(8)], "item": list("abcdabca"), "relevance": 1})
    return rank.judge(run, qrels, attributes=[PLAIN])


@pytest.fixture(scope="module")
def per_query(judged):
    return rank.evaluate(judged, ["nDCG@2", "AP"], by=[PLAIN])


def of_judged(function):
    return lambda judged, _, old, new: function(judged.rename({old: new}), new)


def of_per_query(function):
    return lambda _, per_query, old, new: function(per_query.rename({old: new}), new)


def halves(judged, measure, **columns):
    return rank.diff(judged.filter(system="x"), judged.filter(system="y"), measure, **columns)


SLICING = {
    "evaluate": of_judged(lambda t, n: rank.evaluate(t, ["nDCG(empty=1)@2", "P", "bpref"], by=[n])),
    "rankings": of_judged(lambda t, n: rank.evaluate(t, ["nDCG(judged_only=True)"], keys=["system", n])),
    "summarize": of_per_query(lambda t, n: rank.summarize(t, by=[n, "system"], interval="t")),
    "compare": of_per_query(lambda t, n: rank.compare(t, by=n, **OPTIONS)),
    "power": of_per_query(lambda t, n: rank.power(t, by=n)),
    "gains": of_per_query(lambda t, n: rank.gains(t, "x", "y", "AP", by=n)),
    "diff": of_judged(lambda t, n: halves(t, "err", keys=n)),
    "standings": of_per_query(lambda t, n: standings(t, "x", by=n, missing="zero")),
    "precision_recall": of_judged(lambda t, n: precision_recall(t, keys=["system", n])),
    "by_cutoff": of_judged(lambda t, n: by_cutoff(t, "P", [1, 2], by=["system", n])),
}
IDS = {
    "compare a query": ("query", of_per_query(lambda t, n: rank.compare(t, query=n, **OPTIONS))),
    "compare a system": ("system", of_per_query(lambda t, n: rank.compare(t, system=n, **OPTIONS))),
    "compare a measure": ("AP", of_per_query(lambda t, n: rank.compare(t, measures=n))),
    "power": ("system", of_per_query(lambda t, n: rank.power(t, system=n))),
    "gains of a query": ("query", of_per_query(lambda t, n: rank.gains(t, "x", "y", "AP", query=n))),
    "gains of a system": ("system", of_per_query(lambda t, n: rank.gains(t, "x", "y", "AP", system=n))),
    "diff": ("item", of_judged(lambda t, n: halves(t, "AP", item=n))),
    "standings of a query": ("query", of_per_query(lambda t, n: standings(t, "x", query=n))),
    "standings of a system": ("system", of_per_query(lambda t, n: standings(t, "x", system=n))),
    "summarize a measure": ("AP", of_per_query(lambda t, n: rank.summarize(t, measures=[n], interval="t"))),
}  # fmt: skip


def same_but_for_the_name(call, judged, per_query, old, names):
    wanted = call(judged, per_query, old, PROBE)
    shown = PROBE in wanted.columns
    for name in names:
        if name in {*judged.columns, *per_query.columns}:
            continue
        if shown and name in wanted.columns:
            with pytest.raises(ValueError, match=REFUSED):
                call(judged, per_query, old, name)
            continue
        got = call(judged, per_query, old, name)
        if not shown and "measure" in got.columns:
            got = got.with_columns(pl.col("measure").replace(name, PROBE))
        expected = wanted.rename({PROBE: name}) if shown else wanted
        assert_frame_equal(got, expected, check_row_order=False, abs_tol=1e-12)


@pytest.mark.parametrize("function", SLICING)
def test_a_slice_may_be_called_anything(judged, per_query, function):
    # These two refuse a pattern, as below.
    names = NAMES if function in ("evaluate", "rankings") else [*NAMES, *PATTERNS]
    same_but_for_the_name(SLICING[function], judged, per_query, PLAIN, names)


@pytest.mark.parametrize("function", IDS)
def test_queries_systems_items_and_measures_may_be_called_anything(judged, per_query, function):
    old, call = IDS[function]
    same_but_for_the_name(
        call, judged, per_query, old, NAMES if "measure" in function else [*NAMES, *PATTERNS]
    )


@pytest.mark.parametrize("name", [*STRANGE, *PATTERNS, "n", "p", "_one", "value", "measure"])
def test_a_slice_of_what_is_shown_may_be_called_as_a_number_within(per_query, name):
    table = per_query.rename({PLAIN: name})
    text = leaderboard(table, "x", by=name, format="terminal")
    wanted = leaderboard(per_query, "x", by=PLAIN, format="terminal")
    assert [line.split() for line in text.splitlines()[2:]] == [
        line.split() for line in wanted.splitlines()[2:]
    ]
    shown = []
    for each, by in ((table, name), (per_query, PLAIN)):
        (rows,) = json.loads(slices_chart(each, "x", "AP", by=by).to_json())["datasets"].values()
        shown.append([(row["slice"], row["low"], row["high"]) for row in rows])
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    "name", [*STRANGE, *PATTERNS, "_system", "_code_0", "_one", "n", "nDCG@10", "AP", "0.1"]
)
def test_the_page_may_be_sliced_by_a_column_of_any_name(judged, name):
    wanted = Page(page(judged, ["nDCG@10", "AP"], "x", by=PLAIN)).data
    seen = Page(page(judged.rename({PLAIN: name}), ["nDCG@10", "AP"], "x", by=name)).data
    assert seen["attributes"][0].pop("name") == name
    assert wanted["attributes"][0].pop("name") == PLAIN
    assert seen == wanted


def test_columns_that_nobody_asked_for_are_left_alone(judged, per_query):
    names = {*NAMES, *PATTERNS}
    more = [pl.lit("z").alias(name) for name in sorted(names.difference(judged.columns))]
    wanted = Page(page(judged, "AP", "x", by=PLAIN))
    assert Page(page(judged.with_columns(more), "AP", "x", by=PLAIN)).data == wanted.data
    assert_frame_equal(halves(judged.with_columns(more), "AP"), halves(judged, "AP"))
    wide = per_query.with_columns(more)
    assert_frame_equal(standings(wide, "x", by=PLAIN), standings(per_query, "x", by=PLAIN))
    assert_frame_equal(rank.compare(wide, by=PLAIN), rank.compare(per_query, by=PLAIN))


def test_judge_carries_columns_of_any_name(judged):
    run = judged.filter(pl.col("rank").is_not_null()).drop("rank", "relevance")
    qrels = judged.select("query", "item", relevance=1).unique()
    names = sorted({*NAMES, *PATTERNS}.difference(run.columns, ["rank", "relevance"]))
    wide = rank.judge(run.with_columns(pl.lit("z").alias(name) for name in names), qrels)
    plain = rank.judge(run, qrels)
    assert wide.columns == [*plain.columns, *names]
    assert_frame_equal(wide[plain.columns], plain, check_row_order=False)


def test_what_orders_a_ranking_is_no_key_and_no_attribute(judged):
    run = judged.filter(pl.col("rank").is_not_null()).drop("rank", "relevance")
    qrels = judged.select("query", "item", relevance=1).unique()
    for argument in ("keys", "attributes"):
        with pytest.raises(ValueError, match=f"{argument} names 'score', which is a column of the run"):
            rank.judge(run, qrels, **{argument: ["score"]})
    with pytest.raises(ValueError, match="measures='AP' is what a column of the result is called"):
        rank.evaluate(judged.with_columns(AP=1), "AP", by=["AP"])


@pytest.mark.parametrize("role", ["item", "rank", "relevance"])
def test_a_column_has_one_part(judged, role):
    run = judged.filter(pl.col("rank").is_not_null()).drop("rank", "relevance")
    qrels = judged.select("query", "item", relevance=1).unique()
    with pytest.raises(ValueError, match="must be different columns, got 'query' twice"):
        rank.judge(run, qrels, **{role: "query"})


ROLES = ["query", "item", "score", "rank", "relevance"]


@pytest.mark.parametrize("name", [*PATTERNS, "^query$"])
def test_a_pattern_is_refused_in_the_same_words(judged, name):
    run = judged.filter(pl.col("rank").is_not_null()).drop("rank", "relevance").with_columns(score=1.0)
    qrels = judged.select("query", "item", relevance=1).unique()
    wide = run.with_columns(pl.lit("z").alias(name))
    subtopics = qrels.with_columns(pl.lit(1).alias(name))
    lists = pl.DataFrame({"query": ["q"], "items": [["a"]]})
    calls = [
        ("subtopic", partial(rank.judge_subtopics, run, subtopics, subtopic=name)),
        ("keys", partial(rank.judge, wide, qrels, keys=["system", name])),
        ("keys", partial(rank.check, wide, qrels, keys=["system", name])),
        ("attributes", partial(rank.judge, wide, qrels, attributes=[name])),
        ("by", partial(rank.evaluate, judged.with_columns(pl.lit("z").alias(name)), "AP", by=[name])),
        ("keys", partial(rank.evaluate, judged.rename({"system": name}), "AP", keys=[name])),
    ]
    for part in ROLES:
        files = [frame.rename({part: name}, strict=False) for frame in (run, qrels)]
        calls.append((part, partial(rank.judge, *files, **{part: name})))
        calls.append((part, partial(rank.check, *files, **{part: name})))
        calls.append((part, partial(rank.evaluate, files[0], "AP", qrels=files[1], **{part: name})))
    for part in ("query", "rank", "relevance"):
        calls.append((part, partial(rank.evaluate, judged.rename({part: name}), "AP", **{part: name})))
        calls.append((part, partial(rank.check, judged.rename({part: name}), **{part: name})))
    calls += [
        (part, partial(rank.from_lists, lists.rename({part: name}), **{part: name}))
        for part in ("query", "items")
    ]
    for argument, call in calls:
        with pytest.raises(ValueError, match=rf"{argument}.*={re.escape(repr(name))} is a pattern in Polars"):
            call()


def test_lists_carry_columns_of_any_name():
    lists = pl.DataFrame({"query": ["q"], "items": [["a", "b"]], **{name: ["z"] for name in PATTERNS}})
    assert rank.from_lists(lists).columns == ["query", "item", "rank", *PATTERNS]


def test_the_score_is_not_the_rank(judged):
    run = judged.filter(pl.col("rank").is_not_null()).select("query", "system", "item", "rank")
    qrels = judged.select("query", "item", relevance=1).unique()
    for call in (rank.judge, rank.check, partial(rank.evaluate, measures="AP")):
        with pytest.raises(ValueError, match=r"score, .*must be different columns, got 'rank' twice"):
            call(run, qrels=qrels, score="rank")


def test_python_objects_are_no_keys(judged, per_query):
    def with_objects(frame):
        return frame.with_columns(pl.Series("o", [object() for _ in range(len(frame))], dtype=pl.Object))

    run = judged.filter(pl.col("rank").is_not_null()).drop("rank", "relevance").with_columns(score=1.0)
    qrels = judged.select("query", "item", relevance=1).unique()
    rows, means = with_objects(judged), with_objects(per_query)
    for call in (
        lambda: rank.judge(with_objects(run), qrels, keys=["o"]),
        lambda: rank.judge(with_objects(run), qrels, attributes=["o"]),
        lambda: rank.judge(with_objects(run.drop("query")).rename({"o": "query"}), qrels),
        lambda: rank.check(with_objects(run), qrels, keys=["o"]),
        lambda: rank.evaluate(rows, "AP", keys=["o"]),
        lambda: rank.evaluate(rows, "AP", query="o"),
        lambda: rank.evaluate(rows, "AP", by=["o"]),
        lambda: rank.summarize(means, by=["o"]),
        lambda: rank.compare(means, by="o"),
        lambda: rank.compare(means, system="o"),
        lambda: rank.power(means, by="o"),
        lambda: rank.gains(means, "x", "y", "AP", by="o"),
        lambda: rank.diff(rows, rows, "AP", keys="o"),
        lambda: standings(means, by="o"),
        lambda: rank.rbo(rows, rows, by="o"),
    ):
        with pytest.raises(rank.DataError, match=r"\.(o|query) has type Object"):
            call()
    assert_frame_equal(rank.evaluate(rows, "AP"), rank.evaluate(judged, "AP"), check_row_order=False)
