"""View and report in JupyterLab itself, in a real browser. Run by make test-jupyterlab."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from tests.browser import open_page

pytest.importorskip("jupyterlab", reason="jupyterlab is not installed: make test-jupyterlab does")
ROOT = Path(__file__).parents[2]
LOOK = 'import headscope as hs\nhs.look("demo", "The cat sat on the mat. The dog saw the cat.")'
REPORT = "hs.open_run({folder!r}).report('report.html')"
VERDICTS = "hs.open_run({folder!r}).claims()"


@pytest.fixture(scope="module")
def lab(demo_run, tmp_path_factory):
    """The address of a server with a notebook, and nothing of the settings of whoever tests."""
    home = tmp_path_factory.mktemp("lab")
    cells = [text.format(folder=str(demo_run.folder)) for text in (LOOK, REPORT, VERDICTS)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbformat.v4.new_notebook(metadata=kernel)
    notebook.cells = [nbformat.v4.new_code_cell(text) for text in cells]
    nbformat.write(notebook, home / "shown.ipynb")
    # Where the widgets' part of JupyterLab is, in the environment below this one.
    (widgets,) = (parent for parent in Path(nbformat.__file__).parents if parent.name == "lib")
    environment = os.environ | {
        "HOME": str(home),
        "JUPYTER_PLATFORM_DIRS": "1",
        "JUPYTER_PATH": str(widgets.parent / "share" / "jupyter"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "PYTHONPATH": str(ROOT / "src"),
    }
    start = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    options = ["--ip=127.0.0.1", "--port=0", "--IdentityProvider.token=", f"--notebook-dir={home}"]
    with (
        (home / "log").open("w") as log,
        subprocess.Popen([*start, *options], env=environment, stdout=log, stderr=log) as server,
    ):
        try:
            yield f"{address_of(server, home)}lab/tree/shown.ipynb"
        finally:
            server.terminate()


def address_of(server, home) -> str:
    """What the server has written down, once it listens."""
    while server.poll() is None:
        for facts in (home / "runtime").glob("jpserver-*.json"):
            if text := facts.read_text():
                return json.loads(text)["url"]
        time.sleep(0.1)
    raise AssertionError((home / "log").read_text())


def test_view_report_and_verdicts_show_themselves_and_react(lab, browser):
    opened = open_page(browser, lab, width=1400)
    page = opened.page
    page.set_default_timeout(180_000)  # a kernel starts, and imports torch, beside other work
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.wait_for_selector("text=| Idle")  # what is run before the kernel is there, is not run
    page.click("text=Run >> nth=0")
    page.click("text=Run All Cells")
    # The view: 72 heads, of which one is chosen.
    page.wait_for_selector(".hs .head-cell")
    assert page.locator(".hs .head-cell").count() == 72
    page.click('.hs .head-cell[data-layer="3"][data-head="1"]')
    page.wait_for_selector(".hs >> text=A: layer 3, head 1")
    address = page.url
    opened.picture("jupyterlab-look", full_page=False)
    # The report, in a frame of its own.
    frame = page.frame_locator(".hs iframe.report-frame")
    frame.locator('.role-map button[data-layer="2"][data-head="3"]').click()
    frame.locator("h3:text('Layer 2, head 3:')").wait_for()
    opened.picture("jupyterlab-report", full_page=False)
    table = page.locator(".jp-OutputArea table")
    table.scroll_into_view_if_needed()
    assert "what was found" in table.inner_text()
    opened.picture("jupyterlab-verdicts", full_page=False)
    assert page.url == address, "the notebook's own address is left alone"
    # JupyterLab says what it starts.
    assert [said for said in opened.complaints if not said.startswith("Starting ")] == []
    page.close()
