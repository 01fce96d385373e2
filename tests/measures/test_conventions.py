"""Each convention against values of the very program.

Values of trec_eval, ir_measures and its providers, and ranx come with the collections; those of BEIR,
scikit-learn and torchmetrics were made once by `make_reference`. gizai is done by its rules.
"""

import json
import os
from math import log2
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_rank as rank
from polars_rank.judging.options import JudgeOptions
from polars_rank.measures.catalogue import MEASURES, programs
from polars_rank.measures.conventions import CONVENTIONS
from polars_rank.measures.names import parse

HERE = Path(__file__).parents[1]
FOLDER = os.environ.get("POLARS_RANK_REFERENCE")
with_reference = pytest.mark.skipif(
    FOLDER is None, reason="POLARS_RANK_REFERENCE names no folder of reference collections"
)

# Program of the values, the convention that it keeps, and how far its printed digits may be off.
PROGRAMS = {
    "trec_eval-9": ("trec_eval-9", 1e-10),
    "trec_eval-10": ("trec_eval-10", 1e-10),
    "pytrec_eval": ("ir_measures", 1e-10),
    "msmarco": ("ir_measures", 1e-10),
    "judged": ("ir_measures", 1e-10),
    "compat": ("ir_measures", 1e-10),
    "accuracy": ("ir_measures", 1e-10),
    "gdeval": ("ir_measures", 5.1e-6),
    "cwl_eval": ("ir_measures", 1e-10),
    "ranx": ("ranx", 1e-10),
}
# What `Convention.beyond` tells of: program, measures, rankings.
TIED, NEGATIVE, EVERY = pl.col("tied"), pl.col("least_grade") < 0, pl.lit(True)
BEYOND = [
    # trec_eval divides 0 by 0 where -J leaves nothing that was returned; ours is 0 there, and nothing else.
    ("trec_eval-9", "^(iprec_at_recall|11pt_avg)", pl.col("value").is_nan() & (pl.col("ours") == 0)),
    ("judged", "Judged", NEGATIVE),
    ("compat", "Compat", TIED | (pl.col("least_score") < 0)),
    ("accuracy", "Accuracy", pl.col("nearly_tied")),
    ("cwl_eval", r"AP$", EVERY),
    ("cwl_eval", "BPM|INS|NERR|SDCG|RBP", TIED),
    ("ranx", "", TIED),
    ("ranx", "bpref", NEGATIVE | pl.col("value").is_nan() | (pl.col("value") == 0)),
    ("ranx", r"rbp.*-l2", EVERY),
    ("trec_eval-10", "^(rbp|yaap|rbp_resid)$", EVERY),
]


def collections():
    """Give the small collections: name, runs, judgements, values."""
    values = pl.read_parquet(HERE / "collections" / "values.parquet").with_columns(
        pl.col(pl.Categorical).cast(pl.String)
    )
    values = values.with_columns(pl.col("program").replace("ranx_native", "ranx"))
    for name in ("edge-a", "stress-a"):
        folder = HERE / "collections"
        run, qrels = (pl.read_parquet(folder / f"{name}.{kind}.parquet") for kind in ("runs", "qrels"))
        yield run, qrels, values.filter(pl.col("collection") == name)


def beside(run, qrels, values, program, **judging):
    """Put our values beside the program's, with the reasons why some can't be compared."""
    convention, tolerance = PROGRAMS[program]
    theirs = values.filter(pl.col("program") == program)
    names, unknown = [], []
    for name in theirs["measure"].unique().sort():
        try:
            parse(name, convention=convention)
        except ValueError:
            unknown.append(name)
        else:
            names.append(name)
    ours = rank.evaluate(run, names, qrels=qrels, convention=convention, **judging).unpivot(
        index=["query", "system"], on=names, variable_name="measure", value_name="ours"
    )
    facts = run.group_by("query", "system").agg(
        tied=pl.col("score").is_duplicated().any(),
        nearly_tied=pl.col("score").cast(pl.Float32).is_duplicated().any(),
        least_score=pl.col("score").min(),
    )
    grades = qrels.group_by("query").agg(least_grade=pl.col("relevance").min())
    beyond = pl.any_horizontal(
        pl.lit(False),
        *(pl.col("measure").str.contains(pattern) & rows for of, pattern, rows in BEYOND if of == program),
    )
    # A query that does not count for a program has 0 in its table.
    off = (pl.col("ours").fill_null(0.0) - pl.col("value")).abs()
    return (
        theirs.filter(pl.col("measure").is_in(names))
        .join(ours, on=["query", "system", "measure"], how="left")
        .join(facts, on=["query", "system"], how="left")
        .join(grades, on="query", how="left")
        .with_columns(beyond=beyond.fill_null(False), same=off <= tolerance),
        unknown,
    )


