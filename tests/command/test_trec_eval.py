"""The drop-in against what trec_eval itself printed, and where it does better on purpose."""

import contextlib
import io
import json
import os
import re
from pathlib import Path

import polars as pl
import pytest

import polars_rank as rank
from polars_rank.command.trec_eval.app import evaluated, main, read_arguments
from polars_rank.measures.trec_eval_names import ENTRIES, NICKNAMES

HERE = Path(__file__).parents[1]
CONVENTIONS = HERE / "conventions"
SMALL = [str(CONVENTIONS / name) for name in ("small.qrels", "small.run")]
COLLECTIONS = HERE / "collections"
FOLDER = os.environ.get("POLARS_RANK_REFERENCE")
with_reference = pytest.mark.skipif(
    FOLDER is None, reason="POLARS_RANK_REFERENCE names no folder of reference collections"
)

# The command says nothing of a run without a judged item, as trec_eval.
pytestmark = pytest.mark.filterwarnings("ignore::polars_rank.NoMatchWarning")


def told(*arguments):
    """Give exit code, standard output and standard error."""
    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), said.getvalue()


def score(*arguments):
    return evaluated(read_arguments([str(argument) for argument in arguments]))


@pytest.fixture
def files(tmp_path):
    def write(qrels, run):
        (tmp_path / "qrels").write_text(qrels, encoding="utf-8")
        (tmp_path / "run").write_text(run, encoding="utf-8")
        return str(tmp_path / "qrels"), str(tmp_path / "run")

    return write


# What trec_eval printed


@pytest.mark.parametrize(
    "case",
    json.loads((HERE / "conventions" / "trec_eval.json").read_text(encoding="utf-8")),
    ids=lambda case: f"{case['version']} {case['options']}",
)
def test_small_files_byte_for_byte(case, monkeypatch):
    monkeypatch.chdir(CONVENTIONS)
    code, out, _ = told("--version", case["version"], *case["options"].split(), *case["files"])
    # 10.0 computes rbp with a range that it never sets.
    lines = out.splitlines(keepends=True)
    assert "".join(line for line in lines if not line.startswith(("rbp ", "Zrbp "))) == case["output"]
    assert code == case["code"]


@with_reference
@pytest.mark.parametrize(
    ("expected", "options", "qrels", "run"),
    [
        ("out.test", "", "qrels.test", "results.test"),
        ("out.test.a", "-m all_trec", "qrels.test", "results.test"),
        ("out.test.aq", "-m all_trec -q", "qrels.test", "results.test"),
        ("out.test.aqc", "-m all_trec -q -c", "qrels.test", "results.trunc"),
        ("out.test.aql", "-m all_trec -mrelstring.20 -q -l2", "qrels.rel_level", "results.test"),
        ("out.comment.test", "", "qrels.comment.test", "results.comment.test"),
        ("out.test", "", "qrels.test.with-comments", "results.test"),
        ("out.test.prefs", "-m all_prefs -q -R prefs", "prefs.test", "prefs.results.test"),
        ("out.test.prefs", "-m all_prefs -q -R prefs", "prefs.comment.test", "prefs.results.test"),
        ("out.test.qrels_prefs", "-m all_prefs -q -R qrels_prefs", "qrels.test", "results.test"),
        ("out.test.qrels_jg", "-m qrels_jg -q -R qrels_jg", "qrels.123", "results.test"),
        ("out.test.qrels_jg", "-m qrels_jg -q -R qrels_jg", "qrels.comments.123", "results.test"),
        ("out.test.aqZ", "-q -m all_trec -Z zscores_file", "qrels.test", "results.test"),
    ],
)
def test_suite_byte_for_byte(expected, options, qrels, run, monkeypatch):
    folder = Path(FOLDER).resolve() / "trec_eval_suite"
    monkeypatch.chdir(folder / "inputs")
    code, out, _ = told(*options.split(), qrels, run)
    assert code == 0
    assert out.encode() == (folder / "expected" / expected).read_bytes()


