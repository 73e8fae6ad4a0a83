"""Loading a model: find it, read its weights, tap its attention, check the tap."""

from pathlib import Path
from typing import TypedDict

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from headscope.errors import ModelError
from headscope.models.check.probe import modality_of
from headscope.models.loaded import LoadedModel
from headscope.models.quiet import quiet_loading
from headscope.models.source import ModelSource, find_model
from headscope.models.tokenizer import HeadscopeTokenizer


def max_tokens(model: PreTrainedModel) -> int | None:
    """The longest input in tokens, special ones included; None where the model has no limit.

    Families that count positions from the padding id on (RoBERTa, MPNet) lose the entries up to
    it: their tables of 514 hold 512 positions.

    Args:
        model: A model of text.
    """
    limit: int | None = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            skipped = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - skipped
    return limit


_DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
# Weights that a base model has and a checkpoint may lack: no attention depends on them.
_MAY_BE_MISSING = ("pooler", "masked_spec_embed")


class LoadOptions(TypedDict, total=False):
    """How a model is loaded, as keywords of every function that takes the name of a model."""

    dtype: str
    device: str
    allow_pickle: bool
    trust_remote_code: bool


def load_model(
    spec: str | Path | PreTrainedModel,
    *,
    dtype: str = "float32",
    device: str = "cpu",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    tokenizer: PreTrainedTokenizerBase | None = None,
    projection: str | None = None,
) -> LoadedModel:
    """The model that `spec` names, tapped and checked.

    Of a model with a text and an image tower (CLIP), the text tower is loaded.

    Args:
        spec: `demo`, a model folder, a hub id, or a transformers model. Such a model object is
            switched to headscope's eager attention, and to linear maps that oneDNN may compute
            while headscope measures; it keeps its own dtype and device.
        dtype: `float64`, `float32`, `float16` or `bfloat16`.
        device: A device of torch. Devices other than `cpu` are supported but not tested.
        allow_pickle: Whether weights may be read from pickles, which can run any code when opened;
            otherwise only from safetensors.
        trust_remote_code: Whether code that comes with the model may be run.
        tokenizer: The tokenizer of a model object, or one to use instead of the model's own.
        projection: Names the output projections of a custom model, with * for the layer number.
    """
    with quiet_loading():
        if isinstance(spec, PreTrainedModel):
            name = spec.config.name_or_path or type(spec).__name__
            model, source = spec, None
        else:
            weights_dtype, place = _dtype(dtype), _device(device)
            source = find_model(
                spec, allow_pickle=allow_pickle, trust_remote_code=trust_remote_code
            )
            name = source.name
            model = _read_weights(source, weights_dtype, allow_pickle, trust_remote_code)
            model.to(place)  # type: ignore[arg-type]  # a wrapper in transformers hides the signature
        model = _text_tower(model)
        if tokenizer is None and source is not None and modality_of(model) == "text":
            tokenizer = _read_tokenizer(source, trust_remote_code)
        return LoadedModel(
            model,
            None if tokenizer is None else HeadscopeTokenizer(tokenizer, max_tokens(model)),
            name=name,
            path=source.path if source else None,
            revision=source.revision if source else None,
            projection=projection,
        )


def _read_weights(
    source: ModelSource, dtype: torch.dtype, allow_pickle: bool, trust_remote_code: bool
) -> PreTrainedModel:
    if not allow_pickle and not any(source.path.glob("*.safetensors")):
        raise ModelError(_no_safetensors(source))
    try:
        model, report = AutoModel.from_pretrained(
            source.path,
            dtype=dtype,
            attn_implementation="eager",
            use_safetensors=None if allow_pickle else True,
            trust_remote_code=trust_remote_code,
            local_files_only=True,
            output_loading_info=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise ModelError(f"cannot load {source.name}: {_first_line(error)}") from error
    missing = sorted(
        key
        for key in report["missing_keys"]
        if not any(part in key for part in _MAY_BE_MISSING) and not _is_computed(model, key)
    )
    if missing:
        raise ModelError(
            f"{source.name}: {len(missing)} weights are missing from the checkpoint "
            f"({missing[0]}, ...); its config.json belongs to another model, or the file is damaged"
        )
    for name, parameter in model.named_parameters():
        if name in report["missing_keys"] and any(part in name for part in _MAY_BE_MISSING):
            # Such a weight is random in every load. Nothing that is measured uses it, but the hash
            # of the weights would differ from load to load.
            parameter.data.zero_()
    return model  # type: ignore[no-any-return]


def _is_computed(model: PreTrainedModel, key: str) -> bool:
    """Whether a weight is computed, not learned: sinusoidal positions are often not stored."""
    return "Sinusoidal" in type(model.get_submodule(key.rpartition(".")[0])).__name__


def _no_safetensors(source: ModelSource) -> str:
    if any(source.path.glob("*.bin")):
        return (
            f"{source.name} has its weights as a pickle, which can run any code when it is opened; "
            "if you trust it, pass allow_pickle=True (--allow-pickle)"
        )
    return f"{source.name} has no weights: no *.safetensors in {source.path}"


def _text_tower(model: PreTrainedModel) -> PreTrainedModel:
    """The text tower of a model that pairs texts with images; any other model as it is."""
    tower = getattr(model, "text_model", None)
    if tower is None or not hasattr(model, "vision_model"):
        return model
    if not isinstance(tower, PreTrainedModel):
        raise ModelError(f"{type(model).__name__} has a text tower that cannot run by itself")
    return tower


def _read_tokenizer(source: ModelSource, trust_remote_code: bool) -> PreTrainedTokenizerBase:
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            source.path, trust_remote_code=trust_remote_code, local_files_only=True
        )
    except (OSError, ValueError, KeyError, ImportError, TypeError) as error:
        raise ModelError(
            f"{source.name} has no tokenizer that can be loaded ({_first_line(error)}); "
            "pass tokenizer="
        ) from error
    # Without its files, transformers makes an empty tokenizer, to which every word is unknown.
    files = [name for name in tokenizer.vocab_files_names.values() if name]
    if files and not any((source.path / name).is_file() for name in files):
        raise ModelError(
            f"{source.name} has no tokenizer: none of {', '.join(files)} is in {source.path}; "
            "pass tokenizer="
        )
    return tokenizer


def _dtype(name: str) -> torch.dtype:
    if name not in _DTYPES:
        raise ModelError(f"dtype {name!r} is not one of {', '.join(_DTYPES)}")
    return _DTYPES[name]


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ModelError(
            f"device {name!r} cannot be used here ({_first_line(error)}); pass device='cpu'"
        ) from error
    return device


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
