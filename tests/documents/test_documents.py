"""Every block of the README and of docs/ runs and prints the output shown; tables match the catalogue.

`python tests/documents/test_documents.py` rewrites outputs and generated tables after a change.
"""

import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from test_measures_document import DOCUMENT, document

from polars_rank.measures.catalogue import MEASURES
from polars_rank.measures.names import parse

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
INSTALL = [
    "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/polars-rank evaluate --example",
    '.venv/bin/pip install ".[test]" && .venv/bin/python -m pytest -q',
]
# A block of code, and the text block that may stand below it: what the code prints.
BLOCK = re.compile(r"^```(python|sql|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
RUN = {
    "python": lambda code: code,
    # As in the reader's Python: macros installed in `connection`, frames found by their names.
    "sql": lambda code: f"connection.sql({code!r}).show()",
}


def run_blocks(text):
    """Run all blocks in their order, in one folder and one Python; give the matches with what each prints."""
    namespace = {}
    # The commands of this environment; a wide terminal without colours.
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in BLOCK.finditer(text):
            language, code, _ = block.groups()
            if code.splitlines() == INSTALL:
                # Installing is tried by hand and by CI; what it prints in the end is the same.
                language, code = "sh", "polars-rank evaluate --example"
            if language == "sh":
                done = subprocess.run(
                    ["bash", "-euo", "pipefail", "-c", code],
                    env=environment,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                assert done.returncode == 0, f"{code}\n{done.stderr}"
                yield block, done.stdout
            else:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(RUN[language](code), namespace)
                yield block, printed.getvalue()


def tidy(output):
    """Drop what nobody sees: blanks at the ends of lines, empty lines at the end."""
    return "".join(f"{line.rstrip()}\n" for line in output.rstrip().splitlines())


def measures_table():
    """List the families with what they are about and their measures."""
    families = {}
    for name, measure in MEASURES.items():
        families.setdefault(inspect.getmodule(measure.function), []).append(f"`{name}`")
    rows = [["family", "measures"], ["---"] * 2]
    for module, names in families.items():
        rows.append([inspect.getdoc(module).partition("\n")[0].rstrip("."), ", ".join(names)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def marked(text, name):
    """Find what stands between the markers of `name`."""
    return re.search(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", text, re.DOTALL)


def test_first_shell_block_holds_the_two_commands_alone():
    first = re.search(r"^```sh\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert first[1].splitlines() == INSTALL


def test_readme_is_short_and_shows_every_way_in():
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 250
    assert {block[1] for block in BLOCK.finditer(text)} == {"python", "sql", "sh"}


@pages
def test_every_block_prints_the_output_shown(page):
    for block, printed in run_blocks(page.read_text(encoding="utf-8")):
        assert tidy(printed) == (block[3] or ""), block[2]


def test_every_page_is_listed_in_the_readmes():
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8") + README.read_text(encoding="utf-8")
    assert [page.name for page in PAGES if page.name != "README.md" and page.name not in listed] == []


def test_table_of_measures_is_the_catalogues():
    assert marked(README.read_text(encoding="utf-8"), "measures")[0] == measures_table()


@pytest.mark.parametrize("line", marked(README.read_text(encoding="utf-8"), "spellings")[0].splitlines()[2:])
def test_spellings_in_a_row_mean_the_same(line):
    spellings = [cell.strip(" `") for cell in line.strip("|").split("|")]
    calls = [parse(spelling) for spelling in spellings if spelling]
    assert len(calls) > 1
    assert all(call == calls[0] for call in calls)


@pages
def test_links_lead_to_files_and_headings(page):
    for target, heading in re.findall(
        r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8")
    ):
        file = page.parent / target if target else page
        assert file.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in [re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings]


def rewrite():
    """Write the outputs into every page, the table of measures into the README, and docs/measures.md."""
    DOCUMENT.write_text(document(), encoding="utf-8")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if page == README:
            table = marked(text, "measures")
            text = f"{text[: table.start()]}{measures_table()}{text[table.end() :]}"
        # From the end, so that earlier positions stay valid.
        for block, printed in reversed(list(run_blocks(text))):
            output = f"\n```text\n{tidy(printed)}```\n" if printed.strip() else ""
            text = f"{text[: block.start()]}```{block[1]}\n{block[2]}```\n{output}{text[block.end() :]}"
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    rewrite()
