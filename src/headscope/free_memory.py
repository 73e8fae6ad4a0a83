"""Memory that nobody uses any more, given back to the system."""

import ctypes
import sys


def give_back_free_memory() -> None:
    """Give back what the C library holds for later; elsewhere than with glibc, do nothing.

    Threads that measured leave hundreds of MB behind, in pieces, and more of it the longer they
    ran. What comes next would be added on top of that.
    """
    if sys.platform == "linux":
        try:
            ctypes.CDLL(None).malloc_trim(0)
        except (OSError, AttributeError):
            return
