"""One model at a time in memory, one text at a time through it, and a short queue before it."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from headscope.errors import HeadscopeError
from headscope.look import look
from headscope.models.load import load_model
from headscope.models.loaded import LoadedModel
from headscope.serve.sentences import Sentences, sentences_of
from headscope.view import View

WAITING = 4
"""Requests that may be in the house at once, the one being served included; more are told so."""


class BusyError(HeadscopeError):
    """Too many requests at once."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is shown of a text."""

    view: View
    sentences: Sentences


class ModelDesk:
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
