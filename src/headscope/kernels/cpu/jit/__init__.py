"""Loops compiled with numba: plain arrays in, plain arrays out.

They are apart from the other kernels because tests decorate every function of those with shape
checks, which compiled functions cannot carry. The kernels call them, and so does the segmenter.

All modules in this folder are imported here, so that each is compiled into headscope's own cache.
numba considers cached code current as long as the function's own file is unchanged, even if a
function that it calls has changed; the name of our cache folder changes with any of these files.
"""

import pkgutil
from importlib import import_module
from typing import Any

import numba

from headscope.kernels.cpu.compile_ahead import WARM_UP, cache_folder

_config: Any = numba.config

# numba reads this setting when a function is decorated: it is set to our folder while our files are
# imported, and then restored for everybody else.
_theirs = _config.CACHE_DIR
_config.CACHE_DIR = _theirs or str(cache_folder() or "")
try:
    for _module in pkgutil.iter_modules(__path__, prefix=f"{__name__}."):
        # It runs as a program, so it must not be imported here; it decorates nothing.
        if _module.name != WARM_UP:
            import_module(_module.name)
finally:
    _config.CACHE_DIR = _theirs
