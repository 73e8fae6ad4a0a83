import platform
import resource
import sys
from pathlib import Path

import numpy as np
import pytest

from headscope.free_memory import array_apart, give_back_free_memory


def bytes_held() -> int:
    """What this process holds of the machine's memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be asked to")
def test_memory_that_was_freed_in_pieces_is_given_back():
    pieces = [np.ones(8_000) for _ in range(3_000)]
    kept = pieces[::100]
    del pieces
    before = bytes_held()
    give_back_free_memory()
    given_back = before - bytes_held()
    assert given_back > 100e6
    assert all(piece.sum() == 8_000 for piece in kept)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is looked up where Linux shows it")
def test_an_array_apart_is_gone_when_nobody_has_it():
    before = bytes_held()
    array = array_apart((1000, 100, 100))
    array += 1
    part = array[1:]
    del array
    assert part.sum() == 999 * 100 * 100
    assert bytes_held() - before > 70e6
    del part
    assert bytes_held() - before < 10e6


@pytest.mark.parametrize("shape", [(0,), (3, 0), (1,), ()])
def test_small_arrays_are_zeros_too(shape):
    np.testing.assert_array_equal(array_apart(shape), np.zeros(shape))