def measures_of(names):
    """Give the -m arguments that print these names."""
    cut = r"(P|recall|map_cut|ndcg_cut|success|unj|relative_P|iprec_at_recall|Rprec_mult|relstring)_([\d.]+)"
    cutoffs = {}
    for name in names:
        measure, number = match.groups() if (match := re.fullmatch(cut, name)) else (name, None)
        cutoffs.setdefault(measure, []).append(number)
    for measure, numbers in cutoffs.items():
        yield "-m"
        yield measure if numbers == [None] else f"{measure}.{','.join(numbers)}"


def compared(expected, options, qrels, run):
    """Put our values, and what we print of them, beside the expected ones."""
    arguments = [
        *options.split(),
        "--version",
        expected["version"][0].removesuffix(".0").removesuffix(".0.8"),
    ]
    if "-m" not in arguments:
        arguments += measures_of(expected["measure"].unique())
    result = score(*arguments, qrels, run)
    numbers = result.per_query.select("query", pl.selectors.numeric().cast(pl.Float64))
    whole = pl.DataFrame([{"query": "all", **result.whole}])
    ours = [
        table.unpivot(index="query", variable_name="measure", value_name="ours") for table in (numbers, whole)
    ]
    texts = [pl.DataFrame({"query": ["all"], "measure": ["runid"], "text": [result.tag]})]
    texts += [
        result.per_query.select("query", measure=pl.lit(name), text=pl.format("'{}'", name))
        for name in result.per_query.columns
        if name.startswith("relstring")
    ]
    return expected.join(pl.concat(ours), on=["query", "measure"], how="left").join(
        pl.concat(texts), on=["query", "measure"], how="left"
    )


SAME = ((pl.col("ours") - pl.col("value")).abs() <= 1e-10) | (pl.col("text") == pl.col("value_text"))
# The range of grades is memory that 10.0 never sets; nothing over nothing.
BROKEN = (pl.col("measure") == "rbp") | pl.col("value").is_nan()


@with_reference
def test_every_value_of_the_suite():
    folder = Path(FOLDER) / "trec_eval_suite"
    tables = [pl.read_parquet(folder / f"trec_eval_values{kind}.parquet") for kind in ("", "_parametrised")]
    for key, expected in pl.concat(tables).group_by("qrels", "results", "options", "version"):
        table = compared(expected, key[2], *(folder / "inputs" / name for name in key[:2]))
        wrong = table.filter(~SAME.fill_null(False) & ~BROKEN.fill_null(False))
        assert wrong.is_empty(), (key, wrong)
        code, out, _ = told(
            *key[2].split(), "--version", key[3].split(".")[0], "-q",
            *(() if "-m" in key[2] else measures_of(expected["measure"].unique())),
            *(folder / "inputs" / name for name in key[:2]),
        )  # fmt: skip
        assert code == 0
        printed = {tuple(field.strip() for field in line.split("\t")) for line in out.splitlines()}
        values = expected.filter(pl.col("measure") != "rbp")
        assert (
            set(values.select("measure", "query", pl.col("value_text").str.strip_chars()).rows()) <= printed
        )


@with_reference
def test_every_value_of_the_collections(capsys):
    golden = pl.read_parquet(Path(FOLDER) / "golden" / "trec_eval_values.parquet")
    met = 0
    left_out = []
    for key, expected in golden.group_by("collection", "run", "version", "options"):
        folder = Path(FOLDER) / "real" / key[0]
        table = compared(expected, key[3], folder / "qrels.trec.gz", folder / f"run.{key[1]}.trec.gz")
        assert table.height == expected.height
        met += table.filter(SAME.fill_null(False)).height
        table = table.filter(~SAME.fill_null(False))
        wrong = table.filter(~BROKEN.fill_null(False))
        assert wrong.is_empty(), (key, wrong)
        left_out.append(table)
    reasons = dict(pl.concat(left_out).group_by(pl.col("value").is_nan()).len().rows())
    with capsys.disabled():
        print(f"\n{met:,} of {golden.height:,} values met by the drop-in", end="; left out: ")
        print(f"{reasons[True]:,} of 0 / 0, {reasons[False]:,} of rbp with a range that was never set")
    told = (COLLECTIONS / "README.md").read_text(encoding="utf-8")
    assert f"| {golden.height:,} | {met:,} | {golden.height - met:,} |" in told
    assert met + reasons[True] + reasons[False] == golden.height == 2_497_018
    assert met >= 2_490_000


