"""One head on one text."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import headscope
from headscope.errors import SettingsError
from headscope.pages.figures.text import labelled_tokens, text_figure
from headscope.pages.figures.write import figure_bytes


@dataclass(frozen=True)
class View:
    tokens: list
    key_tokens: list
    layers: tuple
    sentences: np.ndarray
    attention: np.ndarray
    similarity: np.ndarray
    high_attention: np.ndarray


def view_of(n, keys=None):
    """Layers 4 and 7, three heads, `n` tokens; token 2 gets all attention of layer 7, head 3."""
    rng = np.random.default_rng(n)
    attention = rng.dirichlet(np.ones(keys or n), size=(2, 3, n))
    attention[1, 2] = np.eye(keys or n)[2]
    z = rng.normal(size=(2, 3, n, 8))
    high = np.zeros((2, 3, keys or n), dtype=bool)
    high[1, 2, 2] = True
    return View(
        [f"token{i}" for i in range(n)],
        [f"token{i}" for i in range(keys or n)],
        (4, 7),
        np.repeat([0, 1], [n // 2, n - n // 2]),
        attention,
        z @ z.swapaxes(-1, -2),
        high,
    )


def test_the_matrices_are_those_of_the_head_with_the_diagonal_left_out():
    view = view_of(10)
    left, right = text_figure(view, 7, 3, "demo").axes[:2]
    assert np.asarray(left.get_images()[0].get_array()) == pytest.approx(view.attention[1, 2])
    drawn = np.ma.filled(right.get_images()[0].get_array(), np.nan)
    assert np.isnan(np.diag(drawn)).all()
    assert drawn[3, 4] == pytest.approx(view.similarity[1, 2, 3, 4])
    assert [t.get_text() for t in right.get_yticklabels()] == view.tokens


def test_high_attention_tokens_are_framed_in_the_similarity():
    right = text_figure(view_of(10), 7, 3).axes[1]
    solid = [line for line in right.get_lines() if line.get_linestyle() == "-"]
    edges = sorted(line.get_ydata()[0] for line in solid if line.get_ydata()[0] != 0)
    assert edges == [1.5, 2.5]
    assert text_figure(view_of(10), 4, 1).axes[1].get_lines()[0].get_linestyle() == ":"


def test_long_texts_name_the_tokens_of_the_mask_alone():
    assert labelled_tokens(10, np.array([2])) == list(range(10))
    assert labelled_tokens(128, np.array([3, 4, 60, 127])) == [3, 60, 127]


def test_cross_attention_names_its_keys_and_has_no_mask_over_similarity():
    left, right = text_figure(view_of(8, keys=5), 7, 3).axes[:2]
    assert [t.get_text() for t in left.get_xticklabels()] == [f"token{i}" for i in range(5)]
    assert all(line.get_linestyle() == ":" for line in right.get_lines())


def test_tokens_of_any_script_and_sign_can_be_written():
    view = replace(view_of(4), tokens=(odd := ["$a$", "\n", "字", ""]), key_tokens=odd)
    for kind in ("png", "svg", "pdf"):
        assert figure_bytes(text_figure(view, 4, 1), kind)


@pytest.mark.parametrize(("layer", "head"), [(0, 1), (1, 1), (4, 4)])
def test_a_head_that_is_not_there_is_refused(layer, head):
    with pytest.raises(SettingsError, match=r"layers 4, 7 and heads 1 to 3"):
        text_figure(view_of(4), layer, head)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_a_real_view_can_be_drawn_whatever_the_type_of_its_numbers(dtype):
    view = headscope.look("demo", "The cat sat on the mat. The dog saw the cat.", dtype=dtype)
    left = text_figure(view, 6, 12, "demo").axes[0]
    assert np.asarray(left.get_images()[0].get_array()) == pytest.approx(view.attention[5, 11])
    assert [t.get_text() for t in left.get_yticklabels()] == list(view.tokens)
