import mmap
import platform
import resource
import weakref
from pathlib import Path

import numpy as np
import pytest

from headscope.system.memory import array_apart, give_back_free_memory, keeping_freed_memory


def bytes_held() -> int:
    """What this process holds of the machine's memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


with_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc can be asked to"
)


def pages_taken_by_blocks() -> int:
    """How many pages the system gives while blocks of 20 MB are taken and freed, ten times."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        blocks = [np.ones(20 << 17) for _ in range(4)]
        del blocks
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@with_glibc
def test_freed_memory_is_used_again_while_it_is_kept():
    pages_of_all = 4 * (20 << 20) // resource.getpagesize()
    with keeping_freed_memory():
        pages_taken_by_blocks()
        assert pages_taken_by_blocks() < pages_of_all
        held = bytes_held()
    give_back_free_memory()
    assert held - bytes_held() > 60e6


@with_glibc
def test_memory_that_was_freed_in_pieces_is_given_back():
    pieces = [np.ones(8_000) for _ in range(3_000)]
    kept = pieces[::100]
    del pieces
    before = bytes_held()
    give_back_free_memory()
    given_back = before - bytes_held()
    assert given_back > 100e6
    assert all(piece.sum() == 8_000 for piece in kept)


def test_an_array_apart_is_gone_when_nobody_has_it():
    array = array_apart((3, 4))
    array += 1
    part, owner = array[1:], array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    memory = weakref.ref(owner.obj)
    del array, owner
    assert part.sum() == 8
    assert isinstance(memory(), mmap.mmap)
    del part
    assert memory() is None


@pytest.mark.parametrize("shape", [(0,), (3, 0), (1,), ()])
def test_small_arrays_are_zeros_too(shape):
    np.testing.assert_array_equal(array_apart(shape), np.zeros(shape))
