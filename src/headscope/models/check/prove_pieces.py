"""Whether a model's attention may be computed in pieces: found by trying."""

from collections.abc import Callable, Sequence

import torch

from headscope.models.taps.call import AttentionCall, MassCall, Tap
from headscope.models.taps.interface import InterfaceTap
from headscope.models.taps.pieces import Cut

_ROWS = 3
"""Rows of a piece in the trial, whose inputs have only a few tokens."""


def prove_pieces(
    tap: Tap, run: Callable[[], object], whole: Sequence[AttentionCall], tolerance: float
) -> None:
    """Let the tap compute attention in pieces, if that gives the same at every site.

    A family whose function uses more than its arguments (rows that depend on each other, tensors
    that would have to be cut too) gives another result or fails: it is cut less, or not at all.

    Args:
        tap: Its `cut` is set.
        run: Runs the model on the inputs that gave `whole`.
        whole: What attention gives when it is not cut.
        tolerance: Largest difference, relative to the norm of the result.
    """
    if not isinstance(tap, InterfaceTap):
        return
    for by_head in (True, False):
        tap.cut = Cut(by_head, rows=_ROWS)
        if _gives(tap, run, whole, tolerance):
            tap.cut = Cut(by_head)
            return
    tap.cut = None


def _gives(
    tap: InterfaceTap,
    run: Callable[[], object],
    whole: Sequence[AttentionCall],
    tolerance: float,
) -> bool:
    pieces: list[MassCall] = []
    try:
        with tap.listen_to_mass(pieces.append, None):
            run()
    except (RuntimeError, ValueError, IndexError, TypeError):
        return False
    return len(pieces) == len(whole) and all(
        _close(one.head_output, other.head_output, tolerance)
        and _close(one.mass, other.attention.sum(-2), tolerance)
        for one, other in zip(pieces, whole, strict=True)
    )


def _close(one: torch.Tensor, other: torch.Tensor, tolerance: float) -> bool:
    if one.shape != other.shape:
        return False
    difference = torch.linalg.vector_norm(one.double() - other.double())
    return bool(difference <= tolerance * torch.linalg.vector_norm(other.double()))