# The measures of the library are the same


@pytest.mark.parametrize("version", ["9", "10"])
def test_measures_of_the_library_give_the_same_values(tmp_path, version):
    qrels = pl.read_parquet(COLLECTIONS / "stress-a.qrels.parquet")
    run = pl.read_parquet(COLLECTIONS / "stress-a.runs.parquet").filter(system="r1")
    zero = pl.lit("0")
    qrels.select("query", zero, "item", "relevance").write_csv(
        tmp_path / "qrels", separator=" ", include_header=False
    )
    run.select("query", zero, "item", zero.alias("rank"), "score", "system").write_csv(
        tmp_path / "run", separator=" ", include_header=False
    )
    names = ["map", "Rprec", "bpref", "recip_rank", "P_5", "recall_20", "ndcg", "ndcg_cut_10", "map_cut_10"]
    names += ["success_5", "set_P", "set_recall", "set_F", "num_ret", "num_rel", "num_rel_ret"]
    theirs = score("--version", version, *measures_of(names), tmp_path / "qrels", tmp_path / "run")
    narrow = "float32" if version == "9" else "float64"
    ours = rank.evaluate(
        run.drop("system"), names, qrels=qrels, queries="both", score_dtype=narrow, convention="trec_eval"
    )
    both = ours.join(theirs.per_query, on="query", suffix=" of theirs")
    assert both.height == theirs.per_query.height == ours.height
    for name in names:
        assert both.select((pl.col(name) - pl.col(f"{name} of theirs")).abs().max()).item() <= 1e-12, name


# Better on purpose


def test_fractional_gains_have_an_order(files):
    qrels, run = files("1 0 a 1\n1 0 b 2\n1 0 c 3\n", "1 Q0 c 1 9 t\n1 Q0 b 2 8 t\n1 Q0 a 3 7 t\n")
    code, out, _ = told("-m", "ndcg.1=0.2,2=0.5,3=0.9", qrels, run)
    assert (code, out) == (0, "ndcg_1=0.2,2=0.5,3=0.9\tall\t1.0000\n")


def test_parameters_of_one_measure_are_its_own(files):
    qrels, run = files("1 0 a 1\n1 0 b 2\n", "1 Q0 a 1 9 t\n1 Q0 b 2 8 t\n")
    both = score("-m", "dcg.1=100", "-m", "ndcg", qrels, run).whole
    assert both["ndcg"] == score("-m", "ndcg", qrels, run).whole["ndcg"]
    assert both["dcg_1=100"] > 100


def test_rbp_brings_grades_to_their_range(files):
    qrels, run = files("1 0 a 2\n1 0 b 4\n1 0 c 0\n", "1 Q0 a 1 9 t\n1 Q0 c 2 8 t\n1 Q0 b 3 7 t\n")
    whole = score("-m", "rbp.p=0.5", qrels, run).whole
    assert whole == {"rbp_p=0.5": pytest.approx(0.5 * (0.5 + 0.25), abs=1e-15)}
    negative = score("-m", "rbp.p=0.5,0=-1,4=1", qrels, run).whole
    # From -1 to 3, the gain of level 3: (2 + 1) / 4, (-1 + 1) / 4, (1 + 1) / 4.
    assert negative["rbp_p=0.5,0=-1,4=1"] == pytest.approx(0.5 * (0.75 + 0.25 * 0.5), abs=1e-15)


