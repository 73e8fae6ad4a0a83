"""A model built from its files: its shape from config.json, its weights from safetensors.

The config is not believed: while transformers builds the model, without memory for its weights,
what it builds is counted and compared with what the files hold.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from transformers import AutoConfig, AutoModel, PreTrainedConfig, PreTrainedModel

from headscope.errors import ModelError
from headscope.models.output_head import family_with_head
from headscope.models.smaller import take_smaller
from headscope.models.weight_files import WeightFiles

# Weights that a base model has and a checkpoint may lack: no attention depends on them.
_MAY_BE_MISSING = ("pooler", "masked_spec_embed")


def build_model(
    name: str,
    copy: Path,
    weights: WeightFiles,
    dtype: torch.dtype,
    *,
    head: bool = False,
    smaller: bool = False,
) -> PreTrainedModel:
    """The model of a folder, with its weights.

    Args:
        name: Of the model, for messages.
        copy: A folder with its cleaned config.json.
        weights: Its weights.
        dtype: Of the weights, once they are loaded.
        head: Whether to build it with the head that its config names, if the files hold one: that
            of a language model or a classifier.
        smaller: Whether attention heads may have been cut out of the weights.
    """
    config = AutoConfig.from_pretrained(copy, local_files_only=True)
    if head and (with_head := family_with_head(config)) is not None:
        model, report = _load(name, with_head, config, weights, dtype, smaller)
        base = f"{model.base_model_prefix}."
        if all(key.startswith(base) for key in report["missing_keys"]):
            return checked_weights(name, model, report)
        # The config names a head that was not stored: that of a sentence encoder, for example.
    family, config = _family(config)
    return checked_weights(name, *_load(name, family, config, weights, dtype, smaller))


def _load(
    name: str,
    family: type[PreTrainedModel],
    config: PreTrainedConfig,
    weights: WeightFiles,
    dtype: torch.dtype,
    smaller: bool,
) -> tuple[PreTrainedModel, dict[str, Any]]:
    """A model of a family with its weights, and what transformers says about the loading."""
    with (
        weights.tensors_by_name() as tensors,
        _refusing_excess(name, weights, head=family is family_with_head(config)),
    ):
        # Without a folder, transformers has nowhere to look for files.
        loaded: Any = family.from_pretrained(
            None,
            config=config,
            state_dict=tensors,
            dtype=dtype,
            attn_implementation="eager",
            # Reported to us: transformers would only say that there are some.
            ignore_mismatched_sizes=True,
            local_files_only=True,
            output_loading_info=True,
        )
        model, report = loaded
        if smaller:
            take_smaller(name, model, report["mismatched_keys"], tensors, dtype)
            report["mismatched_keys"] = set()
    return model, report


def checked_weights(name: str, model: PreTrainedModel, report: dict[str, Any]) -> PreTrainedModel:
    """The same model, if all weights on which attention depends were in its files.

    Args:
        name: Of the model, for messages.
        model: As transformers loaded it.
        report: What transformers says about the loading.
    """
    if report["mismatched_keys"]:
        key, *shapes = min(report["mismatched_keys"], key=lambda entry: str(entry[0]))
        there, wanted = (" x ".join(map(str, shape)) for shape in shapes)
        raise ModelError(
            f"cannot load {name}: its file holds {key} of {there}, its config.json asks for "
            f"{wanted}; take the config.json that belongs to the weights"
        )
    missing = sorted(
        key
        for key in report["missing_keys"]
        if not any(part in key for part in _MAY_BE_MISSING) and not _is_computed(model, key)
    )
    if missing:
        raise ModelError(
            f"{name}: {len(missing)} weights are missing from the checkpoint "
            f"({missing[0]}, ...); its config.json belongs to another model, or the file is damaged"
        )
    for key, parameter in model.named_parameters():
        if key in report["missing_keys"] and any(part in key for part in _MAY_BE_MISSING):
            # Such a weight is random in every load. Nothing that is measured uses it, but the hash
            # of the weights would differ from load to load.
            parameter.data.zero_()
    return model


@contextmanager
def offline() -> Iterator[None]:
    """While open, the hub client refuses every request: what is needed is on this machine."""
    before = huggingface_hub.constants.HF_HUB_OFFLINE
    huggingface_hub.constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        huggingface_hub.constants.HF_HUB_OFFLINE = before


def _family(config: PreTrainedConfig) -> tuple[type[PreTrainedModel], PreTrainedConfig]:
    """The class of the base model of a config, and the part of the config that it takes."""
    try:
        found: Any = AutoModel._model_mapping[type(config)]
    except KeyError:
        raise ModelError(
            f"transformers has no base model for {config.model_type!r}; choose another model"
        ) from None
    if isinstance(found, tuple | list):
        named = [one for one in found if one.__name__ in (config.architectures or [])]
        found = (named or list(found))[0]
    family: type[PreTrainedModel] = found
    text_config = config.sub_configs.get("text_config")
    if text_config is not None and family.config_class == text_config:
        config = config.get_text_config()
    return family, config


def _is_computed(model: PreTrainedModel, key: str) -> bool:
    """Whether a weight is computed, not learned: sinusoidal positions are often not stored."""
    return "Sinusoidal" in type(model.get_submodule(key.rpartition(".")[0])).__name__


@contextmanager
def _refusing_excess(name: str, weights: WeightFiles, *, head: bool) -> Iterator[None]:
    """While open, a model that outgrows its files is refused, long before it is built.

    It may have more than they hold: tied weights are built several times, poolers are made up, and
    tables are computed. Each is counted when it is built and when it is filled. A head may be tied
    to token vectors that encoder and decoder have already.
    """
    left = {
        "weights": (6 if head else 4) * weights.numbers + (1 << 24),
        "modules": 16 * weights.tensors + 4_000,
        "computed numbers": 4 * weights.numbers + (1 << 28),
    }
    ours = threading.get_ident()

    def take(what: str, number: int) -> None:
        if threading.get_ident() != ours:
            return
        left[what] -= number
        if left[what] < 0:
            raise ModelError(
                f"cannot load {name}: its config.json asks for far more {what} than its files "
                f"hold ({weights.numbers:,} weights in {weights.tensors:,} tensors); take the "
                "config.json that belongs to them"
            )

    def on_module(_: nn.Module, __: str, child: nn.Module | None) -> None:
        take("modules", 1)

    def on_weight(_: nn.Module, __: str, weight: nn.Parameter | None) -> None:
        take("weights", 0 if weight is None else weight.numel())

    def on_buffer(_: nn.Module, __: str, buffer: torch.Tensor | None) -> None:
        take("computed numbers", 0 if buffer is None else buffer.numel())

    with ExitStack() as stack:
        for handle in (
            register_module_module_registration_hook(on_module),
            register_module_parameter_registration_hook(on_weight),
            register_module_buffer_registration_hook(on_buffer),
        ):
            stack.callback(handle.remove)
        yield
