"""Compiling ahead, in processes of its own, and where compiled code is cached.

The first run on a machine compiles for about twenty seconds. Meanwhile the run itself imports torch
and loads the model, which takes half as long, so a second core does both at once. Threads would not
help: compiling and importing both hold the interpreter's lock. Nothing here imports numba, so that
compiling starts at once.
"""

import hashlib
import os
import platform
import subprocess
import sys
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
        mark.touch()


def _mark(part: Part) -> Path | None:
    """The file whose existence says that a part is compiled; None where code cannot be cached."""
    folder = cache_folder()
    name = f"{part}-python{platform.python_version()}-numba{version('numba')}.done"
    return folder / name if folder else None


def cache_folder() -> Path | None:
    """Where compiled code is cached; None where the user's cache folder cannot be written.

    numba considers cached code current as long as the function's own file is unchanged, even if a
    function that it calls has changed. So the folder is named after a hash of all compiled files.
    """
    files = sorted((Path(__file__).parent / "jit").glob("*.py"))
    sources = b"".join(file.read_bytes() for file in files)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "headscope" / "compiled" / hashlib.sha256(sources).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None
