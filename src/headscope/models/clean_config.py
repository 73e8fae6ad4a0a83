"""What is believed of a model's config.json and tokenizer_config.json.

transformers sets any key of these files as an attribute, and some attributes load things: attention
kernels from the hub, weights from another file, code, adapters, another tokenizer. What describes
the shape of the model is kept; all that could lead elsewhere is removed, at any depth, whatever its
value. Numbers that decide how often something is repeated are bounded by the weights that are
there.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.errors import ModelError, keyword_of

# Keys that begin with an underscore are internal to transformers, and are removed as well.
_REMOVED = {
    # Which code computes: attention, experts and other kernels are ours to choose.
    *("attn_implementation", "experts_implementation", "use_kernels", "kernel_config"),
    *("fusion_config", "distributed_config", "compression_config", "per_layer_config"),
    # Code, and other files.
    *("auto_map", "custom_pipelines", "custom_generate", "configuration_files"),
    *("transformers_weights", "name_or_path", "gguf_file", "base_model_name_or_path"),
    *("adapters", "adapter_config", "peft_config", "processor_class"),
    *("backbone", "use_pretrained_backbone", "use_timm_backbone", "backbone_kwargs"),
    # What is passed to load_model, and what a base model gives back.
    *("dtype", "torch_dtype", "return_dict", "use_return_dict", "output_attentions"),
    *("output_hidden_states", "use_cache", "gradient_checkpointing"),
    "task_specific_params",
}
_OF_HEADS = {"num_labels", "id2label", "label2id", "problem_type"}
"""Keys of classification heads, which are removed unless the model is loaded with its head."""
_REMOVED_FROM_TOKENIZER = {
    *("auto_map", "name_or_path", "chat_template", "processor_class", "sp_model_kwargs"),
    *("init_inputs", "local_files_only", "is_local", "gguf_file", "tokenizer_object"),
    *("fast_tokenizer_files", "subfolder", "revision", "token", "cache_dir", "code_revision"),
    *("vocab", "merges", "backend", "transformers_version", "config"),
}
_REPEATED = re.compile(
    r"(layers?|depths?|blocks?|stages?|experts?|groups?|heads|_head|loops?|iters|iterations?|steps?"
    r"|num_self_attends_per_block|langs?|languages)$"
)
"""Keys whose number says how often something is built or run."""
_MOST_REPEATED = 1_000
_LARGEST = (
    (re.compile(r"dim|embd|d_model|hidden_size|width|channels|kernel|bins|buckets"), 1 << 20),
    (re.compile(r"position|ctx|seq|image_size"), 1 << 24),
)
"""The largest widths and inputs: what is computed for them need not be in the weights."""
_TOKENIZER_CLASS = re.compile(r"\w{1,80}Tokenizer(Fast)?|\w{1,40}Backend")


def clean_config(
    values: Mapping[str, Any], path: Path, tensors: int | None, *, head: bool = False
) -> dict[str, Any]:
    """A config.json without what could load anything.

    Args:
        values: The content of the file.
        path: The file, for messages.
        tensors: Number of tensors in the files of the model: no part is built more often, and
            whoever shares one between layers does so at most a thousand times. None if it is
            unknown.
        head: Whether the model is to be built with the head that turns its states into answers.
    """
    if not isinstance(values.get("model_type"), str):
        raise ModelError(
            f"cannot load {path}: it has no model_type; take the config.json that transformers "
            "wrote for the model"
        )
    if values.get("quantization_config") is not None:
        raise ModelError(
            f"cannot load {path}: the weights are quantised (quantization_config), which headscope "
            "does not read; take the version of the model that is not"
        )
    most = max(_MOST_REPEATED, tensors or _MOST_REPEATED)
    return {
        key: _cleaned(key, value, path, most)
        for key, value in values.items()
        if _kept(key) and (head or key not in _OF_HEADS)
    }


def clean_tokenizer_config(values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """A tokenizer_config.json without what could name a file, a template, or code.

    Args:
        values: The content of the file.
        path: The file, for messages.
    """
    name = values.get("tokenizer_class")
    if name is not None and not (isinstance(name, str) and _TOKENIZER_CLASS.fullmatch(name)):
        raise ModelError(
            f"cannot load {path}: tokenizer_class {str(name)[:60]!r} is not the name of a "
            f"tokenizer; {keyword_of('hs.load_model', 'tokenizer')}"
        )
    return {
        key: value
        for key, value in values.items()
        if key not in _REMOVED_FROM_TOKENIZER and not key.startswith("_") and "file" not in key
    }


def _kept(key: str) -> bool:
    return key not in _REMOVED and not key.startswith("_")


def _cleaned(key: str, value: Any, path: Path, most: int) -> Any:
    if isinstance(value, Mapping):
        return {
            inner: _cleaned(inner, child, path, most)
            for inner, child in value.items()
            if _kept(inner)
        }
    if isinstance(value, list):
        return [_cleaned(key, child, path, most) for child in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        _refuse_too_many(key, value, path, most)
    return value


def _refuse_too_many(key: str, value: int | float, path: Path, most: int) -> None:
    if _REPEATED.search(key) and value > most:
        raise ModelError(
            f"cannot load {path}: {key[:60]} is {value:,}, but its weights hold at most {most:,} "
            "such parts; take the config.json that belongs to the weights"
        )
    for keys, largest in _LARGEST:
        if keys.search(key) and value > largest:
            raise ModelError(
                f"cannot load {path}: {key[:60]} is {value:.3g}, more than any model has; take the "
                "config.json that belongs to the weights"
            )