@pytest.mark.parametrize(
    ("program", "options", "judging"),
    [
        # -c is how 10.0 was run, as it stops at a query that the run lacks.
        ("trec_eval-10", "-c", {"queries": "qrels"}),
        ("trec_eval-9", "-c", {}),
        ("trec_eval-9", "-J", {"judged_only": True}),
        ("trec_eval-9", "-M 100", {"depth": 100}),
        ("pytrec_eval", "", {}),
        ("msmarco", "", {}),
        ("judged", "", {}),
        ("gdeval", "", {}),
        ("cwl_eval", "", {}),
        ("ranx", "", {}),
    ],
)
def test_small_collections(program, options, judging):
    compared = 0
    for run, qrels, values in collections():
        theirs = values.filter(program=program, options=options)
        if not theirs.is_empty():
            table, unknown = beside(run, qrels, theirs, program, **judging)
            assert all(name.endswith("-l2") for name in unknown)
            wrong = table.filter(~pl.col("beyond"), ~pl.col("same"))
            assert wrong.is_empty(), wrong
            compared += table.filter(~pl.col("beyond")).height
    assert compared >= 200


@with_reference
def test_all_collections(capsys):
    from test_reference_collections import collection

    golden = pl.read_parquet(Path(FOLDER) / "golden" / "measures.parquet").rename(
        {"provider": "program", "run": "system"}
    )
    golden = golden.with_columns(pl.col("program").replace("ranx_native", "ranx"))
    told = []
    for (name,), values in golden.filter(pl.col("program").is_in(list(PROGRAMS))).group_by("collection"):
        run, qrels = collection(name)
        for program in values["program"].unique():
            table, unknown = beside(run, qrels, values, program)
            wrong = table.filter(~pl.col("beyond"), ~pl.col("same"))
            assert wrong.is_empty(), (name, wrong.rows()[:5])
            told.append(table.select("program", "beyond"))
            assert all(each.endswith("-l2") for each in unknown)
    counts = (
        pl.concat(told)
        .group_by("program")
        .agg((~pl.col("beyond")).sum(), pl.col("beyond").sum().alias("left"))
    )
    with capsys.disabled():
        for program, met, left in counts.sort("program").rows():
            print(
                f"\n{program}: {met} values met by convention={PROGRAMS[program][0]!r}, {left} beyond it",
                end="",
            )
    assert counts["beyond"].sum() >= 850_000


# Programs that score lists


def lists(name="lists"):
    rows = json.loads((HERE / "conventions" / f"{name}.json").read_text(encoding="utf-8"))
    table = pl.DataFrame(rows).explode("scores", "grades").with_row_index("item")
    table = table.with_columns(pl.col("item").cast(pl.String))
    run = table.select("query", "item", score="scores")
    return run, table.select("query", "item", relevance="grades")


@pytest.mark.parametrize(("program", "tolerance"), [("sklearn", 1e-12), ("torchmetrics", 1e-6)])
def test_lists(program, tolerance):
    told = json.loads((HERE / "conventions" / f"{program}.json").read_text(encoding="utf-8"))
    theirs = pl.DataFrame(told["values"])
    names = theirs["measure"].unique().to_list()
    run, qrels = lists()
    ours = rank.evaluate(run, names, qrels=qrels, convention=program).unpivot(
        index="query", variable_name="measure", value_name="ours"
    )
    both = theirs.join(ours, on=["query", "measure"], how="left")
    wrong = both.filter(~((pl.col("ours") - pl.col("value")).abs() <= tolerance).fill_null(False))
    assert wrong.is_empty(), wrong
    assert both.height >= 180


