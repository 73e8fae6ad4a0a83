"""What a family's own eager code computes, read without headscope: hooks and output_attentions."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from tests.models.families import Family


@dataclass(frozen=True)
class EagerRun:
    """z and A of every attention call, in the order of calls within each stack."""

    joined_heads: list[Tensor]
    """Input of each output projection, in the order of calls over all stacks."""
    attentions: Mapping[str, tuple[Tensor, ...]]
    """By stack, as `output_attentions=True` returns them."""
    last_hidden_state: Tensor


def eager_run(family: Family, model: PreTrainedModel, inputs: Mapping[str, Tensor]) -> EagerRun:
    joined: list[Tensor] = []
    hooks = [
        module.register_forward_pre_hook(lambda _, given: joined.append(given[0]))
        for name, module in model.named_modules()
        if family.projection and name.endswith(family.projection)
    ]
    swin_attentions: list[Tensor] = []
    if family.title == "Swin":  # output_attentions keeps the last block of each stage only
        hooks += [
            module.register_forward_hook(lambda _, given, got: swin_attentions.append(got[1]))
            for name, module in model.named_modules()
            if name.endswith("attention")
        ]
    layer_inputs: list[Tensor] = []
    if family.title == "XLNet":
        hooks += [
            layer.register_forward_pre_hook(lambda _, given: layer_inputs.append(given[0]))
            for layer in model.layer
        ]
    with torch.no_grad():
        output = model(**inputs, output_attentions=True)
    for hook in hooks:
        hook.remove()
    if model.config.is_encoder_decoder:
        attentions = {
            "encoder": output.encoder_attentions,
            "decoder": output.decoder_attentions,
            "cross": output.cross_attentions,
        }
    else:
        (stack,) = family.stacks
        attentions = {stack: tuple(swin_attentions) or output.attentions}
    if family.title == "XLNet":
        joined = _xlnet_joined_heads(model, layer_inputs, output.attentions)
    return EagerRun(joined, attentions, output.last_hidden_state)


def _xlnet_joined_heads(
    model: PreTrainedModel, layer_inputs: list[Tensor], attentions: tuple[Tensor, ...]
) -> list[Tensor]:
    """XLNet projects by an einsum, not by a module: z is recomputed as A (x W_v)."""
    joined = []
    for layer, layer_input, attention in zip(model.layer, layer_inputs, attentions, strict=True):
        value = torch.einsum("tbm,mhd->bhtd", layer_input, layer.rel_attn.v)
        joined.append((attention @ value).transpose(1, 2).flatten(2))
    return joined
