"""Compiled code made before it is needed, in processes of their own, and where it is kept.

The first run on a machine compiles for some twenty seconds. Meanwhile the run itself imports torch
and loads a model, which takes half as long: a second core does both at once. Threads would not,
since compiling and importing both hold the interpreter's lock. Nothing here imports numba, so that
this begins at once.
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
"""Longer texts are measured in tiles by most models, shorter ones by those with many heads alone:
these then compile that when they come to it."""


class Part(StrEnum):
    """What is compiled together, in a process."""

    COUNTS = "counts"
    """What texts and tiles are compiled of: about half of it, so that two processes share it."""
    TEXTS = "texts"
    TILES = "tiles"


_running: dict[Part, subprocess.Popen[bytes]] = {}


def compile_ahead(window_tokens: int) -> None:
    """Begin to compile what a run over such windows needs, unless it is there or begun."""
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
            return  # then it is compiled where it is needed


def is_compiling() -> bool:
    """Whether something that was begun is not done yet."""
    return any(process.poll() is None for process in _running.values())


def wait_until_compiled() -> None:
    """Wait for what was begun. If that failed, code is compiled on its first call."""
    for process in _running.values():
        process.wait()


def mark_as_compiled(part: Part) -> None:
    """Leave word for later runs."""
    if mark := _mark(part):
        mark.touch()


def _mark(part: Part) -> Path | None:
    """The file that says that a part is compiled. None where compiled code cannot be kept."""
    folder = cache_folder()
    name = f"{part}-python{platform.python_version()}-numba{version('numba')}.done"
    return folder / name if folder else None


def cache_folder() -> Path | None:
    """Where compiled code is kept; None where the user's cache cannot be written.

    numba takes code for current as long as the file of the function itself is unchanged, whatever
    became of the functions that it calls; so the folder's name is made of the contents of all
    files of compiled code.
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
