"""Tables, charts and the page: their numbers are those of the statistics, and data stays text in each."""

import html
import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_rank as rank
from polars_rank.command.app import main
from polars_rank.core.errors import DataError
from polars_rank.reporting import page as page_module
from polars_rank.reporting.charts import (
    CUTOFFS,
    by_cutoff,
    cutoffs_chart,
    differences_chart,
    precision_recall,
    precision_recall_chart,
    slices_chart,
    systems_chart,
)
from polars_rank.reporting.leaderboards import leaderboard, standings
from polars_rank.reporting.page import page

HOSTILE = "</script><b>&|_*$\\"


@pytest.fixture(scope="module")
def collection():
    return rank.example()


@pytest.fixture(scope="module")
def judged(collection):
    about = collection.queries.select("query", "kind", "length")
    return rank.judge(collection.run, collection.qrels, attributes=about)


@pytest.fixture(scope="module")
def per_query(judged):
    return rank.evaluate(judged, ["nDCG@10", "AP"], by=["kind", "length"])


# Tables


def test_standings_are_those_of_summarize_and_compare(per_query):
    table = standings(per_query, "bm25")
    summary = rank.summarize(per_query, interval="t")
    compared = rank.compare(per_query, "bm25")
    for row in table.iter_rows(named=True):
        mean = summary.filter(measure=row["measure"], system=row["system"]).row(0, named=True)
        assert [row[n] for n in ("value", "low", "high", "n")] == [
            mean[n] for n in ("value", "low", "high", "n")
        ]
        against = compared.filter(measure=row["measure"], system=row["system"])
        if row["system"] == "bm25":
            assert [row[n] for n in ("difference", "p", "wins", "beaten")] == [None] * 4
        else:
            told = against.row(0, named=True)
            assert (row["difference"], row["p"]) == (told["difference"], told["p_t_holm"])
            assert [row[n] for n in ("wins", "ties", "losses")] == [
                told[n] for n in ("wins", "ties", "losses")
            ]
            assert row["beaten"] == (told["p_t_holm"] < 0.05 and told["difference"] < 0)


def test_letters_name_the_systems_that_are_significantly_worse(per_query):
    table = standings(per_query)
    letters = dict(table.filter(measure="nDCG@10").select("system", "letter").rows())
    assert letters == {"bm25": "a", "word-tfidf": "b", "char-tfidf": "c"}
    for measure in ("nDCG@10", "AP"):
        found = dict(table.filter(measure=measure).select("system", "beats").rows())
        wanted = dict.fromkeys(letters, "")
        for pair in rank.compare(per_query, measures=measure).iter_rows(named=True):
            if pair["p_t_holm"] < 0.05:
                better, worse = (pair["system"], pair["baseline"])[:: 1 if pair["difference"] > 0 else -1]
                wanted[better] = "".join(sorted(wanted[better] + letters[worse]))
        assert found == wanted


def test_where_lower_is_better_a_win_is_a_lower_value():
    ranks = pl.DataFrame(
        {
            "query": [f"q{i}" for i in range(6)] * 2,
            "system": ["x"] * 6 + ["y"] * 6,
            "mean_rank": [5.0, 6, 7, 8, 9, 10, 1, 2, 3, 3, 4, 10],
        }
    )
    table = standings(ranks, "x")
    assert table["system"].to_list() == ["y", "x"]
    assert table.row(0, named=True)["best"]
    assert table.select("wins", "ties", "losses", "beats", "beaten").row(0) == (5, 1, 0, "b", False)
    assert table.select(pl.col("difference") < 0).row(0) == (True,)


def test_one_query_gives_no_interval_and_no_mark():
    one = pl.DataFrame({"query": ["q", "q"], "system": ["x", "y"], "AP": [0.5, 1.0]})
    assert leaderboard(one, "x").splitlines()[2:4] == ["| y | **1.000** | 1/0/0 |", "| x | 0.500 |  |"]


