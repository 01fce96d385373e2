"""How a frame is cut into chunks changes nothing, even where a filter empties some of them.

The streaming engine works chunk by chunk, and hands on the empty ones too.
"""

import ast
import inspect
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_rank as rank
from polars_rank import MEASURES

QUERIES, DEPTH = 600, 12
SOME = ["nDCG@10", "AP", "ERR", "P@5", "judged@10", "infAP", "Compat", "nDCG(judged_only=True)@5"]
# What takes no frame and gives no expression over one.
NOT_CALLED = {"DataError", "DataWarning", "MEASURES", "NoMatchWarning"}
NO_FRAMES = {"catalogue", "example", "from_dict", "install", "macros", "parse", "to_sql"}
# Each makes text or a chart of tables that other functions make.
REPORTS = {name for name in rank.__all__ if name.endswith("_chart")} | {"leaderboard", "page"}


def made_runs():
    """Two systems over 600 queries: 14,400 rows, scores with ties."""
    places = pl.DataFrame({"query": range(QUERIES)}).join(
        pl.DataFrame({"place": range(DEPTH)}), how="cross", maintain_order="left_right"
    )
    systems = [
        places.select(
            pl.concat_str(pl.lit("q"), "query").alias("query"),
            pl.lit(system).alias("system"),
            pl.concat_str(pl.lit("d"), (pl.col("place") * step + pl.col("query")) % 17).alias("item"),
            ((pl.col("place") * 5 + pl.col("query")) % 9 / 4).alias("score"),
        )
        for system, step in (("x", 3), ("y", 5))
    ]
    return pl.concat(systems)


def made_qrels():
    pairs = pl.DataFrame({"query": range(QUERIES)}).join(pl.DataFrame({"item": range(17)}), how="cross")
    grade = (pl.col("query") * 7 + pl.col("item") * 11) % 6
    return pairs.select(
        pl.concat_str(pl.lit("q"), "query").alias("query"),
        pl.concat_str(pl.lit("d"), "item").alias("item"),
        relevance=pl.when(grade < 4).then(grade),
        subtopic=pl.concat_str(pl.lit("t"), pl.col("item") % 3),
    ).drop_nulls("relevance")


RUN, QRELS = made_runs(), made_qrels()
JUDGED = rank.judge(RUN, QRELS.drop("subtopic"))
PER_QUERY = rank.evaluate(JUDGED, ["nDCG@10", "AP"])
SUBTOPICS = rank.judge_subtopics(RUN, QRELS)
RATINGS = JUDGED.select("query", prediction=pl.col("rank"), actual=pl.col("relevance"))
LISTS = RUN.filter(system="x").group_by("query", maintain_order=True).agg(items="item")
PLACES = {
    system: RUN.filter(system=system).select(
        "query", "item", rank=pl.int_range(1, pl.len() + 1).over("query")
    )
    for system in ("x", "y")
}


