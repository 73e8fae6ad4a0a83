"""Linear maps by oneDNN, which torch has beside MKL and asks for other things.

In single precision on the CPU torch calls MKL. Both libraries compute the same but for rounding. On
an AMD EPYC, whole analyses took 6 to 15 % less time by oneDNN; other processors were not at hand.
Used while a model is measured, and not when others call the model.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

_ROWS = 128
"""Of a multiple of so many vectors oneDNN does the mapping. It makes a program for every number of
vectors, and keeps it: for all numbers of a corpus of uneven texts, hundreds of megabytes."""


class _Here(threading.local):
    rows: int | None = None


_here = _Here()
"""Of which multiples of vectors this thread has oneDNN do the mapping, if at all."""


class QuickLinear(nn.Linear):
    """A linear map that is computed by oneDNN where `quick_linear_maps` is open."""

    def forward(self, input: Tensor) -> Tensor:
        """Map the last axis."""
        if _here.rows is not None and _suits(input, self.weight, _here.rows):
            return _by_onednn(input, self.weight, self.bias)
        return super().forward(input)


def make_quick(model: nn.Module, run: Callable[[], Tensor], tolerance: float) -> None:
    """Let `quick_linear_maps` change how a model computes, if torch has oneDNN here.

    `run` runs the model. Unless it gives the same with oneDNN as without, but for so much of its
    norm, the model stays as it is. Maps of another class than torch's own are left alone: they may
    compute something else.
    """
    if not _has_onednn():
        return
    expected = run()
    _change_class(model, nn.Linear, QuickLinear)
    try:
        with quick_linear_maps(rows=1):
            difference = run() - expected
    except RuntimeError:
        difference = torch.full_like(expected, torch.nan)
    if not difference.norm() <= tolerance * expected.norm():
        _change_class(model, QuickLinear, nn.Linear)


def _change_class(model: nn.Module, before: type[nn.Module], after: type[nn.Module]) -> None:
    for module in model.modules():
        if type(module) is before:
            module.__class__ = after


@contextmanager
def quick_linear_maps(rows: int = _ROWS) -> Iterator[None]:
    """While open, this thread's maps of a multiple of so many vectors are computed by oneDNN."""
    before, _here.rows = _here.rows, rows
    try:
        yield
    finally:
        _here.rows = before


def _suits(vectors: Tensor, weight: Tensor, rows: int) -> bool:
    return (
        vectors.dtype == weight.dtype == torch.float32
        and vectors.device.type == weight.device.type == "cpu"
        and vectors.numel() > 0
        and vectors.numel() % (rows * vectors.shape[-1]) == 0
        # oneDNN knows neither gradients nor other precisions.
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
    )


def _by_onednn(vectors: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    mapped: Tensor = torch.ops.mkldnn._linear_pointwise(vectors, weight, bias, "none", [], "")
    return mapped


def _has_onednn() -> bool:
    """Whether torch would call MKL, and could call oneDNN: `make_quick` sees what comes of it."""
    libraries: tuple[Any, ...] = (torch.backends.mkl, torch.backends.mkldnn)
    has_both = all(library.is_available() for library in libraries)
    return has_both and hasattr(torch.ops.mkldnn, "_linear_pointwise")