def test_markdown_has_a_cell_a_number(per_query):
    lines = leaderboard(per_query, "bm25", digits=2).splitlines()
    assert lines[0] == "| system | nDCG@10 | wins/ties/losses | AP | wins/ties/losses |"
    assert lines[2].startswith("| bm25 | **0.67** [0.63, 0.71] |  | **0.58** ")
    assert lines[3].startswith("| word-tfidf | 0.62↓ [0.58, 0.66] | 31/148/82 | 0.52↓ ")
    assert lines[-1] == "↑ ↓: better or worse than bm25 at 5 %, by paired t test, p values corrected by Holm."


def test_note_tells_what_was_done(per_query):
    few = per_query.filter(pl.col("kind") == "topical")
    options = {"interval": "bootstrap", "level": 0.9, "test": "tukey"}
    note = leaderboard(few, measures="AP", **options).splitlines()[-2:]
    assert note == [
        "81 queries. Means with 90 % intervals (bootstrap); the best in bold.",
        "Letters: better than these systems at 10 %, by randomised Tukey HSD.",
    ]
    corrected = leaderboard(few, measures="AP", test="wilcoxon", correction="benjamini-hochberg")
    assert "Wilcoxon's signed-rank test, p values corrected by Benjamini-Hochberg." in corrected


def hostile(per_query):
    return per_query.with_columns(pl.col("system").replace("bm25", HOSTILE)).rename({"AP": "a_b<i>"})


def test_names_are_escaped_in_every_format(per_query):
    table = hostile(per_query)
    options = {"baseline": HOSTILE, "measures": ["nDCG@10", "a_b<i>"]}
    markdown = leaderboard(table, **options).splitlines()
    assert r"| \</script\>\<b\>\&\|\_\*\$\\ |" in markdown[2]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in markdown[:5]}) == 1
    latex = leaderboard(table, **options, format="latex")
    assert (
        r"\textless{}/script\textgreater{}\textless{}b\textgreater{}\&\textbar{}\_{*}\$\textbackslash{}"
        in latex
    )
    page = leaderboard(table, **options, format="html")
    assert HOSTILE not in page
    assert page.count(html.escape(HOSTILE)) == 2
    assert "a_b&lt;i&gt;" in page
    plain = leaderboard(table, **options, format="terminal")
    assert HOSTILE in plain
    assert "\x1b" not in plain


@pytest.mark.parametrize(
    "name", ["new\nline", "a\r\n\r\nb", "\x1b[31mred", "par\u2029agraph", "\u202ereversed"]
)
def test_a_name_stays_in_its_line(per_query, name):
    table = per_query.with_columns(pl.col("system").replace("bm25", name))
    for form in ("markdown", "latex", "terminal"):
        plain = leaderboard(per_query, "bm25", format=form, measures="AP")
        text = leaderboard(table, name, format=form, measures="AP")
        assert len(text.splitlines()) == len(plain.splitlines())
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u2028\u2029\u202e]", text)
    notes = leaderboard(table, name, format="latex").splitlines()[-2:]
    assert all(note.startswith("% ") for note in notes)


def test_notes_are_escaped_too(per_query):
    note = leaderboard(hostile(per_query), HOSTILE, measures="nDCG@10").splitlines()[-1]
    assert r"better or worse than \</script\>\<b\>\&\|\_\*\$\\ at 5 %" in note


@pytest.mark.parametrize("name", ["[0]", "*best"])
def test_a_latex_row_may_begin_with_what_looks_like_an_option(per_query, name):
    table = per_query.with_columns(pl.col("system").replace("char-tfidf", name))
    latex = leaderboard(table, format="latex", measures="AP").splitlines()
    assert latex[6].startswith("{" + name[0] + "}")


def test_of_many_systems_each_has_letters_of_its_own():
    systems = [f"s{place:03}" for place in range(710)]
    table = pl.DataFrame(
        {
            "query": [0, 1, 2] * 710,
            "system": [name for name in systems for _ in range(3)],
            "AP": [710 - place + query * place / 1e4 for place in range(710) for query in range(3)],
        }
    )
    letters = standings(table, "s000")["letter"].to_list()
    assert [letters[place] for place in (0, 25, 26, 27, 701, 702, 709)] == [
        *("a", "z", "aa", "ab", "zz", "aaa", "aah")
    ]
    assert len(set(letters)) == 710
    few = table.filter(pl.col("system") < "s030")
    beats = standings(few, test="t", correction="benjamini-hochberg").row(0, named=True)["beats"]
    assert beats.split() == letters[1:30]


