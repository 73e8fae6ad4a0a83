"""z and attention maps of every layer as nnsight and TransformerLens give them.

Both are asked for these alone, hand them on while the model runs, so that no layer's maps are kept,
and stop after the last attention. They do not come with headscope: `pip install nnsight
transformer-lens`.
"""

import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    PreTrainedModel,
)

from common.by_hand import LastAttentionDone, OnLayer, Reader, by_head, is_bert
from common.configurations import Configuration
from common.models_and_windows import folder_of
from common.plain_batches import PlainBatch
from headscope.models.quiet import quiet_loading


def nnsight_reader(model: PreTrainedModel) -> Reader:
    """A reader of an eager model through nnsight."""
    from nnsight import NNsight

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of BERT's modules that are called `output`
        traced = NNsight(model)
    bert = is_bert(model)
    layers: Any = traced.encoder.layer if bert else traced.layers
    heads = model.config.num_attention_heads
    # No key is needed again: a cache of them would only slow this down.
    uncached = {} if bert else {"use_cache": False}

    def read(batch: PlainBatch, on_layer: OnLayer) -> None:
        with torch.inference_mode(), traced.trace(**batch.inputs, **uncached) as tracer:
            for layer in layers:
                if bert:
                    joined, maps = layer.attention.self.output
                else:
                    joined = layer.self_attn.o_proj.input
                    maps = layer.self_attn.output[1]
                on_layer(by_head(joined, heads), maps)
            tracer.stop()

    return read


def transformer_lens_reader(
    configuration: Configuration, models: Path
) -> tuple[Reader, PreTrainedModel]:
    """A reader through TransformerLens' bridge, without the LM head, which is not needed.

    Also gives the model that the bridge is built on.
    """
    from transformer_lens.model_bridge import TransformerBridge

    folder = folder_of(configuration, models)
    with quiet_loading():
        loaded = _with_head(configuration, folder)
        bridge: Any = TransformerBridge.boot_transformers(str(folder), hf_model=loaded)
    causal = not isinstance(loaded.config, BertConfig)
    setattr(bridge.original_model, "lm_head" if causal else "cls", torch.nn.Identity())
    uncached = {"use_cache": False} if causal else {}
    layers = loaded.config.num_hidden_layers
    waiting: dict[str, Tensor] = {}
    receiver: list[OnLayer] = []
    done = 0

    def on_value(value: Tensor, name: str) -> None:
        nonlocal done
        waiting[name] = value
        # Which of the two comes first depends on the family.
        if len(waiting) == 2:
            receiver[0](waiting.pop("z").transpose(1, 2), waiting.pop("pattern"))
            done += 1
            if done == layers:
                raise LastAttentionDone

    for layer in range(layers):
        place = f"blocks.{layer}.attn."
        bridge.add_hook(place + "hook_z", lambda value, hook: on_value(value, "z"))
        bridge.add_hook(place + "hook_pattern", lambda value, hook: on_value(value, "pattern"))

    def read(batch: PlainBatch, on_layer: OnLayer) -> None:
        nonlocal done
        done, receiver[:] = 0, [on_layer]
        with torch.inference_mode():
            try:
                bridge(
                    batch.token_ids,
                    attention_mask=batch.attention_mask,
                    return_type=None,
                    **uncached,
                )
            except LastAttentionDone:
                return
        raise LookupError(f"attention of {layers} layers was expected, {done} came")

    return read, loaded


def _with_head(configuration: Configuration, folder: Path) -> PreTrainedModel:
    """The model with its LM head, which the bridge is built for."""
    if configuration.name == "base":
        return BertForMaskedLM._from_config(BertConfig(), attn_implementation="eager").eval()  # type: ignore[no-untyped-call,no-any-return]
    bert = AutoConfig.from_pretrained(folder).model_type == "bert"
    family = AutoModelForMaskedLM if bert else AutoModelForCausalLM
    return family.from_pretrained(folder, dtype="float32", attn_implementation="eager").eval()  # type: ignore[no-any-return]
