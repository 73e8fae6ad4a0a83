"""Softmax attention as most families define it, without the passes that their functions spend.

A family's own function scales all scores in a pass of its own, adds the mask where it changes
nothing, too, takes new memory at each step, and copies keys for heads that share them. Where it
computes nothing else, the same comes out of fewer passes. Whether it does is tried out, module by
module.
"""

from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

Eager = Callable[..., tuple[Tensor, Tensor]]

_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
"""Of the trial, relative. In half precision it matters where families round: theirs is used."""

_QUERIES, _KEYS = 5, 7
"""Of the trial."""

_verdicts: MutableMapping[nn.Module, dict[torch.dtype, bool]] = WeakKeyDictionary()


def plain_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float, room: Tensor
) -> tuple[Tensor, Tensor]:
    """Joined heads (batch query head d_head) and attention, as a family's own function gives them.

    `mask` is added to the scores of the last keys, as many as it has columns. Heads that share keys
    are rows of one product. The attention is in `room`, which the next call writes over.
    """
    batch, heads, queries, d_head = query.shape
    groups, keys = key.shape[1:3]
    maps = room[: batch * heads * queries * keys].view(batch * groups, -1, keys)
    by_group = query.reshape(batch * groups, -1, d_head)
    maps.baddbmm_(by_group, key.flatten(0, 1).mT, beta=0, alpha=scaling)
    attention = maps.view(batch, heads, queries, keys)
    if mask is not None:
        attention[..., keys - mask.shape[-1] :] += mask
    torch.softmax(maps, dim=-1, out=maps)
    joined = torch.bmm(maps, value.flatten(0, 1)).view(batch, heads, queries, -1).transpose(1, 2)
    return joined, attention


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
    room = query.new_empty(2 * heads * _QUERIES * _KEYS)
    ours = plain_attention(queries, keys, values, mask, scaling, room)
    try:
        theirs = eager(queries, keys, values, mask)
        return all(
            one.shape == other.shape and bool((one - other).norm() <= tolerance * other.norm())
            for one, other in zip(ours, theirs, strict=True)
        )
    except (RuntimeError, ValueError, IndexError, TypeError, AttributeError):
        return False
