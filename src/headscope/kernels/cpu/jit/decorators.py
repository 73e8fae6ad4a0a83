"""How the functions in this folder are compiled: which decorator for which use.

numba gives each function a wrapper that unpacks the arguments of a call from Python. With tuples of
fifty arrays the wrapper takes longer to compile than the function, so only what Python calls gets
one.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

import numba

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_config: Any = numba.config


def _njit(function: Callable[..., Any], **options: Any) -> Any:
    """numba's own, with a cache that fails quietly.

    A full disk must not end a run whose code is compiled, nor a damaged file one that can compile
    it again.
    """
    compiled: Any = numba.njit(function, **options)
    cache = compiled._cache
    load, save = cache.load_overload, cache.save_overload

    def load_if_whole(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:  # a damaged file gives errors of all kinds
            return None

    def save_if_possible(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError:
            return
        except Exception:  # it reads its index first: a damaged one is begun anew
            with suppress(OSError):
                cache.flush()
                save(*arguments)

    cache.load_overload, cache.save_overload = load_if_whole, save_if_possible
    return compiled


# All functions are cached between runs, inner ones too, so that several processes can share the
# work of compiling. Without a folder of ours, numba would write beside the source files.
_ALWAYS: dict[str, Any] = {
    "cache": bool(_config.CACHE_DIR),
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
# numba counts references at every slice, which takes a quarter of the time of short loops. What
# makes no arrays can do without: the caller holds all of them.
_UNCOUNTED: dict[str, Any] = {**_ALWAYS, "_nrt": False}


def entry(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A function that Python calls; compiled on the first call."""
    compiled: Callable[Arguments, Result] = _njit(function, **_UNCOUNTED)
    return compiled


def entry_that_makes_arrays(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A function that Python calls and that makes arrays."""
    compiled: Callable[Arguments, Result] = _njit(function, **_ALWAYS)
    return compiled


def inner(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A function that only compiled functions can call."""
    compiled: Callable[Arguments, Result] = _njit(function, no_cpython_wrapper=True, **_UNCOUNTED)
    return compiled


def inlined(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """An inner function that is copied into its callers: for what is called for each row."""
    compiled: Callable[Arguments, Result] = _njit(
        function, no_cpython_wrapper=True, inline="always", **_UNCOUNTED
    )
    return compiled


def inner_in_any_order(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """An inner function whose sums the compiler may reorder, to add several numbers at once."""
    compiled: Callable[Arguments, Result] = _njit(
        function, no_cpython_wrapper=True, fastmath={"reassoc", "contract"}, **_UNCOUNTED
    )
    return compiled


def inner_without_nan(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """An inner function that the compiler may assume meets no NaN, to compare several at once."""
    compiled: Callable[Arguments, Result] = _njit(
        function, no_cpython_wrapper=True, fastmath={"nnan", "nsz"}, **_UNCOUNTED
    )
    return compiled
