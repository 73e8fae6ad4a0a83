"""Loops compiled with numba: plain arrays in, plain arrays out.

They stand apart from the kernels because tests decorate every function of those with checks of
shapes, which compiled functions cannot carry. Kernels call them, and so does the segmenter.

All modules in this folder are imported here, so that each is compiled into headscope's own cache:
numba takes code for current as long as the file of the function itself is unchanged, whatever
became of the functions that it calls, while the name of our cache folder changes with any of them.
"""

import pkgutil
from importlib import import_module
from typing import Any

import numba

from headscope.kernels.cpu.compile_ahead import WARM_UP, cache_folder

_config: Any = numba.config

# numba reads its setting when a function is decorated: it is ours while our files are imported,
# and what it was before for everybody else.
_theirs = _config.CACHE_DIR
_config.CACHE_DIR = _theirs or str(cache_folder() or "")
try:
    for _module in pkgutil.iter_modules(__path__, prefix=f"{__name__}."):
        # Run as a program, it must not be imported before: it decorates nothing.
        if _module.name != WARM_UP:
            import_module(_module.name)
finally:
    _config.CACHE_DIR = _theirs
