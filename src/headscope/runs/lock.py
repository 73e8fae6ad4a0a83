"""One writer at a time in a run folder."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from headscope.errors import RunError, StorageError
from headscope.runs.own_files import refuse_links_inside, remove_remains
from headscope.system.untrusted import open_untrusted

LOCK = ".lock"
"""The file whose lock the writer of a run folder holds."""


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the run folder for writing. The lock ends with the process, however that ends.

    A folder with links in it is refused before anything is written. Half-written files of writers
    that died are removed.

    Args:
        folder: The run folder, which is made if need be.
    """
    refuse_links_inside(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # O_NOFOLLOW: a folder from elsewhere may have a link in its place.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.fdopen(os.open(folder / LOCK, flags, 0o644), "r+")
    except OSError as error:
        raise StorageError(
            f"cannot write in {folder}: {error.strerror}; choose another folder with --out"
        ) from error
    with file:
        try:
            _lock(file)
        except BlockingIOError as error:
            raise RunError(
                f"another process is writing to {folder}; wait for it, or choose another --out"
            ) from error
        except OSError as error:
            raise StorageError(
                f"cannot lock {folder}: {error.strerror}; choose a folder on a file system with "
                "locks with --out"
            ) from error
        remove_remains(folder)
        yield


def is_being_written(folder: Path) -> bool:
    """Whether a process on this machine holds the run folder for writing at this moment.

    Args:
        folder: The run folder. A lock that is a link, a pipe or a folder is refused.
    """
    try:
        with open_untrusted(folder / LOCK, within=folder) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _lock(file: IO[str]) -> None:
    """Take the lock; try again, since `is_being_written` may hold it for an instant."""
    for _ in range(3):
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
