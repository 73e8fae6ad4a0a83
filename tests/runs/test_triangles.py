import numpy as np

from headscope.runs.shards import mirrored, packed_shape, unpack_triangle


def test_a_packed_symmetric_matrix_comes_back():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.integers(0, 100, (2, 3, 5, 5)).astype(float))
    symmetric = upper + np.triu(upper, 1).swapaxes(-1, -2)
    packed = upper[..., *np.triu_indices(5)]
    assert packed.shape == packed_shape(upper.shape)
    np.testing.assert_array_equal(unpack_triangle(packed), symmetric)
    np.testing.assert_array_equal(mirrored(upper), symmetric)
