"""Debiased CKA against the formula written out with matrices of tokens by tokens."""

import numpy as np
import pytest
import torch

from headscope.kernels.debiased_cka import CentredHeads, debiased_cka


def naive_hsic(x: np.ndarray, y: np.ndarray) -> float:
    """Song et al. 2012, equation 5, as it stands."""
    n = len(x)
    k, other = x @ x.T, y @ y.T
    np.fill_diagonal(k, 0)
    np.fill_diagonal(other, 0)
    ones = np.ones(n)
    return (
        np.trace(k @ other)
        + (ones @ k @ ones) * (ones @ other @ ones) / ((n - 1) * (n - 2))
        - 2 / (n - 2) * (ones @ k @ other @ ones)
    ) / (n * (n - 3))


def naive_cka(x: np.ndarray, y: np.ndarray) -> float:
    return naive_hsic(x, y) / np.sqrt(naive_hsic(x, x) * naive_hsic(y, y))


def cka(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Of heads given as token, head, d_head."""
    return debiased_cka(
        CentredHeads.of(torch.from_numpy(one)), CentredHeads.of(torch.from_numpy(other))
    ).numpy()


def test_cka_equals_the_formula_with_whole_kernels():
    rng = np.random.default_rng(0)
    one = rng.normal(size=(30, 3, 4)) + 5  # a large mean, which must not matter
    other = rng.normal(size=(30, 2, 7)) - 1
    other[:, 0, :4] += one[:, 1]
    expected = [[naive_cka(one[:, a], other[:, b]) for b in range(2)] for a in range(3)]
    np.testing.assert_allclose(cka(one, other), expected, rtol=1e-10)


def test_a_rotated_and_scaled_copy_is_the_same():
    rng = np.random.default_rng(1)
    heads = rng.normal(size=(50, 2, 6)) * np.arange(1, 7)
    rotation, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    turned = 3 * heads @ rotation + 2
    np.testing.assert_allclose(np.diag(cka(heads, heads)), 1, rtol=1e-12)
    np.testing.assert_allclose(np.diag(cka(heads, turned)), 1, rtol=1e-12)


def test_single_precision_is_enough():
    rng = np.random.default_rng(2)
    heads = rng.normal(size=(500, 2, 16)).astype(np.float32) + 100
    np.testing.assert_allclose(np.diag(cka(heads, heads)), 1, rtol=1e-4)


def test_unrelated_vectors_have_cka_zero_on_average():
    """The plain estimate would be about 0.4 here, whatever the draw."""
    rng = np.random.default_rng(3)
    values = cka(rng.normal(size=(40, 20, 16)), rng.normal(size=(40, 20, 16)))
    error = values.std() / np.sqrt(values.size)
    assert abs(values.mean()) < 4 * error
    assert error < 0.01
    assert values.min() < 0


@pytest.mark.parametrize("tokens", [3, 20])
def test_what_cannot_be_compared_is_nan(tokens):
    rng = np.random.default_rng(4)
    constant, varied = np.ones((tokens, 1, 5)), rng.normal(size=(tokens, 1, 5))
    assert np.isnan(cka(constant, varied)).all()
    assert np.isnan(cka(varied, varied)).all() == (tokens < 4)
