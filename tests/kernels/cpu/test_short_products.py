import numba
import numpy as np
import pytest
import torch

from headscope.kernels.cpu.fused import products_of
from headscope.kernels.cpu.jit.layout import MOST_ROWS, band, even_bands


@numba.njit
def unpack(products, matrices):
    """Write each band to where it belongs in matrices (b h n n)."""
    for place in range(products.windows):
        for head in range(products.heads):
            for row in range(0, products.tokens, products.band_rows):
                tile = band(products, place, head, row)
                matrices[place, head, row : row + tile.shape[0], row:] = tile


@pytest.mark.parametrize("windows", [1, 2, 5])
@pytest.mark.parametrize("tokens", [1, 5, MOST_ROWS, MOST_ROWS + 1, 2 * MOST_ROWS, 150, 256])
def test_bands_hold_the_products_of_their_window_and_head(windows, tokens):
    heads = 3
    generator = torch.Generator().manual_seed(0)
    # As models write them: the heads of a token lie side by side.
    vectors = torch.randn(windows, tokens, heads, 4, generator=generator).transpose(1, 2)
    room = torch.full((windows * heads * tokens * tokens,), torch.nan)
    products = products_of(vectors, room)
    assert products.heads_first == (tokens <= MOST_ROWS and heads < windows)
    found = np.full((windows, heads, tokens, tokens), np.nan, np.float32)
    unpack(products, found)
    expected = (vectors @ vectors.mT).numpy()
    upper = np.triu(np.ones((tokens, tokens), bool))
    np.testing.assert_allclose(found[..., upper], expected[..., upper], rtol=1e-5, atol=1e-5)


def test_bands_of_a_window_have_about_as_many_rows():
    assert [even_bands(n) for n in (1, 64, 65, 128, 129, 256)] == [1, 64, 33, 64, 43, 64]