def test_version_10_passes_over_a_missing_query_as_9_does(files):
    qrels, run = files("1 0 a 1\n2 0 a 1\n", "1 Q0 a 1 9 t\n")
    for version in ("9", "10"):
        code, out, _ = told("-q", "-m", "map", "-m", "num_q", "--version", version, qrels, run)
        assert code == 0
        assert out == f"{'map':<22}\t1\t1.0000\n{'num_q':<22}\tall\t1\n{'map':<22}\tall\t1.0000\n"


@pytest.mark.parametrize("version", ["9", "10"])
def test_nothing_judged_among_the_returned_is_no_nan(files, version):
    qrels, run = files("1 0 a 1\n2 0 b 1\n", "1 Q0 x 1 9 t\n2 Q0 b 1 9 t\n")
    chosen = ["-m", "iprec_at_recall.0,1", "-m", "11pt_avg", "-m", "Rndcg"]
    whole = score("-J", "--version", version, *chosen, qrels, run).whole
    assert set(whole.values()) == {0.5}


def test_all_grades_negative_is_nothing_relevant(files):
    qrels, run = files("1 0 a -2\n2 0 b 1\n", "1 Q0 a 1 9 t\n2 Q0 b 1 9 t\n")
    result = score("-m", "all_trec", qrels, run)
    first = result.per_query.row(0, named=True)
    assert first["num_rel"] == first["num_rel_ret"] == first["num_nonrel_judged_ret"] == 0
    assert {first[name] for name in ("map", "ndcg", "bpref", "infAP", "rbp", "G", "Rndcg")} == {0.0}
    assert first["relstring"] == "."


def test_comments_and_blank_lines_in_judgements(files):
    qrels, run = files("# one\n# two\n1 0 a 1\n\n", "# a run\n1 Q0 a 1 9 t\n")
    assert told("-m", "map", qrels, run)[:2] == (0, f"{'map':<22}\tall\t1.0000\n")
    assert told("-m", "map", "--version", "9", qrels, run)[0] == 2


def test_points_of_recall_in_any_order(files):
    qrels, run = files("1 0 a 1\n1 0 b 1\n", "1 Q0 a 1 9 t\n1 Q0 x 2 8 t\n1 Q0 b 3 7 t\n")
    there = score("-m", "11pt_avg.0.2,0.9", qrels, run).whole["11pt_avg_0.2,0.9"]
    assert score("-m", "11pt_avg.0.9,0.2", qrels, run).whole["11pt_avg_0.9,0.2"] == there


