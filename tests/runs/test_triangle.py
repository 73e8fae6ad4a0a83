import numpy as np

from headscope.runs.triangle import mirrored, pack_triangle, unpack_triangle


def test_a_packed_symmetric_matrix_comes_back():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.integers(0, 100, (2, 3, 5, 5)).astype(float))
    symmetric = upper + np.triu(upper, 1).swapaxes(-1, -2)
    packed = pack_triangle(upper)
    assert packed.shape == (2, 3, 15)
    assert packed.dtype == np.float32
    assert packed.flags.c_contiguous
    np.testing.assert_array_equal(unpack_triangle(packed.astype(np.float64)), symmetric)
    np.testing.assert_array_equal(mirrored(upper), symmetric)
