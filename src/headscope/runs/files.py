"""Files that are written whole or not at all, read through the gate, and verified by their SHA-256.

`within` is the run folder that a file belongs to. It may come from elsewhere, with links in it that
lead to other people's files: below it no link is followed, and only regular files are read,
replaced or deleted.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import stat
from pathlib import Path
from typing import Any

from headscope.errors import RunError, StorageError, in_one_line, option
from headscope.system.unix import flush_folder
from headscope.system.untrusted import UntrustedFileError, open_untrusted, refuse_links

MOST_JSON_BYTES = 1 << 30
"""A larger file is not read: the manifest of a billion windows takes an eighth of this."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def write_whole(path: Path, content: bytes, *, within: Path | None = None) -> str:
    """Write a file and return its SHA-256. Readers see the old file or the new one, never a part.

    The bytes go to a temporary file in the same folder, are flushed to the disk, and get their
    final name by a rename, which the file system does in one step.

    Args:
        path: The file. Folders on the way to it are made.
        content: Its bytes.
        within: The run folder that it belongs to, which must be there; None for a file that the
            user named, whatever it is.
    """
    if not path.name:  # . or /
        raise RunError(f"cannot write {path}: it is a folder; name a file")
    # A random name, opened only if it is new: nobody can have put a link in its place, and
    # processes on several machines, which may have the same process id, do not collide.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        if within is not None:
            refuse_unwritable(path, within)
        else:
            refuse_devices(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        flush_folder(path.parent)
    except OSError as error:
        remove_file(temporary)
        if isinstance(error, IsADirectoryError):
            raise RunError(f"cannot write {path}: it is a folder; name a file") from error
        raise StorageError(
            f"cannot write {path}: {error.strerror}; free space or choose another folder, then "
            "run the same command again: what was finished is kept"
        ) from error
    return hashlib.sha256(content).hexdigest()


def refuse_devices(path: Path) -> None:
    """Refuse to put a file in the place of a device or pipe, as a rename would.

    Args:
        path: A file that the user named, whether it exists or not.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise RunError(f"cannot write {path}: it is no regular file; name another file")


def refuse_unwritable(path: Path, within: Path) -> None:
    """Refuse to write or delete what headscope did not make: links, pipes, devices, folders.

    Args:
        path: A file in a run folder, whether it exists or not.
        within: The run folder. If it is gone, it was moved while it was being written.
    """
    refuse_if_gone(within)
    refuse_links(path, within)
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            raise UntrustedFileError(
                f"{path} is not a regular file, so headscope did not make it; move it away"
            )


def refuse_if_gone(folder: Path) -> None:
    """Refuse to go on with a run folder that somebody has moved or deleted.

    Args:
        folder: The run folder.
    """
    if not folder.is_dir():
        raise StorageError(
            f"the folder {folder} is gone; if it was moved, run the same command again with its "
            f"new place as {option('out')}: what was finished is kept"
        )


def read_bytes(path: Path, *, within: Path | None = None) -> bytes:
    """The content of a file; OSError if there is none.

    Args:
        path: The file.
        within: The run folder that it belongs to.
    """
    with open_untrusted(path, within=within) as file:
        return file.read()


def read_json(path: Path, *, within: Path | None = None) -> dict[str, Any]:
    """The object in a JSON file; anything else in it is refused.

    Args:
        path: The file.
        within: The run folder that it belongs to.
    """
    try:
        with open_untrusted(path, within=within) as file:
            if os.fstat(file.fileno()).st_size > MOST_JSON_BYTES:
                raise ValueError("it is too large")
            text = file.read().decode("utf-8")
        values = json.loads(text)
        if not isinstance(values, dict):
            raise ValueError("it holds no JSON object")
        # JSON can spell half a character, which cannot be printed or written as UTF-8.
        if _SURROGATE.search(text):
            json.dumps(values, ensure_ascii=False).encode("utf-8")
    # A number of thousands of digits is a ValueError, deeply nested brackets a RecursionError.
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(
            f"{path} cannot be read: {in_one_line(error)}; take a whole copy of the run, or "
            "analyse the corpus again"
        ) from error
    return values


def sha256_of(path: Path, *, within: Path | None = None) -> str:
    """The SHA-256 of a file, read in pieces.

    Args:
        path: The file.
        within: The run folder that it belongs to.
    """
    with open_untrusted(path, within=within) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_unchanged(path: Path, expected: str, *, within: Path | None = None) -> bool:
    """Whether a file is there and has the expected SHA-256; a link or a pipe is refused.

    Args:
        path: The file.
        expected: The SHA-256.
        within: The run folder that it belongs to.
    """
    try:
        return sha256_of(path, within=within) == expected
    except OSError:
        return False


def is_there(path: Path, *, within: Path) -> bool:
    """Whether a file of a run is there; what is no regular file is refused by its name.

    Args:
        path: The file.
        within: The run folder that it belongs to.
    """
    try:
        open_untrusted(path, within=within).close()
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return False
        raise RunError(f"{path} cannot be read: {error.strerror}; check the run folder") from error
    return True


def remove_file(path: Path, *, within: Path | None = None) -> None:
    """Delete a file if it is there and can be deleted.

    If it cannot (the folder may be read-only by now), the next run removes it.

    Args:
        path: The file.
        within: The run folder that it belongs to.
    """
    if within is not None:
        refuse_unwritable(path, within)
    with contextlib.suppress(OSError):
        path.unlink()
