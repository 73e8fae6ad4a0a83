"""Repeatability: the same tokens read in two windows that start at different places.

The second half of a window is read again as a window of its own, between the same special tokens.
Both are in one batch, so that each layer is compared as it comes and nothing is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.measuring.labels import label_tokens
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite, MassCapture
from headscope.text.windows import Window

_FEWEST_TOKENS = 8
"""Of the second half; shorter windows are not read again."""


@dataclass(frozen=True, eq=False, slots=True)
class RepeatSums:
    """Sums over the tokens of one window, per head, of the centred vectors of two readings."""

    product: NDArray[np.float64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]


def second_half(window: Window) -> tuple[Window, int] | None:
    """The second half of a window as a window of its own, and by how many places it has moved.

    None where it would be too short.

    Args:
        window: Special tokens may lie before and after its text.
    """
    text = np.flatnonzero(~window.special)
    if not len(text) or len(text) < 2 * _FEWEST_TOKENS:
        return None
    first, last = int(text[0]), int(text[-1]) + 1
    moved = (last - first) // 2
    kept = np.r_[0:first, first + moved : window.n_tokens]
    arrays = {
        name: getattr(window, name)[kept]
        for name in Window.__dataclass_fields__
        if isinstance(getattr(window, name), np.ndarray)
    }
    half = Window(document=window.document, label=window.label, tokens=("",) * len(kept), **arrays)
    return half, moved


def repeat_sums(
    model: LoadedModel, window: Window, sites: Sequence[AttentionSite]
) -> Mapping[AttentionSite, RepeatSums] | None:
    """What two readings of the second half of a window have in common; None if it is too short.

    Args:
        model: What reads it.
        window: The window.
        sites: Which attention layers.
    """
    again = second_half(window)
    if again is None:
        return None
    half, moved = again
    labels = label_tokens([window, half], model.device)
    places = np.flatnonzero(~half.special & (np.arange(half.n_tokens) > 0))
    sums: dict[AttentionSite, RepeatSums] = {}

    def on_layer(capture: MassCapture) -> None:
        # In a shifted stack, token i is written for at place i + 1; the last one drops out.
        shift = int(model.reads_shifted(capture.site.stack))
        here = torch.from_numpy(places[places + shift < half.n_tokens] + shift)
        second = _centred(capture.head_output[1][:, here])
        first = _centred(capture.head_output[0][:, here + moved])
        sums[capture.site] = RepeatSums(
            product=(first * second).sum((1, 2)).cpu().numpy(),
            first=first.square().sum((1, 2)).cpu().numpy(),
            second=second.square().sum((1, 2)).cpu().numpy(),
        )

    with torch.inference_mode():
        model.forward_mass(labels.token_ids, labels.real, on_layer, sites=sites)
    return sums


def _centred(vectors: torch.Tensor) -> torch.Tensor:
    exact = vectors.double()
    return exact - exact.mean(1, keepdim=True)
