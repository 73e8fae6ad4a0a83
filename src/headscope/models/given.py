"""Models that are Python objects: which are taken, and whether they can read text."""

from pathlib import Path

from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headscope.errors import ModelError, kind_of
from headscope.models.loaded import LoadedModel
from headscope.models.tokenizer import HeadscopeTokenizer


def tokenizer_of(model: LoadedModel) -> HeadscopeTokenizer:
    """The tokenizer of a model of text; a model that cannot read text is refused.

    Args:
        model: Any model.
    """
    if model.tokenizer is not None:
        return model.tokenizer
    if model.modality == "text":
        raise ModelError(
            f"{model.name} came without its tokenizer; pass tokenizer=AutoTokenizer..., which must "
            "be the one that the model was trained with"
        )
    raise ModelError(f"{model.name} reads no text; give a model of text")


def refuse_other_objects(spec: object, tokenizer: object) -> None:
    """Refuse what is no model and no tokenizer, and name the part that is one, where it has one.

    Args:
        spec: What was given as a model.
        tokenizer: What was given as its tokenizer; None for its own.
    """
    if not isinstance(spec, str | Path | PreTrainedModel):
        inside = next(
            (f"; pass its .{name}" for name in ("auto_model", "model") if _has_model(spec, name)),
            "; pass 'demo', a model folder, a hub id, or a transformers model with its tokenizer",
        )
        if isinstance(spec, nn.Sequential) and len(spec) and _has_model(spec[0], "auto_model"):
            inside = "; pass its [0].auto_model, and its tokenizer as tokenizer="
        raise ModelError(f"the model is {kind_of(spec)}{inside}")
    if tokenizer is not None and not isinstance(tokenizer, PreTrainedTokenizerBase):
        raise ModelError(
            f"the tokenizer is {kind_of(tokenizer)}; pass one of transformers, such as "
            "AutoTokenizer.from_pretrained(...)"
        )


def _has_model(thing: object, name: str) -> bool:
    return isinstance(getattr(thing, name, None), PreTrainedModel)
