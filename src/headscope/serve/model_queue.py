"""A queue for one model: one model in memory, one text at a time, a few requests waiting."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from headscope.errors import HeadscopeError, ModelError, in_one_line, shortened
from headscope.look.look import look
from headscope.look.view import View
from headscope.models.load import load_model
from headscope.models.loaded import LoadedModel
from headscope.segment import Segmenter
from headscope.text.sentences import split_sentences


@dataclass(frozen=True, slots=True)
class Sentences:
    """A text cut into sentences; joined, they are the text again."""

    by: Literal["heads", "rules"]
    """What they were found by."""
    texts: tuple[str, ...]


def sentences_of(model: LoadedModel, text: str) -> Sentences:
    """The sentences of a text: by heads if there are segmenter weights for the model.

    Args:
        model: The model that reads the text.
        text: The text.
    """
    found = _by_heads(model, text)
    if found is not None:
        return Sentences("heads", found)
    return Sentences("rules", tuple(text[start:end] for start, end in split_sentences(text)))


def _by_heads(model: LoadedModel, text: str) -> tuple[str, ...] | None:
    """The sentences that the segmenter finds; None without weights for the model."""
    try:
        return tuple(Segmenter(model).split(text))
    except ModelError:
        return None


WAITING = 4
"""Maximum number of requests at once, including the one being served; others are refused."""


class BusyError(HeadscopeError):
    """Too many requests at once."""


@dataclass(frozen=True, slots=True)
class Doing:
    """What the queue is doing."""

    what: Literal["nothing", "loading", "reading"]
    model: str = ""


IDLE = Doing("nothing")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the live page shows of a text."""

    view: View
    sentences: Sentences
    """Of the part of the text that the view shows."""
    tokens: int
    """Number of tokens of the whole text, special ones included; the view may show fewer."""


class ModelQueue:
    """Answers requests one after the other. Safe to call from many threads.

    Args:
        models: What each model on offer is loaded from, by the name that users see.
        max_tokens: Longer texts are cut off after this many tokens, special ones included.
    """

    def __init__(self, models: Mapping[str, str], *, max_tokens: int) -> None:
        self.models = models
        self.max_tokens = max_tokens
        self.doing = IDLE
        """What is going on, for people who wait."""
        self._loaded: LoadedModel | None = None
        self._loaded_name: str | None = None
        self._work = threading.Lock()
        self._places = threading.BoundedSemaphore(WAITING)

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place in the queue.

        Raises:
            BusyError: The queue is full.
        """
        if not self._places.acquire(blocking=False):
            raise BusyError("busy with other texts; try again in a moment")
        try:
            yield
        finally:
            self._places.release()

    def look(self, model: str, text: str) -> Answer:
        """What the heads of a model do with a text, and its sentences.

        Args:
            model: The name of a model on offer.
            text: The text; its start is shown if it has too many tokens.
        """
        if model not in self.models:
            raise HeadscopeError(
                f"model {shortened(model)!r} is not on offer; choose one from the list"
            )
        with self._work:
            try:
                return self._answer(self._load(model), text)
            except HeadscopeError:
                raise
            # A model from elsewhere can fail in any way: one that was never meant to work as well.
            except Exception as error:
                self._loaded = None
                raise ModelError(
                    f"{model} failed ({type(error).__name__}: {in_one_line(error)}); "
                    "choose another model"
                ) from error
            finally:
                self.doing = IDLE

    def _answer(self, model: LoadedModel, text: str) -> Answer:
        limit = self.max_tokens
        tokenizer = model.tokenizer
        if tokenizer is None:
            raise ModelError(f"{model.name} reads no text; choose another model")
        if tokenizer.max_tokens is not None:
            limit = min(limit, tokenizer.max_tokens)
        self.doing = Doing("reading", model.name)
        view = look(model, text, window=limit)
        ends = tokenizer.encode(text).ends
        special = len(tokenizer.prefix_ids) + len(tokenizer.suffix_ids)
        body = limit - special
        shown = text[: int(ends[body - 1])] if len(ends) > body else text
        return Answer(view, sentences_of(model, shown), len(ends) + special)

    def _load(self, model: str) -> LoadedModel:
        if self._loaded is None or self._loaded_name != model:
            # The old model is released first: two may not fit into memory.
            self._loaded = None
            self.doing = Doing("loading", model)
            loaded = load_model(self.models[model])
            loaded.name = model
            self._loaded = loaded
            self._loaded_name = model
        return self._loaded
