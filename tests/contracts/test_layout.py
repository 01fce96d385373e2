"""The folders: imports point one way, SQL and tests have the same folders, modules stay small."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "polars_rank"
MODULES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = sorted(init.parent for init in PACKAGE.glob("*/__init__.py"))
MOST_LINES = 300

modules = pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))


def parsed(module):
    return ast.parse(module.read_text(encoding="utf-8"))


def imported_folders(module):
    """Sub-packages of polars_rank that a module imports, at the top or inside a function."""
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("polars_rank."):
            yield node.module.split(".")[1]


def allowed(folder):
    """Sub-packages that the docstring of `folder` allows: the sentence "May import core and measures."."""
    text = " ".join(ast.get_docstring(parsed(folder / "__init__.py")).split())
    if "Imports nothing else of this package." in text:
        return set()
    (sentence,) = re.findall(r"May import ([\w, ]+)", text)
    if sentence.startswith("every other package"):
        return {other.name for other in FOLDERS} - {"example_data"}
    return set(re.split(r", and |, | and ", sentence))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_package_imports_only_what_its_docstring_allows(folder):
    if folder.name == "example_data":
        return
    names = {each.name for each in FOLDERS}
    assert allowed(folder) <= names
    used = {other for module in folder.rglob("*.py") for other in imported_folders(module)}
    assert used & names - {folder.name} <= allowed(folder)


def test_no_two_packages_import_each_other():
    arrows = {folder.name: allowed(folder) for folder in FOLDERS if folder.name != "example_data"}
    order = []
    while arrows:
        ready = sorted(name for name, others in arrows.items() if others - {name} <= set(order))
        assert ready, f"a circle among {sorted(arrows)}"
        order += ready
        arrows = {name: others for name, others in arrows.items() if name not in ready}


def test_every_sql_file_has_a_module_and_its_folder_tests():
    files = [file.relative_to(ROOT / "sql").with_suffix("") for file in (ROOT / "sql").rglob("*.sql")]
    assert files
    for file in files:
        assert (PACKAGE / file).with_suffix(".py").exists(), f"sql/{file}.sql has no module"
        assert list((ROOT / "tests" / file.parent).glob("test_*.py")), f"tests/{file.parent} has no test"


@modules
def test_a_module_is_small(module):
    tree, skipped = parsed(module), set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            skipped.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = module.read_text(encoding="utf-8").splitlines()
    code = [
        line
        for number, line in enumerate(lines, 1)
        if number not in skipped and line.strip() and not line.lstrip().startswith("#")
    ]
    assert len(code) <= MOST_LINES


@modules
def test_no_module_has_the_name_of_a_function_in_it(module):
    functions = {
        node.name for node in parsed(module).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert module.stem not in functions
