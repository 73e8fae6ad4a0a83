"""The sentences of a text: by the heads of the model where weights for it exist, else by rules."""

from dataclasses import dataclass
from typing import Literal

from headscope.errors import ModelError
from headscope.models.loaded import LoadedModel
from headscope.segment import Segmenter
from headscope.text.sentences import split_sentences


@dataclass(frozen=True, slots=True)
class Sentences:
    """A text cut into sentences; put together they are the text."""

    by: Literal["heads", "rules"]
    texts: tuple[str, ...]


def sentences_of(model: LoadedModel, text: str) -> Sentences:
    """The sentences of a text."""
    found = _by_heads(model, text)
    if found is not None:
        return Sentences("heads", found)
    return Sentences("rules", tuple(text[start:end] for start, end in split_sentences(text)))


def _by_heads(model: LoadedModel, text: str) -> tuple[str, ...] | None:
    """What the segmenter finds; None without weights for the model."""
    try:
        return tuple(Segmenter(model).split(text))
    except ModelError:
        return None
