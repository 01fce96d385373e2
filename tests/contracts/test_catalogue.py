"""Guards: catalogue, macros, golden cases, exports and documentation tell of the same measures."""

import doctest
import importlib
import inspect
import pkgutil
import re
import tomllib
from decimal import Decimal
from functools import cache
from pathlib import Path

import duckdb
import hypothesis
import pytest
from engines import parse_call
from hypothesis import strategies as st
from pieces import complete

import polars_rank
from polars_rank.measures.catalogue import MEASURES
from polars_rank.measures.names import AmbiguousMeasureError, parse, to_sql
from polars_rank.sql import install

ROOT = Path(__file__).parents[2]
# Macros of helpers.sql, with an underscore in front, are shared pieces. Scalar macros that are no measures:
NOT_MEASURES = {"rrf"}
# A measure that lacks a piece is named by test_pieces.py alone.
measures = pytest.mark.parametrize("name", sorted(complete()))


def family(name):
    return MEASURES[name].function.__module__.rpartition(".")[2]


FAMILIES = set(map(family, MEASURES))


def stems(folder, ending):
    return {file.stem for file in (ROOT / folder).glob(f"*.{ending}")}


# Macros


@cache
def installed():
    connection = duckdb.connect()
    install(connection)
    rows = connection.execute(
        "SELECT function_name, function_type, parameters, comment FROM duckdb_functions() "
        "WHERE database_name = 'rank' AND function_type = 'macro' AND function_name[1] != '_'"
    ).fetchall()
    connection.close()
    # The first form of a macro; a second one only refuses a call (link.sql).
    return {name: (kind, parameters, comment) for name, kind, parameters, comment in reversed(rows)}


@cache
def macro_texts(stem):
    """Give the macros of a file: name to the text of the parameter list."""
    text = (ROOT / "sql" / "measures" / f"{stem}.sql").read_text(encoding="utf-8")
    return dict(re.findall(r"CREATE OR REPLACE MACRO rank\.(\w+)\s*\((.*?)\)\s*AS\b", text, flags=re.DOTALL))


def macro_defaults(name):
    parameters = re.findall(r"(\w+)\s*:=\s*('[^']*'|[^,\s]+)", macro_texts(family(name))[name])
    values = {}
    for parameter, default in parameters:
        ((value,),) = duckdb.sql(f"SELECT {default}").fetchall()
        values[parameter] = float(value) if isinstance(value, Decimal) else value
    return values


@measures
def test_macro_has_the_parameters_of_the_function(name):
    kind, parameters, _ = installed()[name]
    assert kind == "macro"
    assert parameters == list(inspect.signature(MEASURES[name].function).parameters)


@measures
def test_macro_has_the_defaults_of_the_function(name):
    defaults, options = macro_defaults(name), MEASURES[name].options
    assert list(defaults) == list(options)
    for option, value in options.items():
        assert defaults[option] == value, option
        assert (defaults[option] is None) == (value is None), option


@measures
def test_macro_is_told_by_the_summary_of_the_function(name):
    assert installed()[name][2] == inspect.getdoc(MEASURES[name].function).partition("\n")[0]


def test_no_macro_without_a_measure():
    scalar = {name for name, (kind, _, _) in installed().items() if kind == "macro"}
    assert scalar == MEASURES.keys() | NOT_MEASURES


def test_each_family_has_a_module_a_sql_file_and_cases():
    assert stems("tests/cases", "toml") == FAMILIES
    assert stems("sql/measures", "sql") >= FAMILIES


@measures
def test_macro_and_cases_stand_in_the_file_of_the_family(name):
    assert name in macro_texts(family(name))
    assert name in {parse_call(case["call"]).name for case in cases(family(name))}


# Golden cases


@cache
def cases(stem):
    return tomllib.loads((ROOT / "tests" / "cases" / f"{stem}.toml").read_text(encoding="utf-8"))["case"]


@measures
def test_the_empty_query_has_a_golden_case(name):
    expected = [
        case["expected"]
        for case in cases(family(name))
        if parse_call(case["call"]) == (name, {})
        and all(values == [] for values in case.values() if isinstance(values, list))
    ]
    if not expected:
        pytest.fail(f"no case of {name}() over no row at all")
    assert expected == ["null" if MEASURES[name].empty is None else MEASURES[name].empty]


# The catalogue


@measures
def test_record(name):
    measure = MEASURES[name]
    low, high = measure.bounds
    assert measure.name == name == measure.function.__name__
    assert low < high
    assert measure.aggregate in ("mean", "sum", "geometric")
    assert re.search(r"doi:10\.\d{4,}/\S+|\b(19|20)\d\d\b|trec_eval|ir_measures", measure.source)
    assert measure.empty is None or low <= measure.empty <= high
    assert all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in measure.parameters.values())


