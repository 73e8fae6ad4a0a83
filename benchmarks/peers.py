"""z and attention maps of every layer as nnsight and TransformerLens give them.

Both are asked for these alone, and do not come with headscope: `pip install nnsight
transformer-lens`.
"""

import warnings
from pathlib import Path

import torch
from by_hand import OnLayer, Reader
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedModel

from headscope.kernels.labels import TokenLabels


def nnsight_reader(model: PreTrainedModel) -> Reader:
    """Reads an eager model through nnsight."""
    from nnsight import NNsight

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of BERT's modules that are called `output`
        traced = NNsight(model)
    is_bert = hasattr(model, "encoder")
    heads = model.config.num_attention_heads

    def read(labels: TokenLabels, on_layer: OnLayer) -> None:
        with (
            torch.inference_mode(),
            traced.trace(input_ids=labels.token_ids, attention_mask=labels.real.long()),
        ):
            maps, joined = [].save(), [].save()
            for layer in traced.encoder.layer if is_bert else traced.layers:
                attention = layer.attention if is_bert else layer.self_attn
                if is_bert:
                    maps.append(attention.self.output[1])
                    joined.append(attention.E_output.dense.input)
                else:
                    joined.append(attention.o_proj.input)
                    maps.append(attention.output[1])
        for z, attention in zip(joined, maps, strict=True):
            on_layer(z.unflatten(-1, (heads, -1)).transpose(1, 2), attention)

    return read


def transformer_lens_reader(path: Path, *, causal: bool) -> Reader:
    """Reads a checkpoint through TransformerLens' bridge, without the head nobody asked for."""
    from transformer_lens.model_bridge import TransformerBridge

    family = AutoModelForCausalLM if causal else AutoModelForMaskedLM
    loaded = family.from_pretrained(path, dtype="float32", attn_implementation="eager").eval()
    bridge = TransformerBridge.boot_transformers(str(path), hf_model=loaded)
    setattr(bridge.original_model, "lm_head" if causal else "cls", torch.nn.Identity())

    def wanted(name: str) -> bool:
        return name.endswith(("attn.hook_z", "attn.hook_pattern"))

    def read(labels: TokenLabels, on_layer: OnLayer) -> None:
        with torch.inference_mode():
            _, cache = bridge.run_with_cache(
                labels.token_ids, names_filter=wanted, attention_mask=labels.real.long()
            )
        for layer in range(loaded.config.num_hidden_layers):
            place = f"blocks.{layer}.attn."
            z = cache[place + "hook_z"].transpose(1, 2)
            on_layer(z, cache[place + "hook_pattern"])

    return read
