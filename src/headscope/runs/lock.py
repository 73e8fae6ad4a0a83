"""One writer at a time in a run folder."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from headscope.errors import HeadscopeError, RunError, StorageError, option
from headscope.runs.files import is_there
from headscope.runs.manifest import FILE_NAME as MANIFEST
from headscope.runs.own_files import refuse_links_inside, remove_remains, remove_run_folder
from headscope.system.unix import is_locked_by_others
from headscope.system.untrusted import open_untrusted

LOCK = ".lock"
"""The file whose lock the writer of a run folder holds."""
_PATIENCE_S = 0.06
"""How long a writer tries: `is_being_written` may hold the lock for an instant."""


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the run folder for writing. The lock ends with the process, however that ends.

    A folder with links in it is refused before anything is written. Half-written files of writers
    that died are removed.

    Args:
        folder: The run folder, which is made if need be.
    """
    refuse_links_inside(folder)  # a link or a pipe in place of the lock, too
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK, timeout=_PATIENCE_S, poll_interval=0.02, mode=0o644)
        lock.acquire()
    except Timeout as error:
        raise RunError(
            f"another process is writing to {folder}; wait for it, or choose another "
            f"{option('out')}"
        ) from error
    except OSError as error:
        raise StorageError(
            f"cannot write in {folder}: {error.strerror or error}; choose another folder, on a "
            f"file system with locks, with {option('out')}"
        ) from error
    try:
        remove_remains(folder)
        yield
    finally:
        lock.release()


def is_being_written(folder: Path) -> bool:
    """Whether a process on this machine holds the run folder for writing at this moment.

    Args:
        folder: The run folder. A lock that is a link, a pipe or a folder is refused.
    """
    try:
        with open_untrusted(folder / LOCK, within=folder) as file:
            held = is_locked_by_others(file)
        if held is not None:
            return held
        with FileLock(folder / LOCK, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False


@contextmanager
def removing_what_never_began(folder: Path) -> Iterator[None]:
    """While open, an error of the user's input leaves no trace of a run that has no manifest yet.

    Args:
        folder: The run folder. If it was there before, it stays, and what was in it.
    """
    made = next((path for path in reversed([folder, *folder.parents]) if not path.exists()), None)
    was_empty = made is None and folder.is_dir() and not any(folder.iterdir())
    try:
        yield
    except HeadscopeError as error:
        if error.exit_code == 2 and (made or was_empty) and folder.is_dir():
            with suppress(HeadscopeError, OSError):
                begun = is_there(folder / MANIFEST, within=folder)
                if not begun and not is_being_written(folder):
                    remove_run_folder(folder, within=folder)
                    if made is None:
                        folder.mkdir()
                    else:
                        _remove_empty_folders(folder.parent, made)
        raise


def _remove_empty_folders(folder: Path, last: Path) -> None:
    """Remove a folder and those above it up to the last, as long as they are empty."""
    while folder.is_relative_to(last):
        folder.rmdir()
        folder = folder.parent
