"""Small maps as bytes: what comes back is what went in, to half a step."""

import base64
import zlib

import numpy as np

from headscope.pages.packed_arrays import STEPS, packed_maps


def unpacked(packed):
    steps = np.frombuffer(zlib.decompress(base64.b64decode(packed["bytes"])), dtype=np.uint8)
    low, high = (np.array(packed[name])[:, None] for name in ("low", "high"))
    values = low + steps.reshape(len(low), -1) / STEPS * (high - low)
    return np.where(steps.reshape(len(low), -1) > STEPS, np.nan, values)


def test_values_between_the_tails_come_back_to_half_a_step():
    # A little more than half: the ends of the scale are rounded to four digits.
    rng = np.random.default_rng(0)
    matrices = rng.uniform(-2, 5, size=(3, 20, 30)) * np.array([1, 10, 0.001])[:, None, None]
    back = unpacked(packed_maps(matrices)).reshape(matrices.shape)
    for matrix, again in zip(matrices, back, strict=True):
        low, high = np.percentile(matrix, (1, 99))
        inside = (matrix > low) & (matrix < high)
        np.testing.assert_allclose(again[inside], matrix[inside], atol=0.55 / STEPS * (high - low))


def test_symmetric_maps_are_their_upper_triangle():
    matrix = np.arange(16.0).reshape(1, 4, 4)
    matrix = matrix + matrix.swapaxes(1, 2)
    packed = packed_maps(matrix, symmetric=True)
    whole = unpacked(packed_maps(matrix)).reshape(4, 4)
    np.testing.assert_array_equal(unpacked(packed)[0], whole[np.triu_indices(4)])


def test_cells_without_a_number_stay_without_one():
    matrix = np.array([[[np.nan, 1.0], [2.0, np.nan]]])
    np.testing.assert_array_equal(
        np.isnan(unpacked(packed_maps(matrix))[0]), [True, False, False, True]
    )
    assert np.isnan(unpacked(packed_maps(np.full((1, 2, 2), np.nan)))).all()