# Options, exit codes, files


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["-x", *SMALL], 1, "-x"),
        (SMALL[:1], 1, "two files"),
        (["-m", "nope", *SMALL], 1, "nope"),
        (["-m", "nDCG", *SMALL], 1, "did you mean 'ndcg'"),
        (["-m", "P.", *SMALL], 1, "dot"),
        (["-m", "prefs", *SMALL], 4, "needs -R prefs or -R qrels_prefs; -R qrels has other measures"),
        (["-m", "map_avgjg", *SMALL], 4, "needs -R qrels_jg"),
        (["-R", "qrels_prefs", *SMALL], 4, "-m all_prefs"),
        (["-R", "qrels_jg", "-m", "map", *SMALL], 4, "-m qrels_jg"),
        (["--version", "9", "-m", "rbp", *SMALL], 1, "rbp"),
        (["--version", "8", *SMALL], 1, "9 or 10"),
        (["-M", "some", *SMALL], 1, "'some'"),
        (["-l", "-1", *SMALL], 1, "'-1'"),
        (["-m", "P.0", *SMALL], 2, "at least 1"),
        (["-m", "P.5,5", *SMALL], 2, "twice"),
        (["-m", "ndcg.1", *SMALL], 2, "name=value"),
        (["-m", "ndcg.1=2,,2=3", *SMALL], 2, "name=value"),
        (["-m", "utility.1,2", *SMALL], 4, "four numbers"),
        (["-m", "P.²", *SMALL], 2, "at least 1"),
        (["-m", "P.\uff11\uff10", *SMALL], 2, "at least 1"),
        (["-m", "iprec_at_recall.0.101,0.102", *SMALL], 2, "one name"),
        (["-m", "utility.1e999,0,0,0", *SMALL], 2, "'1e999'"),
        (["-m", "ndcg.1=0x10", *SMALL], 2, "'0x10'"),
        (["-m", "rbp.p=nan", *SMALL], 2, "'nan'"),
        (["-R", "prefs", "-m", "prefs", *SMALL], 2, "expected 5 fields (query group subgroup item"),
        (["-R", "pref", *SMALL], 2, "-R must be one of qrels, qrels_jg, prefs, qrels_prefs, got 'pref'"),
        (["-Z", "no such scores", *SMALL], 255, "no such scores"),
        (["-Z", SMALL[0], *SMALL], 255, "line 1: mean and deviation must be numbers"),
        (["no such file", SMALL[1]], 2, "no such file"),
        ([SMALL[1], SMALL[1]], 2, "line 1"),
        ([SMALL[0], os.devnull], 2, "is empty"),
    ],
)
def test_wrong_use(arguments, code, words):
    got, out, said = told(*arguments)
    assert (got, out) == (code, "")
    assert said.startswith("trec-eval: ")
    assert words in said


@pytest.mark.parametrize("option", ["-N", "-M", "-l"])
@pytest.mark.parametrize(
    "text", ["9" * 19, "9" * 6000, "²", "\uff11\uff10", "1_0", "0x10", "5x", "-5", "", "+", "1e3"]
)
def test_numbers_of_options_are_whole(option, text):
    code, out, said = told(option, text, *SMALL)
    assert (code, out) == (1, "")
    assert said.startswith(f"trec-eval: {option} takes a whole number from 0 to 9223372036854775807, got '")
    assert len(said) < 250


@pytest.mark.parametrize("option", ["-N", "-M", "-l"])
def test_numbers_of_options_as_c_reads_them(option):
    chosen = ["-c", "-q", "-m", "all_trec", "-m", "utility.0,0,0,1"]
    plain = told(option, "2", *chosen, *SMALL)
    assert plain[0] == 0
    for text in ("+2", " 2", "2 ", "002", "\t+02"):
        assert told(option, text, *chosen, *SMALL) == plain
    assert told(option, str(2**63 - 1), *chosen, *SMALL)[0] == 0


def test_parameters_begin_as_c_reads_them(files):
    qrels, run = files("1 0 a 1\n", "1 Q0 a 1 9 t\n")
    for text, read in {
        "1_0": 1,
        "+5": 5,
        "7x": 7,
        " 3": 3,
        "9" * 6000: 2**63 - 1,
        str(2**53 + 1): 2**53 + 1,
    }.items():
        assert score("-m", f"P.{text}", qrels, run).whole == pytest.approx({f"P_{read}": 1 / read})
    assert score("-m", "Rprec_mult.1e30", qrels, run).per_query.row(0)[1] < 1e-15
    assert score("-m", "relstring.1e30", qrels, run).per_query.row(0)[1] == "1"
    assert told("-m", "11pt_avg.0.5%", qrels, run)[1] == f"{'11pt_avg_0.5%':<22}\tall\t1.0000\n"


def test_memory_does_not_grow_with_a_grade(files):
    qrels, run = files("1 0 a 1000000000\n1 0 b 1\n", "1 Q0 a 1 9 t\n1 Q0 b 2 8 t\n")
    whole = score("-m", "all_trec", qrels, run).whole
    assert whole["rbp"] == pytest.approx(0.1 * (1 + 0.9 * 1e-9), abs=1e-15)
    whole = score("-m", "rbp.p=0.5,1000000000=4,999999999=7", qrels, run).whole
    # From 0 to 999999998, the greatest level whose gain is its own.
    assert whole["rbp_p=0.5,1000000000=4,999999999=7"] == pytest.approx(0.5 * 4.5 / 999999998, rel=1e-12)
    code, _, said = told(*files(f"1 0 a {2**63 - 1}\n", "1 Q0 a 1 9 t\n"))
    assert code == 2
    assert "2^53" in said


