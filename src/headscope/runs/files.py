"""Files that are there whole or not at all."""

import contextlib
import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

from headscope.errors import RunError, StorageError, in_one_line

MOST_JSON_BYTES = 1 << 30
"""A larger file is not read: the manifest of a billion texts takes an eighth of that."""


def write_whole(path: Path, content: bytes) -> str:
    """The SHA-256 of what was written. Readers see the old file or the new one, never a part.

    The bytes go to a temporary name in the same folder, are flushed to the disk, and take the
    final name by a rename, which the file system does in one step.
    """
    # Made up anew, and not followed if it is there: nobody can have laid a link in its place, and
    # processes on several machines, which may have the same number, do not meet in it.
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
            raise ValueError("it is no file")
        if path.stat().st_size > MOST_JSON_BYTES:
            raise ValueError("it is too large")
        values = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(values, dict):
            raise ValueError("it holds no JSON object")
    # A number of thousands of digits is a ValueError, brackets nested too deeply are the third.
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
    """Whether a file is there, and is the one whose SHA-256 was noted."""
    try:
        return path.is_file() and sha256_of(path) == expected
    except OSError:
        return False


def remove_file(path: Path) -> None:
    """Delete a file if it is there and can be.

    What cannot (the folder may be read-only by now) is cleared away by the next run.
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
