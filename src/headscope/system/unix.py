"""What only Unix has, in one place; elsewhere each of these does the plain thing.

No other module imports `fcntl`, calls the C library or names a flag that Windows lacks.
"""

import ctypes
import os
import platform
import signal
from contextlib import suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]

NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
"""Opens no link. Where there is no such flag, what is opened is checked to be a regular file."""
NO_WAITING: int = getattr(os, "O_NONBLOCK", 0)
"""Opens a pipe without waiting for its other end."""
NOT_INHERITED: int = getattr(os, "O_CLOEXEC", getattr(os, "O_NOINHERIT", 0))
"""The file is closed in processes that are started."""


def is_locked_by_others(file: IO[bytes]) -> bool | None:
    """Whether another process holds the lock of an open file; None where that cannot be asked.

    Asking takes no right to write.

    Args:
        file: The lock file, open for reading.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


def flush_folder(folder: Path) -> None:
    """Have the names in a folder survive a power cut, where folders can be flushed.

    Args:
        folder: The folder in which a file got its name.
    """
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def tell_malloc(what: int, value: int) -> None:
    """Set an option of glibc's `malloc`; nothing happens where there is another one.

    Args:
        what: The number of the option in malloc.h.
        value: Its value.
    """
    if _has_glibc():
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(what, value)


def trim_malloc() -> None:
    """Give memory that glibc holds in reserve back to the system."""
    if _has_glibc():
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def signal_name(number: int) -> str:
    """The name of the signal that ended a process, such as SIGKILL.

    Args:
        number: The number of the signal.
    """
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _has_glibc() -> bool:
    return platform.libc_ver()[0] == "glibc"
