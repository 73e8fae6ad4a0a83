"""Linear maps computed by oneDNN while a model is measured or read.

In single precision on the CPU, torch calls MKL for these, though it comes with oneDNN as well. The
two differ only by rounding. On an AMD EPYC, whole analyses took 6 to 15 % less time with oneDNN;
other processors were not tried. A model that others call is computed as before.

A reader that needs no more can ask for bfloat16 (8 bits of precision, summed in single precision):
four times as fast on processors that multiply it, and not used on others.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

_ROWS = 128
"""oneDNN is used for multiples of this number of vectors. It makes and keeps a program for every
number of vectors that it meets: over a corpus of uneven windows, hundreds of megabytes."""


class _Here(threading.local):
    rows: int | None = None
    """The number of vectors for whose multiples this thread uses oneDNN; None: for none."""
    rough: bool = False
    """Whether this thread maps in bfloat16."""


_here = _Here()


class QuickLinear(nn.Linear):
    """A linear map that oneDNN computes while `quick_linear_maps` is open.

    While `rough_linear_maps` is open, in bfloat16.
    """

    _rounded: tuple[tuple[Tensor, int, int], Tensor, Tensor | None] | None = None
    """Which weight was rounded, and what weight and bias were rounded to."""

    def forward(self, input: Tensor) -> Tensor:
        """Map the last axis."""
        if _here.rough and _suits(input, self.weight, rows=1):
            weight, bias = self._in_bfloat16()
            return nn.functional.linear(input.bfloat16(), weight, bias).to(input.dtype)
        if _here.rows is not None and _suits(input, self.weight, _here.rows):
            return _by_onednn(input, self.weight, self.bias)
        return super().forward(input)

    def _in_bfloat16(self) -> tuple[Tensor, Tensor | None]:
        """Weight and bias, rounded once for as long as the weight is not changed."""
        weight, kept = self.weight, self._rounded
        which = (weight, weight.data_ptr(), 0 if weight.is_inference() else weight._version)
        if kept is None or kept[0][0] is not weight or kept[0][1:] != which[1:]:
            bias = None if self.bias is None else self.bias.detach().bfloat16()
            kept = self._rounded = (which, weight.detach().bfloat16(), bias)
        return kept[1], kept[2]


def make_quick(model: nn.Module, run: Callable[[], Tensor], tolerance: float) -> None:
    """Let oneDNN compute the linear maps of a model, if torch has it here and results agree.

    Only maps of torch's own class are changed: others may compute something else.

    Args:
        model: Changed in place; it stays as it is where results differ.
        run: Runs the model, with and without oneDNN.
        tolerance: Largest difference between the two, relative to the norm of the result.
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
    """While open, oneDNN computes this thread's maps of a multiple of `rows` vectors.

    Args:
        rows: Number of vectors.
    """
    before, _here.rows = _here.rows, rows
    try:
        yield
    finally:
        _here.rows = before


def can_be_rough() -> bool:
    """Whether this processor multiplies bfloat16, so that it is quicker than single precision."""
    known: Mapping[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(known.get(name, False) for name in ("avx512_bf16", "amx_bf16"))


@contextmanager
def rough_linear_maps() -> Iterator[None]:
    """While open, this thread's maps are computed in bfloat16, where the processor can.

    Results differ by about 0.4 % of single numbers, so this is not for measuring.
    """
    before, _here.rough = _here.rough, can_be_rough()
    try:
        yield
    finally:
        _here.rough = before


def _suits(vectors: Tensor, weight: Tensor, rows: int) -> bool:
    return (
        vectors.dtype == weight.dtype == torch.float32
        and vectors.device.type == weight.device.type == "cpu"
        and vectors.numel() > 0
        and vectors.numel() % (rows * vectors.shape[-1]) == 0
        # oneDNN is called without gradients and without other precisions.
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
    )


def _by_onednn(vectors: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    mapped: Tensor = torch.ops.mkldnn._linear_pointwise(vectors, weight, bias, "none", [], "")
    return mapped


def _has_onednn() -> bool:
    """Whether torch has both MKL, which it would call, and oneDNN."""
    libraries: tuple[Any, ...] = (torch.backends.mkl, torch.backends.mkldnn)
    has_both = all(library.is_available() for library in libraries)
    return has_both and hasattr(torch.ops.mkldnn, "_linear_pointwise")
