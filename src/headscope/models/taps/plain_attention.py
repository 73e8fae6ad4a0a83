"""Softmax attention as most families define it, without the passes that their functions spend.

A family's own function scales all scores in a pass of its own, adds the mask where it changes
nothing, too, takes new memory at each step, and copies keys for heads that share them. Where it
computes nothing else, the same comes out of fewer passes. Whether it does is tried out, module by
module.
"""

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor, nn

Eager = Callable[..., tuple[Tensor, Tensor]]

_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
"""Of the trial, relative. In half precision it matters where families round: theirs is used."""

_QUERIES, _KEYS = 5, 7
"""Of the trial."""

_verdicts: MutableMapping[nn.Module, dict[torch.dtype, bool]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class PlainAttention:
    """Attention of some rows, with all that it reads and writes in its place.

    Only long operations are left to do. Short ones, such as taking a slice, would have threads wait
    for each other: each gives the interpreter's lock away and takes it again.
    """

    query: Float[Tensor, "map query d_head"]
    key: Float[Tensor, "map d_head key"]
    value: Float[Tensor, "map key d_value"]
    scaling: float
    mask: Tensor | None
    """Of the last keys, as many as it has columns."""
    masked: Tensor
    """These of all maps."""
    maps: Float[Tensor, "map query key"]
    """Of a text and a head each."""
    weights: Float[Tensor, "map 1 query"]
    """What rows count in the mass: padding nothing."""
    mass: Float[Tensor, "map 1 key"]
    joined: Tensor
    """map query d_value; batch head query d_value of several texts."""

    def compute(self) -> None:
        """Write the joined heads and the maps, and add to the mass."""
        self.maps.baddbmm_(self.query, self.key, beta=0, alpha=self.scaling)
        if self.mask is not None:
            self.masked.add_(self.mask)
        torch.softmax(self.maps, dim=-1, out=self.maps)
        self.mass.baddbmm_(self.weights, self.maps)
        if self.joined.ndim == self.maps.ndim:
            torch.bmm(self.maps, self.value, out=self.joined)
        else:
            self.joined.copy_(torch.bmm(self.maps, self.value).view_as(self.joined))


def lay_out(
    query: Float[Tensor, "batch head query d_head"],
    key: Float[Tensor, "batch group key d_head"],
    value: Float[Tensor, "batch group key d_value"],
    mask: Tensor | None,
    weights: Float[Tensor, "batch query"],
    mass: Float[Tensor, "batch head key"],
    joined: Float[Tensor, "batch head query d_value"],
    scaling: float,
    buffer: Float[Tensor, " number"],
) -> PlainAttention:
    """What computes the attention of these texts and heads; maps are written to `buffer`."""
    batch, heads, queries, _ = query.shape
    keys = key.shape[2]
    maps = buffer[: batch * heads * queries * keys].view(batch, heads, queries, keys)
    last = keys - (mask.shape[-1] if mask is not None else 0)
    return PlainAttention(
        query=query.flatten(0, 1),
        key=_for_each_head(key, heads).mT,
        value=_for_each_head(value, heads),
        scaling=scaling,
        mask=mask,
        masked=maps[..., last:],
        maps=maps.flatten(0, 1),
        weights=weights[:, None, None].expand(-1, heads, -1, -1).flatten(0, 1),
        mass=mass.flatten(0, 1)[:, None],
        joined=joined[0] if batch == 1 else joined,
    )


def _for_each_head(
    shared: Float[Tensor, "batch group key d_head"], heads: int
) -> Float[Tensor, "map key d_head"]:
    """Keys, or values, of each text and head; of one text, and if no heads share them, a view."""
    batch, groups, keys, width = shared.shape
    each = shared[:, :, None].expand(-1, -1, heads // groups, -1, -1)
    return each.reshape(batch * heads, keys, width)


def scaling_of(query: Tensor, options: Mapping[str, Any]) -> float:
    """What scores are multiplied by: what the family says, or the usual."""
    given = options.get("scaling")
    return float(query.shape[-1] ** -0.5 if given is None else given)


def is_plain(
    eager: Eager,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    options: Mapping[str, Any],
) -> bool:
    """Whether a family's function, called for this module, computes plain attention."""
    verdicts = _verdicts.setdefault(module, {})
    if query.dtype not in verdicts:
        given = partial(eager, module, **options)
        verdicts[query.dtype] = _try(given, query, key, value, scaling_of(query, options))
    return verdicts[query.dtype]


def _try(eager: Eager, query: Tensor, key: Tensor, value: Tensor, scaling: float) -> bool:
    """Both on the same random numbers, on which caps, sinks and biases make a difference."""
    tolerance = _TOLERANCE.get(query.dtype)
    if tolerance is None or query.shape[1] % key.shape[1]:
        return False
    generator = torch.Generator().manual_seed(0)

    def random(like: Tensor, *shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=like.dtype).to(like.device)

    _, heads, _, width = query.shape
    # Scores of about 10: a cap on scores changes those.
    spread = (10 / (scaling * width**0.5)) ** 0.5
    queries = random(query, 2, heads, _QUERIES, width) * spread
    keys = random(key, 2, key.shape[1], _KEYS, width) * spread
    values = random(value, 2, value.shape[1], _KEYS, value.shape[3])
    mask = random(query, 2, 1, _QUERIES, _KEYS)
    buffer = query.new_empty(2 * heads * _QUERIES * _KEYS)
    joined = torch.empty(2, heads, _QUERIES, values.shape[3]).to(values)
    mass = query.new_zeros(2, heads, _KEYS)
    weights = query.new_ones(2, _QUERIES)
    plain = lay_out(queries, keys, values, mask, weights, mass, joined, scaling, buffer)
    plain.compute()
    ours = (joined.transpose(1, 2), plain.maps.view(2, heads, _QUERIES, _KEYS))
    try:
        theirs = eager(queries, keys, values, mask)
        return all(
            one.shape == other.shape and bool((one - other).norm() <= tolerance * other.norm())
            for one, other in zip(ours, theirs, strict=True)
        )
    except (RuntimeError, ValueError, IndexError, TypeError, AttributeError):
        return False
