"""The gate for files that come from elsewhere: every file of a model, run or corpus passes it.

A name found on disk may be a link to somebody else's file, a device that never ends, or a pipe that
never begins. `open_untrusted` opens regular files only, without waiting; `check_untrusted` is for
libraries that open a path by themselves.
"""

import os
import stat
from io import BufferedReader
from pathlib import Path

from headscope.errors import HeadscopeError
from headscope.system.unix import NO_FOLLOW, NO_WAITING


class UntrustedFileError(HeadscopeError):
    """A file from elsewhere is no regular file, lies outside its folder, or is too large."""


def open_untrusted(
    path: Path, *, within: Path | None = None, max_bytes: int | None = None
) -> BufferedReader:
    """An open regular file, for reading bytes.

    The checks are made on the open file: what is checked is what is read.

    Args:
        path: The file. Without `within`, links are followed: a user may link a corpus.
        within: The folder that it belongs to. A link, in the path below it or of the file itself,
            is refused.
        max_bytes: A larger file is refused; None for any size.
    """
    # Without O_NONBLOCK, opening a pipe would wait for somebody to write into it.
    flags = os.O_RDONLY | NO_WAITING | getattr(os, "O_BINARY", 0)
    if within is not None:
        refuse_links(path, within)
        flags |= NO_FOLLOW
    descriptor = os.open(path, flags)
    try:
        _refuse_unfit(path, os.fstat(descriptor), max_bytes)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def check_untrusted(
    path: Path, *, within: Path | None = None, max_bytes: int | None = None
) -> Path:
    """The same path, if `open_untrusted` would open it; for libraries that take a path.

    Args:
        path: The file.
        within: The folder that it belongs to, if any.
        max_bytes: A larger file is refused; None for any size.
    """
    open_untrusted(path, within=within, max_bytes=max_bytes).close()
    return path


def refuse_links(path: Path, within: Path) -> None:
    """Refuse a path that leaves its folder, or that has a link on its way below that folder.

    The folder itself may be reached through links: its user named it.

    Args:
        path: A file or folder, whether it exists or not.
        within: The folder that it belongs to.
    """
    try:
        below = path.relative_to(within)
    except ValueError:
        below = None
    if below is None or ".." in below.parts:
        raise UntrustedFileError(f"{path} lies outside {within}; remove what names it")
    step = within
    for part in below.parts:
        step = step / part
        if step.is_symlink():
            raise UntrustedFileError(
                f"{step} is a link: links inside {within} are not followed; put the file or "
                "folder itself there"
            )


def _refuse_unfit(path: Path, status: os.stat_result, max_bytes: int | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UntrustedFileError(f"{path} is not a regular file; name a file")
    if max_bytes is not None and status.st_size > max_bytes:
        raise UntrustedFileError(
            f"{path} has {status.st_size:,} bytes, more than the {max_bytes:,} that are read"
        )
