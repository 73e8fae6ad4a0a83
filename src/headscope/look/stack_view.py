"""What a model computed for one text, layer by layer, in the shape of the kernels."""

from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor

from headscope.kernels.window_batch import WindowBatch
from headscope.models.site import AttentionSite


@dataclass(frozen=True, slots=True)
class LayerView:
    """What a layer computed for the text, in the shape of the kernels: a batch of one."""

    site: AttentionSite
    head_output: Float[Tensor, "1 head token d_head"]
    attention: Float[Tensor, "1 head token key"]
    column_mass: Float[Tensor, "1 head key"]
    """Scaled to a maximum of 1."""


@dataclass(frozen=True, slots=True)
class StackView:
    """An attention stack, and the text as that stack reads it."""

    batch: WindowBatch
    tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    layers: list[LayerView] = field(default_factory=list)
