"""Files that are written whole or not at all, and verified by their SHA-256."""

import contextlib
import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

from headscope.errors import RunError, StorageError, in_one_line

MOST_JSON_BYTES = 1 << 30
"""A larger file is not read: the manifest of a billion windows takes an eighth of this."""


def write_whole(path: Path, content: bytes) -> str:
    """Write a file and return its SHA-256. Readers see the old file or the new one, never a part.

    The bytes go to a temporary file in the same folder, are flushed to the disk, and get their
    final name by a rename, which the file system does in one step.
    """
    # A random name, opened only if it is new: nobody can have put a link in its place, and
    # processes on several machines, which may have the same process id, do not collide.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        remove_file(temporary)
        if isinstance(error, IsADirectoryError):
            raise RunError(f"cannot write {path}: it is a folder; name a file") from error
        raise StorageError(
            f"cannot write {path}: {error.strerror}; free space or choose another folder, then "
            "run the same command again: what was finished is kept"
        ) from error
    return hashlib.sha256(content).hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; anything else in it is refused."""
    try:
        if not path.is_file():
            raise ValueError("it is not a file")
        if path.stat().st_size > MOST_JSON_BYTES:
            raise ValueError("it is too large")
        values = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(values, dict):
            raise ValueError("it holds no JSON object")
    # A number of thousands of digits is a ValueError, deeply nested brackets a RecursionError.
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(
            f"{path} cannot be read: {in_one_line(error)}; take a whole copy of the run, or "
            "analyse the corpus again"
        ) from error
    return values


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_unchanged(path: Path, expected: str) -> bool:
    """Whether a file is there and has the expected SHA-256."""
    try:
        return path.is_file() and sha256_of(path) == expected
    except OSError:
        return False


def remove_file(path: Path) -> None:
    """Delete a file if it is there and can be deleted.

    If it cannot (the folder may be read-only by now), the next run removes it.
    """
    with contextlib.suppress(OSError):
        path.unlink()


def _flush_folder(folder: Path) -> None:
    # The new name itself must survive a power cut, too.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
