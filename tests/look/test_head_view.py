"""One head of a view, against plain loops; two heads compared; arrays with labelled axes."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wasserstein_distance

import headscope as hs
from headscope.errors import SettingsError
from tests.compare.tiny_bert import HEADS, LAYERS, TEXTS, loaded, tiny_bert

TEXT = " ".join(TEXTS[:3])


@pytest.fixture(scope="module")
def model():
    return loaded(tiny_bert())


@pytest.fixture(scope="module")
def view(model):
    return hs.look(model, TEXT, pairs="top:0.05")


def naive_cka(one, other):
    """Debiased HSIC by its definition, on whole kernels."""
    kernels = []
    for vectors in (one, other):
        centred = vectors.astype(np.float64) - vectors.mean(0)
        kernel = centred @ centred.T
        np.fill_diagonal(kernel, 0)
        kernels.append(kernel)

    def hsic(k, m):
        n = len(k)
        ones = np.ones(n)
        value = np.trace(k @ m) + (ones @ k @ ones) * (ones @ m @ ones) / ((n - 1) * (n - 2))
        return (value - 2 / (n - 2) * (ones @ k @ m @ ones)) / (n * (n - 3))

    k, m = kernels
    return hsic(k, m) / np.sqrt(hsic(k, k) * hsic(m, m))


def test_heads_are_numbered_from_1(view):
    head = view.head(2, 3)
    assert (head.layer, head.head) == (2, 3)
    np.testing.assert_array_equal(head.z, view.head_output[1, 2])
    np.testing.assert_array_equal(head.attention, view.attention[1, 2])
    np.testing.assert_array_equal(head.similarity, view.similarity[1, 2])
    np.testing.assert_array_equal(view[2, 3].z, head.z)
    own = view.pairs.query("layer == 2 and head == 3")
    assert list(head.pairs["score"]) == list(own["score"])
    assert "\n" not in repr(head)


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ((0, 1), "layers 1 to 2, not 0; layers count from 1"),
        ((3, 1), "layers 1 to 2, not 3"),
        ((1, 0), "heads 1 to 4, not 0; heads count from 1"),
        ((1, 5), "heads 1 to 4, not 5"),
    ],
)
def test_a_head_that_is_not_there_is_refused(view, place, says):
    with pytest.raises(SettingsError, match=says):
        view[place]


def test_a_view_of_some_layers_keeps_their_numbers(model, view):
    some = hs.look(model, TEXT, pairs="top:0.05", layers=[2])
    np.testing.assert_allclose(some[2, 1].z, view[2, 1].z, atol=1e-6)
    with pytest.raises(SettingsError, match="layers 2 to 2, not 1"):
        some.head(1, 1)


def test_the_profile_of_a_head_is_that_of_a_run_over_the_same_text(model, view, tmp_path):
    run = hs.analyze(
        model, [TEXT], out=tmp_path / "run", pairs="top:0.05", nulls=0, report=False, progress=False
    )
    heads = run.heads.set_index(["layer", "head"])
    for place in heads.index:
        profile = view[place].profile
        for measure in ("mean_distance", "same_sentence", "repetition", "norm"):
            assert profile[measure] == pytest.approx(heads.loc[place, measure], rel=1e-5), measure


def test_two_heads_compared_equal_plain_loops(view):
    one, other = view[1, 2], view[2, 4]
    found = one.compare(other)
    ours = {(i, j) for i, j in zip(one.pairs["i"], one.pairs["j"], strict=True)}
    theirs = {(i, j) for i, j in zip(other.pairs["i"], other.pairs["j"], strict=True)}
    assert found.shared_pairs == len(ours & theirs)
    assert found.overlap == pytest.approx(len(ours & theirs) / len(ours | theirs))
    inner = slice(1, -1)  # without [CLS] and [SEP]
    assert found.cka == pytest.approx(naive_cka(one.z[inner], other.z[inner]), abs=1e-5)
    assert found.distance_shift == pytest.approx(
        wasserstein_distance(one.pairs["distance"], other.pairs["distance"])
    )
    assert found.mean_distances == (one.pairs["distance"].mean(), other.pairs["distance"].mean())


def test_a_head_is_like_itself_and_other_texts_are_not_compared(model, view):
    same = view[1, 1].compare(view[1, 1])
    assert (same.overlap, same.distance_shift) == (1, 0)
    assert same.cka == pytest.approx(1)
    with pytest.raises(SettingsError, match="different tokens"):
        view[1, 1].compare(hs.look(model, TEXTS[0])[1, 1])


@pytest.mark.parametrize("by", ["cka", "pairs"])
def test_redundancy_is_the_matrix_of_all_comparisons(view, by):
    matrix = view.redundancy(by)
    assert matrix.shape == (LAYERS * HEADS, LAYERS * HEADS)
    assert list(matrix.index) == list(matrix.columns)
    for place in [(1, 1), (2, 3)]:
        for other in matrix.index:
            found = view[place].compare(view[other])
            expected = found.cka if by == "cka" else found.overlap
            assert matrix.loc[place, other] == pytest.approx(expected, abs=1e-5)


def test_xarray_has_labelled_axes(view):
    dataset = view.to_xarray()
    assert dict(dataset.sizes) == {
        "layer": LAYERS,
        "head": HEADS,
        "token": len(view.tokens),
        "d_head": view.head_output.shape[-1],
        "key_token": len(view.tokens),
        "other_token": len(view.tokens),
    }
    chosen = dataset["attention"].sel(layer=2, head=3)
    np.testing.assert_array_equal(chosen, view[2, 3].attention)
    assert list(dataset["token_text"].values) == list(view.tokens)
    assert dataset.attrs["pairs"] == "top:0.05"


def test_reprs_take_one_line(model, view):
    assert repr(model) == "LoadedModel(BertModel: encoder 2 layers x 4 heads)"
    assert isinstance(view.redundancy(), pd.DataFrame)
