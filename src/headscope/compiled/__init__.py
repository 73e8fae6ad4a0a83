"""Loops compiled with numba: plain arrays in, plain arrays out. Called by the kernels alone.

They stand apart from the kernels because tests decorate every function of those with checks of
shapes, which compiled functions cannot carry.

Compiled code is kept between runs. numba takes it for current as long as the file of the function
itself is unchanged, whatever became of the functions that it calls; so it is kept under a name made
of the contents of all files here.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

import numba

_config: Any = numba.config


def _cache_folder() -> str:
    """Where compiled code is kept: numba's own choice where the user's cache cannot be written."""
    sources = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "headscope" / "compiled" / hashlib.sha256(sources).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(folder) if os.access(folder, os.W_OK) else ""


# numba reads its setting when a function is decorated: it is ours while our files are imported,
# and what it was before for everybody else.
_theirs = _config.CACHE_DIR
_config.CACHE_DIR = _theirs or _cache_folder()
try:
    from headscope.compiled import (
        best_cuts,
        count_loose,
        count_pairs,
        decorators,
        finish_text,
        layout,
        mass_and_cut,
        measure_heads,
        plain_loops,
        read_line,
        scratch,
        select_largest,
        sift_rows,
        sum_rows,
        text_pairs,
    )
finally:
    _config.CACHE_DIR = _theirs

__all__ = [
    "best_cuts",
    "count_loose",
    "count_pairs",
    "decorators",
    "finish_text",
    "layout",
    "mass_and_cut",
    "measure_heads",
    "plain_loops",
    "read_line",
    "scratch",
    "select_largest",
    "sift_rows",
    "sum_rows",
    "text_pairs",
]
