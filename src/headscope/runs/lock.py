"""One writer at a time in a run folder."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headscope.errors import RunError


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the run folder for writing. The lock goes with the process, however that ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("w")
    except OSError as error:
        raise RunError(
            f"cannot write in {folder}: {error.strerror}; choose another folder with --out"
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunError(
                f"another process is writing to {folder}; wait for it, or choose another --out"
            ) from error
        yield
