"""The figures of a comparison show what the tables hold."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import headscope as hs
from headscope.compare.quantities import QUANTITIES


@pytest.fixture(scope="module")
def comparison(demo_run) -> hs.Comparison:
    return hs.compare([demo_run, demo_run])


def panel_lines(panel):
    """The drawn lines by label, without the line at zero."""
    return {line.get_label(): line for line in panel.lines if line.get_label()[0] != "_"}


def test_every_quantity_has_a_panel_and_every_row_a_line(comparison):
    panels = comparison.figure().axes
    assert len(panels) == len(QUANTITIES)
    for panel, quantity in zip(panels, QUANTITIES, strict=True):
        assert panel.get_title().startswith(quantity.title)
        lines = panel_lines(panel)
        assert list(lines) == list(comparison.curves["name"].unique())
        of_quantity = comparison.curves[comparison.curves["quantity"] == quantity.name]
        for name, rows in of_quantity.groupby("name"):
            np.testing.assert_array_equal(lines[name].get_xdata(), rows["depth"])
            np.testing.assert_array_equal(lines[name].get_ydata(), rows["value"])


def test_a_figure_names_models_and_folders_only_where_models_are_the_same(demo_run, tmp_path):
    folder = shutil.copytree(demo_run.folder, tmp_path / "some-folder")
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"name": "demo"', '"name": "models/other"', 1))
    names = panel_lines(hs.compare([demo_run, folder]).figure().axes[0])
    assert list(names) == ["demo", "other"]
    assert list(panel_lines(hs.compare([demo_run, demo_run]).figure().axes[0])) == [
        "demo (run, 1)",
        "demo (run, 2)",
    ]


def test_steps_are_drawn_in_their_order(demo_run):
    later_first = hs.compare([demo_run, demo_run], steps=[400, 0])
    panels = {panel.get_title().partition("\n")[0]: panel for panel in later_first.figure().axes}
    assert {quantity.title for quantity in QUANTITIES} < set(panels)
    for line in panel_lines(panels["mean distance"]).values():
        assert line.get_xdata().tolist() == [0, 1]
    ticks = [label.get_text() for label in panels["mean distance"].get_xticklabels()]
    assert ticks == ["0", "400"]
    roles = panel_lines(panels["heads by role"]).values()
    assert sum(line.get_ydata()[-1] for line in roles) == len(demo_run.heads)


def test_the_fastest_change_is_thick_where_it_is_clear(demo_run):
    comparison = hs.compare([demo_run, demo_run, demo_run], steps=[0, 10, 100])
    here = (comparison.fastest["quantity"] == "mean_distance") & (
        comparison.fastest["part"] == "last"
    )
    fastest = comparison.fastest.assign(clear=here, from_step=10, to_step=100)
    shown = replace(comparison, fastest=fastest).figure().axes
    thick = [
        (panel.get_title().partition("\n")[0], line.get_xdata().tolist())
        for panel in shown
        for line in panel.lines
        if line.get_linewidth() > 2
    ]
    assert thick == [("mean distance", [1, 2])]
