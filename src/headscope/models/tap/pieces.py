"""Attention of some texts, or of some rows of a text, at a time.

A row of attention depends on its own query alone, so the family's own function may be called with
fewer queries: the result is the same, and the maps stay small enough for the cache. That holds
unless a family's function looks at more than its arguments; so it is tried on load.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from headscope.kernels.column_mass import column_mass

PIECE_NUMBERS = 1 << 18
"""Attention weights computed at once: 1 MB in float32."""

Eager = Callable[..., tuple[Tensor, Tensor]]


def attention_in_pieces(
    eager: Eager,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    options: Mapping[str, Any],
    real: Bool[Tensor, "batch query"] | None,
    row_pieces: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The joined heads and the column mass, without a whole map. (Shapes are the interface's.)

    Queries that are not `real` give no mass. `row_pieces` sets the number of pieces of each text,
    which otherwise follows from the size of its maps.
    """
    batch, heads, queries, _ = query.shape
    keys = key.shape[2]
    joined: Tensor | None = None
    mass = torch.zeros(batch, heads, keys, device=query.device, dtype=_mass_type(query))
    if real is None:
        real = torch.ones(batch, queries, dtype=torch.bool, device=query.device)
    for texts, rows in _slices(batch, queries, heads * keys, row_pieces):
        part_of_mask = None
        seen = keys
        if mask is not None:
            part_of_mask = mask[texts if mask.shape[0] == batch else slice(None)]
            if mask.shape[2] == queries:
                part_of_mask = part_of_mask[:, :, rows]
            seen = _keys_seen(part_of_mask, rows, keys)
            part_of_mask = part_of_mask[..., :seen]
        part, attention = eager(
            module,
            query[texts, :, rows],
            key[texts, :, :seen],
            value[texts, :, :seen],
            part_of_mask,
            **options,
        )
        if joined is None:
            joined = part.new_empty((batch, queries, *part.shape[2:]))
        joined[texts, rows] = part
        mass[texts, :, :seen] += column_mass(attention, real[texts, rows])
    assert joined is not None
    return joined, mass


def _slices(
    batch: int, queries: int, row_numbers: int, row_pieces: int | None
) -> Iterator[tuple[slice, slice]]:
    """Slices of texts and of rows that make up the batch; a row has `row_numbers` weights."""
    if row_pieces is None:
        rows = min(queries, max(1, PIECE_NUMBERS // row_numbers))
        texts = max(1, PIECE_NUMBERS // (row_numbers * queries))
    else:
        rows, texts = math.ceil(queries / row_pieces), 1
    for text in range(0, batch, texts):
        for row in range(0, queries, rows):
            yield slice(text, text + texts), slice(row, min(row + rows, queries))


def _keys_seen(mask: Tensor, rows: slice, keys: int) -> int:
    """How many keys these rows can see: under a causal mask those up to the last row."""
    if rows.stop >= keys or mask.shape[2] == 1:
        return keys
    hidden = mask[..., rows.stop : keys]
    # The mask adds the least number of its type: the softmax there is exactly zero.
    return rows.stop if bool((hidden <= torch.finfo(mask.dtype).min / 2).all()) else keys


def _mass_type(query: Tensor) -> torch.dtype:
    return torch.float64 if query.dtype == torch.float64 else torch.float32
