import numpy as np
import pytest

from headscope.kernels.cpu.jit.sum_rows import add_triangles
from headscope.runs.shards import packed_shape


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 33])
def test_upper_triangles_are_added_row_after_row(dtype, n):
    rng = np.random.default_rng(0)
    matrices = rng.normal(size=(3, n, n)).astype(dtype)
    packed = rng.normal(size=packed_shape(matrices.shape))
    expected = packed + matrices[:, *np.triu_indices(n)]
    add_triangles(matrices, packed)
    np.testing.assert_allclose(packed, expected, rtol=1e-15)