def lacking(per_query):
    """Take ten queries from one system."""
    some = per_query["query"].unique().sort().head(10).to_list()
    return per_query.filter(~((pl.col("system") == "char-tfidf") & pl.col("query").is_in(some)))


def test_a_query_that_counts_as_zero_does_so_in_the_mean_too(per_query):
    table = standings(lacking(per_query), "bm25", missing="zero")
    row = table.filter(system="char-tfidf", measure="AP").row(0, named=True)
    values = lacking(per_query).filter(system="char-tfidf")["AP"]
    assert row["n"] == 261 == row["wins"] + row["ties"] + row["losses"]
    assert row["value"] == pytest.approx(values.sum() / 261, abs=1e-12)
    best = table.filter(system="bm25", measure="AP")["value"].item()
    assert row["difference"] == pytest.approx(row["value"] - best, abs=1e-12)
    zero = leaderboard(lacking(per_query), missing="zero").splitlines()
    assert zero[-3].startswith("261 queries.")
    assert zero[-1] == "A query that a system lacks counts as 0."
    drop = leaderboard(lacking(per_query), missing="drop").splitlines()
    assert drop[-3].startswith("251 to 261 queries.")
    assert drop[-1] == "Systems lack queries; each pair is compared on the queries that both have."


def test_a_null_is_left_out_of_the_mean_even_where_a_missing_row_counts_as_zero(per_query):
    query = per_query["query"].min()
    nothing_judged = (pl.col("query") == query) & (pl.col("system") == "bm25")
    nulled = lacking(per_query).with_columns(AP=pl.when(~nothing_judged).then("AP"))
    table = standings(nulled, "bm25", measures="AP", missing="zero")
    rest = nulled.filter(system="bm25")["AP"].drop_nulls()
    row = table.filter(system="bm25").row(0, named=True)
    assert (row["n"], row["value"]) == (260, pytest.approx(rest.mean(), abs=1e-12))
    row = table.filter(system="word-tfidf").row(0, named=True)
    assert row["wins"] + row["ties"] + row["losses"] == 260


def test_a_table_by_slice_has_the_numbers_of_each_slice(per_query):
    some = pl.when(pl.col("kind") == "topical").then("kind")
    sliced = per_query.with_columns(some.alias("kind"))
    table = standings(sliced, "bm25", by="kind", measures="AP")
    assert table.columns[:4] == ["kind", "measure", "system", "letter"]
    assert table["kind"].to_list() == [None] * 3 + ["topical"] * 3
    compared = rank.compare(sliced, "bm25", by="kind", measures="AP")
    means = rank.summarize(sliced, by=["kind", "system"], measures=["AP"], interval="t")
    for row in compared.iter_rows(named=True):
        here = pl.col("kind").eq_missing(pl.lit(row["kind"])), pl.col("system") == row["system"]
        found, mean = table.filter(*here).row(0, named=True), means.filter(*here).row(0, named=True)
        numbers = ["difference", "wins", "ties", "losses"]
        assert [found[name] for name in [*numbers, "p"]] == [row[name] for name in [*numbers, "p_t_holm"]]
        assert [found[name] for name in ("value", "low", "n")] == [
            mean[name] for name in ("value", "low", "n")
        ]
    # A letter is the same system in every slice.
    assert table.group_by("system").agg(pl.col("letter").n_unique())["letter"].to_list() == [1, 1, 1]
    for _, part in table.group_by("kind"):
        assert part["value"].is_sorted(descending=True)
        assert part["best"].to_list() == [True, False, False]
    lines = leaderboard(sliced, by="kind", measures="AP").splitlines()
    assert lines[:2] == ["| kind | queries | system | AP |", "| :--- | ---: | :--- | ---: |"]
    assert lines[2].startswith("| (none) | 180 | bm25<sup>a</sup> | **")
    assert lines[-2].startswith("81 to 180 queries per slice.")
    assert r"\begin{tabular}{lrlr}" in leaderboard(sliced, by="kind", measures="AP", format="latex")
    for form in ("html", "terminal"):
        assert leaderboard(sliced, by="kind", measures="AP", format=form).count("topical") == 3


