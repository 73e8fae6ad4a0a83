"""The tutorial notebooks run from top to bottom, and show what they print."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


def test_every_cell_of_every_notebook_runs(demo_model):
    done = subprocess.run(
        [sys.executable, "-m", "tools.run_notebooks", "--check"],
        cwd=ROOT,
        env=os.environ | {"JUPYTER_PLATFORM_DIRS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [
        path.name for path in NOTEBOOKS
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_is_small_and_shows_outputs_without_traces_of_a_machine(path):
    assert path.stat().st_size < 200_000
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert any(cell.outputs for cell in code), "run: python -m tools.run_notebooks"
    text = path.read_text()
    for trace in ("/home/", "/work/", "/tmp/", "widget-view", "Traceback"):
        assert trace not in text
