"""docs/measures.md matches the catalogue: every measure of every program, and ours.

`python tests/documents/test_measures_document.py` writes it anew.
"""

import fnmatch
import inspect
import textwrap
import tomllib
from functools import cache
from pathlib import Path

import duckdb
import polars as pl
import pytest

import polars_rank as rank
from polars_rank.measures.catalogue import MEASURES
from polars_rank.measures.conventions import CONVENTIONS
from polars_rank.measures.names import drop_in_alone, parse
from polars_rank.measures.trec_eval_names import ENTRIES

DOCUMENT = Path(__file__).parents[2] / "docs" / "measures.md"
NAMES = tomllib.loads((Path(__file__).parents[1] / "conventions" / "names.toml").read_text(encoding="utf-8"))
PROGRAMS = ["trec_eval", "ir_measures", "ranx"]
HEAD = """# Measures and conventions

This page is generated from the catalogue of measures, the macros in DuckDB after `install`, and the
lists of names in `tests/conventions/names.toml` (`python tests/documents/test_measures_document.py`). A test
keeps it up to date.

"""
MEASURES_TEXT = """## Every measure

✓ under Polars: a function `rank.<measure>` that returns an expression. ✓ under SQL: a macro
`rank.<measure>` with the same options and defaults. *drop-in*: only available through `polars-rank
trec-eval`. A name ending in `_k` is followed by a cutoff (`P_10`), one ending in `_x` by another
number. Measures by subtopic take the table that `judge_subtopics` makes (in SQL a table macro of
that name).

"""
CONVENTIONS_TEXT = """## Conventions

`convention=` of `judge`, `evaluate`, `summarize`, `to_sql` and the command sets these defaults;
explicit arguments override it. *Ranked apart*: measures for which the program orders a run
differently. *Not met*: what no argument can reproduce.

"""


# What is found


@cache
def macros():
    """Give the kinds of our macros: name to macro or table_macro."""
    with duckdb.connect() as connection:
        rank.install(connection)
        found = connection.execute(
            "SELECT function_name, function_type FROM duckdb_functions() WHERE database_name = 'rank'"
        ).fetchall()
    return dict(found)


def in_polars(name):
    """Tell whether the package has a function of that name that gives an expression."""
    function = getattr(rank, name, None)
    return function is not None and isinstance(function(*MEASURES[name].columns), pl.Expr)


def in_sql(name):
    return macros().get(name) in ("macro", "table_macro")


def left_out(program, name):
    """Give the reason why a program's measure is left out, or None."""
    reasons = NAMES[program].get("out", {})
    return next((why for pattern, why in reasons.items() if fnmatch.fnmatchcase(name, pattern)), None)


def as_text(program, name):
    """Write the name with a cutoff where the program does."""
    if name.endswith(("_k", "_x")):
        return f"{name[:-1]}{10 if name.endswith('_k') else 0.5}"
    return f"{name}@10" if program == "beir" else name


# The document


def row(*cells):
    return f"| {' | '.join(cells)} |\n"


def code(names):
    return ", ".join(f"`{name}`" for name in names)


def measures_table():
    """List each measure with where it is, and its names elsewhere."""
    titles = ["measure", "meaning", "range", "Polars", "SQL", *PROGRAMS, "others"]
    text = row(*titles) + row(*["---"] * len(titles))
    for name, measure in MEASURES.items():
        low, high = (f"{bound:g}".replace("inf", "∞") for bound in measure.bounds)
        others = [
            f"`{each}` ({program})"
            for program, names in measure.names.items()
            if program not in PROGRAMS
            for each in names
        ]
        text += row(
            f"`{name}`",
            (inspect.getdoc(measure.function) or "").partition("\n")[0],
            f"{low} … {high}",
            "✓" * in_polars(name),
            "✓" * in_sql(name),
            *(code(measure.names.get(program, ())) for program in PROGRAMS),
            ", ".join(others),
        )
    for name in drop_in_alone():
        text += row("", "", "", "drop-in", "drop-in", f"`{name}`", "", "", "")
    return text


