"""Attention in pieces: some windows, or some heads and rows of one window, at a time.

A row of attention depends on its own query alone, so the family's own function may be called with
fewer queries and fewer heads: the result is the same, and the maps are small enough for the cache.
Keys that no row of a piece sees are left out. All this holds unless a family's function uses more
than its arguments, so it is tried on load. Given what the attention interface gives; gives the
joined heads and the column mass.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from headscope.kernels.token_rows import column_mass
from headscope.models.taps.plain_attention import Eager, is_plain, lay_out, scaling_of
from headscope.system.threads import in_threads

PIECE_NUMBERS = 1 << 18
"""Attention weights of whole windows computed at once: 1 MB in float32, for the cache of a core."""
ROWS_NUMBERS = 1 << 20
"""The same within a window that has more: products of very few rows are slow."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How a model's attention may be cut, besides into windows."""

    by_head: bool
    """Whether heads that share no keys may be computed separately."""
    rows: int | None = None
    """Rows of a piece; by default as many as the size of the maps allows."""


@dataclass(frozen=True, slots=True)
class _Piece:
    windows: slice
    heads: slice
    key_heads: slice
    rows: slice

    def numbers(self, keys: int) -> int:
        """Number of attention weights of the piece."""
        parts = (self.windows, self.heads, self.rows)
        return keys * math.prod(int(part.stop - part.start) for part in parts)


def attention_in_pieces(
    eager: Eager,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    options: Mapping[str, Any],
    real: Bool[Tensor, "batch query"] | None,
    cut: Cut,
) -> tuple[Tensor, Tensor]:
    """The joined heads and the column mass, without a whole map. (Shapes are the interface's.)

    Args:
        eager: The family's own attention function.
        module: The attention module that calls it.
        query: Of all heads.
        key: Of all key heads.
        value: Of all key heads.
        mask: What is added to the scores.
        options: What else the module passes to `eager`.
        real: The queries that give mass; None for all.
        cut: How attention may be cut.
    """
    batch, heads, queries, _ = query.shape
    keys = key.shape[2]
    joined = value.new_empty(batch, queries, heads, value.shape[3])
    if real is None:
        real = torch.ones(batch, queries, dtype=torch.bool, device=query.device)
    weights = real.to(_mass_dtype(query))

    visible = visible_keys(mask) if mask is not None else None
    plain = is_plain(eager, module, query, key, value, options)
    heads_first = joined.transpose(1, 2)

    def step(piece: _Piece, mass: Tensor, buffer: Tensor) -> Callable[[], None]:
        """A function that computes a piece."""
        windows, rows = piece.windows, piece.rows
        seen, part_of_mask = keys, None
        if mask is not None and visible is not None:
            seen, clear = visible.reach(windows, rows), visible.clear(windows, rows)
            # A mask that changes nothing need not be added.
            if clear < seen:
                first = clear if plain else 0
                part_of_mask = _part_of_mask(mask, piece, query)[..., first:seen]
        given = (
            query[windows, piece.heads, rows],
            key[windows, piece.key_heads, :seen],
            value[windows, piece.key_heads, :seen],
            part_of_mask,
        )
        results = (
            weights[windows, rows],
            mass[windows, piece.heads, :seen],
            heads_first[windows, piece.heads, rows],
        )
        if plain:
            return lay_out(*given, *results, scaling_of(query, options), buffer).compute
        return partial(_compute, partial(eager, module, *given, **options), *results)

    all_pieces = list(_pieces(query.shape, key.shape, cut))
    long = all_pieces[0].rows.stop < queries
    threads = torch.get_num_threads() if long and query.device.type == "cpu" else 1
    # The order is fixed, so that sums are the same each time. With two threads each takes every
    # second piece, since under a causal mask later rows take longer.
    shares = [all_pieces[first::threads] for first in range(min(threads, len(all_pieces)))]
    largest = max(piece.numbers(keys) for piece in all_pieces) if plain else 0
    masses, steps = [], []
    for share in shares:
        mass = torch.zeros(batch, heads, keys, device=query.device, dtype=weights.dtype)
        buffer = query.new_empty(largest)
        masses.append(mass)
        steps.append([step(piece, mass, buffer) for piece in share])
    in_threads(_run, steps)
    return joined, sum(masses[1:], start=masses[0])