def test_gains_of_equal_scores_are_averaged_in_both_engines():
    told = json.loads((HERE / "conventions" / "sklearn.json").read_text(encoding="utf-8"))
    theirs = pl.DataFrame(told["tied"])
    names = theirs["measure"].unique().sort().to_list()
    run, qrels = lists("tied")
    in_polars = rank.evaluate(run, names, qrels=qrels, convention="sklearn")
    with duckdb.connect() as database:
        rank.install(database)
        database.register("run", run.to_arrow())
        database.register("qrels", qrels.to_arrow())
        calls = ", ".join(f'{rank.to_sql(name, convention="sklearn")} AS "{name}"' for name in names)
        in_sql = database.sql(f"SELECT query, {calls} FROM rank.judge('run', 'qrels') GROUP BY query").pl()
    for ours in (in_polars, in_sql):
        long = ours.unpivot(index="query", variable_name="measure", value_name="ours")
        both = theirs.join(long, on=["query", "measure"], validate="1:1")
        assert both.height == theirs.height == 90
        assert both.filter((pl.col("ours") - pl.col("value")).abs() > 1e-12).is_empty()


def test_ties_are_those_of_the_ranking_that_was_judged():
    """Distances, a depth and a column of another name change what is averaged as they change the ranks."""
    run = pl.DataFrame({"query": "q", "item": ["a", "b", "c", "d"], "far": [1.0, 2.0, 2.0, 3.0]})
    qrels = pl.DataFrame({"query": "q", "item": ["b", "d", "e"], "relevance": [1, 2, -1]})
    ways = {"score": "far", "descending": False}
    value = rank.evaluate(run, "expected_dcg", qrels=qrels, **ways)["expected_dcg"].item()
    assert value == pytest.approx(0.5 * (1 / log2(3) + 0.5) + 2 / log2(5), abs=1e-12)
    cut = rank.evaluate(run, "expected_dcg", qrels=qrels, depth=2, **ways)["expected_dcg"].item()
    # The greater id is within the depth, and has no other item to share with.
    assert cut == 0.0
    judged = rank.evaluate(run, "expected_dcg(judged_only=True)", qrels=qrels, **ways)
    assert judged.row(0)[1] == pytest.approx(1 + 2 / log2(3), abs=1e-12)


def test_lists_know_no_missed_items():
    run = pl.DataFrame({"query": ["q", "q"], "item": ["a", "b"], "score": [2.0, 1.0]})
    qrels = pl.DataFrame({"query": ["q", "q"], "item": ["b", "c"], "relevance": [1, 3]})
    for program in ("sklearn", "torchmetrics"):
        ours = rank.evaluate(run, "nDCG", qrels=qrels, convention=program)["nDCG"].item()
        assert ours == pytest.approx(0.6309297535714575, abs=1e-12)


def test_beir():
    told = json.loads((HERE / "conventions" / "beir.json").read_text(encoding="utf-8"))
    theirs = pl.DataFrame(told["values"])
    relevant = pl.col("relevance").max().over("query") > 0
    qrels = pl.read_parquet(HERE / "collections" / "stress-a.qrels.parquet").filter(relevant)
    runs = pl.read_parquet(HERE / "collections" / "stress-a.runs.parquet")
    runs = runs.filter(pl.col("system").is_in(["r2", "r3"])).join(qrels, on="query", how="semi")
    # The script gives the first queries an item of their own id, at the top.
    first = runs.select("query", "system").unique().sort("query").group_by("system").head(3)
    runs = pl.concat([runs, first.select("query", "system", item="query", score=1e6)], how="diagonal")
    names = theirs["measure"].unique().to_list()
    holes = [name for name in names if name.startswith("Hole")]
    names = [name for name in names if name not in holes]
    scored = rank.evaluate(runs, names, qrels=qrels, convention="beir")
    # An item is no hole where any query judges it: as the documentation of unjudged_share tells.
    judged = rank.judge(runs, qrels, drop_identical=True)
    anywhere = pl.when(pl.col("relevance").is_not_null().any().over("item")).then(1)
    seen = rank.evaluate(judged.with_columns(relevance=anywhere), holes, convention="beir")
    means = pl.concat(
        rank.summarize(table, measures=of, convention="beir")
        for table, of in ((scored, names), (seen, holes))
    )
    for system, name, value in theirs.rows():
        mean = means.filter(system=system, measure=name)["value"].item()
        # BEIR rounds to five digits.
        assert mean == pytest.approx(value, abs=5.1e-6), (system, name)
    assert theirs.height == 48


