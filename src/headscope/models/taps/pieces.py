"""Attention of some texts, or of some heads and rows of a text, at a time.

A row of attention depends on its own query alone, so the family's own function may be called with
fewer queries, and with fewer heads: the result is the same, and the maps stay small enough for the
cache. That holds unless a family's function looks at more than its arguments; so it is tried on
load.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from headscope.kernels.token_rows import column_mass
from headscope.models.taps.plain_attention import Eager, is_plain, lay_out, scaling_of
from headscope.models.taps.visible_keys import visible_keys
from headscope.system.threads import in_threads

PIECE_NUMBERS = 1 << 18
"""Attention weights of whole texts computed at once: 1 MB in float32, for the cache of a core."""
ROWS_NUMBERS = 1 << 20
"""The same of a text that has more: products of very few rows are slow."""


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
    weights = real.to(_mass_type(query))

    sight = visible_keys(mask) if mask is not None else None
    plain = is_plain(eager, module, query, key, value, options)
    heads_first = joined.transpose(1, 2)

    def step(piece: _Piece, mass: Tensor, buffer: Tensor) -> Callable[[], None]:
        """What computes a piece."""
        texts, rows = piece.texts, piece.rows
        seen, part_of_mask = keys, None
        if mask is not None and sight is not None:
            seen, clear = sight.reach(texts, rows), sight.clear(texts, rows)
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
        results = (
            weights[texts, rows],
            mass[texts, piece.heads, :seen],
            heads_first[texts, piece.heads, rows],
        )
        if plain:
            return lay_out(*given, *results, scaling_of(query, options), buffer).compute
        return partial(_compute, partial(eager, module, *given, **options), *results)

    all_pieces = list(_pieces(query.shape, key.shape, cut))
    long = all_pieces[0].rows.stop < queries
    threads = torch.get_num_threads() if long and query.device.type == "cpu" else 1
    # Their order is fixed, so that sums come out the same each time; every second one, since under
    # a causal mask later rows take longer.
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
    """A piece by the family's own function."""
    part, attention = eager()
    joined.copy_(part.transpose(1, 2))
    mass += column_mass(attention, weights)


def _pieces(query: torch.Size, key: torch.Size, cut: Cut) -> Iterator[_Piece]:
    """All of the batch, cut; texts that fit are not cut themselves."""
    batch, heads, queries, _ = query
    _, key_heads, keys, _ = key
    numbers = heads * queries * keys
    rows = queries
    if cut.rows is not None or numbers > PIECE_NUMBERS:
        apart = key_heads if cut.by_head and heads % key_heads == 0 else 1
        rows = cut.rows or _even(queries, max(1, ROWS_NUMBERS // (heads // apart * keys)))
        texts = 1
    else:
        apart, texts = 1, max(1, PIECE_NUMBERS // numbers)
    for text in range(0, batch, texts):
        for row in range(0, queries, rows):
            for group in range(apart):
                yield _Piece(
                    slice(text, text + texts),
                    _part(group, heads // apart),
                    _part(group, key_heads // apart),
                    slice(row, min(row + rows, queries)),
                )


def _even(number: int, most: int) -> int:
    """The size of parts of about the same size, none of which has more than `most`."""
    return math.ceil(number / math.ceil(number / most))


def _part(number: int, size: int) -> slice:
    return slice(number * size, (number + 1) * size)


def _part_of_mask(mask: Tensor, piece: _Piece, query: Tensor) -> Tensor:
    """The mask of a piece; an axis of length 1 holds for all."""
    for axis, part in enumerate((piece.texts, piece.heads, piece.rows)):
        if mask.shape[axis] == query.shape[axis] > 1:
            mask = mask[(slice(None),) * axis + (part,)]
    return mask


def _mass_type(query: Tensor) -> torch.dtype:
    return torch.float64 if query.dtype == torch.float64 else torch.float32
