"""Which module is running: torch functions do not say who called them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)


class ModuleTrace:
    """The qualified name of the innermost running module of one model."""

    def __init__(self, model: nn.Module) -> None:
        self._names = {module: name for name, module in model.named_modules()}
        # Hooks are called on every thread: each thread follows its own forward pass.
        self._followed = threading.local()

    @property
    def innermost(self) -> str:
        """Name of the module whose forward is running ("" outside, and for the model itself)."""
        running = getattr(self._followed, "running", [])
        return running[-1] if running else ""

    @contextmanager
    def follow(self) -> Iterator[None]:
        """While open, `innermost` is kept up to date."""
        running: list[str] = []
        self._followed.running = running
        thread = threading.get_ident()

        def enter(module: nn.Module, arguments: Any) -> None:
            if module in self._names and threading.get_ident() == thread:
                running.append(self._names[module])

        def leave(module: nn.Module, arguments: Any, output: Any) -> None:
            if module in self._names and threading.get_ident() == thread:
                running.pop()

        handles = (register_module_forward_pre_hook(enter), register_module_forward_hook(leave))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