def test_a_mean_is_divided_as_there(files):
    # 3 / 20 / 8 lies half way between two printed numbers; trec_eval prints 0.0187.
    rows = [(query, item) for query in range(8) for item in "abc"]
    qrels = "".join(f"{query} 0 {item} {int(query == 0)}\n" for query, item in rows)
    run = "".join(f"{query} Q0 {item} 0 1 t\n" for query, item in rows)
    assert told("-m", "P.20", *files(qrels, run))[1] == f"{'P_20':<22}\tall\t0.0187\n"


# Preferences, judges, z-scores


def test_preferences_that_contradict(files):
    run = "1 Q0 a 1 9 t\n1 Q0 b 2 8 t\n"
    circle = "1 j 0 a 2\n1 j 0 b 1\n1 j 1 b 2\n1 j 1 c 1\n1 j 2 c 2\n1 j 2 a 1\n"
    twice = "1 j 0 a 2\n1 j 0 a 1\n"
    zero = "1 j 0 a 2\n1 j 0 b 1\n1 j 1 b 0\n1 j 1 c 1\n"
    for prefs, words in ((circle, "is preferred"), (twice, "two levels"), (zero, "level 0")):
        code, out, said = told("-R", "prefs", "-m", "prefs", *files(prefs, run))
        assert (code, out) == (4, "")
        assert "query '1', group 'j': item '" in said
        assert words in said
    assert told("-R", "prefs", "-m", "prefs", *files("1 j 0 a nan\n", run))[0] == 2
    assert told("-R", "prefs", "-m", "prefs", *files("1 j 0 a 1\n", run + run))[0] == 4
    assert told("-R", "qrels_jg", "-m", "qrels_jg", *files("1 j a 1\n1 j a 1\n", run))[0] == 2


def test_preferences_follow_from_long_chains(files):
    size = 40
    prefs = "".join(f"1 j s{i} d{i + k} {2 - k}\n" for i in range(size) for k in (0, 1))
    run = "".join(f"1 Q0 d{i} 0 {-i} t\n" for i in range(size + 1))
    whole = score("-R", "prefs", "-m", "all_prefs", *files(prefs, run)).whole
    assert whole["prefs_num_prefs_poss"] == whole["prefs_num_prefs_ful"] == size * (size + 1) / 2
    assert whole["prefs_simp"] == whole["prefs_pair"] == whole["prefs_avgjg"] == 1


def test_a_missing_zscore_is_never_that_of_the_next_query(files, tmp_path):
    qrels, run = files("1 0 a 1\n2 0 a 1\n", "1 Q0 a 1 9 t\n2 Q0 a 1 9 t\n")
    scores = tmp_path / "scores"
    scores.write_text("1 P_5 0 1\n2 map 0.5 0.25\n")
    result = score("-Z", scores, "-m", "map", "-m", "gm_map", qrels, run)
    assert result.per_query["map"].to_list() == [-1_000_000, 2]
    assert result.whole == {"map": -499_999, "gm_map": 0}
    scores.write_text("1 gm_map -1 1e-9\n")
    out = told("-Z", scores, "-q", "-m", "gm_map", "-m", "num_q", *files("1 0 a 1\n", "1 Q0 a 1 9 t\n"))[1]
    assert out == f"Z{'num_q':<22}\tall\t1.0000\nZ{'gm_map':<22}\tall\t   inf\n"
    scores.write_text("1 map 0 1\n1 map 0 2\n")
    code, _, said = told("-Z", scores, qrels, run)
    assert code == 255
    assert "twice" in said