# gizai, by its rules: lists of ids, best first; k = 0 is the whole list; a repeated id is at its first rank


def by_rules(ranked, relevant, k):
    seen = {}
    for place, item in enumerate(ranked, 1):
        seen.setdefault(item, place)
    places = sorted(place for item, place in seen.items() if item in relevant)
    places = [place for place in places if place <= (k or len(ranked))]
    return {
        "recall": len(places) / len(relevant) if relevant else 0.0,
        "reciprocal_rank": 1 / places[0] if places else 0.0,
        "average_precision": sum((i + 1) / place for i, place in enumerate(places)) / len(relevant)
        if relevant
        else 0.0,
    }


# A list of its rules finds nothing that is judged.
@pytest.mark.filterwarnings("ignore::polars_rank.NoMatchWarning")
@given(
    st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8),
    st.sets(st.sampled_from("abcdefgh"), min_size=1),
    st.integers(0, 6),
)
def test_gizai(ranked, relevant, k):
    run = pl.DataFrame({"query": "q", "item": ranked}).with_columns(rank=pl.int_range(1, pl.len() + 1))
    qrels = pl.DataFrame({"query": "q", "item": sorted(relevant)})
    expected = by_rules(ranked, relevant, k)
    names = [f"{name}@{k}" for name in expected]
    got = rank.evaluate(run, names, qrels=qrels, convention="gizai").row(0, named=True)
    for name, value in expected.items():
        assert got[f"{name}@{k}"] == pytest.approx(value, abs=1e-12)


def test_cutoff_0_is_the_whole_list_where_a_program_says_so():
    for program in ("gizai", "ranx"):
        assert parse("precision@0", convention=program).options == {"k": None}
    with pytest.raises(ValueError, match="k=None"):
        parse("precision@0")


# What a convention is


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_convention_is_made_of_arguments(name):
    rules = CONVENTIONS[name]
    JudgeOptions(**rules.judging)
    for measure, options in rules.measures.items():
        assert set(options) <= set(MEASURES[measure].options)
        MEASURES[measure].function(**options)
    for each in rules.apart:
        JudgeOptions(**{**rules.judging, **each.judging})
        assert set(each.when) <= set(MEASURES[each.measure].options)


RUN = pl.DataFrame(
    {"query": ["1", "1", "1", "2"], "item": ["9", "10", "x", "y"], "score": [1.0, 1.00000001, 0.5, 1.0]}
)
QRELS = pl.DataFrame({"query": ["1", "3"], "item": ["10", "y"], "relevance": [1, 1]})


def ranks(**arguments):
    judged = rank.judge(RUN, QRELS, **arguments)
    return {(q, i): r for q, i, r in judged.select("query", "item", "rank").rows()}


def test_judge_takes_a_convention():
    assert ranks(convention="trec_eval-9") == {("1", "9"): 1, ("1", "10"): 2, ("1", "x"): 3}
    assert ranks(convention="trec_eval-10") == {("1", "9"): 2, ("1", "10"): 1, ("1", "x"): 3}
    assert ("3", "y") in ranks(convention="ir_measures")
    assert ("2", "y") in ranks(convention="sklearn")


def test_what_is_given_goes_above_a_convention():
    assert ranks(convention="trec_eval-9", score_dtype="float64") == ranks(convention="trec_eval-10")
    assert (
        ranks(convention="trec_eval-9", score_dtype="float64", queries="qrels", ties="item-descending")
        == ranks()
    )
    itself = pl.DataFrame({"query": ["1"], "item": ["1"], "score": [2.0]})
    run = pl.concat([RUN, itself])
    kept = rank.judge(run, QRELS, convention="beir", drop_identical=False)
    assert kept.filter(item="1").height == 1
    assert rank.judge(run, QRELS, convention="beir").filter(item="1").is_empty()
    scored = rank.evaluate(RUN, ["RR"], qrels=QRELS, convention="trec_eval-9", queries="qrels")
    assert scored["query"].to_list() == ["1", "3"]


