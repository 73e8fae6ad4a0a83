"""The segmenter: cuts texts into sentences or topics, by what attention heads write."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
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
from headscope.segment.stream import stream_segments
from headscope.segment.topics.find_topics import TopicSettings, sentence_topics
from headscope.segment.training.fit_boundary_net import TrainingSettings
from headscope.segment.training.fit_weights import fit_weights
from headscope.text.document import Document
from headscope.text.sentences import split_sentences

By = Literal["sentence", "topic"]
Span = tuple[int, int]


class Segmenter:
    """Cuts texts into sentences or topics; joined, the segments are the text again.

    Weights for the demo model come with headscope; for any other model, `Segmenter.fit` learns them
    from plain texts. Topics of punctuated texts need no weights.

    Args:
        model: `demo`, a folder, a hub id, or what `hs.load_model` returned.
        by: `sentence` or `topic`.
        mode: `auto`, `punctuated` or `unpunctuated`.
        threshold: The probability from which a boundary is worth a cut (default: the best one,
            which is stored with the weights).
        min_length: Shortest sentence, in characters.
        max_length: Longest sentence, in characters.
        n_segments: Number of segments (default: found).
        blank_lines: Whether a blank line always ends a sentence.
        weights: Weights, or a folder written by `save` (default: those that come with headscope).
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
        """The weights that sentences are found with.

        Raises:
            ModelError: There are none for this model.
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
        """A segmenter with weights learned from texts, for any model.

        Plain texts need no labels: their sentences are found by rules while the punctuation is
        there, and learned with it removed. Documents with gold sentences are learned from as they
        are. All that heads write is kept while learning: 12 KB per token for eight layers of a
        base-sized model.

        Args:
            texts: Plain texts, or documents.
            model: `demo`, a folder, a hub id, or what `hs.load_model` returned.
            layers: The numbers of the layers that are read (default: the first two thirds).
            modes: The modes that are learned (default: both).
            settings: How the networks are trained.
            trained_on: The texts in words, kept with the weights.
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
        """Write the weights into a folder, for `Segmenter(model, weights=folder)`.

        Args:
            folder: Created if it does not exist.
        """
        self.weights.save(folder)

    @overload
    def split(self, text: str) -> list[str]: ...  # type: ignore[overload-overlap]
    @overload
    def split(self, text: Sequence[str]) -> list[list[str]]: ...
    def split(self, text: str | Sequence[str]) -> list[str] | list[list[str]]:
        """The segments of a text, each with the white space after it.

        Args:
            text: A text, or several: then the result is a list for each.
        """
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
        """The segments as character spans [start, end), which cover the text without a gap.

        Args:
            text: A text, or several: then the result is a list for each.
        """
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
        """The probability that a sentence begins, at each place where one can.

        Args:
            text: A text, or several: then the result is a list.
        """
        if isinstance(text, str):
            return self.boundary_scores([text])[0]
        modes = [self.mode_of(one) for one in text]
        return score_texts(self.model, self.weights, text, modes, blank_lines=self.blank_lines)

    def mode_of(self, text: str) -> Mode:
        """The mode in which a text is read: the one asked for, or what its punctuation suggests.

        Args:
            text: The text.
        """
        mode = self.mode or choose_mode(text)
        if self.by == "topic" and mode == "punctuated":
            return mode  # its sentences are found by rules
        return mode if mode in self.weights.modes else next(iter(self.weights.modes))

    def stream(self, pieces: Iterable[str]) -> Iterator[str]:
        """The segments of a long text that arrives in pieces, as soon as they are certain.

        Memory does not grow with the text. Joined, the segments are the text again. Topics are
        found within blocks of the text.

        Args:
            pieces: The text, in pieces of any size, such as the lines of a file.
        """
        return stream_segments(self._next_spans, pieces, by_topic=self.by == "topic")

    def topics(self, sentences: Sequence[str], n_segments: int | None = None) -> list[int]:
        """The indices of the sentences at which a new topic begins, without the first.

        Args:
            sentences: The text, sentence by sentence.
            n_segments: Number of topics. By default it is found: cuts are made only where they
                gain more than in the same sentences in random order.
        """
        settings = TopicSettings(n_segments or self.rules.n_segments)
        return sentence_topics(self.model, sentences, settings)

    def explain(self, text: str) -> pd.DataFrame:
        """How much each head and signal contributes to the sentence boundaries of a text.

        A row per boundary, layer, head and signal, with what it adds to the log odds of that
        boundary, the largest first. Signals: `output` (what the head writes around the gap),
        `contrast`, `cut`, `mass_before`, `mass_after`, and `surface` (no head). The contributions
        of a boundary and its `base` row add up to its log odds.

        Args:
            text: The text.
        """
        scores = self.boundary_scores(text)
        starts = self._sentence_starts(text, scores)
        learned = self.weights.modes[scores.mode]
        return explain_boundaries(self.model, self.weights.sites(self.model), learned, text, starts)

    def _next_spans(self, before: str, text: str) -> list[Span]:
        """The spans of a text; the text before it is read for context only."""
        if self.by == "topic":
            return self._topic_spans(text, before)
        return self._sentence_spans(text, self.boundary_scores(before + text).after(len(before)))

    def _sentence_spans(self, text: str, scores: BoundaryScores) -> list[Span]:
        edges = [0, *self._sentence_starts(text, scores), len(text)]
        return list(itertools.pairwise(edges)) if text else []

    def _topic_spans(self, text: str, before: str = "") -> list[Span]:
        if self.mode_of(text) == "punctuated":
            # Rules are good enough here: a topic rarely begins at a doubtful sentence boundary.
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