def test_a_table_takes_categories_for_systems(per_query):
    categories = per_query.with_columns(pl.col("system").cast(pl.Categorical))
    assert leaderboard(categories, "bm25") == leaderboard(per_query, "bm25")


def test_a_value_that_is_none_is_explained():
    table = pl.DataFrame({"query": [1, 2] * 2, "system": list("xxyy"), "AP": [0.5, float("nan"), 0.5, 1.0]})
    lines = leaderboard(table).splitlines()
    assert lines[3] == "| x<sup>b</sup> | - |"
    assert lines[-1] == "-: 1 of 2 values are NaN or infinite."


def test_latex_is_a_whole_table(per_query):
    latex = leaderboard(per_query, format="latex").splitlines()
    assert latex[:2] == [r"\begin{tabular}{lrr}", r"\toprule"]
    assert latex[4] == (
        r"bm25\textsuperscript{a} & \textbf{0.674}\textsuperscript{bc} {\scriptsize [0.634, 0.714]} & "
        r"\textbf{0.580}\textsuperscript{bc} {\scriptsize [0.535, 0.624]} \\"
    )
    assert latex[7:9] == [r"\bottomrule", r"\end{tabular}"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"format": "pdf"}, "format must be one of 'terminal', 'markdown', 'latex', 'html'; got 'pdf'"),
        ({"digits": -1}, "digits must be a whole number from 0, got -1"),
        ({"baseline": "bm52"}, "did you mean 'bm25'"),
    ],
)
def test_wrong_calls_are_refused(per_query, options, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        leaderboard(per_query, **options)


# Charts


@st.composite
def rankings(draw):
    places = draw(st.permutations(range(1, 13)))[: draw(st.integers(1, 12))]
    rows = [
        (place if draw(st.booleans()) else None, draw(st.sampled_from([0, 1, 2, None]))) for place in places
    ]
    return [row for row in rows if row != (None, None)] or [(1, 0)]


@given(rows=rankings())
def test_interpolated_precision_is_that_of_a_plain_loop(rows):
    judged = pl.DataFrame(
        [("q", "x", *row) for row in rows], schema=["query", "system", "rank", "relevance"], orient="row"
    ).with_columns(pl.col("rank").cast(pl.Int64), pl.col("relevance").cast(pl.Float64))
    hits = sorted(r for r, grade in rows if r is not None and grade)
    total = sum(bool(grade) for _, grade in rows)
    wanted = []
    for tenths in range(11):
        reached = [(i / r) for i, r in enumerate(hits, 1) if i * 10 >= tenths * total]
        wanted.append(max(reached, default=0.0))
    found = precision_recall(judged)
    assert found["recall"].to_list() == [tenths / 10 for tenths in range(11)]
    assert found["precision"].to_list() == pytest.approx(wanted, abs=1e-15)
    assert precision_recall(judged.lazy()).collect().equals(found)


def test_measure_by_cutoff_is_the_mean_at_each(judged):
    found = by_cutoff(judged, "nDCG(gain=exponential)", [1, 10], by=["system", "kind"])
    assert found.columns == ["system", "kind", "k", "value"]
    wanted = rank.evaluate(judged, ["nDCG(gain=exponential)@10"], by=["kind"])
    mean = wanted.filter(system="bm25", kind="topical")["nDCG(gain=exponential)@10"].mean()
    assert found.filter(system="bm25", kind="topical", k=10)["value"].item() == pytest.approx(mean, abs=1e-12)
    with pytest.raises(ValueError, match="must take a cutoff and have none yet, got 'nDCG@10'"):
        by_cutoff(judged, "nDCG@10")
    with pytest.raises(ValueError, match="got 'bpref'"):
        by_cutoff(judged, "bpref")


def test_the_best_system_is_on_top_where_lower_is_better():
    ranks = pl.DataFrame({"query": [1, 2] * 2, "system": list("xxyy"), "mean_rank": [5.0, 6, 1, 2]})
    encoding = systems_chart(ranks).to_dict(validate=False)["spec"]["layer"][0]["encoding"]
    assert encoding["y"]["sort"] == ["y", "x"]


def test_slices_are_drawn_where_a_system_lacks_queries(per_query):
    with pytest.raises(DataError, match="missing="):
        slices_chart(lacking(per_query), "bm25", "AP", by="kind")
    rows = drawn_values(slices_chart(lacking(per_query), "bm25", "AP", by="kind", missing="drop"))
    assert {row["missing"] for row in rows if row.get("system") == "char-tfidf"} == {10, 0}


def charts(judged, per_query):
    return {
        "systems": systems_chart(per_query),
        "differences": differences_chart(per_query, "bm25", "char-tfidf", "nDCG@10"),
        "precision_recall": precision_recall_chart(judged),
        "cutoffs": cutoffs_chart(judged),
        "slices": slices_chart(per_query, "bm25", "nDCG@10", by=["kind", "length"]),
    }


@pytest.mark.parametrize("name", ["systems", "differences", "precision_recall", "cutoffs", "slices"])
def test_charts_become_pictures(judged, per_query, name, tmp_path):
    chart = charts(judged, per_query)[name]
    chart.save(tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    chart.save(tmp_path / "chart.svg")
    drawing = (tmp_path / "chart.svg").read_text()
    assert {
        "systems": "nDCG@10",
        "differences": "50 higher, 109 equal, 102 lower",
        "slices": "topical, short",
    }.get(name, "bm25") in drawing
    # Drawn, not only framed.
    assert drawing.count('aria-roledescription="') > 5 or drawing.count("<path") > 10


def drawn_values(chart):
    return [row for rows in chart.to_dict(validate=False)["datasets"].values() for row in rows]


def test_charts_hold_the_numbers(per_query):
    summary = {
        (r["measure"], r["system"]): r["value"] for r in rank.summarize(per_query).iter_rows(named=True)
    }
    for row in drawn_values(systems_chart(per_query)):
        assert row["value"] == pytest.approx(summary[row["measure"], row["system"]], abs=1e-12)


def test_many_queries_are_thinned_and_the_ends_stay():
    many = pl.DataFrame(
        {
            "query": [*range(5000)] * 2,
            "system": ["x"] * 5000 + ["y"] * 5000,
            "AP": [0.5] * 5000 + [i / 5000 for i in range(5000)],
        }
    )
    rows = drawn_values(differences_chart(many, "x", "y", "AP"))
    gains = [row["gain"] for row in rows if "gain" in row]
    assert 900 <= len(gains) <= 1002
    assert (gains[0], gains[-1]) == (pytest.approx(0.4998), -0.5)


# The page


class Page(HTMLParser):
    """What a browser would see: the tags, and the text of each script."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.words, self._in = [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in = tag

    def handle_endtag(self, _):
        self._in = None

    def handle_data(self, data):
        (self.scripts if self._in == "script" else self.words).append(data)

    @property
    def data(self):
        return json.loads(self.scripts[0])


@pytest.fixture(scope="module")
def example_page(judged, collection):
    text = page(
        judged,
        ["nDCG@10", "AP", "bpref"],
        "bm25",
        by=["kind", "length"],
        queries=collection.queries,
        items=collection.items,
    )
    return Page(text)


def test_page_holds_every_slice_as_summarize_and_compare_give_it(example_page, per_query):
    data = example_page.data
    assert data["systems"] == ["bm25", "word-tfidf", "char-tfidf"]
    assert set(data["slices"]) == {f"{k},{n}" for k in "*01" for n in "*01"}
    codes = [{value: code for code, value in enumerate(a["values"])} for a in data["attributes"]]
    for by in ([], ["kind"], ["length"], ["kind", "length"]):
        summary = rank.summarize(per_query, by=[*by, "system"], measures=["AP"], interval="t")
        compared = rank.compare(per_query, "bm25", by=by, measures="AP")
        joined = summary.join(compared, on=[*by, "system"], how="left", suffix="_of_difference")
        for row in joined.iter_rows(named=True):
            place = ",".join(
                str(codes[i][row[n]]) if n in by else "*" for i, n in enumerate(("kind", "length"))
            )
            found = data["slices"][place]["rows"]["AP"][data["systems"].index(row["system"])]
            numbers = ["value", "low", "high", "difference", "low_of_difference", "high_of_difference"]
            assert found[:6] == pytest.approx([row[name] for name in numbers], abs=1e-6)
            assert found[6] == (None if row["p_t_holm"] is None else pytest.approx(row["p_t_holm"], rel=0.01))
            assert found[7:] == [row["wins"], row["ties"], row["losses"]]


def test_page_holds_every_value_in_its_place(example_page, per_query):
    data = example_page.data
    for system, row in zip(data["systems"], data["values"]["nDCG@10"], strict=True):
        wanted = per_query.filter(system=system).sort("query")
        assert data["queries"]["ids"] == wanted["query"].to_list()
        assert row == pytest.approx(wanted["nDCG@10"].to_list(), abs=1e-5)
        kinds = [data["attributes"][0]["values"][code] for code in data["queries"]["codes"][0]]
        assert kinds == wanted["kind"].to_list()


def test_page_holds_the_rankings_that_differ_most(example_page, per_query, judged):
    data = example_page.data
    wide = per_query.pivot(on="system", on_columns=data["systems"], index="query", values="nDCG@10")
    largest = pl.max_horizontal((pl.col("word-tfidf", "char-tfidf") - pl.col("bm25")).abs())
    wide = wide.with_columns(largest=largest)
    shown = {data["queries"]["ids"][int(place)] for place in data["rankings"]["queries"]}
    assert len(shown) == 200
    inside = pl.col("query").is_in(list(shown))
    assert wide.filter(inside)["largest"].min() >= wide.filter(~inside)["largest"].max()
    assert data["rankings"]["sums"] == ["nDCG@10", "AP"]
    place, (graded, ranked) = next(iter(data["rankings"]["queries"].items()))
    query = data["queries"]["ids"][int(place)]
    names = data["rankings"]["items"]
    for system, rows in zip(data["systems"], ranked, strict=True):
        own = judged.filter(system=system, query=query)
        for item, position, *_ in rows:
            assert own.filter(item=names[item])["rank"].item() == position
        assert {position for _, position, *_ in rows} >= set(range(1, 21))
        value = per_query.filter(system=system, query=query)["nDCG@10"].item()
        assert sum(row[2] for row in rows) == pytest.approx(value, abs=1e-4)
    grades = dict(graded)
    own = judged.filter(system="bm25", query=query, relevance=2)
    assert {names[item] for item, grade in grades.items() if grade == 2} == set(own["item"])


def test_page_asks_for_nothing_and_lets_nothing_else_run(example_page):
    addresses = [
        value for _, attrs in example_page.tags for name, value in attrs.items() if name in ("src", "href")
    ]
    assert addresses == ["data:,"]
    policy = next(attrs["content"] for _, attrs in example_page.tags if "http-equiv" in attrs)
    assert policy.startswith("default-src 'none'; img-src data:; script-src 'sha256-")
    assert "unsafe" not in policy
    assert not [a for _, attrs in example_page.tags for a in attrs if a.startswith("on") or a == "style"]


@given(name=st.text(min_size=1, max_size=12) | st.sampled_from([HOSTILE, "{{script}}", "<!--<script>"]))
def test_data_stays_data_on_the_page(name):
    name = name.encode("utf-8", "ignore").decode() or "x"
    run = pl.DataFrame(
        {"query": name, "item": [name, "other"], "score": [1.0, 2.0], "system": [f"{name}1", "2"]}
    )
    qrels = pl.DataFrame({"query": [name], "item": [name], "relevance": [1]})
    about = pl.DataFrame({"query": [name], "text": [name], "kind": [name]})
    judged = rank.judge(run, qrels, attributes=about.drop("text"))
    plain = Page(page(judged, "RR", by="kind", title="plain"))
    seen = Page(page(judged, "RR", by="kind", queries=about, title=name))
    assert [tag for tag, _ in seen.tags] == [tag for tag, _ in plain.tags]
    data = seen.data
    assert data["queries"]["ids"] == [name]
    # Only white space is made even.
    assert data["queries"]["texts"][0].split() == name.split()
    assert data["attributes"][0]["values"] == [name]
    assert set(data["systems"]) == {f"{name}1", "2"}


def test_page_takes_ids_of_every_kind_and_null_attributes():
    run = pl.DataFrame(
        {
            "query": [1, 1, 2, 2],
            "item": [b"\xff", b"a"] * 2,
            "score": [1.0, 2.0] * 2,
            "system": ["x", "y"] * 2,
        }
    )
    qrels = pl.DataFrame({"query": [1, 2], "item": [b"a", b"\xff"], "relevance": [1, 1]})
    about = pl.DataFrame({"query": [1, 2], "day": [None, 3]})
    data = Page(page(rank.judge(run, qrels, attributes=about), "RR", "x", by="day")).data
    assert data["queries"]["ids"] == ["1", "2"]
    assert data["rankings"]["items"] == ["61", "ff"]
    assert data["attributes"] == [{"name": "day", "values": [None, "3"]}]
    assert data["slices"]["0"]["rows"]["RR"][data["systems"].index("y")][0] == 1


def test_page_has_no_nan(judged):
    # A grade beyond the scale makes the value NaN.
    data = Page(page(judged, ["ERR(max_relevance=1)", "nDCG@10"], "bm25")).data
    assert set(data["values"]["ERR(max_relevance=1)"][0]) >= {None}


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        (
            {"baseline": "bm52"},
            ValueError,
            "baseline='bm52' is not a system of judged (did you mean 'bm25'?)",
        ),
        ({"by": ["kinds"]}, DataError, "judged has no column 'kinds' (did you mean 'kind'?)"),
        ({"by": ["kind"]}, DataError, "by makes 3 slices"),
        ({"by": ["query"]}, ValueError, "by='query' can't slice the page"),
        ({"measures": []}, ValueError, "measures is empty; name one or more"),
        ({"queries": pl.DataFrame({"query": ["k001"]})}, DataError, "queries has no column 'text'"),
        (
            {"queries": pl.DataFrame({"query": ["k001"] * 2, "text": ["a", "b"]})},
            DataError,
            "queries has two rows for query 'k001'",
        ),
        (
            {"items": pl.DataFrame({"item": [1], "text": ["a"]})},
            DataError,
            "judged.item is String, items.item is Int64",
        ),
        ({"measures": ["nDGC@10"]}, ValueError, "did you mean"),
    ],
)
def test_what_a_page_cannot_hold_is_refused(judged, monkeypatch, options, error, told):
    monkeypatch.setattr(page_module, "MOST_SLICES", 2)
    with pytest.raises(error, match=re.escape(told)):
        page(judged, **{"measures": ["RR"], **options})


def test_page_needs_two_systems(judged):
    with pytest.raises(DataError, match=r"judged has one system, \['bm25'\]; a comparison needs two"):
        page(judged.filter(system="bm25"), "RR")


# The command


@pytest.fixture
def command(tmp_path, monkeypatch, capsys, collection):
    """Run it in a folder with the bundled collection as files; give exit code, output and what was said."""
    for system in ("bm25", "char-tfidf"):
        rank.write_run(collection.run.filter(system=system), tmp_path / f"{system}.txt")
    collection.qrels.write_csv(tmp_path / "qrels.csv")
    collection.queries.rename({"query": "_id"}).write_ndjson(tmp_path / "queries.jsonl")
    collection.items.rename({"module": "title"}).write_csv(tmp_path / "items.tsv", separator="\t")
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["compare", *arguments])
        return end.value.code, *capsys.readouterr()

    return call


FILES = ("qrels.csv", "bm25.txt", "char-tfidf.txt")


def test_command_prints_the_table(command, per_query):
    two = per_query.filter(pl.col("system") != "word-tfidf")
    code, out, _ = command(*FILES, "--baseline", "bm25", "-m", "nDCG@10", "--format", "markdown")
    assert (code, out) == (0, leaderboard(two, "bm25", measures="nDCG@10") + "\n")


def test_command_prints_a_second_table_of_slices(command, per_query):
    code, out, _ = command("--example", "--by", "kind", "-m", "AP", "--format", "markdown")
    tables = [leaderboard(per_query, by=by, measures="AP") for by in ([], "kind")]
    assert (code, out) == (0, "\n\n".join(tables) + "\n")


def test_command_without_scipy_says_what_to_install():
    code = (
        "import sys; from polars_rank.command.app import main\n"
        "sys.modules['scipy'] = None\n"
        "main(['compare', '--example'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "polars-rank: statistics need scipy: pip install scipy\n"


@pytest.mark.parametrize(
    ("module", "call", "told"),
    [
        ("altair", "charts.systems_chart(t)", "charts need altair: pip install altair"),
        (
            "great_tables",
            "report.leaderboard(t, format='html')",
            "HTML need great-tables: pip install great-tables",
        ),
    ],
)
def test_what_is_not_installed_is_asked_for_by_name(module, call, told):
    code = (
        "import sys, polars as pl; from polars_rank.reporting import charts, leaderboards as report\n"
        f"sys.modules[{module!r}] = None\n"
        "t = pl.DataFrame({'query': [1, 2] * 2, 'system': list('xxyy'), 'AP': [0.5, 0.25, 0.75, 1.0]})\n"
        f"try: {call}\n"
        "except ModuleNotFoundError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told in done.stdout


def test_command_writes_a_page_with_texts_and_slices(command, tmp_path):
    options = [
        "--by",
        "kind",
        "--html",
        "a.html",
        "--query-texts",
        "queries.jsonl",
        "--item-texts",
        "items.tsv",
    ]
    assert command(*FILES, *options)[0] == 0
    data = Page((tmp_path / "a.html").read_text(encoding="utf-8")).data
    assert [a["name"] for a in data["attributes"]] == ["kind"]
    place = data["queries"]["ids"].index("k001")
    assert data["queries"]["texts"][place] == "defining Abstract Base Classes"
    item = data["rankings"]["items"].index("abc.ABCMeta")
    assert data["rankings"]["texts"][item].startswith("abc Metaclass for defining")


def test_command_on_the_example_gives_the_same_page_as_python(command, tmp_path, judged, collection):
    assert command("--example", "--by", "kind", "--html", "a.html", "-m", "nDCG@10")[0] == 0
    wanted = page(judged, "nDCG@10", by="kind", queries=collection.queries, items=collection.items)
    assert Page((tmp_path / "a.html").read_text(encoding="utf-8")).data == Page(wanted).data


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("qrels.csv", "bm25.txt"), 1, "one system"),
        (
            (*FILES, "--baseline", "bm52"),
            2,
            "--baseline bm52 is not a system (did you mean 'bm25'?)",
        ),
        ((*FILES, "--query-texts", "items.tsv"), 1, "items.tsv has no column for the query"),
        ((*FILES, "--by", "day", "--html", "a.html"), 1, "bm25.txt has no column 'day' to slice by"),
        ((*FILES, "--by", "query", "--html", "a.html"), 2, "--by query describes no query"),
        (
            (*FILES, "-m", "RR", "--html", "nowhere/a.html"),
            2,
            "nowhere to write a.html to",
        ),
        ((*FILES, "-m", "RR", "--html", "."), 2, ". is a directory; name a file"),
        ((*FILES, "-m", "RR", "--html", ""), 2, "name a file"),
        ((*FILES, "--keys", "day"), 2, "compare has no --keys"),
    ],
)
def test_command_refuses(command, tmp_path, arguments, code, told):
    ended, out, said = command(*arguments)
    assert (ended, out) == (code, "")
    assert told in said
    assert not (tmp_path / "a.html").exists()


def test_importing_the_package_imports_no_drawing_library():
    modules = ", ".join(f"polars_rank.reporting.{name}" for name in ("leaderboards", "charts", "page"))
    heavy = {"altair", "great_tables", "vl_convert", "rich", "scipy"}
    code = f"import sys, {modules}; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_cutoffs_are_those_of_the_page(example_page):
    assert example_page.data["cutoffs"] == list(CUTOFFS)
