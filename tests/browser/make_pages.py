"""Make the pages that the browser opens, and the numbers that it must find there, into a folder.

python tests/browser/make_pages.py FOLDER
"""

import json
import sys
from pathlib import Path

import polars as pl

import polars_rank as rank
from polars_rank.comparison.contributions import diff
from polars_rank.reporting.page import page

MEASURES = ["nDCG@10", "AP", "bpref"]
HOSTILE = [
    "<script>window.broken=1</script>",
    "</script><img src=x onerror='window.broken=1'>",
    "<!-- {{data}} & \"quoted\" 'q' -->",
    "long" * 2500,
    "two\nlines\u2028\u202e",
]


def example(folder):
    run, qrels, queries, items = rank.example()
    about = queries.select("query", "kind", "length")
    judged = rank.judge(run, qrels, attributes=about)
    html = page(
        judged,
        MEASURES,
        "bm25",
        by=["kind", "length"],
        queries=queries,
        items=items,
        title="Docstring search",
    )
    (folder / "example.html").write_text(html, encoding="utf-8")

    per_query = rank.evaluate(judged, MEASURES, by=["kind", "length"])
    boards = {
        "": (per_query, []),
        "kind=topical": (per_query, ["kind"]),
        "kind=topical,length=short": (per_query, ["kind", "length"]),
    }
    expected = {name: board(table, by, name) for name, (table, by) in boards.items()}
    gains = rank.gains(per_query, "bm25", "char-tfidf", "nDCG@10", by=["kind"])
    worst = gains.sort("gain", "query")["query"][0]
    changes = diff(
        judged.filter(system="bm25", query=worst), judged.filter(system="char-tfidf", query=worst), "nDCG@10"
    )
    values = {
        "boards": expected,
        "worst": worst,
        "worst_gain": gains.filter(query=worst)["gain"].item(),
        "baseline_items": changes.filter(pl.col("rank_a") <= 20).sort("rank_a")["item"].to_list(),
        "other_items": changes.filter(pl.col("rank_b") <= 20).sort("rank_b")["item"].to_list(),
        "baseline_adds": changes.filter(pl.col("contribution_a") > 0)
        .sort("rank_a")["contribution_a"]
        .to_list(),
        "queries": len(queries),
        "topical": len(queries.filter(kind="topical")),
        "word": "gzip",
        "with_word": queries.filter(pl.col("text").str.contains("(?i)gzip"))["query"].to_list(),
    }
    (folder / "example.json").write_text(json.dumps(values), encoding="utf-8")


def board(per_query, by, name):
    """Give a slice's rows, best first, as `summarize` and `compare` tell them."""
    wanted = [pl.col(key) == value for key, value in (part.split("=") for part in name.split(",") if part)]
    summary = rank.summarize(per_query, by=[*by, "system"], measures=["nDCG@10"], interval="t")
    against = rank.compare(per_query, "bm25", by=by, measures=["nDCG@10"]).filter(*wanted)
    rows = summary.filter(*wanted).join(against, on="system", how="left", suffix="_of_difference")
    shown = ["system", "value", "low", "high", "difference", "p_t_holm", "wins", "ties", "losses"]
    return rows.sort("value", descending=True).select(shown).to_dicts()


def hostile(folder):
    """Ids, texts and names that look like markup."""
    run = pl.DataFrame(
        [(q, i, 3.0 - place, s) for q in HOSTILE for s in HOSTILE for place, i in enumerate(HOSTILE)],
        schema=["query", "item", "score", "system"],
        orient="row",
    ).with_columns(pl.when(pl.col("system") == HOSTILE[0]).then(-pl.col("score")).otherwise("score"))
    qrels = pl.DataFrame({"query": HOSTILE, "item": HOSTILE, "relevance": 1})
    about = pl.DataFrame({"query": HOSTILE, "<i>slice</i>": HOSTILE, "text": HOSTILE})
    html = page(
        rank.judge(run, qrels, attributes=about.drop("text")),
        ["RR", "nDCG@10"],
        HOSTILE[0],
        by="<i>slice</i>",
        queries=about,
        items=pl.DataFrame({"item": HOSTILE, "text": HOSTILE}),
        title=HOSTILE[1],
    )
    (folder / "hostile.html").write_text(html, encoding="utf-8")
    (folder / "hostile.json").write_text(json.dumps(HOSTILE), encoding="utf-8")


def plain(folder):
    """No attributes, no texts, ids that are integers, a query that has no relevant item."""
    run = pl.DataFrame(
        {"query": [1, 1, 2, 2], "item": [7, 8, 7, 8], "score": [1.0, 2.0, 1.0, 2.0], "system": ["x", "y"] * 2}
    )
    qrels = pl.DataFrame({"query": [1, 2], "item": [7, 8], "relevance": [1, 0]})
    html = page(rank.judge(run, qrels), ["RR"])
    (folder / "plain.html").write_text(html, encoding="utf-8")


def lacking(folder):
    """Seven systems, one of which lacks all queries of a slice, and some of the other."""
    systems = [f"s{place}" for place in range(7)]
    run = pl.DataFrame(
        [
            (q, f"i{i}", float((q * 7 + i * 3 + place) % 11), s)
            for place, s in enumerate(systems)
            for q in range(12)
            for i in range(5)
        ],
        schema=["query", "item", "score", "system"],
        orient="row",
    ).filter(~((pl.col("system") == "s3") & (pl.col("query") < 8)))
    qrels = pl.DataFrame({"query": range(12), "item": "i2", "relevance": 1})
    about = pl.DataFrame({"query": range(12), "half": ["first"] * 6 + ["second"] * 6})
    judged = rank.judge(run, qrels, attributes=about, queries="both")
    html = page(judged, ["RR"], "s0", by="half", missing="drop")
    (folder / "lacking.html").write_text(html, encoding="utf-8")
    scores = rank.evaluate(judged, ["RR"], by=["half"])
    means = scores.group_by("half", "system").agg(pl.col("RR").mean()).rows()
    values = {half: {s: mean for h, s, mean in means if h == half} for half in ("first", "second")}
    (folder / "lacking.json").write_text(json.dumps(values), encoding="utf-8")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    example(target)
    hostile(target)
    plain(target)
    lacking(target)
