"""Loading a model: find it, read its weights, tap its attention, check the tap."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict, Unpack

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from headscope.errors import HeadscopeError, ModelError, in_one_line, keyword_of, option
from headscope.models.build import build_model, checked_weights, offline
from headscope.models.check.probe import modality_of, vocabulary_size
from headscope.models.clean_config import clean_config
from headscope.models.folder import read_object
from headscope.models.given import refuse_other_objects
from headscope.models.loaded import LoadedModel
from headscope.models.quiet import quiet_loading, quiet_native_code
from headscope.models.small_files import CONFIG, TOKENIZER_CONFIG, small_files
from headscope.models.smaller import MARK as HEADS
from headscope.models.smaller import SMALLER
from headscope.models.source import ModelSource, find_model, short_name
from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.models.weight_files import WeightFiles, find_weights


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


ModelLike = str | Path | PreTrainedModel | LoadedModel
"""What a model is given as: a name, a transformers model, or what `load_model` returned."""


class LoadOptions(TypedDict, total=False):
    """How a model is loaded, as keywords of every function that takes a model."""

    dtype: str
    device: str
    allow_pickle: bool
    trust_remote_code: bool
    tokenizer: PreTrainedTokenizerBase | None


def as_loaded(model: ModelLike, **options: Unpack[LoadOptions]) -> LoadedModel:
    """The model, loaded unless it is already.

    Args:
        model: As `load_model` takes it, or what that returned.
        **options: As `load_model` takes them. A loaded model keeps its own tokenizer.
    """
    if not isinstance(model, LoadedModel):
        return load_model(model, **options)
    if options.get("tokenizer") is not None:
        raise ModelError(
            f"tokenizer: {model.name} is loaded and has its own; pass the tokenizer to "
            "hs.load_model, or the transformers model itself"
        )
    return model


def load_model(
    spec: str | Path | PreTrainedModel,
    *,
    dtype: str = "float32",
    device: str = "cpu",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    tokenizer: PreTrainedTokenizerBase | None = None,
    projection: str | None = None,
    head: bool = False,
) -> LoadedModel:
    """The model that `spec` names, tapped and checked.

    Of a model with a text and an image tower (CLIP), the text tower is loaded.

    Args:
        spec: `demo`, a model folder, a hub id (`MODEL` or `MODEL@REVISION`: a branch, tag or
            commit), or a transformers model. Such a model object is switched to headscope's eager
            attention, and to linear maps that oneDNN may compute while headscope measures; it keeps
            its own dtype and device.
        dtype: `float64`, `float32`, `float16` or `bfloat16`.
        device: A device of torch. Devices other than `cpu` are supported but not tested.
        allow_pickle: Whether weights may be read from pickles, which can run any code when opened;
            otherwise only from safetensors.
        trust_remote_code: Whether code that comes with the model may be run.
        tokenizer: The tokenizer of a model object, or one to use instead of the model's own.
        projection: Names the output projections of a custom model, with * for the layer number.
        head: Whether to load the model with the head that its config names and its files hold: that
            of a language model or a classifier. Attention does not depend on it.
    """
    refuse_other_objects(spec, tokenizer)
    with quiet_loading():
        if isinstance(spec, PreTrainedModel):
            origin = Path(spec.config.name_or_path or type(spec).__name__)
            name = short_name(origin) if origin.is_absolute() else str(origin)
            model = _text_tower(spec)
            return LoadedModel(model, _wrapped(tokenizer, model), name=name, projection=projection)
        weights_dtype, place = _dtype(dtype), _device(device)
        source = find_model(spec, allow_pickle=allow_pickle, trust_remote_code=trust_remote_code)
        with offline(), _in_one_line(source.name):
            model, own_tokenizer = _read(
                source,
                weights_dtype,
                allow_pickle=allow_pickle,
                trust_remote_code=trust_remote_code,
                with_tokenizer=tokenizer is None,
                head=head,
            )
            model = _text_tower(model.to(place))  # type: ignore[arg-type]  # a wrapper in transformers hides the signature
            return LoadedModel(
                model,
                _wrapped(own_tokenizer if tokenizer is None else tokenizer, model),
                name=source.name,
                path=source.path,
                revision=source.revision,
                projection=projection,
            )


@contextmanager
def _in_one_line(name: str) -> Iterator[None]:
    """While open, whatever other libraries raise over files from elsewhere becomes one line."""
    try:
        yield
    except (HeadscopeError, MemoryError):
        raise
    except Exception as error:
        said = in_one_line(error)
        if not isinstance(error, OSError | ValueError | RuntimeError):
            said = f"{type(error).__name__}: {said}"
        raise ModelError(
            f"cannot load {name}: {said}; its files are damaged, or do not belong together"
        ) from error
    except BaseException as error:
        # A panic in the Rust of tokenizers or safetensors, which is not an Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise ModelError(
            f"cannot load {name}: {in_one_line(error)}; its files are damaged"
        ) from error


def _read(
    source: ModelSource,
    dtype: torch.dtype,
    *,
    allow_pickle: bool,
    trust_remote_code: bool,
    with_tokenizer: bool,
    head: bool = False,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase | None]:
    """The model in a folder, and its tokenizer if it has one and is to have it."""
    values = read_object(source.path, CONFIG)
    if values is None:
        raise ModelError(f"{source.path} is not a model: the folder has no {CONFIG}")
    weights = find_weights(source.path)
    if weights is None and not allow_pickle:
        raise ModelError(_no_safetensors(source))
    if trust_remote_code and _has_code(source.path, values):
        model = _by_transformers(source, dtype, weights, trust_remote_code=True)
        wanted = with_tokenizer and modality_of(_text_tower(model)) == "text"
        return model, _read_tokenizer(source, source.path, True) if wanted else None
    tensors = weights.tensors if weights else None
    config = clean_config(values, source.path / CONFIG, tensors, head=head)
    with small_files(source.path, config) as copy:
        if weights is None:
            config_of_copy = AutoConfig.from_pretrained(copy, local_files_only=True)
            model = _by_transformers(source, dtype, None, config=config_of_copy)
        else:
            marks = read_object(source.path, HEADS) or {}
            smaller = marks.get(SMALLER) is True
            model = build_model(source.name, copy, weights, dtype, head=head, smaller=smaller)
        model.config.name_or_path = str(source.path)
        wanted = with_tokenizer and modality_of(_text_tower(model)) == "text"
        return model, _read_tokenizer(source, copy, False) if wanted else None


def _has_code(folder: Path, config: Mapping[str, Any]) -> bool:
    return "auto_map" in config or "auto_map" in (read_object(folder, TOKENIZER_CONFIG) or {})


def _by_transformers(
    source: ModelSource, dtype: torch.dtype, weights: WeightFiles | None, **options: Any
) -> PreTrainedModel:
    """The model as transformers loads it by itself: for models that may run code anyway."""
    model, report = AutoModel.from_pretrained(
        source.path,
        dtype=dtype,
        attn_implementation="eager",
        use_safetensors=weights is not None,
        ignore_mismatched_sizes=True,
        local_files_only=True,
        output_loading_info=True,
        **options,
    )
    return checked_weights(source.name, model, report)


def _no_safetensors(source: ModelSource) -> str:
    if any(source.path.glob("*.bin")):
        return (
            f"{source.name} has its weights as a pickle, which can run any code when it is opened; "
            f"if you trust it, pass {option('allow_pickle', True)}"
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


def _read_tokenizer(
    source: ModelSource, folder: Path, trust_remote_code: bool
) -> PreTrainedTokenizerBase:
    try:
        with quiet_native_code():
            tokenizer = AutoTokenizer.from_pretrained(
                folder, trust_remote_code=trust_remote_code, local_files_only=True
            )
    except Exception as error:
        raise ModelError(
            f"{source.name} has no tokenizer that can be loaded ({in_one_line(error)}); "
            f"{keyword_of('hs.load_model', 'tokenizer')}"
        ) from error
    # Without its files, transformers makes an empty tokenizer, to which every word is unknown.
    files = [name for name in tokenizer.vocab_files_names.values() if name]
    if files and not any((folder / name).is_file() for name in files):
        raise ModelError(
            f"{source.name} has no tokenizer: none of {', '.join(files)} is in {source.path}; "
            f"{keyword_of('hs.load_model', 'tokenizer')}"
        )
    tokenizer.name_or_path = str(source.path)
    return tokenizer


def _wrapped(
    tokenizer: PreTrainedTokenizerBase | None, model: PreTrainedModel
) -> HeadscopeTokenizer | None:
    if tokenizer is None:
        return None
    with quiet_native_code():
        return HeadscopeTokenizer(tokenizer, max_tokens(model), vocabulary_size(model))


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
            f"device {name!r} cannot be used here ({in_one_line(error)}); pass "
            f"{option('device', 'cpu')}"
        ) from error
    return device
