"""One model at a time in memory, one text at a time through it, and a short queue before it."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from headscope.errors import HeadscopeError, ModelError
from headscope.look.look import look
from headscope.look.view import View
from headscope.models.load import load_model
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


WAITING = 4
"""Requests that may be in the house at once, the one being served included; more are told so."""


class BusyError(HeadscopeError):
    """Too many requests at once."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is shown of a text."""

    view: View
    sentences: Sentences


class ModelQueue:
    """Looks at texts, one after the other. Safe to be called from many threads."""

    def __init__(self, models: Mapping[str, str], *, max_tokens: int) -> None:
        self.models = models
        self.max_tokens = max_tokens
        self._loaded: LoadedModel | None = None
        self._loaded_name: str | None = None
        self._work = threading.Lock()
        self._places = threading.BoundedSemaphore(WAITING)

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place in the queue; refused, rather than waited for, when it is full."""
        if not self._places.acquire(blocking=False):
            raise BusyError("busy with other texts; try again in a moment")
        try:
            yield
        finally:
            self._places.release()

    def look(self, model: str, text: str) -> Answer:
        """What the heads of a model do with a text; one of too many tokens is cut off there."""
        if model not in self.models:
            raise HeadscopeError(f"model {model!r} is not on offer; choose one of the list")
        with self._work:
            loaded = self._load(model)
            limit = self.max_tokens
            if loaded.tokenizer is not None and loaded.tokenizer.max_tokens is not None:
                limit = min(limit, loaded.tokenizer.max_tokens)
            return Answer(look(loaded, text, window=limit), sentences_of(loaded, text))

    def _load(self, model: str) -> LoadedModel:
        if self._loaded is None or self._loaded_name != model:
            # The old one goes first: two may not fit into memory.
            self._loaded = None
            loaded = load_model(self.models[model])
            loaded.name = model
            self._loaded = loaded
            self._loaded_name = model
        return self._loaded
