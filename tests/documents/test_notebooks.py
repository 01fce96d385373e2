"""The notebooks run from top to bottom, and print what they show.

`python tests/documents/test_notebooks.py` runs them and keeps their outputs after a change.
"""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def run(path):
    """Run all cells in a fresh kernel; give the notebook with its new outputs and nothing of this machine."""
    notebook = nbformat.read(path, as_version=4)
    kept = notebook.metadata.copy()
    NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False).execute()
    notebook.metadata = kept
    return notebook


def texts(notebook):
    """Give what the cells print and show as text; the pixels of pictures differ between machines."""
    return [
        [
            output.get("text") or output.data.get("text/plain")
            for output in cell.outputs
            if "image/png" not in output.get("data", {})
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def pictures(notebook):
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return sum("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_shows_what_happens(path):
    kept, new = nbformat.read(path, as_version=4), run(path)
    assert texts(kept) == texts(new)
    assert pictures(kept) == pictures(new) > 0


def test_notebooks_are_there():
    assert [path.stem for path in NOTEBOOKS] == ["search_log"]


if __name__ == "__main__":
    for each in NOTEBOOKS:
        nbformat.write(run(each), each)
