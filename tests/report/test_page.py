"""report.html in a real browser."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from headscope.report.findings import FINDINGS, findings_rows
from headscope.run import Run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCREENSHOTS = Path(__file__).parents[2] / "screenshots"


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("chromium is not on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "width"), [("desktop", 1280), ("phone", 390)])
def test_the_page_opens_whole_without_a_network(browser, demo_run, scheme, device, width):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    complaints, requests = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    address = (demo_run.folder / "report.html").as_uri()
    page.goto(address)
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"report-{device}-{scheme}.png", full_page=True)
    assert complaints == []
    assert requests == [address]
    # Wide parts scroll in themselves; the page as a whole never does.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("figure svg").count() >= 8
    cells = page.locator("table.layers").locator("tbody tr").all_inner_texts()
    assert [cell.split("\t") for cell in cells] == findings_rows(demo_run.layers)
    page.close()


def test_the_page_names_every_setting_that_a_reader_needs(demo_run):
    page = (demo_run.folder / "report.html").read_text()
    manifest = demo_run.manifest
    for fact in (
        manifest.model.weights_hash,
        manifest.corpus.hash,
        str(manifest.settings.pairs),
        manifest.settings.similarity,
        manifest.packages["torch"],
    ):
        assert fact in page


def test_the_page_loads_nothing_from_elsewhere(demo_run):
    page = (demo_run.folder / "report.html").read_text()
    assert not re.search(r"<(script|link|img|iframe)\b", page)
    assert not re.search(r"""(src|href)=["']https?:""", page)


def test_names_are_escaped_on_the_page_and_in_its_figures(demo_run, tmp_path):
    manifest = demo_run.manifest
    hostile = replace(manifest, model=replace(manifest.model, name="<script>alert(1)</script>"))
    page = Run(demo_run.folder, hostile).report(tmp_path / "page.html").read_text()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_equal_runs_have_equal_pages(demo_run, tmp_path):
    one = demo_run.report(tmp_path / "one.html").read_bytes()
    assert one == demo_run.report(tmp_path / "other.html").read_bytes()


def test_numbers_that_are_absent_are_dashes(demo_run):
    layers = demo_run.layers.head(1).assign(same_sentence=float("nan"))
    column = [finding.column for finding in FINDINGS].index("same_sentence")
    assert findings_rows(layers)[0][column] == "-"
