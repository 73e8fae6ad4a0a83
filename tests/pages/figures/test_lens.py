"""The figures of `lens`: what is drawn is what the result says."""

import numpy as np
import pytest

from headscope.errors import SettingsError
from headscope.pages.figures.layout import NothingToDraw
from headscope.pages.figures.lens import draw_lens, write_lens_figures


def scores(value):
    one = {"value": value, "low": value - 0.1, "high": value + 0.1}
    return {
        "entropy": one,
        "cross_entropy": one | {"low": None, "high": None},
        "accuracy": one,
        "token_type_accuracy": one,
    }


@pytest.fixture
def values():
    return {
        "model": "a $model$",
        "corpus": "demo",
        "outcome": "masked",
        "positions": 1200,
        "documents": 12,
        "most_frequent_part": None,
        "layers": [
            {
                "layer": layer,
                **scores(layer + 1.0),
                "unmasked": scores(layer + 2.0),
                "probe": {**scores(layer + 3.0), "unmasked": scores(layer + 4.0)},
            }
            for layer in range(4)
        ],
        "by_frequency": [
            {
                "at_least": 1,
                "at_most": 1,
                "types": 9,
                "accuracy": [
                    {"layer": layer, "value": 0.1 * layer, "low": 0.0, "high": 1.0}
                    for layer in range(4)
                ],
            }
        ],
        "confused": [
            {
                "tokens": [" on", " in", "$"],
                "confusions": [
                    {"true": " in", "taken_for": " on", "times": 3, "of": 4},
                    {"true": "$", "taken_for": " on", "times": 2, "of": 4},
                ],
            }
        ],
    }


def test_each_reading_is_a_line_in_each_panel(values):
    figure = draw_lens("lens-layers", values)
    assert len(figure.axes) == 4
    for panel in figure.axes:
        lines = {line.get_label(): line.get_ydata().tolist() for line in panel.get_lines()}
        assert lines["lens"] == [1, 2, 3, 4]
        assert lines["lens, unmasked tokens"] == [2, 3, 4, 5]
        assert lines["probe"] == [3, 4, 5, 6]
        assert lines["probe, unmasked tokens"] == [4, 5, 6, 7]


def test_confusions_are_shares_of_the_true_token(values):
    figure = draw_lens("lens-confusion", values)
    (image,) = figure.axes[0].get_images()
    shown = np.ma.filled(image.get_array(), np.nan)
    expected = np.full((3, 3), np.nan)
    expected[1, 0], expected[2, 0] = 0.75, 0.5
    np.testing.assert_array_equal(shown, expected)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == [" on", " in", "$"]


def test_all_that_can_be_drawn_is_written(values, tmp_path):
    written = write_lens_figures(values, tmp_path)
    assert len(written) == 9
    assert all(path.stat().st_size > 1000 for path in written)
    values["confused"] = []
    with pytest.raises(NothingToDraw, match="no token is taken"):
        draw_lens("lens-confusion", values)
    with pytest.raises(SettingsError, match="lens-layers"):
        draw_lens("lens", values)


def test_probes_of_words_have_one_panel(values):
    values["outcome"] = "words"
    values["most_frequent_part"] = {"value": 0.2, "low": 0.1, "high": 0.3}
    for layer in values["layers"]:
        part = {"value": 0.9, "low": 0.8, "high": 1.0}
        layer["probe"] = {"part_of_speech": part}
    figure = draw_lens("lens-layers", values)
    (panel,) = figure.axes
    assert panel.get_lines()[0].get_ydata().tolist() == [0.9] * 4
