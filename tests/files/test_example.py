"""The bundled collection keeps the table contract, and is real enough to tell systems and slices apart."""

import json
from importlib.resources import files

import polars as pl
import pytest

from polars_rank.example_data import Example, example

SYSTEMS = ["bm25", "char-tfidf", "word-tfidf"]


@pytest.fixture(scope="module")
def collection() -> Example:
    return example()


def test_columns_and_types(collection):
    text = pl.String()
    assert collection.run.schema == {"query": text, "item": text, "score": pl.Float64(), "system": text}
    assert collection.qrels.schema == {"query": text, "item": text, "relevance": pl.Int64()}
    assert collection.queries.schema == dict.fromkeys(["query", "text", "kind", "length"], text)
    assert collection.items.schema == dict.fromkeys(["item", "text", "module"], text)


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("run", ["system", "query", "item"]),
        ("qrels", ["query", "item"]),
        ("queries", ["query"]),
        ("queries", ["text"]),
        ("items", ["item"]),
    ],
)
def test_no_row_is_repeated(collection, table, key):
    assert not getattr(collection, table).select(key).is_duplicated().any()


@pytest.mark.parametrize("table", Example._fields)
def test_nothing_is_null(collection, table):
    assert getattr(collection, table).null_count().sum_horizontal().item() == 0


@pytest.mark.parametrize("table", ["run", "qrels"])
def test_every_query_and_item_is_known(collection, table):
    rows = getattr(collection, table)
    assert rows.join(collection.queries, on="query", how="anti").is_empty()
    assert rows.join(collection.items, on="item", how="anti").is_empty()


def test_query_ids_tell_the_kind(collection):
    kinds = {"k": "known-item", "t": "topical"}
    initials = pl.col("query").str.head(1).replace_strict(kinds)
    assert collection.queries.select((initials == pl.col("kind")).all()).item()
    assert set(collection.queries["kind"]) == set(kinds.values())
    assert set(collection.queries["length"]) == {"short", "long"}
    assert 150 <= collection.queries.height <= 300


def test_length_counts_words(collection):
    words = pl.col("text").str.split(" ").list.len()
    short = pl.col("length") == "short"
    assert collection.queries.select((short == (words <= 4)).all()).item()


def test_systems_return_at_most_fifty_scored_items(collection):
    lengths = collection.run.group_by("system", "query").len()
    assert sorted(lengths["system"].unique()) == SYSTEMS
    assert lengths["len"].max() == 50
    assert lengths["len"].min() < 50
    assert collection.run.select((pl.col("score").is_finite() & (pl.col("score") > 0)).all()).item()


def test_every_query_has_an_answer_and_topical_ones_a_judged_miss(collection):
    grades = collection.qrels.group_by("query").agg(pl.col("relevance").unique())
    assert grades.height == collection.queries.height
    assert grades.select(pl.col("relevance").list.contains(2).all()).item()
    topical = grades.filter(pl.col("query").str.starts_with("t"))
    assert topical.select(pl.col("relevance").list.contains(0).all()).item()
    assert set(collection.qrels["relevance"]) == {0, 1, 2}


def test_a_known_item_query_seeks_one_object(collection):
    sought = collection.qrels.filter(pl.col("relevance") == 2, pl.col("query").str.starts_with("k"))
    assert not sought["query"].is_duplicated().any()
    assert not sought["item"].is_duplicated().any()


def test_a_known_item_query_does_not_hold_the_name(collection):
    sought = (
        collection.qrels.filter(pl.col("relevance") == 2, pl.col("query").str.starts_with("k"))
        .join(collection.queries, on="query")
        .with_columns(name=pl.col("item").str.split(".").list.last().str.to_lowercase())
    )
    named = pl.col("text").str.to_lowercase().str.split(" ").list.contains(pl.col("name"))
    assert sought.filter(named).is_empty()


def test_systems_differ_by_kind(collection):
    """The share of queries whose first item has grade 2; words win where the words are those of the text."""
    first = collection.run.filter(
        pl.struct("score", "item").rank("ordinal", descending=True).over("system", "query") == 1
    )
    share = (
        first.join(collection.qrels.filter(relevance=2), on=["query", "item"], how="left")
        .join(collection.queries, on="query")
        .group_by("kind", "system")
        .agg(pl.col("relevance").is_not_null().mean())
    )
    known = dict(share.filter(kind="known-item").select("system", "relevance").iter_rows())
    topical = dict(share.filter(kind="topical").select("system", "relevance").iter_rows())
    assert known["bm25"] > known["word-tfidf"] > known["char-tfidf"]
    assert all(known[system] > topical[system] > 0.2 for system in SYSTEMS)


def test_items_are_short_excerpts(collection):
    assert collection.items["text"].str.len_chars().is_between(1, 300).all()
    own = pl.col("item").str.starts_with(pl.col("module") + pl.lit("."))
    assert collection.items.select(own.all()).item()


def test_files_are_small_licensed_and_accounted_for(collection):
    folder = files("polars_rank.example_data")
    made = [entry for entry in folder.iterdir() if entry.name.endswith((".parquet", ".json", ".txt"))]
    assert sum(len(entry.read_bytes()) for entry in made) < 500_000
    assert "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2" in folder.joinpath("LICENSE-PSF.txt").read_text(
        "utf-8"
    )
    meta = json.loads(folder.joinpath("meta.json").read_text("utf-8"))
    assert meta["rows"] == {table: rows.height for table, rows in collection._asdict().items()}
    assert meta["python"].startswith("CPython 3.")
    assert {"bm25s", "scikit-learn", "polars"} <= meta["packages"].keys()
