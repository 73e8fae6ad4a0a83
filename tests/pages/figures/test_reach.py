"""The figures of `reach` show what its tables say."""

import numpy as np
import pytest

from headscope.errors import SettingsError
from headscope.findings.reach.result import ReachResult
from headscope.pages.figures.reach import draw_reach, write_reach_figures
from tests.reach.built_models import copying_and_reading_model, random_windows, reach_of


@pytest.fixture(scope="module")
def found() -> ReachResult:
    windows = random_windows(20, 256, seed=8, distance=70)
    return reach_of(copying_and_reading_model(), windows, skip=("shuffled", "untrained"))


def own_curve(found: ReachResult, layer: int):
    chosen = "comparison == 'excess' and variant == 'centred_cosine' and group == 'different_words'"
    return found.curves.query(f"{chosen} and layer == {layer}")


def test_curves_are_those_of_the_table(found):
    panel = draw_reach("reach-curves", found).axes[0]
    lines = [line for line in panel.lines if len(line.get_xdata()) > 2]
    for layer, line in zip(
        (1, 2), [one for one in lines if one.get_marker() == "None"], strict=True
    ):
        table = own_curve(found, layer)
        np.testing.assert_array_equal(line.get_xdata(), table["distance"])
        np.testing.assert_array_equal(line.get_ydata(), table["excess"])
    dots = [line for line in panel.lines if line.get_marker() == "o"]
    for layer, line in zip((1, 2), dots, strict=True):
        table = own_curve(found, layer)
        assert list(line.get_xdata()) == table[table["low"] > 0]["distance"].tolist()


def test_the_map_has_the_reach_of_each_head_and_a_ring_around_retrieval_heads(found):
    panel = draw_reach("reach-map", found).axes[0]
    shown = panel.images[0].get_array().filled(np.nan)
    heads = found.heads
    expected = heads["reach"].where(heads["reaches"]).to_numpy().reshape(2, 3)
    np.testing.assert_array_equal(shown, expected)
    rings = [line for line in panel.lines if line.get_marker() == "o"]
    assert [(line.get_ydata().tolist(), line.get_xdata().tolist()) for line in rings] == [
        ([1], [1])
    ]


def test_the_dots_of_use_are_heads(found):
    panel = draw_reach("reach-use", found).axes[0]
    use = found.heads["far_use"].to_numpy()
    np.testing.assert_array_equal(panel.collections[0].get_offsets().filled(np.nan)[:, 1], use)
    assert np.isfinite(use).all()
    row = found.agreement.iloc[-1]
    assert panel.get_title(loc="left").startswith(f"rank agreement {row['agreement']:.2f} [")


def test_figures_with_nothing_to_show_are_left_out(found, tmp_path):
    assert len(write_reach_figures(found, tmp_path / "all")) == 9
    arrays = {name: v for name, v in found.evidence.arrays.items() if not name.startswith("use")}
    evidence = type(found.evidence)(
        **{name: getattr(found.evidence, name) for name in ("heads", "edges", "window", "point")},
        repeat_distances=found.evidence.repeat_distances,
        arrays=arrays,
    )
    written = write_reach_figures(ReachResult(evidence), tmp_path / "some")
    assert {path.stem for path in written} == {"reach-curves", "reach-map"}
    with pytest.raises(SettingsError, match="choose from reach-curves"):
        draw_reach("reach-graph", found)