def _run(steps: Iterable[Callable[[], None]]) -> None:
    for step in steps:
        step()


def _compute(
    eager: Callable[[], tuple[Tensor, Tensor]], weights: Tensor, mass: Tensor, joined: Tensor
) -> None:
    """Compute a piece by the family's own function."""
    part, attention = eager()
    joined.copy_(part.transpose(1, 2))
    mass += column_mass(attention, weights)


def _pieces(query: torch.Size, key: torch.Size, cut: Cut) -> Iterator[_Piece]:
    """The pieces of a batch; windows that fit are not cut themselves."""
    batch, heads, queries, _ = query
    _, key_heads, keys, _ = key
    numbers = heads * queries * keys
    rows = queries
    if cut.rows is not None or numbers > PIECE_NUMBERS:
        apart = key_heads if cut.by_head and heads % key_heads == 0 else 1
        rows = cut.rows or _even(queries, max(1, ROWS_NUMBERS // (heads // apart * keys)))
        together = 1
    else:
        apart, together = 1, max(1, PIECE_NUMBERS // numbers)
    for window in range(0, batch, together):
        for row in range(0, queries, rows):
            for group in range(apart):
                yield _Piece(
                    slice(window, window + together),
                    _part(group, heads // apart),
                    _part(group, key_heads // apart),
                    slice(row, min(row + rows, queries)),
                )


def _even(number: int, most: int) -> int:
    """The largest part when `number` is cut evenly into parts of at most `most`."""
    return math.ceil(number / math.ceil(number / most))


def _part(number: int, size: int) -> slice:
    return slice(number * size, (number + 1) * size)


def _part_of_mask(mask: Tensor, piece: _Piece, query: Tensor) -> Tensor:
    """The mask of a piece; an axis of length 1 applies to all."""
    for axis, part in enumerate((piece.windows, piece.heads, piece.rows)):
        if mask.shape[axis] == query.shape[axis] > 1:
            mask = mask[(slice(None),) * axis + (part,)]
    return mask


def _mass_dtype(query: Tensor) -> torch.dtype:
    return torch.float64 if query.dtype == torch.float64 else torch.float32


_ROWS_AT_ONCE = 256

_known: MutableMapping[Tensor, "VisibleKeys"] = WeakIdKeyDictionary()
"""What rows see under masks that are alive: most models give all layers the same mask."""


@dataclass(frozen=True, slots=True)
class VisibleKeys:
    """Which keys rows see under a mask; an axis of length 1 applies to all windows, or all rows."""

    _reach: Int[np.ndarray, "batch query"]
    """One past the last key that a row sees; under a causal mask, one past the row itself."""
    _clear: Int[np.ndarray, "batch query"]
    """Number of keys, from the first, that the mask does not change."""

    def reach(self, windows: slice, rows: slice) -> int:
        """One past the last key that any of these rows sees."""
        return int(self._reach[_of(self._reach, windows, rows)].max())

    def clear(self, windows: slice, rows: slice) -> int:
        """Number of keys, from the first, that the mask does not change for any of these rows."""
        return int(self._clear[_of(self._clear, windows, rows)].min())


def _of(keys: Int[np.ndarray, "batch query"], windows: slice, rows: slice) -> tuple[slice, slice]:
    everything = slice(None)
    return (windows if len(keys) > 1 else everything, rows if keys.shape[1] > 1 else everything)


def visible_keys(mask: Tensor) -> VisibleKeys:
    """Which keys rows see under a mask.

    A mask adds the least number of its dtype where nothing is seen: the softmax there is exactly
    zero, and need not be computed.

    Args:
        mask: What is added to the scores: window, head, row, key.
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
        # A row that sees nothing counts as one that sees everything.
        (keys - seen.flip(-1).byte().argmax(-1)).cpu().numpy(),
        torch.where(changed.any(-1), changed.byte().argmax(-1), keys).cpu().numpy(),
    )
