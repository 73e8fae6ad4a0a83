"""One writer at a time in a run folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headscope.errors import RunError, StorageError


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the run folder for writing. The lock goes with the process, however that ends.

    What writers that died have left half-written is cleared away.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A link in its place, which a folder from elsewhere may hold, is not followed.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.fdopen(os.open(folder / ".lock", flags, 0o644), "r+")
    except OSError as error:
        raise StorageError(
            f"cannot write in {folder}: {error.strerror}; choose another folder with --out"
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunError(
                f"another process is writing to {folder}; wait for it, or choose another --out"
            ) from error
        except OSError as error:
            raise StorageError(
                f"cannot lock {folder}: {error.strerror}; choose a folder on a file system with "
                "locks with --out"
            ) from error
        for remains in folder.rglob(".*.part"):
            remains.unlink(missing_ok=True)
        yield
