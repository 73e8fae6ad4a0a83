"""Softmax attention as most families define it, in fewer passes than their own functions take.

A family's own function scales all scores in a separate pass, adds the mask even where it changes
nothing, allocates memory at each step, and copies keys for heads that share them. Where that is all
it does, fewer passes give the same; whether it is gets tried for each module. Given a piece of
queries, keys and values; writes joined heads and column mass.
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
"""Relative, of the trial. In half precision it matters where a family rounds, so its own function
is used."""

_QUERIES, _KEYS = 5, 7
"""Numbers of queries and keys in the trial."""

_verdicts: MutableMapping[nn.Module, dict[torch.dtype, bool]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class PlainAttention:
    """Attention of some rows, with views of everything that it reads and writes.

    Only long operations are left to `compute`. Short ones, such as taking a slice, make threads
    wait for each other, since each releases the interpreter's lock and takes it again.
    """

    query: Float[Tensor, "map query d_head"]
    key: Float[Tensor, "map d_head key"]
    value: Float[Tensor, "map key d_value"]
    scaling: float
    mask: Tensor | None
    """What is added to the scores of the last keys: as many as it has columns."""
    masked: Tensor
    """The columns of the maps that the mask is added to."""
    maps: Float[Tensor, "map query key"]
    """One map per window and head."""
    weights: Float[Tensor, "map 1 query"]
    """The weight of each row in the mass: 0 for padding."""
    mass: Float[Tensor, "map 1 key"]
    joined: Tensor
    """map query d_value; for several windows, batch head query d_value."""

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
    """The attention of some windows, heads and rows, ready to be computed.

    Args:
        query: Of the rows.
        key: Of the keys that the rows see.
        value: Of the same keys.
        mask: What is added to the scores of the last keys, if anything.
        weights: The weight of each row in the mass.
        mass: Is added to.
        joined: Where the head outputs are written.
        scaling: What scores are multiplied by.
        buffer: Room for the maps.
    """
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
    """Keys or values of each window and head; a view for one window whose heads share none."""
    batch, groups, keys, width = shared.shape
    each = shared[:, :, None].expand(-1, -1, heads // groups, -1, -1)
    return each.reshape(batch * heads, keys, width)


def scaling_of(query: Tensor, options: Mapping[str, Any]) -> float:
    """What scores are multiplied by: the family's own factor, or 1 / sqrt(d_head)."""
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
    """Whether a family's function, called for this module, computes plain attention.

    Args:
        eager: The family's own attention function.
        module: The attention module that calls it.
        query: Shows heads, width, dtype and device.
        key: The same for keys.
        value: The same for values.
        options: What else the module passes to `eager`.
    """
    verdicts = _verdicts.setdefault(module, {})
    if query.dtype not in verdicts:
        given = partial(eager, module, **options)
        verdicts[query.dtype] = _try(given, query, key, value, scaling_of(query, options))
    return verdicts[query.dtype]


def _try(eager: Eager, query: Tensor, key: Tensor, value: Tensor, scaling: float) -> bool:
    """Compare both on random numbers on which caps, sinks and biases make a difference."""
    tolerance = _TOLERANCE.get(query.dtype)
    if tolerance is None or query.shape[1] % key.shape[1]:
        return False
    generator = torch.Generator().manual_seed(0)

    def random(like: Tensor, *shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=like.dtype).to(like.device)

    _, heads, _, width = query.shape
    # Scores of about 10, which a cap on scores changes.
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
