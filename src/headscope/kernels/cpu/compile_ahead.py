"""Compiling ahead, in processes of its own, and where compiled code is cached.

The first run on a machine compiles for about twenty seconds. Meanwhile the run itself imports torch
and loads the model, which takes half as long, so a second core does both at once. Threads would not
help: compiling and importing both hold the interpreter's lock. Nothing here imports numba, so that
compiling starts at once.
"""

import hashlib
import os
import platform
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path

WARM_UP = "headscope.kernels.cpu.jit.warm_up"
"""The program that compiles a part by calling it."""
LONG_WINDOW = 256
"""Most models measure windows longer than this in tiles. Models with many heads do so for shorter
windows as well, and then compile that code when they first need it."""


class Part(StrEnum):
    """What is compiled together, in one process."""

    COUNTS = "counts"
    """Code that the other two call: about half of all, so that two processes share the work."""
    WINDOWS = "windows"
    TILES = "tiles"


_running: dict[Part, subprocess.Popen[bytes]] = {}


def compile_ahead(window_tokens: int) -> None:
    """Start compiling what a run needs, unless that is done or under way.

    Args:
        window_tokens: The length of the run's windows.
    """
    for part in Part:
        if part == Part.TILES and window_tokens <= LONG_WINDOW:
            continue
        mark = _mark(part)
        if part in _running or mark is None or mark.exists() or not sys.executable:
            continue
        try:
            _running[part] = subprocess.Popen(
                [sys.executable, "-m", WARM_UP, part],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return  # it is then compiled on the first call


def is_compiling() -> bool:
    """Whether compiling is under way."""
    return any(process.poll() is None for process in _running.values())


def wait_until_compiled() -> None:
    """Wait until compiling is done. If it failed, code is compiled on the first call."""
    for process in _running.values():
        process.wait()


def mark_as_compiled(part: Part) -> None:
    """Leave a mark for later runs.

    Args:
        part: What is compiled.
    """
    if mark := _mark(part):
        with suppress(OSError):  # the disk may be full: it is then compiled again
            mark.touch()


def _mark(part: Part) -> Path | None:
    """The file whose existence says that a part is compiled; None where code cannot be cached."""
    folder = cache_folder()
    name = f"{part}-python{platform.python_version()}-numba{version('numba')}.done"
    return folder / name if folder else None


def cache_folder() -> Path | None:
    """Where compiled code is cached; None where no folder of this user's own can be written.

    numba considers cached code current as long as the function's own file is unchanged, even if a
    function that it calls has changed. So the folder is named after a hash of all compiled files
    and of the versions that compile them: several versions of headscope share no code.
    """
    files = sorted((Path(__file__).parent / "jit").glob("*.py"))
    sources = b"".join(file.read_bytes() for file in files)
    versions = f"{version('headscope')} {version('numba')} {version('llvmlite')}"
    name = hashlib.sha256(versions.encode() + sources).hexdigest()[:16]
    for home in _cache_homes():
        folder = home / "compiled" / name
        if _is_ours(folder):
            return folder
    return None


def _cache_homes() -> Iterator[Path]:
    """The user's cache; without one (no home, or one that cannot be written), a temporary one."""
    if named := os.environ.get("XDG_CACHE_HOME"):
        yield Path(named) / "headscope"
        return
    with suppress(RuntimeError):  # there is no home
        yield Path.home() / ".cache" / "headscope"
    user = os.getuid() if hasattr(os, "getuid") else "user"
    yield Path(tempfile.gettempdir()) / f"headscope-{user}"


def _is_ours(folder: Path) -> bool:
    """Whether a folder is this user's own and can be written; it is made if need be.

    Cached code is run, so it must not come from others, who can write to temporary folders.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        for place in (folder, folder.parent, folder.parent.parent):
            status = place.lstat()
            others_write = status.st_mode & stat.S_IWOTH
            foreign = hasattr(os, "getuid") and status.st_uid != os.getuid()
            if not stat.S_ISDIR(status.st_mode) or others_write or foreign:
                return False
    except OSError:
        return False
    return os.access(folder, os.W_OK)
