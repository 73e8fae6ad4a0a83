"""Attention of some texts, or of some heads and rows of a text, at a time.

A row of attention depends on its own query alone, so the family's own function may be called with
fewer queries, and with fewer heads: the result is the same, and the maps stay small enough for the
cache. That holds unless a family's function looks at more than its arguments; so it is tried on
load.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn
from torch.utils.weak import WeakIdKeyDictionary

from headscope.kernels.column_mass import column_mass
from headscope.models.tap.plain_attention import Eager, is_plain, plain_attention, scaling_of
from headscope.threads import in_threads

PIECE_NUMBERS = 1 << 18
"""Attention weights of whole texts computed at once: 1 MB in float32, for the cache of a core."""
ROWS_NUMBERS = 1 << 19
"""The same of a text that has more: products of very few rows are slow."""

_ROWS_AT_ONCE = 256

_sights: MutableMapping[Tensor, "_Sight"] = WeakIdKeyDictionary()
"""What rows see under masks that are alive: most models give all layers the same."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How a model's attention may be cut, beside into texts."""

    by_head: bool
    """Whether heads that share no keys may be computed apart."""
    rows: int | None = None
    """So many rows in a piece, of every text; otherwise it follows from the size of the maps."""


@dataclass(frozen=True, slots=True)
class _Piece:
    texts: slice
    heads: slice
    key_heads: slice
    rows: slice

    def numbers(self, keys: int) -> int:
        """How many attention weights it has."""
        parts = (self.texts, self.heads, self.rows)
        return keys * math.prod(int(part.stop - part.start) for part in parts)


@dataclass(frozen=True, slots=True)
class _Sight:
    """What rows see under a mask; an axis of length 1 holds for all texts, or all rows."""

    reach: Int[np.ndarray, "batch query"]
    """One past the last key that a row sees; under a causal mask that is the row itself."""
    clear: Int[np.ndarray, "batch query"]
    """How many keys, from the first, the mask leaves as they are."""


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

    Queries that are not `real` give no mass.
    """
    batch, heads, queries, _ = query.shape
    keys = key.shape[2]
    joined = value.new_empty(batch, queries, heads, value.shape[3])
    if real is None:
        real = torch.ones(batch, queries, dtype=torch.bool, device=query.device)

    def compute(pieces: Iterable[_Piece]) -> Tensor:
        mass = torch.zeros(batch, heads, keys, device=query.device, dtype=_mass_type(query))
        room = query.new_empty(largest if plain else 0)
        for piece in pieces:
            texts, rows = piece.texts, piece.rows
            seen, part_of_mask = keys, None
            if mask is not None and sight is not None:
                seen = int(_part_of_sight(sight.reach, piece, query).max())
                clear = int(_part_of_sight(sight.clear, piece, query).min())
                # A mask that changes nothing need not be added.
                if clear < seen:
                    first = clear if plain else 0
                    part_of_mask = _part_of_mask(mask, piece, query)[..., first:seen]
            given = (
                query[texts, piece.heads, rows],
                key[texts, piece.key_heads, :seen],
                value[texts, piece.key_heads, :seen],
                part_of_mask,
            )
            if plain:
                part, attention = plain_attention(*given, scaling_of(query, options), room)
            else:
                part, attention = eager(module, *given, **options)
            joined[texts, rows, piece.heads] = part
            mass[texts, piece.heads, :seen] += column_mass(attention, real[texts, rows])
        return mass

    sight = _sight(mask) if mask is not None else None
    plain = is_plain(eager, module, query, key, value, options)
    all_pieces = list(_pieces(query.shape, key.shape, cut))
    largest = max(piece.numbers(keys) for piece in all_pieces)
    long = all_pieces[0].rows.stop < queries
    threads = torch.get_num_threads() if long and query.device.type == "cpu" else 1
    # Their order is fixed, so that sums come out the same each time; every second one, since under
    # a causal mask later rows take longer.
    shares = [all_pieces[first::threads] for first in range(min(threads, len(all_pieces)))]
    masses = in_threads(compute, shares)
    return joined, sum(masses[1:], start=masses[0])


def _pieces(query: torch.Size, key: torch.Size, cut: Cut) -> Iterator[_Piece]:
    """All of the batch, cut; texts that fit are not cut themselves."""
    batch, heads, queries, _ = query
    _, key_heads, keys, _ = key
    numbers = heads * queries * keys
    rows = queries
    if cut.rows is not None or numbers > PIECE_NUMBERS:
        apart = key_heads if cut.by_head and heads % key_heads == 0 else 1
        rows = cut.rows or min(queries, max(1, ROWS_NUMBERS // (heads // apart * keys)))
        texts = 1
    else:
        apart, texts = 1, max(1, PIECE_NUMBERS // numbers)
    for text in range(0, batch, texts):
        for group in range(apart):
            for row in range(0, queries, rows):
                yield _Piece(
                    slice(text, text + texts),
                    _part(group, heads // apart),
                    _part(group, key_heads // apart),
                    slice(row, min(row + rows, queries)),
                )


def _part(number: int, size: int) -> slice:
    return slice(number * size, (number + 1) * size)


def _part_of_mask(mask: Tensor, piece: _Piece, query: Tensor) -> Tensor:
    """The mask of a piece; an axis of length 1 holds for all."""
    for axis, part in enumerate((piece.texts, piece.heads, piece.rows)):
        if mask.shape[axis] == query.shape[axis] > 1:
            mask = mask[(slice(None),) * axis + (part,)]
    return mask


def _part_of_sight(
    keys: Int[np.ndarray, "batch query"], piece: _Piece, query: Tensor
) -> Int[np.ndarray, "some_texts some_queries"]:
    texts = piece.texts if len(keys) == len(query) else slice(None)
    rows = piece.rows if keys.shape[1] == query.shape[2] else slice(None)
    return keys[texts, rows]


def _sight(mask: Tensor) -> _Sight:
    """What rows see under a mask.

    It adds the least number of its type where nothing is seen: the softmax there is exactly zero,
    and need not be computed.
    """
    known = _sights.get(mask)
    if known is None:
        parts = [_sight_of_rows(rows) for rows in torch.split(mask, _ROWS_AT_ONCE, dim=2)]
        known = _Sight(
            reach=np.concatenate([part.reach for part in parts], axis=1),
            clear=np.concatenate([part.clear for part in parts], axis=1),
        )
        _sights[mask] = known
    return known


def _sight_of_rows(mask: Tensor) -> _Sight:
    keys = mask.shape[-1]
    seen = (mask > torch.finfo(mask.dtype).min / 2).any(1)
    changed = (mask != 0).any(1)
    return _Sight(
        # A row that sees nothing at all counts as one that sees everything.
        reach=(keys - seen.flip(-1).byte().argmax(-1)).cpu().numpy(),
        clear=torch.where(changed.any(-1), changed.byte().argmax(-1), keys).cpu().numpy(),
    )


def _mass_type(query: Tensor) -> torch.dtype:
    return torch.float64 if query.dtype == torch.float64 else torch.float32
