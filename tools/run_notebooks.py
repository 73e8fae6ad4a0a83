"""Runs the notebooks of docs/tutorials, and writes their outputs into them.

    python -m tools.run_notebooks            # after a change to a notebook
    python -m tools.run_notebooks --check    # run them and write nothing, as the test does

All are run one after the other in one kernel, which forgets its names in between: importing torch
takes longer than most of them do. Runs that they make go to a temporary folder.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
LONGEST_S = 1200
SHOWN = ("text/html", "image/png", "text/plain")
"""The kinds of output that are kept: the state of a widget is of no use without its kernel."""


def main(check: bool) -> None:
    """Run them; write what they print, unless only checking."""
    paths = sorted(FOLDER.glob("*.ipynb"))
    notebooks = [nbformat.read(path, as_version=4) for path in paths]
    run_together(notebooks)
    for path, notebook in zip(paths, notebooks, strict=True):
        print(f"{path.name}: {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells run")
        if not check:
            nbformat.write(tidied(notebook), path)


def run_together(notebooks: list[Any]) -> None:
    """Run the cells of all notebooks in one kernel; an error in a cell is raised."""
    # A copy: the kernel adds the state of every widget to it.
    whole = nbformat.v4.new_notebook(metadata=dict(notebooks[0].metadata))
    for notebook in notebooks:
        whole.cells += [nbformat.v4.new_code_cell("%reset -f"), *notebook.cells]
    with tempfile.TemporaryDirectory() as scratch:
        resources = {"metadata": {"path": scratch}}
        NotebookClient(whole, timeout=LONGEST_S, resources=resources).execute()


def tidied(notebook: Any) -> Any:
    """The notebook with what a reader sees, and nothing that changes from run to run."""
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        for output in cell.outputs:
            output.pop("execution_count", None)
            output["execution_count"] = None
            if output.output_type == "stream":
                del output["execution_count"]
            elif "data" in output:
                output.metadata = {}
                widget = any("widget" in kind for kind in output.data)
                shown = ("text/plain",) if widget else SHOWN
                output.data = {kind: output.data[kind] for kind in shown if kind in output.data}
                if output.output_type == "display_data":
                    del output["execution_count"]
    return notebook


if __name__ == "__main__":
    main(check="--check" in sys.argv[1:])
