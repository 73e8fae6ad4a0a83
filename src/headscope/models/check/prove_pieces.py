"""Whether a model's attention may be computed in pieces, found out by doing it."""

from collections.abc import Callable, Sequence

import torch

from headscope.models.taps.call import AttentionCall, MassCall, Tap
from headscope.models.taps.interface import InterfaceTap
from headscope.models.taps.pieces import Cut

_ROWS = 3
"""Of the few tokens of a self-check, so many make a piece."""


def prove_pieces(
    tap: Tap, run: Callable[[], object], whole: Sequence[AttentionCall], tolerance: float
) -> None:
    """Let the tap compute attention in pieces if that gives what `whole` says, at every site.

    `run` runs the model on the inputs that gave `whole`. A family whose function looks at more than
    its arguments (rows that depend on each other, tensors that would need cutting too) gives
    something else or fails, and is cut less, or computed whole.
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
