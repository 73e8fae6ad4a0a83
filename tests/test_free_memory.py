import platform
import resource
from pathlib import Path

import numpy as np
import pytest

from headscope.free_memory import give_back_free_memory


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
