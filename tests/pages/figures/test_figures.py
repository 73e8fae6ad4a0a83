"""What all figures have in common."""

from contextlib import nullcontext, suppress
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.text import Text

from headscope.errors import SettingsError
from headscope.pages.figures import FIGURES, NothingToDraw, StackFindings, draw_figure
from headscope.pages.figures.source import Source
from headscope.pages.figures.write import figure_bytes


@pytest.mark.parametrize("name", FIGURES.names)
def test_every_figure_names_model_corpus_and_sample(name, drawn):
    words = " ".join(text.get_text() for text in drawn[name].findobj(Text))
    assert "demo, encoder" in words
    assert "· demo ·" in words
    assert "24 windows of up to 64 tokens" in words


@pytest.mark.parametrize("name", FIGURES.names)
def test_every_panel_says_what_its_axes_are(name, drawn):
    panels = [panel for panel in drawn[name].axes if panel.axison and panel.get_subplotspec()]
    columns = {panel.get_subplotspec().colspan.start for panel in panels}
    for column in columns:
        alike = [panel for panel in panels if panel.get_subplotspec().colspan.start == column]
        assert any(panel.get_xlabel() for panel in alike), column
        # Panels in a row may share the label of the first one.
        named = any(panel.get_ylabel() or panel.get_title() for panel in alike)
        assert named or panels[0].get_ylabel(), column


@pytest.mark.parametrize("name", FIGURES.names)
def test_no_words_leave_the_page(name, drawn):
    figure = drawn[name]
    words = [*figure.texts, figure._suptitle, figure._supxlabel, *figure.legends]
    for panel in figure.axes:
        if panel.axison:
            words += [panel.title, panel.xaxis.label, panel.yaxis.label, *panel.texts]
            words += [panel.get_legend()]
    for text in filter(None, words):
        if isinstance(text, Text) and not text.get_text():
            continue
        box = text.get_window_extent()
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y1 <= figure.bbox.y1 + 1, text


def test_the_figure_of_layers_says_what_its_lines_are(drawn):
    (legend,) = drawn["layers"].legends
    styles = {
        text.get_text(): line.get_linestyle()
        for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True)
    }
    assert styles == {
        "measured": "-",
        "all pairs at the same distances": "--",
        "number of heads": ":",
    }
    used = {line.get_linestyle() for panel in drawn["layers"].axes for line in panel.lines}
    assert used == set(styles.values())


@pytest.mark.parametrize("name", FIGURES.names)
def test_equal_results_give_equal_svg_with_text_as_text(name, few):
    one, other = (figure_bytes(draw_figure(name, few), "svg") for _ in range(2))
    assert one == other
    assert b"24 windows of up to 64 tokens" in one


@pytest.fixture(scope="module")
def least(kept_run):
    """One head of one layer on one window."""
    asked = {"texts": 1, "window": 32, "layers": [3], "nulls": 0, "permutations": 0}
    run = kept_run("one-window", report=False, **asked)
    results = run.stacks["encoder"].isel(head=[0])
    return StackFindings(
        results,
        Source.of(run.manifest, "encoder"),
        run.roles.query("head == 1"),
        signal=run.signal.query("head == 1"),
        redundancy=run.redundancy["encoder"].iloc[:1, :1],
    )


@pytest.mark.parametrize("name", FIGURES.names)
def test_one_head_on_one_text_can_be_drawn(name, least):
    # The one text may be one sentence: then there is no boundary to show.
    with suppress(NothingToDraw) if name == "aligned" else nullcontext():
        draw_figure(name, least)


@pytest.mark.parametrize("name", FIGURES.names)
def test_a_layer_with_fewer_heads_than_the_widest_can_be_drawn(name, few):
    last = few.results["head"] == few.results["head"].max()
    absent = last & (few.results["layer"] == 2)
    results = few.results.copy()
    for variable in results.data_vars:
        if {"layer", "head"} <= set(results[variable].dims):
            measured = str(variable).startswith("total_") or variable.endswith(
                ("_sum", "_histogram", "_kinds", "_permuted", "_rule", "_threshold")
            )
            results[variable] = results[variable].where(~absent, 0 if measured else np.nan)
    draw_figure(name, replace(few, results=results))


@pytest.mark.parametrize("name", ["thresholds", "layers"])
def test_cross_attention_without_a_mask_can_be_drawn(name, few):
    masks = [v for v in few.results.data_vars if "mask_" in str(v)]
    results = few.results.assign({v: few.results[v] * np.nan for v in masks})
    draw_figure(name, replace(few, results=results))


def test_an_unknown_name_is_refused_with_the_names_there_are(findings):
    with pytest.raises(SettingsError, match=r"'sumed' is unknown; choose one of layers, summed"):
        draw_figure("sumed", findings)


def test_a_figure_without_anything_to_show_says_so(findings):
    results = findings.results.assign(aligned_count=0 * findings.results["aligned_count"])
    with pytest.raises(NothingToDraw, match="no window has a boundary"):
        draw_figure("aligned", replace(findings, results=results))
    with pytest.raises(NothingToDraw, match="roles of the heads are not known"):
        draw_figure("roles", replace(findings, roles=None))


def test_names_with_dollar_signs_are_no_mathematics(findings):
    source = replace(findings.source, model="a$b_{", corpus="$x^$")
    svg = figure_bytes(draw_figure("separators", replace(findings, source=source)), "svg")
    assert b"a$b_{, encoder" in svg
