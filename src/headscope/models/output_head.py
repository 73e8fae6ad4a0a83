"""The head of a model that turns its last states into answers: next tokens, masked tokens, classes.

It has nothing to do with attention heads. headscope loads models without it, unless it is asked
for what a model achieves.
"""

from collections.abc import Iterator
from typing import Any, Literal

from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    PreTrainedConfig,
    PreTrainedModel,
)

OutputHead = Literal["causal", "masked", "seq2seq", "token classes", "text classes"]

_AUTO_CLASSES: dict[OutputHead, Any] = {
    "causal": AutoModelForCausalLM,
    "masked": AutoModelForMaskedLM,
    "seq2seq": AutoModelForSeq2SeqLM,
    "token classes": AutoModelForTokenClassification,
    "text classes": AutoModelForSequenceClassification,
}


def family_with_head(config: PreTrainedConfig) -> type[PreTrainedModel] | None:
    """The class that a config names, if it is one with a head of the config's own family.

    Args:
        config: Of a model.
    """
    named = (config.architectures or [""])[0]
    return next((one for _, one in _classes(config) if one.__name__ == named), None)


def output_head_of(model: PreTrainedModel) -> OutputHead | None:
    """What the head of a model answers; None for a model without a head.

    Args:
        model: As it was loaded.
    """
    return next((kind for kind, one in _classes(model.config) if type(model) is one), None)


def _classes(config: PreTrainedConfig) -> Iterator[tuple[OutputHead, type[PreTrainedModel]]]:
    """The classes with a head that transformers has for a config."""
    for kind, auto in _AUTO_CLASSES.items():
        found: Any = auto._model_mapping.get(type(config), ())
        for one in found if isinstance(found, tuple | list) else [found]:
            yield kind, one
