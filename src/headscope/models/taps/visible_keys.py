"""Which keys the rows of a text see under a mask: the others need not be computed."""

from collections.abc import MutableMapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

_ROWS_AT_ONCE = 256

_known: MutableMapping[Tensor, "VisibleKeys"] = WeakIdKeyDictionary()
"""What rows see under masks that are alive: most models give all layers the same."""


@dataclass(frozen=True, slots=True)
class VisibleKeys:
    """What rows see under a mask; an axis of length 1 holds for all texts, or all rows."""

    _reach: Int[np.ndarray, "batch query"]
    """One past the last key that a row sees; under a causal mask that is the row itself."""
    _clear: Int[np.ndarray, "batch query"]
    """How many keys, from the first, the mask leaves as they are."""

    def reach(self, texts: slice, rows: slice) -> int:
        """One past the last key that any of these rows sees."""
        return int(self._reach[_part(self._reach, texts, rows)].max())

    def clear(self, texts: slice, rows: slice) -> int:
        """How many keys, from the first, the mask leaves as they are for all of these rows."""
        return int(self._clear[_part(self._clear, texts, rows)].min())


def _part(keys: Int[np.ndarray, "batch query"], texts: slice, rows: slice) -> tuple[slice, slice]:
    everything = slice(None)
    return (texts if len(keys) > 1 else everything, rows if keys.shape[1] > 1 else everything)


def visible_keys(mask: Tensor) -> VisibleKeys:
    """What rows see under a mask.

    It adds the least number of its type where nothing is seen: the softmax there is exactly zero,
    and need not be computed.
    """
    known = _known.get(mask)
    if known is None:
        parts = [_visible_to_rows(rows) for rows in torch.split(mask, _ROWS_AT_ONCE, dim=2)]
        known = VisibleKeys(
            np.concatenate([part._reach for part in parts], axis=1),
            np.concatenate([part._clear for part in parts], axis=1),
        )
        _known[mask] = known
    return known


def _visible_to_rows(mask: Tensor) -> VisibleKeys:
    keys = mask.shape[-1]
    seen = (mask > torch.finfo(mask.dtype).min / 2).any(1)
    changed = (mask != 0).any(1)
    return VisibleKeys(
        # A row that sees nothing at all counts as one that sees everything.
        (keys - seen.flip(-1).byte().argmax(-1)).cpu().numpy(),
        torch.where(changed.any(-1), changed.byte().argmax(-1), keys).cpu().numpy(),
    )