def test_options_in_a_name_go_above_a_convention():
    assert parse("nDCG@10", convention="gdeval").options == {"k": 10, "gain": "exponential"}
    assert parse("nDCG(dcg='log2')@10", convention="gdeval").options["gain"] == "linear"
    assert parse("AP@10", convention="torchmetrics").options == {"k": 10, "denominator": "found"}
    assert parse("AP(denominator='k')@10", convention="torchmetrics").options["denominator"] == "k"
    assert rank.to_sql("AP@10", convention="torchmetrics").endswith("k := 10, denominator := 'found')")


def test_a_judged_table_takes_options_alone():
    judged = rank.judge(RUN, QRELS, convention="trec_eval-9")
    whole = rank.evaluate(RUN, ["map", "P_1"], qrels=QRELS, convention="trec_eval-9")
    assert_frame_equal(rank.evaluate(judged, ["map", "P_1"], convention="trec_eval-9"), whole)


def test_measures_that_a_program_ranks_apart_stand_side_by_side():
    run = pl.DataFrame({"query": ["1", "1", "2"], "item": ["a", "b", "c"], "score": [1.0, 1.0, 1.0]})
    run = run.with_columns(system=pl.lit("s"), day=pl.lit("mon"))
    qrels = pl.DataFrame({"query": ["1", "3"], "item": ["a", "c"], "relevance": [1, 1]})
    wanted = ["RR", "RR@10", "Judged@1", "NumQ"]
    got = rank.evaluate(run, wanted, qrels=qrels, convention="ir_measures")
    assert got.columns == ["query", "system", *wanted]
    assert got.rows() == [("1", "s", 0.5, 1.0, 1.0, 1.0), ("3", "s", 0.0, 0.0, 0.0, None)]
    lazy = rank.evaluate(run.lazy(), wanted, qrels=qrels, convention="ir_measures")
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), got)
    carried = rank.evaluate(
        run, wanted, qrels=qrels, convention="ir_measures", by=["day"], attributes=["day"], queries="both"
    )
    assert carried.rows() == [("1", "s", "mon", 0.5, 1.0, 1.0, 1.0)]


def test_an_unknown_convention_is_refused_with_the_nearest():
    for call in (
        lambda: rank.judge(RUN, QRELS, convention="trec_eval9"),
        lambda: rank.evaluate(RUN, "AP", qrels=QRELS, convention="trec-eval-9"),
        lambda: rank.to_sql("AP", convention="trecevl"),
        lambda: rank.summarize(pl.DataFrame({"AP": [1.0]}), measures=["AP"], convention="trec_eval9"),
    ):
        with pytest.raises(ValueError, match=r"convention must be one of .*did you mean 'trec_eval"):
            call()


def test_a_program_without_a_convention_decides_names():
    assert {"pykeen", "trec_eval"} <= programs()
    assert parse("hits@10", convention="pykeen").measure.name == "hits_at_k"
    assert parse("hits@10", convention="ranx").measure.name == "num_relevant_returned"


@pytest.mark.parametrize("name", ["P", "recall", "success", "P(rel=2)"])
def test_a_bare_name_of_many_cutoffs_is_refused_as_trec_eval_means_it(name):
    for convention in ("trec_eval-9", "trec_eval-10"):
        with pytest.raises(ValueError, match=rf"needs a number under convention='{convention}'.*_10"):
            rank.evaluate(RUN, name, qrels=QRELS, convention=convention)
    assert parse(name).options.get("k") is None
    stem = name.partition("(")[0]
    assert parse(f"{stem}@10", convention="trec_eval-9").options == {"k": 10}
    assert parse(f"{stem}(k=None)", convention="trec_eval-9").options == {"k": None}


@pytest.mark.parametrize("name", ["map", "ndcg", "recip_rank", "set_P", "precision"])
def test_a_name_of_one_measure_needs_no_number(name):
    assert parse(name, convention="trec_eval-9").options.get("k") is None


