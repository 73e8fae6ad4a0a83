"""Compiled code is kept in headscope's own cache folder, named by the contents of its files."""

import pkgutil
from importlib import import_module

import numba
import pytest

from headscope.kernels.cpu import jit
from headscope.kernels.cpu.compile_ahead import cache_folder


def compiled_functions():
    for module in pkgutil.iter_modules(jit.__path__, prefix=f"{jit.__name__}."):
        for name, value in vars(import_module(module.name)).items():
            if isinstance(value, numba.core.dispatcher.Dispatcher):
                yield f"{module.name.rpartition('.')[2]}.{name}", value


@pytest.mark.skipif(bool(numba.config.CACHE_DIR), reason="NUMBA_CACHE_DIR is set")
def test_every_compiled_function_is_kept_where_a_changed_callee_makes_another_folder():
    folder = cache_folder()
    assert folder is not None
    functions = dict(compiled_functions())
    assert len(functions) > 20
    elsewhere = [
        name
        for name, function in functions.items()
        if not function._cache.cache_path.startswith(str(folder))
    ]
    assert not elsewhere
