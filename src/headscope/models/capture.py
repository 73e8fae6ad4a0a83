"""What the tap hands over at each attention layer."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from headscope.models.site import AttentionSite


@dataclass(frozen=True, slots=True)
class LayerCapture:
    """Head outputs and attention maps of one layer, for one batch.

    Rows and columns of padding hold whatever the model computed there: mask them. In the `decoder`
    and `cross` stacks of an encoder-decoder the queries are the shifted text, see
    `LoadedModel.decoder_inputs`.
    """

    site: AttentionSite
    head_output: Float[Tensor, "batch head query d_head"]
    """Z = softmax(...) V, before the heads are joined. Often a transposed view: not contiguous."""
    attention: Float[Tensor, "batch head query key"]
    """A. Rows sum to 1 over real keys; to less in a model with attention sinks (gpt-oss): a sink is
    no token and has no column here."""


@dataclass(frozen=True, slots=True)
class MassCapture:
    """Head outputs of one layer and what each key received, for one batch: all that a run needs."""

    site: AttentionSite
    head_output: Float[Tensor, "batch head query d_head"]
    mass: Float[Tensor, "batch head key"]
    """s_j = sum over real queries i of A_ij."""
