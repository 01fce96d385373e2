"""The steps of CONTRIBUTING's "Add a measure", done in a copy of the project."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from pieces import ROOT

FUNCTION = '''

@measure(source="Cleverdon and Keen 1966", higher_is_better=False, names={})
def fallout(
    rank: IntoColumn = "rank",
    relevance: IntoColumn = "relevance",
    *,
    k: int | None = None,
    min_relevance: float = 1,
) -> pl.Expr:
    r"""Share of the judged non-relevant items that are in the top k.

    $|\\{rank \\le k, 0 \\le relevance < min\\_relevance\\}| / |\\{0 \\le relevance < min\\_relevance\\}|$

    A null, NaN or below-1 rank was not returned; a null, NaN or negative grade is unjudged. No rows give 0.

    Parameters
    ----------
    rank
        Number, 1 is the top.
    relevance
        Grade: any number or Boolean.
    k
        Cutoff; None for the whole list.
    min_relevance
        Least grade that is relevant.

    Returns
    -------
    pl.Expr
        Float64, one value a group. Range [0, 1].

    Raises
    ------
    ValueError
        If k is below 1 or not whole, or min_relevance is negative.

    References
    ----------
    Cleverdon and Keen 1966

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank as rank
    >>> judged = pl.DataFrame({"rank": [1, 2, None], "relevance": [1, 0, 0]})
    >>> judged.select(rank.fallout()).item()
    0.5
    """
    name = label("fallout", k=k, min_relevance=min_relevance)
    r, g = number(rank), number(relevance)
    nonrelevant = judged(g) & (g < min_relevance)
    return ratio(count(nonrelevant & returned(r, k)), count(nonrelevant)).alias(name)
'''
MACRO = """
CREATE OR REPLACE MACRO rank.fallout(rank, relevance, k := NULL, min_relevance := 1) AS
    rank.main._checked(
        coalesce(rank.main._k_fault(k), rank.main._min_relevance_fault(min_relevance)),
        coalesce(
            sum(CASE WHEN relevance < min_relevance AND rank.main._returned(rank, k) THEN 1 ELSE 0 END)
            FILTER (rank.main._relevant(relevance, 0))
            / sum(CASE WHEN relevance < min_relevance THEN 1 END) FILTER (rank.main._relevant(relevance, 0)),
            0.0
        )::double
    );
"""
CASES = """
[[case]]
call = "fallout()"
why = "no row at all"
rank = []
relevance = []
expected = 0.0

[[case]]
call = "fallout(k=2)"
why = "one of two non-relevant items is in the top 2"
rank = [1, 2, 3]
relevance = [1, 0, 0]
expected = 0.5

[[case]]
call = "fallout(min_relevance=2)"
why = "grade 1 is not relevant, and a missed item counts below the line"
rank = [1, 2, "null"]
relevance = [1, 2, 0]
expected = 0.5
"""
REFERENCE = """

def fallout(rows: Rows, *, k=None, min_relevance=1) -> Number:
    nonrelevant = [row for row in rows if _is_relevant(row[1], 0) and row[1] < min_relevance]
    return len(_returned(nonrelevant, k)) / len(nonrelevant) if nonrelevant else 0.0
"""


def append(text):
    return lambda old: old + text


def export(old):
    old = old.replace("    bpref,\n", "    bpref,\n    fallout,\n", 1)
    return old.replace('    "f_measure",\n', '    "f_measure",\n    "fallout",\n', 1)


STEPS = {
    "polars_rank/measures/pool.py": append(FUNCTION),
    "sql/measures/pool.sql": append(MACRO),
    "tests/cases/pool.toml": append(CASES),
    "tests/reference.py": append(REFERENCE),
    "polars_rank/__init__.py": export,
}


def add_measure(folder, forgotten=None):
    for name in ("polars_rank", "sql", "tests", "pyproject.toml"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    for file, change in STEPS.items():
        if file != forgotten:
            path = folder / file
            changed = change(path.read_text(encoding="utf-8"))
            assert "fallout" in changed
            path.write_text(changed, encoding="utf-8")


def run_tests(folder, *arguments):
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_five_steps_add_a_measure(tmp_path):
    add_measure(tmp_path)
    contracts = tmp_path / "tests" / "contracts"
    done = run_tests(
        tmp_path,
        *(contracts / f"test_{name}.py" for name in ("pieces", "catalogue", "every_measure")),
        *("-k", "fallout or pieces or exports"),
    )
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 20


@pytest.mark.parametrize("forgotten", [file for file in STEPS if "measures/pool.py" not in file])
def test_a_forgotten_step_is_named_in_one_line(tmp_path, forgotten):
    add_measure(tmp_path, forgotten)
    done = run_tests(tmp_path, tmp_path / "tests" / "contracts" / "test_pieces.py")
    named = {line for line in done.stdout.splitlines() if re.match(r"(E +)?fallout: no ", line)}
    assert len(named) == 1
    assert forgotten in named.pop()