@pytest.mark.parametrize(
    ("qrels", "run", "code", "end"),
    [
        ("1 0 a 1\n", "1 Q0 a 1 9 t\n1 Q0 a 2 8 t\n", 4, "(2 such rows); remove all but one\n"),
        ("1 0 a 1\n1 0 a 2\n", "1 Q0 a 1 9 t\n", 4, "(2 such rows); remove all but one\n"),
        ("1 Q0 a 1 9 t\n", "1 0 a 1\n", 2, "are qrels and run swapped? QRELS comes first, then RUN\n"),
        ("1 0 a 1\n", "1,a\n", 2, "the line is '1,a'\n"),
    ],
)
def test_advice_names_no_argument_of_the_library(files, qrels, run, code, end):
    got, out, said = told(*files(qrels, run))
    assert (got, out) == (code, "")
    assert said.endswith(end)
    assert "=" not in said


def test_bad_files(files):
    good = "1 0 a 1\n", "1 Q0 a 1 9 t\n"
    assert told(*files("1 0 a 1\n1 0 a 1\n", good[1]))[0] == 4
    assert told(*files(good[0], "1 Q0 a 1 9 t\n1 Q0 a 2 8 t\n"))[0] == 4
    assert told(*files(good[0], good[1] + "2 Q0 a 1 9 t\n2 Q0 a 2 8 t\n"))[0] == 0
    assert told(*files(good[0], "2 Q0 a 1 9 t\n"))[0] == 7
    assert told("--version", "9", "-c", *files(good[0], "2 Q0 a 1 9 t\n"))[0] == 7
    assert told("-c", "-m", "map", *files(good[0], "2 Q0 a 1 9 t\n"))[1] == f"{'map':<22}\tall\t0.0000\n"
    assert told(*files(good[0], "1 Q0 a 1 9\n"))[0] == 2
    assert told(*files(good[0], "1 Q0 a 1 high t\n"))[0] == 2


def test_large_cutoffs_are_told_apart(files):
    qrels, run = files("1 0 a 1\n", "1 Q0 a 1 9 t\n")
    whole = score("-m", "P.10000001,10000002", qrels, run).whole
    assert whole == {"P_10000001": 1 / 10000001, "P_10000002": 1 / 10000002}


def test_depth_of_nothing(files):
    qrels, run = files("1 0 a 1\n", "1 Q0 a 1 9 t\n")
    assert score("-M0", "-m", "num_ret", "-m", "map", qrels, run).whole == {"num_ret": 0, "map": 0}


def test_a_grade_is_cut_to_a_whole_number(files):
    qrels, run = files("1 0 a 1.7\n", "1 Q0 a 1 9 t\n")
    assert score("-m", "dcg", qrels, run).whole == {"dcg": 1.0}


def test_options_as_getopt_reads_them(files):
    qrels, run = files("1 0 a 2\n", "1 Q0 a 1 9 t\n")
    one = told("-q", "-n", "-l", "2", "-m", "P.5", qrels, run)
    assert one == told("-qnl2", "-mP.5", qrels, run)
    assert one == told(
        qrels, run, "--query_eval_wanted", "--nosummary", "--level_for_rel=2", "--measure", "P.5"
    )
    assert told("-h")[0] == 0


def test_first_parameters_count_and_order_is_trec_evals(files):
    qrels, run = files("1 0 a 2\n", "1 Q0 a 1 9 t\n")
    result = score("-m", "ndcg", "-m", "P.3,1", "-m", "P.2", "-m", "map.5", "-m", "set.7", qrels, run)
    assert [each.measure for each in result.wanted] == [
        name for name in ENTRIES if name in {"ndcg", "P", "map", *NICKNAMES["set"]}
    ]
    assert [name for each in result.wanted for name in each.names if "P_" in name and "set" not in name] == [
        "P_1",
        "P_3",
    ]


def test_tag_is_that_of_the_last_line():
    assert score("-c", *SMALL).tag == "last"