def in_chunks(frame, *, lazy):
    """Cut a frame into chunks, with chunks before and between them that a filter empties."""
    size = -(-frame.height // 3)
    gone = frame.head(1000).with_columns(_kept=False)
    parts = [frame.slice(start, size).with_columns(_kept=True) for start in range(0, frame.height, size)]
    whole = pl.concat([chunk for part in parts for chunk in (gone, part)], rechunk=False)
    assert whole.n_chunks() > 3
    return (whole.lazy() if lazy else whole).filter("_kept").drop("_kept")


def written(run, folder):
    rank.write_run(run, folder / "run.txt")
    return rank.read_run(folder / "run.txt").collect()


def qrels_read(qrels, folder):
    qrels.lazy().collect().write_parquet(folder / "qrels.parquet")
    return rank.read_qrels(folder / "qrels.parquet").collect()


def by_group(frame, *values, by=("query",)):
    return frame.group_by(by).agg(values)


def halves(judged, measure):
    return rank.diff(judged.filter(system="x"), judged.filter(system="y"), measure)


RUN_AND_QRELS = (RUN, QRELS.drop("subtopic"))
# Name to the frames that go in, and the call: each public function has one.
CALLS = {
    "adjust": ((PER_QUERY,), lambda t: t.with_columns(rank.adjust("AP"))),
    "by_cutoff": ((JUDGED,), rank.by_cutoff),
    "check": (RUN_AND_QRELS, rank.check),
    "check a judged table": ((JUDGED,), rank.check),
    "compare": ((PER_QUERY,), rank.compare),
    "diff": ((JUDGED,), lambda t: halves(t, "nDCG@10")),
    "evaluate": ((JUDGED,), lambda t: rank.evaluate(t, SOME)),
    "evaluate a run": (RUN_AND_QRELS, lambda run, qrels: rank.evaluate(run, SOME, qrels=qrels)),
    "evaluate judged rows of a run": (
        RUN_AND_QRELS,
        lambda run, qrels: rank.evaluate(run, ["nDCG@10", "AP", "bpref"], qrels=qrels),
    ),
    "fit_fusion": (RUN_AND_QRELS, lambda run, qrels: rank.fit_fusion(run, qrels, "posfuse")),
    "from_lists": ((LISTS,), rank.from_lists),
    "fuse": ((RUN,), rank.fuse),
    "gains": ((PER_QUERY,), lambda t: rank.gains(t, "x", "y", "AP")),
    "judge": (RUN_AND_QRELS, rank.judge),
    "judge_subtopics": ((RUN, QRELS), rank.judge_subtopics),
    "kendall_tau": (tuple(PLACES.values()), lambda a, b: rank.kendall_tau(a, b, by="query")),
    "normalize_scores": ((RUN,), rank.normalize_scores),
    "power": ((PER_QUERY,), rank.power),
    "precision_recall": ((JUDGED,), rank.precision_recall),
    "rbo": (tuple(PLACES.values()), lambda a, b: rank.rbo(a, b, by="query")),
    "rrf": ((JUDGED,), lambda t: by_group(t, rank.rrf(), by=("query", "item"))),
    "spearman": (tuple(PLACES.values()), lambda a, b: rank.spearman(a, b, by="query")),
    "summarize": ((PER_QUERY,), lambda t: rank.summarize(t, interval="t")),
    "tau_ap": (tuple(PLACES.values()), lambda a, b: rank.tau_ap(a, b, by="query")),
    "tune_fusion": (
        RUN_AND_QRELS,
        lambda run, qrels: rank.tune_fusion(run, qrels, "RR", k=[20, 60], folds=2),
    ),
}
FILES = {"read_qrels": (QRELS, qrels_read), "write_run": (PLACES["x"], written), "read_run": (RUN, written)}


def frame_of(measure):
    columns = set(MEASURES[measure].columns)
    frames = (JUDGED, JUDGED.rename({"score": "unused"}), SUBTOPICS, RATINGS)
    return next(frame for frame in frames if columns <= set(frame.columns))


def assert_same(result, expected):
    if isinstance(result, pl.LazyFrame):
        result = result.collect(engine="streaming")
    order = [name for name, dtype in expected.schema.items() if dtype.is_numeric() or dtype == pl.String]
    order = sorted(order, key=lambda name: expected.schema[name].is_float())
    left, right = (frame.rechunk().sort(order, nulls_last=True) for frame in (result, expected))
    assert_frame_equal(left, right, abs_tol=1e-12)


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("name", CALLS)
def test_chunks_change_nothing(name, lazy):
    frames, call = CALLS[name]
    expected = call(*frames)
    assert not expected.is_empty()
    assert_same(call(*(in_chunks(frame, lazy=lazy) for frame in frames)), expected)


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("name", FILES)
def test_chunks_change_nothing_in_files(name, lazy, tmp_path):
    frame, call = FILES[name]
    assert_same(call(in_chunks(frame, lazy=lazy), tmp_path), call(frame, tmp_path))


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_chunks_change_no_measure(lazy):
    by_frame = {}
    for name, measure in MEASURES.items():
        frame = frame_of(name)
        by_frame.setdefault(id(frame), (frame, []))[1].append(measure.function(*measure.columns))
    for frame, values in by_frame.values():
        expected = by_group(frame, *values)
        assert expected.height == QUERIES
        assert_same(by_group(in_chunks(frame, lazy=lazy), *values), expected)


def test_every_public_function_is_tried():
    tried = {name.split()[0] for name in [*CALLS, *FILES]} | set(MEASURES)
    assert tried == set(rank.__all__) - NO_FRAMES - NOT_CALLED - REPORTS
    for name in sorted(NO_FRAMES):
        kinds = str(inspect.signature(getattr(rank, name)).parameters.values())
        assert "Frame" not in kinds, f"{name} takes a frame"


def test_texts_are_not_joined_by_format():
    """Polars' format panics in the streaming engine where a chunk is empty; concat_str does not."""
    for path in sorted(Path(rank.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            used = (
                isinstance(node, ast.Attribute) and node.attr == "format" and ast.unparse(node.value) == "pl"
            )
            assert not used, f"{path.name}:{node.lineno} uses pl.format; use pl.concat_str"


def test_check_of_the_judged_example():
    run, qrels, _, _ = rank.example()
    found = rank.check(rank.judge(run, qrels))
    assert found.filter(finding="unjudged within k")["count"].to_list() == [4778]
