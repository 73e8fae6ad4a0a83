"""Whether a model's attention may be computed in pieces, found out by doing it."""

from collections.abc import Callable, Sequence

import torch

from headscope.models.tap.call import AttentionCall, MassCall, Tap
from headscope.models.tap.interface import InterfaceTap

ROW_PIECES = 3


def prove_pieces(
    tap: Tap, run: Callable[[], object], whole: Sequence[AttentionCall], tolerance: float
) -> None:
    """Let the tap compute attention in pieces if that gives what `whole` says, at every site.

    `run` runs the model on the inputs that gave `whole`. A family whose function looks at more than
    its arguments (rows that depend on each other, tensors that would need cutting too) gives
    something else or fails, and is computed whole.
    """
    if not isinstance(tap, InterfaceTap):
        return
    pieces: list[MassCall] = []
    tap.in_pieces = True
    try:
        with tap.listen_to_mass(pieces.append, None, row_pieces=ROW_PIECES):
            run()
        tap.in_pieces = len(pieces) == len(whole) and all(
            _close(one.head_output, other.head_output, tolerance)
            and _close(one.mass, other.attention.sum(-2), tolerance)
            for one, other in zip(pieces, whole, strict=True)
        )
    except (RuntimeError, ValueError, IndexError, TypeError):
        tap.in_pieces = False


def _close(one: torch.Tensor, other: torch.Tensor, tolerance: float) -> bool:
    if one.shape != other.shape:
        return False
    difference = torch.linalg.vector_norm(one.double() - other.double())
    return bool(difference <= tolerance * torch.linalg.vector_norm(other.double()))