def out_table():
    text = row("program", "measures", "why") + row("---", "---", "---")
    for program, known in NAMES.items():
        for pattern, why in known.get("out", {}).items():
            text += row(program, f"`{pattern}`", why)
    return text


def arguments(options):
    return ", ".join(f"`{name}={value!r}`" for name, value in options.items())


def conventions_table():
    """List what each convention sets, and what it can't."""
    titles = ["convention", "judge", "measures", "ranked apart", "not met"]
    text = row(*titles) + row(*["---"] * len(titles))
    for name, rules in CONVENTIONS.items():
        defaults = [f"`{measure}`: {arguments(options)}" for measure, options in rules.measures.items()]
        if rules.whole_list is not None:
            defaults.append(f"a cutoff of {rules.whole_list} is the whole list")
        defaults += [f"`{theirs}` is `{ours}`" for theirs, ours in rules.names.items()]
        apart = {}
        for each in rules.apart:
            when = "".join(
                f" with {option}" if value is ... else f" with {option}={value!r}"
                for option, value in each.when.items()
            )
            apart.setdefault(arguments(each.judging), []).append(f"`{each.measure}`{when}")
        text += row(
            f"`{name}`",
            arguments(rules.judging),
            "; ".join(defaults),
            "; ".join(f"{', '.join(of)}: {judging}" for judging, of in apart.items()),
            rules.beyond,
        )
    return text


def document():
    programs = ", ".join(f"{program} {known['version']}" for program, known in NAMES.items())
    lists = textwrap.fill(
        f"Compared with the measure lists of {programs}. These have no counterpart here:", 115
    )
    return (
        f"{HEAD}{MEASURES_TEXT}{measures_table()}\n"
        f"## Left out\n\n{lists}\n\n{out_table()}\n"
        f"{CONVENTIONS_TEXT}{conventions_table()}"
    )


def test_document_is_the_catalogues():
    assert DOCUMENT.read_text(encoding="utf-8") == document()


# Nothing is missing


EVERY = [(program, name) for program, known in NAMES.items() for name in known["measures"]]


@pytest.mark.parametrize(("program", "name"), EVERY)
def test_a_measure_of_a_program_is_ours_or_named_as_left_out(program, name):
    if left_out(program, name):
        return
    if program == "trec_eval" and name in drop_in_alone():
        return
    measure = parse(as_text(program, name), convention=program).measure
    assert in_polars(measure.name)
    assert in_sql(measure.name)


def test_reasons_are_of_measures():
    for program, known in NAMES.items():
        for pattern in known.get("out", {}):
            assert fnmatch.filter(known["measures"], pattern), (program, pattern)


def test_a_name_in_the_catalogue_is_the_programs():
    for measure in MEASURES.values():
        for program in measure.names.keys() & NAMES.keys():
            known = NAMES[program]["measures"]
            assert {name for name in measure.names[program] if not {name, f"{name}_x"} & set(known)} == set()


def test_the_drop_in_alone_has_what_nobody_else_asks_for():
    other_files = {name for name, entry in ENTRIES.items() if "qrels" not in entry.formats}
    alone = {"runid", "relstring", "binG", "G", "ndcg_rel", "Rndcg", "yaap"}
    assert len(other_files) == 17
    assert set(drop_in_alone()) == alone | other_files


def test_the_list_of_ir_measures_is_its_registry():
    theirs = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    assert set(NAMES["ir_measures"]["measures"]) == set(theirs.measures.registry)


def test_every_parameter_of_ir_measures_is_understood():
    theirs = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    samples = {"cutoff": 10, "rel": 2, "T": 1.0, "min_rel": 0, "max_rel": 3, "p": 0.5, "recall": 0.1}
    samples |= {"dcg": "'log2'", "gains": {1: 2}, "judged_only": True, "relative": True, "beta": 0.5}
    samples |= {"alpha": 0.3, "normalize": False}
    for name, measure in theirs.measures.registry.items():
        for parameter in measure.SUPPORTED_PARAMS:
            parse(f"{name}({parameter}={samples[parameter]})", convention="ir_measures")


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
