"""Attention sites: where in a model a head output is read."""

from dataclasses import dataclass
from typing import Literal

Tier = Literal["interface", "function-mode", "projection"]


@dataclass(frozen=True, slots=True)
class AttentionSite:
    """One attention layer of a model, as people count it."""

    stack: str
    """`encoder`, `decoder` or `cross`. A model with one stack is a `decoder` when it is causal."""
    layer: int
    """From 1, in the order in which the layers of the stack run."""
    name: str
    """Qualified name of the attention module. Layers that share one share its name (ALBERT)."""
    heads: int
    d_head: int
    """Width of what a head writes (the value width, which may differ from the query width)."""
    causal: bool
    """Whether no query sees a later key, as measured on load."""
    tier: Tier
    """How the head output is read: see `headscope.models.tap`."""