def test_accuracy_at_a_cutoff_is_ambiguous():
    with pytest.raises(ValueError, match=r"'accuracy@5' is ambiguous: pairwise_accuracy .*or success"):
        parse("accuracy@5")
    assert parse("Accuracy").measure.name == "pairwise_accuracy"
    assert parse("Accuracy@5", convention="ir_measures").measure.name == "pairwise_accuracy"
    for convention in ("beir", "sentence_transformers"):
        call = parse("accuracy@5", convention=convention)
        assert (call.measure.name, call.options) == ("success", {"k": 5})


@pytest.mark.parametrize("name", ["nDCG(cutoff=20)@10", "ndcg_cut_20@10", "nDCG(k=20)@10"])
def test_two_cutoffs_are_both_named(name):
    with pytest.raises(ValueError, match="gives k twice, as 20 and 10; give it once"):
        parse(name)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("P_5,10", ["P_5", "P_10"]),
        ("P.5,10", ["P_5", "P_10"]),
        ("ndcg_cut.5,10", ["ndcg_cut_5", "ndcg_cut_10"]),
        ("map_cut_3,5,7", ["map_cut_3", "map_cut_5", "map_cut_7"]),
        ("iprec_at_recall.0.1,0.5", ["iprec_at_recall_0.1", "iprec_at_recall_0.5"]),
    ],
)
def test_a_list_of_cutoffs_is_several_measures(text, names):
    assert_frame_equal(
        rank.evaluate(RUN, [text, "AP"], qrels=QRELS), rank.evaluate(RUN, [*names, "AP"], qrels=QRELS)
    )
    with pytest.raises(ValueError, match=f"means several, {', '.join(names)}: name one of them"):
        rank.to_sql(text)


def test_official_is_what_trec_eval_prints():
    columns = rank.evaluate(RUN, "official", qrels=QRELS).columns
    assert [name for name in columns if name not in ("query", "system")] == [
        *("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"),
        *(f"iprec_at_recall_{tenth / 10:.2f}" for tenth in range(11)),
        *(f"P_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
    ]


def test_a_measure_of_a_list_is_given_once():
    for measures in (["P_5,10", "P_5"], ["P_5,5"]):
        with pytest.raises(ValueError, match="measures names 'P_5' twice"):
            rank.evaluate(RUN, measures, qrels=QRELS)


def test_the_command_takes_lists_of_cutoffs(tmp_path, capsys):
    from polars_rank.command.app import main

    (tmp_path / "qrels").write_text("1 0 a 1\n", encoding="utf-8")
    (tmp_path / "run").write_text("1 Q0 a 1 1.0 t\n", encoding="utf-8")
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    with pytest.raises(SystemExit) as end:
        main(["evaluate", *files, "-m", "P_5,10", "-m", "official", "--format", "csv"])
    assert end.value.code == 2
    assert "measure 'P_5' is given twice" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        main(["evaluate", *files, "-m", "P_5,10", "-m", "ndcg_cut.5", "--format", "csv"])
    assert end.value.code == 0
    assert capsys.readouterr().out.splitlines() == [
        "system,queries,P_5,P_10,ndcg_cut.5",
        "t,1,0.2,0.1,1.0",
    ]


def test_the_command_leaves_to_a_convention_what_is_not_given(tmp_path, capsys):
    from polars_rank.command.app import main

    (tmp_path / "qrels").write_text("1 0 10 1\n3 0 y 1\n", encoding="utf-8")
    (tmp_path / "run").write_text("1 Q0 9 1 1.0 t\n1 Q0 10 2 1.00000001 t\n", encoding="utf-8")
    told = {}
    for more in ((), ("--convention", "trec_eval-9"), ("--convention", "trec_eval-9", "--queries", "qrels")):
        arguments = [
            "evaluate",
            str(tmp_path / "qrels"),
            str(tmp_path / "run"),
            "-m",
            "RR",
            "--format",
            "csv",
        ]
        with pytest.raises(SystemExit) as end:
            main([*arguments, *more])
        assert end.value.code == 0
        told[more] = capsys.readouterr().out.splitlines()[1].split(",")[-1]
    assert list(map(float, told.values())) == [0.5, 0.5, 0.25]