@pytest.mark.parametrize(
    "name", [name for name, m in MEASURES.items() if {"rank", "relevance"} <= {*m.columns}]
)
def test_rank_and_relevance_come_first(name):
    """A positional call of another measure with the columns of ndcg never swaps two of them."""
    assert MEASURES[name].columns[:2] == ["rank", "relevance"]


@pytest.mark.parametrize(
    ("program", "spelling", "name"),
    [
        (program, spelling, name)
        for name, measure in MEASURES.items()
        for program, spellings in measure.names.items()
        for spelling in spellings
    ],
)
def test_a_name_from_elsewhere_is_understood(program, spelling, name):
    text = f"{spelling[:-1]}10" if spelling.endswith(("_k", "@k")) else spelling
    text = f"{spelling[:-1]}0.5" if spelling.endswith("_x") else text
    measure, options, judged_only, aggregate = parse(text, convention=program)
    assert measure is MEASURES[name]
    assert not judged_only
    implied = dict(MEASURES[name].names[program][spelling])
    assert aggregate == implied.pop("aggregate", measure.aggregate)
    if spelling.endswith(("_k", "@k")):
        implied["k"] = 10
    if spelling.endswith("_x"):
        assert len(options) == len(implied) + 1
        assert options.items() >= implied.items()
    else:
        assert options == implied


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("iprec_at_recall_0.10", "interpolated_precision(recall=0.1)"),
        ("IPrec(rel=2)@0.1", "interpolated_precision(recall=0.1, min_relevance=2)"),
        ("Rprec_mult_0.20", "r_precision(multiple=0.2)"),
        ("set_F_4", "f_measure(beta=2.0)"),
        ("gm_map", "average_precision()"),
        ("nDCG(gains={1:3,2:7})@10", "ndcg(k=10, gain={1: 3, 2: 7})"),
        ("SetP(relative=True)", "precision(denominator='reachable')"),
        ("NumRet(rel=2)", "num_relevant_returned(min_relevance=2)"),
        ("unj_5", "unjudged_share(k=5)"),
        ("Hole@10", "unjudged_share(k=10)"),
        ("RBP(rel=2,p=0.5)", "rbp(persistence=0.5, min_relevance=2)"),
        ("SDCG(max_rel=3)@10", "sdcg(k=10, max_relevance=3)"),
        ("BPM(T=1,max_rel=4)@10", "bpm(k=10, target=1, max_relevance=4)"),
        ("INST(T=2,max_rel=4)", "inst(target=2, max_relevance=4)"),
        ("NERR10(p=0.8,max_rel=3)", "nerr(equation=10, persistence=0.8, max_relevance=3)"),
        ("Compat(p=0.8,normalize=False)", "compatibility(persistence=0.8, normalized=False)"),
        ("Accuracy", "pairwise_accuracy()"),
        ("alpha_nDCG(alpha=0.3)@10", "alpha_ndcg(k=10, alpha=0.3)"),
        ("nNRBP(alpha=0.3,beta=0.8)", "nnrbp(persistence=0.8, alpha=0.3)"),
        ("context_precision@3", "average_precision(k=3, denominator='found')"),
    ],
)
def test_a_text_from_elsewhere_is_this_call(text, call):
    wanted = parse_call(call)
    measure, options, *_ = parse(text)
    assert (measure.name, options) == (wanted.name, wanted.options)
    columns = ", ".join(measure.columns)
    assert to_sql(text).startswith(f"rank.{wanted.name}({columns}")
    sql = duckdb.connect()
    install(sql)
    values = "(1, 1, 'a', 1, 0.5)"
    sql.sql(
        f"SELECT {to_sql(text)} FROM (VALUES {values}) AS t (rank, relevance, subtopic, ideal_rank, score)"
    ).fetchall()


def test_an_ambiguous_name_lists_its_meanings():
    with pytest.raises(AmbiguousMeasureError) as refusal:
        parse("hits@10")
    assert refusal.value.text == "hits@10"
    assert {measure for _, measure in refusal.value.choices} == {"hits_at_k", "num_relevant_returned"}


def test_a_program_may_sum_up_otherwise():
    assert parse("gm_map").aggregate == parse("gm_bpref").aggregate == "geometric"
    assert parse("hits", convention="ranx").aggregate == "mean"
    assert parse("num_rel_ret").aggregate == "sum"


# Exports and documentation


def order(name):
    """Constants, then classes, then functions."""
    return (not name.isupper(), not name[0].isupper(), name)


def public_functions():
    for module in pkgutil.walk_packages(polars_rank.__path__, "polars_rank."):
        # The command's functions are named after its words.
        if not module.name.startswith(("polars_rank.__main__", "polars_rank.command")):
            for name, member in vars(importlib.import_module(module.name)).items():
                if inspect.isfunction(member) and member.__module__ == module.name and name[0] != "_":
                    yield member


