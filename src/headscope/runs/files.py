"""Files that are there whole or not at all."""

import hashlib
import os
from pathlib import Path

from headscope.errors import RunError


def write_whole(path: Path, content: bytes) -> str:
    """The SHA-256 of what was written. Readers see the old file or the new one, never a part.

    The bytes go to a temporary name in the same folder, are flushed to the disk, and take the
    final name by a rename, which the file system does in one step.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise RunError(
            f"cannot write {path}: {error.strerror}; free space or choose another folder, then "
            "run the same command again: what was finished is kept"
        ) from error
    return hashlib.sha256(content).hexdigest()


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush_folder(folder: Path) -> None:
    # The new name itself must survive a power cut, too.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
