"""How the functions here are compiled.

numba gives each function a way in from Python that takes its arguments apart. For tuples of fifty
arrays that takes longer to compile than the function, so only what Python calls has one.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numba

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_njit: Any = numba.njit  # its annotations know fewer options than it has
# All of it is kept between runs; the functions that others call, too, so that several processes may
# compile for each other.
_ALWAYS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
# Who holds which array is counted at every slice, which takes a quarter of the time of short loops.
# Functions that make no array can do without: their caller holds all of them.
_UNCOUNTED: dict[str, Any] = {**_ALWAYS, "_nrt": False}


def entry(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A function that Python calls; compiled on the first call."""
    compiled: Callable[Arguments, Result] = _njit(function, **_UNCOUNTED)
    return compiled


def entry_that_makes_arrays(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same, for a function that makes arrays."""
    compiled: Callable[Arguments, Result] = _njit(function, **_ALWAYS)
    return compiled


def inner(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A function that compiled functions call; Python cannot."""
    compiled: Callable[Arguments, Result] = _njit(function, no_cpython_wrapper=True, **_UNCOUNTED)
    return compiled


def inlined(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same, compiled anew in every function that calls it: for what is called for each row."""
    compiled: Callable[Arguments, Result] = _njit(
        function, no_cpython_wrapper=True, inline="always", **_UNCOUNTED
    )
    return compiled


def inner_in_any_order(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same, for sums whose order may be chosen by the compiler: it adds several at once."""
    compiled: Callable[Arguments, Result] = _njit(
        function, no_cpython_wrapper=True, fastmath={"reassoc", "contract"}, **_UNCOUNTED
    )
    return compiled


def inner_without_nan(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same, for numbers that may be compared in any order."""
    compiled: Callable[Arguments, Result] = _njit(
        function, no_cpython_wrapper=True, fastmath={"nnan", "nsz"}, **_UNCOUNTED
    )
    return compiled
