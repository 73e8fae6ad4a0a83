"""The families that headscope is tested on, as tiny random models built from their config classes.

Also the source of the table in docs/architectures.md: see tools/write_families.py.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers

HIDDEN, HEADS, LAYERS = 32, 4, 2


@dataclass(frozen=True, eq=False)  # by identity, for caches: settings cannot be hashed
class Family:
    """One family: how to build it small, and what the tap must find in it."""

    title: str
    config: str
    """Name of the config class."""
    settings: Mapping[str, Any]
    projection: str | tuple[str, ...]
    """End of the name of the module that takes the joined heads (it changed between versions of
    transformers): the oracle reads z there."""
    tier: str = "interface"
    stacks: Mapping[str, int] = field(default_factory=lambda: {"encoder": LAYERS})
    """Layers of each stack."""
    d_head: int = HIDDEN // HEADS
    causal: bool = False
    note: str = ""
    refused: str | None = None
    """What the refusal must say."""

    @property
    def modality(self) -> str:
        return {"Swin": "vision", "ViT": "vision", "DINOv2": "vision"}.get(
            self.title, "audio" if self.title in ("Whisper", "wav2vec2") else "text"
        )


def build(family: Family, *, seed: int = 1, dtype: str = "float32") -> transformers.PreTrainedModel:
    """A random model of the family, with weights large enough that heads differ clearly."""
    config = getattr(transformers, family.config)(**family.settings)
    torch.manual_seed(seed)
    with warnings.catch_warnings(action="ignore"):  # DeBERTa's file uses torch.jit.script
        model = transformers.AutoModel.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1 and parameter.std() > 0:
                parameter.mul_(0.3 / parameter.std())
    return model.eval().to(getattr(torch, dtype))


def inputs_of(family: Family) -> dict[str, torch.Tensor]:
    """A batch of three of uneven length (of one size for images and spectrograms)."""
    generator = torch.Generator().manual_seed(7)
    if family.modality == "vision":
        return {"pixel_values": torch.randn(3, 3, 16, 16, generator=generator)}
    if family.title == "Whisper":
        return {
            "input_features": torch.randn(3, 8, 20, generator=generator),
            "decoder_input_ids": torch.randint(3, 50, (3, 6), generator=generator),
        }
    if family.title == "wav2vec2":
        mask = (torch.arange(3000) < torch.tensor([[3000], [2000], [1500]])).long()
        return {
            "input_values": torch.randn(3, 3000, generator=generator) * mask,
            "attention_mask": mask,
        }
    mask = (torch.arange(8) < torch.tensor([[8], [5], [3]])).long()
    ids = torch.randint(3, 50, (3, 8), generator=generator)
    padding = family.settings.get("pad_token_id", 0)
    return {"input_ids": ids.masked_fill(mask == 0, padding), "attention_mask": mask}


_BERT = {
    "vocab_size": 50,
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 48,
    "max_position_embeddings": 40,
    "pad_token_id": 1,
}
_LLAMA = {
    **_BERT,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_GPT = {
    "vocab_size": 50,
    "n_positions": 40,
    "n_embd": HIDDEN,
    "n_layer": LAYERS,
    "n_head": HEADS,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_SEQ2SEQ = {
    "vocab_size": 50,
    "d_model": HIDDEN,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS + 1,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 40,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}
_IMAGE = {
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 48,
    "image_size": 16,
    "patch_size": 4,
    "num_channels": 3,
}
_IMAGE_PROJECTION = ("attention.o_proj", "attention.output.dense")
_CLIP_TEXT = {**_BERT, "projection_dim": 16, "bos_token_id": 0, "eos_token_id": 2}
_EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1}
_ROBERTA = {**_BERT, "bos_token_id": 0, "eos_token_id": 2}

_DECODER = {"stacks": {"decoder": LAYERS}, "causal": True}
_THREE = {"stacks": {"encoder": LAYERS, "decoder": LAYERS + 1, "cross": LAYERS + 1}}
_BY_FUNCTION = {"tier": "function-mode"}

FAMILIES = (
    Family("BERT", "BertConfig", _BERT, "attention.output.dense"),
    Family("RoBERTa", "RobertaConfig", _ROBERTA, "attention.output.dense"),
    Family("XLM-R", "XLMRobertaConfig", _ROBERTA, "attention.output.dense"),
    Family("CamemBERT", "CamembertConfig", _ROBERTA, "attention.output.dense"),
    Family(
        "DistilBERT",
        "DistilBertConfig",
        {
            "vocab_size": 50,
            "dim": HIDDEN,
            "n_layers": LAYERS,
            "n_heads": HEADS,
            "hidden_dim": 48,
            "max_position_embeddings": 40,
        },
        "attention.out_lin",
        note="no `layer_idx`",
    ),
    Family("ELECTRA", "ElectraConfig", {**_BERT, "embedding_size": 16}, "attention.output.dense"),
    Family(
        "ALBERT",
        "AlbertConfig",
        {**_BERT, "embedding_size": 16, "num_hidden_layers": 3},
        "attention.dense",
        stacks={"encoder": 3},
        note="all layers share one module",
    ),
    Family(
        "ModernBERT",
        "ModernBertConfig",
        {**_ROBERTA, "cls_token_id": 0, "sep_token_id": 2, "local_attention": 4},
        "attn.Wo",
        note="local and global layers",
    ),
    Family("MPNet", "MPNetConfig", _BERT, "attention.attn.o", **_BY_FUNCTION),
    Family(
        "DeBERTa",
        "DebertaConfig",
        {
            **_BERT,
            "pad_token_id": 0,
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "max_relative_positions": 16,
        },
        "attention.output.dense",
        **_BY_FUNCTION,
    ),
    Family(
        "DeBERTa-v2",
        "DebertaV2Config",
        {
            **_BERT,
            "pad_token_id": 0,
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "max_relative_positions": 16,
        },
        "attention.output.dense",
        **_BY_FUNCTION,
    ),
    Family(
        "XLNet",
        "XLNetConfig",
        {
            "vocab_size": 50,
            "d_model": HIDDEN,
            "n_layer": LAYERS,
            "n_head": HEADS,
            "d_inner": 48,
            "pad_token_id": 0,
        },
        "",
        note="output projection is an einsum",
        **_BY_FUNCTION,
    ),
    Family(
        "Longformer",
        "LongformerConfig",
        {**_ROBERTA, "attention_window": 4},
        "",
        tier="refused",
        stacks={},
        refused="overlapping windows",
        note="attends in windows: there is no map of all queries by all keys",
    ),
    Family("GPT-2", "GPT2Config", _GPT, "attn.c_proj", **_DECODER),
    Family(
        "GPT-Neo",
        "GPTNeoConfig",
        {
            "vocab_size": 50,
            "max_position_embeddings": 40,
            "hidden_size": HIDDEN,
            "num_layers": LAYERS,
            "num_heads": HEADS,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 4,
            "bos_token_id": 1,
            "eos_token_id": 2,
        },
        "attention.out_proj",
        **_DECODER,
        **_BY_FUNCTION,
    ),
    Family(
        "GPT-J",
        "GPTJConfig",
        {**_GPT, "rotary_dim": 4},
        "attn.out_proj",
        **_DECODER,
        **_BY_FUNCTION,
    ),
    Family(
        "GPT-NeoX", "GPTNeoXConfig", {**_BERT, "pad_token_id": 0}, "attention.dense", **_DECODER
    ),
    Family(
        "OPT",
        "OPTConfig",
        {**_BERT, "ffn_dim": 48, "word_embed_proj_dim": HIDDEN},
        "self_attn.out_proj",
        **_DECODER,
    ),
    Family(
        "BLOOM",
        "BloomConfig",
        {
            "vocab_size": 50,
            "hidden_size": HIDDEN,
            "n_layer": LAYERS,
            "n_head": HEADS,
            "pad_token_id": 3,
        },
        "self_attention.dense",
        note="alibi",
        **_DECODER,
        **_BY_FUNCTION,
    ),
    Family(
        "Falcon",
        "FalconConfig",
        {**_BERT, "pad_token_id": 0, "new_decoder_architecture": False, "multi_query": True},
        "self_attention.dense",
        note="one value group for all heads",
        **_DECODER,
        **_BY_FUNCTION,
    ),
    Family(
        "MPT",
        "MptConfig",
        {
            "vocab_size": 50,
            "d_model": HIDDEN,
            "n_layers": LAYERS,
            "n_heads": HEADS,
            "max_seq_len": 40,
        },
        "attn.out_proj",
        note="alibi",
        **_DECODER,
        **_BY_FUNCTION,
    ),
    Family("Llama", "LlamaConfig", _LLAMA, "self_attn.o_proj", note="grouped heads", **_DECODER),
    Family(
        "Mistral",
        "MistralConfig",
        {**_LLAMA, "sliding_window": 4, "head_dim": 6},
        "self_attn.o_proj",
        d_head=6,
        note="sliding window",
        **_DECODER,
    ),
    Family(
        "Mixtral",
        "MixtralConfig",
        {**_LLAMA, **_EXPERTS},
        "self_attn.o_proj",
        note="experts",
        **_DECODER,
    ),
    Family("Qwen2", "Qwen2Config", _LLAMA, "self_attn.o_proj", **_DECODER),
    Family(
        "Qwen3",
        "Qwen3Config",
        {**_LLAMA, "head_dim": 16},
        "self_attn.o_proj",
        d_head=16,
        note="heads x d_head is not d_model",
        **_DECODER,
    ),
    Family(
        "Gemma2",
        "Gemma2Config",
        {**_LLAMA, "head_dim": 16, "sliding_window": 4, "attn_logit_softcapping": 2.0},
        "self_attn.o_proj",
        d_head=16,
        note="soft cap: sdpa leaves it out, headscope follows eager",
        **_DECODER,
    ),
    Family(
        "Gemma3",
        "Gemma3TextConfig",
        {**_LLAMA, "head_dim": 16, "sliding_window": 4},
        "self_attn.o_proj",
        d_head=16,
        **_DECODER,
    ),
    Family(
        "gpt-oss",
        "GptOssConfig",
        {**_LLAMA, **_EXPERTS, "head_dim": 16, "sliding_window": 4},
        "self_attn.o_proj",
        d_head=16,
        note="rows of A sum to less than 1: the rest goes to the sink",
        **_DECODER,
    ),
    Family("Phi-3", "Phi3Config", _LLAMA, "self_attn.o_proj", **_DECODER),
    Family(
        "DeepSeek-V3",
        "DeepseekV3Config",
        {
            **_LLAMA,
            "num_key_value_heads": HEADS,
            "q_lora_rank": 12,
            "kv_lora_rank": 10,
            "qk_rope_head_dim": 4,
            "qk_nope_head_dim": 6,
            "v_head_dim": 12,
            "n_routed_experts": 4,
            "n_group": 2,
            "topk_group": 1,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 16,
            "first_k_dense_replace": 1,
        },
        "self_attn.o_proj",
        d_head=12,
        note="latent attention: values wider than queries",
        **_DECODER,
    ),
    Family(
        "T5",
        "T5Config",
        {
            "vocab_size": 50,
            "d_model": HIDDEN,
            "d_kv": 6,
            "d_ff": 48,
            "num_layers": LAYERS,
            "num_decoder_layers": LAYERS + 1,
            "num_heads": HEADS,
            "decoder_start_token_id": 0,
            "pad_token_id": 0,
        },
        "Attention.o",
        d_head=6,
        note="position bias",
        **_THREE,
    ),
    Family("BART", "BartConfig", _SEQ2SEQ, "attn.out_proj", **_THREE),
    Family("Marian", "MarianConfig", _SEQ2SEQ, "attn.out_proj", **_THREE),
    Family("ViT", "ViTConfig", _IMAGE, _IMAGE_PROJECTION, note="patches as tokens"),
    Family("DINOv2", "Dinov2Config", _IMAGE, _IMAGE_PROJECTION, note="patches as tokens"),
    Family(
        "Swin",
        "SwinConfig",
        {
            "image_size": 16,
            "patch_size": 2,
            "num_channels": 3,
            "embed_dim": 16,
            "depths": [1, 2],
            "num_heads": [2, 4],
            "window_size": 4,
        },
        _IMAGE_PROJECTION,
        stacks={"encoder": 3},
        note="each window counts as a text of its own; heads differ by stage",
    ),
    Family(
        "CLIP",
        "CLIPConfig",
        {"text_config": _CLIP_TEXT, "vision_config": _IMAGE, "projection_dim": 16},
        "self_attn.out_proj",
        note="the text tower, which is causal; CLIPVisionModel for the image tower",
        **_DECODER,
    ),
    Family(
        "Whisper",
        "WhisperConfig",
        {
            **{k: v for k, v in _SEQ2SEQ.items() if k != "max_position_embeddings"},
            "num_mel_bins": 8,
            "max_source_positions": 10,
            "max_target_positions": 20,
        },
        "attn.out_proj",
        note="frames as tokens in the encoder",
        **_THREE,
    ),
    Family(
        "wav2vec2",
        "Wav2Vec2Config",
        {
            **_BERT,
            "conv_dim": [8, 8],
            "conv_kernel": [10, 8],
            "conv_stride": [10, 20],
            "num_conv_pos_embeddings": 4,
            "num_conv_pos_embedding_groups": 2,
            "feat_extract_norm": "layer",
            "do_stable_layer_norm": True,
        },
        "attention.out_proj",
        note="frames as tokens",
    ),
)
