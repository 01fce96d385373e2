"""The pieces of a measure, and which of them are missing: one line each."""

import re
import tomllib
from functools import cache
from pathlib import Path

import reference
from engines import parse_call

import polars_rank
from polars_rank.measures.catalogue import MEASURES

ROOT = Path(__file__).parents[1]


def family(name):
    """Name of the module that defines a measure."""
    return MEASURES[name].function.__module__.rpartition(".")[2]


def cases_of(family):
    file = ROOT / "tests" / "cases" / f"{family}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))["case"] if file.exists() else []


def macros_of(family):
    """Names of the macros in the SQL file of a family."""
    file = ROOT / "sql" / "measures" / f"{family}.sql"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return set(re.findall(r"CREATE OR REPLACE MACRO rank\.(\w+)\s*\(", text))


def has_empty_case(name):
    return any(
        parse_call(case["call"]) == (name, {})
        and all(values == [] for values in case.values() if isinstance(values, list))
        for case in cases_of(family(name))
    )


@cache
def missing_pieces():
    """Lines such as "fallout: no macro in sql/measures/binary.sql", by measure."""
    found = {}
    for name in MEASURES:
        home = family(name)
        lines = [
            line
            for line, is_there in {
                f"{name}: no macro in sql/measures/{home}.sql": name in macros_of(home),
                f"{name}: no case without rows in tests/cases/{home}.toml": has_empty_case(name),
                f"{name}: no slow reference in tests/reference.py": hasattr(reference, name),
                f"{name}: no export in polars_rank/__init__.py": name in polars_rank.__all__,
            }.items()
            if not is_there
        ]
        if lines:
            found[name] = lines
    return found


def complete():
    """Measures that have every piece; only they are tested further."""
    return [name for name in MEASURES if name not in missing_pieces()]
