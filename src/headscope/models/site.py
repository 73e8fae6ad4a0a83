"""Attention sites: where in a model head outputs are read, and what is captured there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor

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
    """How the head output is read: see `headscope.models.taps`."""


@dataclass(frozen=True, slots=True)
class LayerCapture:
    """Head outputs and attention maps of one layer, for one batch.

    Rows and columns of padding hold what the model happened to compute: mask them. In the `decoder`
    and `cross` stacks of an encoder-decoder the queries are shifted, see
    `LoadedModel.reads_shifted`.
    """

    site: AttentionSite
    head_output: Float[Tensor, "batch head query d_head"]
    """Z = softmax(...) V, before the heads are joined. Often a transposed view: not contiguous."""
    attention: Float[Tensor, "batch head query key"]
    """A. Rows sum to 1 over real keys, or to less in a model with attention sinks (gpt-oss): a sink
    is not a token and has no column here."""


@dataclass(frozen=True, slots=True)
class MassCapture:
    """Head outputs and column mass of one layer, for one batch: all that a run needs."""

    site: AttentionSite
    head_output: Float[Tensor, "batch head query d_head"]
    mass: Float[Tensor, "batch head key"]
    """s_j = sum over real queries i of A_ij."""


def sites_in_words(sites: Sequence[AttentionSite]) -> str:
    """Such as `encoder 6 layers x 12 heads`.

    Args:
        sites: Of a model.
    """
    stacks = dict.fromkeys(site.stack for site in sites)
    return ", ".join(
        f"{stack} {len(of_stack)} layers x {max(site.heads for site in of_stack)} heads"
        for stack in stacks
        if (of_stack := [site for site in sites if site.stack == stack])
    )
