"""The segmenter: sentences from what attention heads write, topics from what comes of it."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args, overload

import pandas as pd

from headscope.errors import SettingsError
from headscope.models.load import load_model
from headscope.models.loaded import LoadedModel
from headscope.segment.reading.window_batches import text_tokenizer
from headscope.segment.sentences.boundary_scores import BoundaryScores, score_texts
from headscope.segment.sentences.decode import CutRules, decode
from headscope.segment.sentences.explain import explain_boundaries
from headscope.segment.sentences.mode import MODES, Mode, checked_mode, choose_mode
from headscope.segment.sentences.weights import SegmenterWeights, find_weights
from headscope.segment.topics.find_topics import TopicSettings, sentence_topics
from headscope.segment.training.fit_boundary_net import TrainingSettings
from headscope.segment.training.fit_weights import fit_weights
from headscope.text.document import Document
from headscope.text.sentences import split_sentences

BLOCK_CHARACTERS = 50_000
"""So much of the text is segmented at once."""
TOPIC_BLOCK_CHARACTERS = 200_000
CONTEXT_CHARACTERS = 600
"""So much of what was given out is read again as context of what follows: more than a margin."""
LOOK_AHEAD_CHARACTERS = 2_000
"""A boundary is certain when so much of the text behind it is known."""
LONGEST_SEGMENT = 1_000_000
"""A segment that is longer is given out in parts: memory must end somewhere."""

NextSpans = Callable[[str, str], list[tuple[int, int]]]
"""The spans of a text (second) that follows another one (first)."""


def stream_segments(
    next_spans: NextSpans, pieces: Iterable[str], *, by_topic: bool = False
) -> Iterator[str]:
    """The segments of the text that the pieces make up, each as soon as it is certain."""
    block = TOPIC_BLOCK_CHARACTERS if by_topic else BLOCK_CHARACTERS
    before, waiting, wanted = "", "", block
    for piece in pieces:
        waiting += piece
        while len(waiting) >= wanted:
            cut = _certain(next_spans(before, waiting[:wanted]), wanted)
            if not cut:
                if wanted < LONGEST_SEGMENT:
                    wanted *= 2  # no boundary in all of that: look at more
                    continue
                cut = [wanted]
            start = 0
            for end in cut:
                yield waiting[start:end]
                start = end
            before = (before + waiting[:start])[-CONTEXT_CHARACTERS:]
            waiting, wanted = waiting[start:], block
    for start, end in next_spans(before, waiting):
        yield waiting[start:end]


def _certain(spans: list[tuple[int, int]], length: int) -> list[int]:
    """The ends of the segments behind which enough is known."""
    return [end for _, end in spans if end <= length - LOOK_AHEAD_CHARACTERS]


By = Literal["sentence", "topic"]
Span = tuple[int, int]


class Segmenter:
    """Cuts texts into sentences or topics; the pieces put together are the text.

    `model` is `demo`, a folder, a hub id or what `hs.load_model` gave. Weights for the demo model
    come with headscope; for any other model, `Segmenter.fit` learns them from plain texts, or
    `weights` names a folder written by `save`. Topics of punctuated texts need none. `mode` is
    `auto`, `punctuated` or `unpunctuated`. `threshold` is the probability from which a boundary is
    worth a cut (the weights know the best one); lengths are in characters. With `blank_lines`, a
    blank line always ends a sentence.
    """

    def __init__(
        self,
        model: str | Path | LoadedModel = "demo",
        by: str = "sentence",
        *,
        mode: str = "auto",
        threshold: float | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        n_segments: int | None = None,
        blank_lines: bool = True,
        weights: str | Path | SegmenterWeights | None = None,
    ) -> None:
        if by not in get_args(By):
            raise SettingsError(f"by: {by!r} is not one of {', '.join(get_args(By))}")
        if threshold is not None and not 0 < threshold < 1:
            raise SettingsError(f"threshold: {threshold:g} is not between 0 and 1")
        self.by = by
        self.mode = checked_mode(mode)
        self.threshold = threshold
        self.rules = CutRules(min_length, max_length, n_segments)
        self.blank_lines = blank_lines
        self.model = model if isinstance(model, LoadedModel) else load_model(model)
        text_tokenizer(self.model)
        self._weights: SegmenterWeights | None = None
        if by == "sentence" or weights is not None:
            self._weights = find_weights(self.model, weights)

    @property
    def weights(self) -> SegmenterWeights:
        """What was learned of the model, for finding sentences.

        Raises:
            ModelError: nothing was; topics of punctuated texts and of ready sentences need nothing.
        """
        if self._weights is None:
            self._weights = find_weights(self.model, None)
        return self._weights

    @classmethod
    def fit(
        cls,
        texts: Iterable[str | Document],
        model: str | Path | LoadedModel = "demo",
        *,
        layers: Sequence[int] | None = None,
        modes: Sequence[Mode] = MODES,
        settings: TrainingSettings | None = None,
        trained_on: str = "texts of the user",
    ) -> "Segmenter":
        """A segmenter that learned from texts, for any model.

        Plain texts teach by themselves: their sentences are found by rules while the punctuation is
        there, and learned with it taken away. Documents with gold sentences teach those. All that
        heads write is kept while learning: 12 KB per token for eight layers of a base-sized model.
        Without `layers`, the first two thirds are read.
        """
        loaded = model if isinstance(model, LoadedModel) else load_model(model)
        documents = [
            text if isinstance(text, Document) else Document(str(number), text)
            for number, text in enumerate(texts)
        ]
        weights = fit_weights(
            loaded,
            documents,
            layers=layers,
            modes=modes,
            settings=settings or TrainingSettings(),
            trained_on=trained_on,
        )
        return cls(loaded, weights=weights)

    def save(self, folder: str | Path) -> None:
        """Write what was learned into a folder, for `Segmenter(model, weights=folder)`."""
        self.weights.save(folder)

    @overload
    def split(self, text: str) -> list[str]: ...  # type: ignore[overload-overlap]
    @overload
    def split(self, text: Sequence[str]) -> list[list[str]]: ...
    def split(self, text: str | Sequence[str]) -> list[str] | list[list[str]]:
        """The segments of a text, with the space behind each; for a list of texts, a list each."""
        if isinstance(text, str):
            return [text[start:end] for start, end in self.spans(text)]
        return [
            [one[start:end] for start, end in spans]
            for one, spans in zip(text, self.spans(text), strict=True)
        ]

    @overload
    def spans(self, text: str) -> list[Span]: ...  # type: ignore[overload-overlap]
    @overload
    def spans(self, text: Sequence[str]) -> list[list[Span]]: ...
    def spans(self, text: str | Sequence[str]) -> list[Span] | list[list[Span]]:
        """The segments as character spans [start, end), which cover the text without a gap."""
        if isinstance(text, str):
            return self.spans([text])[0]
        if self.by == "topic":
            return [self._topic_spans(one) for one in text]
        return [
            self._sentence_spans(one, scores)
            for one, scores in zip(text, self.boundary_scores(text), strict=True)
        ]

    @overload
    def boundary_scores(self, text: str) -> BoundaryScores: ...  # type: ignore[overload-overlap]
    @overload
    def boundary_scores(self, text: Sequence[str]) -> list[BoundaryScores]: ...
    def boundary_scores(self, text: str | Sequence[str]) -> BoundaryScores | list[BoundaryScores]:
        """How likely a sentence begins at each place where one can."""
        if isinstance(text, str):
            return self.boundary_scores([text])[0]
        modes = [self.mode_of(one) for one in text]
        return score_texts(self.model, self.weights, text, modes, blank_lines=self.blank_lines)

    def mode_of(self, text: str) -> Mode:
        """The mode in which a text is read: the one asked for, or what its punctuation suggests."""
        mode = self.mode or choose_mode(text)
        if self.by == "topic" and mode == "punctuated":
            return mode  # its sentences are found by rules
        return mode if mode in self.weights.modes else next(iter(self.weights.modes))

    def stream(self, pieces: Iterable[str]) -> Iterator[str]:
        """The segments of a long text that comes in pieces, as soon as they are certain.

        Memory does not grow with the text. Put together, the segments are the text. Topics are
        looked for in blocks of the text.
        """
        return stream_segments(self._next_spans, pieces, by_topic=self.by == "topic")

    def topics(self, sentences: Sequence[str], n_segments: int | None = None) -> list[int]:
        """The indices of the sentences at which a new topic begins, the first one left out.

        Without `n_segments` the number is found: more cuts than the same sentences in random order
        would justify are not made.
        """
        settings = TopicSettings(n_segments or self.rules.n_segments)
        return sentence_topics(self.model, sentences, settings)

    def explain(self, text: str) -> pd.DataFrame:
        """Which heads and which signals put the sentence boundaries of a text there.

        A row per boundary, layer, head and signal, with what it adds to the log odds of that
        boundary, the largest first. Signals: `output` (what the head writes around the gap),
        `contrast`, `cut`, `mass_before`, `mass_after`, and `surface` (no head). The contributions
        of a boundary and its `base` row add up to its log odds.
        """
        scores = self.boundary_scores(text)
        starts = self._sentence_starts(text, scores)
        learned = self.weights.modes[scores.mode]
        return explain_boundaries(self.model, self.weights.sites(self.model), learned, text, starts)

    def _next_spans(self, before: str, text: str) -> list[Span]:
        """The spans of a text that follows another one, which is read for context only."""
        if self.by == "topic":
            return self._topic_spans(text, before)
        return self._sentence_spans(text, self.boundary_scores(before + text).after(len(before)))

    def _sentence_spans(self, text: str, scores: BoundaryScores) -> list[Span]:
        edges = [0, *self._sentence_starts(text, scores), len(text)]
        return list(itertools.pairwise(edges)) if text else []

    def _topic_spans(self, text: str, before: str = "") -> list[Span]:
        if self.mode_of(text) == "punctuated":
            # Rules are as good for this: a topic begins with a sentence that nobody doubts.
            spans = list(split_sentences(text))
        else:
            scores = self.boundary_scores(before + text).after(len(before))
            spans = self._sentence_spans(text, scores)
        topics = self.topics([text[start:end] for start, end in spans])
        edges = [0, *(spans[index][0] for index in topics), len(text)]
        return list(itertools.pairwise(edges)) if text else []

    def _sentence_starts(self, text: str, scores: BoundaryScores) -> list[int]:
        learned = self.weights.modes[scores.mode]
        return decode(
            scores.log_odds,
            scores.characters,
            len(text),
            threshold=self.threshold or learned.threshold,
            prior=learned.prior,
            rules=self.rules if self.by == "sentence" else CutRules(),
            hard=scores.hard,
        )