def test_exports_are_sorted_and_none_is_twice():
    exported = polars_rank.__all__
    assert exported == sorted(set(exported), key=order)
    assert all(hasattr(polars_rank, name) for name in exported)


def test_every_measure_is_exported():
    assert set(polars_rank.__all__) >= MEASURES.keys()
    assert all(getattr(polars_rank, name) is measure.function for name, measure in MEASURES.items())


def test_what_the_package_imports_is_exported():
    members = {n for n, member in vars(polars_rank).items() if n[0] != "_" and not inspect.ismodule(member)}
    assert members == set(polars_rank.__all__)


def test_nothing_is_forgotten():
    """A function whose own example calls it as rank.name is public, so it is exported."""
    shown = {f.__name__ for f in public_functions() if f"rank.{f.__name__}(" in (f.__doc__ or "")}
    assert not shown - set(polars_rank.__all__)


def test_no_two_things_have_one_name():
    exported = [f for f in public_functions() if f.__name__ in polars_rank.__all__]
    assert all(getattr(polars_rank, f.__name__) is f for f in exported)


EXPORTED = sorted({f.__name__ for f in public_functions()} & set(polars_rank.__all__))


@pytest.mark.parametrize("name", EXPORTED)
def test_documentation_of_a_function(name):
    function = getattr(polars_rank, name)
    text = inspect.getdoc(function)
    summary, _, rest = text.partition("\n")
    assert len(summary) <= 90
    assert summary.endswith((".", ":"))
    assert rest.startswith("\n")
    parameters = [p for p in inspect.signature(function).parameters if p not in ("args", "kwargs")]
    section = re.search(r"\nParameters\n-+\n(.*?)(\n\n\w+\n-+\n|\Z)", text, flags=re.DOTALL)
    told = (
        re.findall(r"^\*{0,2}([a-z_][a-z_, ]*?)(?: :.*)?$", section[1], flags=re.MULTILINE) if section else []
    )
    assert sorted(p for line in told for p in line.split(", ")) == sorted(parameters)
    assert "\nExamples\n--------\n>>> " in text


@pytest.mark.parametrize("name", EXPORTED)
def test_examples_of_a_function_run(name):
    function = getattr(polars_rank, name)
    module = inspect.getmodule(function)
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for example in finder.find(function, name, module, globs={}):
        assert example.examples
        assert runner.run(example).failed == 0


@measures
def test_documentation_of_a_measure(name):
    text = inspect.getdoc(MEASURES[name].function)
    assert re.search(r"\$.+\$", text), "a formula"
    assert "\nReturns\n-------\npl.Expr\n    Float64" in text
    assert re.search(r"Range [\[(]", text)
    assert "null" in text.lower()
    assert re.search(r"\nReferences\n-+\n\S", text)
    if MEASURES[name].options:
        assert "\nRaises\n------\nValueError\n" in text


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ngcd@10", "ndcg"),
        ("recal@5", "recall"),
        ("mrr10", "mrr@10"),
        ("nDCG_10", "nDCG@10"),
        ("nDCG-10", "nDCG@10"),
        ("set_F_1.2.3", "set_F_x"),
    ],
)
def test_a_mistyped_measure_is_refused_with_the_nearest(typed, meant):
    with pytest.raises(ValueError, match=rf"unknown measure '{typed}' \(did you mean '{meant}'\?\)"):
        parse(typed)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("P_5@10", "gives k twice"),
        ("ndcg(k=10)@5", "gives k twice"),
        ("AP(rel=1, rel=2)", "gives rel twice"),
        ("precision(min_relevance=1)@5-l2", "gives min_relevance twice"),
        ("rbp.95(p=0.5)", "gives persistence twice"),
        ("P_k", "needs a number: P_10"),
        ("iprec_at_recall_x", "needs a number: iprec_at_recall_0.5"),
        ("iprec_at_recall", "needs a number: iprec_at_recall_0.5"),
        ("AP(judged_only=no)", "judged_only must be True or False"),
        ("SetF(beta=two)", "beta must be a number"),
    ],
)
def test_a_spelling_that_says_two_things_or_none_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        parse(text)


NAMES = sorted({name for each in MEASURES.values() for names in each.names.values() for name in names})


@hypothesis.given(st.sampled_from(NAMES), st.text("@()-_.,=0123456789lrekpx", max_size=4), st.integers(0, 20))
@hypothesis.example("10", "", 0)
def test_any_spelling_is_read_or_refused_in_words(name, inserted, at):
    spelling = name[:at] + inserted + name[at:]
    try:
        said = f"measure {parse(spelling).measure.name}"
    except ValueError as refusal:
        said = str(refusal)
    assert re.search("measure|must", said)
