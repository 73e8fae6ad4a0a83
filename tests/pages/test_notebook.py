"""Views and reports inside notebooks: a real widget, and its script in a real browser."""

import json

import pytest

import headscope as hs
from headscope.pages import notebook
from headscope.pages.bundle_assets import style_of, widget_of
from headscope.pages.report import Report
from tests.browser import open_page

WIDGET = "application/vnd.jupyter.widget-view+json"
HOST = """<!doctype html><meta charset="utf-8"><style>%s</style><div id="out"></div>
<script type="application/json" id="data">%s</script>
<script type="module">
const source = document.getElementById("module").textContent;
const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
const { default: widget } = await import(address);
const data = JSON.parse(document.getElementById("data").textContent);
widget.render({ model: { get: (name) => (name === "data" ? data : undefined) },
                el: document.getElementById("out") });
</script><script type="text/plain" id="module">%s</script>"""
"""A notebook as far as a widget needs one."""


@pytest.fixture(scope="module")
def view(demo_model):
    return hs.look(demo_model, "The cat sat on the mat. The dog saw the cat.")


def widget_of_bundle(shown):
    import ipywidgets

    return ipywidgets.widgets.widget._instances[shown[WIDGET]["model_id"]]


def hosted(folder, entry, data):
    text = json.dumps(data).replace("<", "\\u003c")
    page = folder / "notebook.html"
    page.write_text(HOST % (style_of("base", "viewer"), text, widget_of(entry)))
    return page.as_uri()


def test_a_view_shows_itself(view, browser, tmp_path):
    shown, _ = view._repr_mimebundle_()
    assert shown["text/plain"] == repr(view)
    widget = widget_of_bundle(shown)
    assert widget._esm == widget_of("widget_viewer")
    opened = open_page(browser, hosted(tmp_path, "widget_viewer", widget.data))
    opened.page.wait_for_selector("[data-turn]")
    assert opened.page.locator(".head-cell").count() == 72
    opened.page.click('.head-cell[data-layer="3"][data-head="1"]')
    opened.page.wait_for_selector("text=A: layer 3, head 1")
    pairs = view.pairs[(view.pairs["layer"] == 3) & (view.pairs["head"] == 1)]
    assert int(opened.page.locator(".pair-count").get_attribute("data-pairs")) == len(pairs)
    assert "#" not in opened.page.url, "the notebook's own address is left alone"
    assert opened.complaints == []
    opened.picture("notebook-look")
    opened.page.close()


def test_a_report_shows_itself(demo_run, browser, tmp_path):
    report = Report(demo_run.folder / "report.html")
    shown, _ = report._repr_mimebundle_()
    widget = widget_of_bundle(shown)
    opened = open_page(browser, hosted(tmp_path, "widget_report", widget.data))
    frame = opened.page.frame_locator(".report-frame")
    frame.locator('.role-map button[data-layer="2"][data-head="3"]').click()
    frame.locator("h3:text('Layer 2, head 3:')").wait_for()
    frame.locator("nav a >> nth=3").click()
    assert frame.locator("h1").count() == 1, "links stay inside the page"
    assert opened.complaints == []
    opened.page.close()


def test_without_anywidget_the_text_says_what_is_missing(view, monkeypatch):
    monkeypatch.setattr(notebook.importlib.util, "find_spec", lambda name: None)
    shown, _ = view._repr_mimebundle_()
    assert set(shown) == {"text/plain"}
    assert shown["text/plain"].startswith(repr(view))
    assert "headscope[notebook]" in shown["text/plain"]
