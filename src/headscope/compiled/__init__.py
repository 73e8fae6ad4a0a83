"""Loops compiled with numba: plain arrays in, plain arrays out. Called by the kernels alone.

They stand apart from the kernels because tests decorate every function of those with checks of
shapes, which compiled functions cannot carry.
"""

from typing import Any

import numba

from headscope.compile_ahead import cache_folder

_config: Any = numba.config

# numba reads its setting when a function is decorated: it is ours while our files are imported,
# and what it was before for everybody else.
_theirs = _config.CACHE_DIR
_config.CACHE_DIR = _theirs or str(cache_folder() or "")
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
        measure_tokens,
        plain_loops,
        products,
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
    "measure_tokens",
    "plain_loops",
    "products",
    "read_line",
    "scratch",
    "select_largest",
    "sift_rows",
    "sum_rows",
    "text_pairs",
]
