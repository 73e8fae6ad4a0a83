"""The segmenter: sentences and topics of any text, from what attention heads write."""

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args, overload

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int64

from headscope.errors import ModelError, SettingsError
from headscope.models.load import load_model
from headscope.models.loaded import LoadedModel
from headscope.segment.candidates import Candidates, find_candidates
from headscope.segment.decode import CutRules, decode
from headscope.segment.explain import explain_boundaries
from headscope.segment.fit import fit_mode, split_held_out
from headscope.segment.fit_net import TrainingSettings
from headscope.segment.mode import MODES, Mode, checked_mode, choose_mode
from headscope.segment.read_heads import read_heads, read_sites, text_tokenizer
from headscope.segment.stream import stream_segments
from headscope.segment.topics import MOST_SENTENCES, TopicSettings, find_topics, sentence_vectors
from headscope.segment.training_texts import training_texts
from headscope.segment.weights import SHIPPED, SegmenterWeights, load_weights
from headscope.text.document import Document

By = Literal["sentence", "topic"]
Span = tuple[int, int]

_BATCH_CHARACTERS = 400_000
"""Texts are read together up to this many characters, so that memory does not grow with a list."""


@dataclass(frozen=True, eq=False, slots=True)
class BoundaryScores:
    """How likely a sentence begins at each candidate of a text."""

    mode: Mode
    """Which weights were used: those for text with punctuation, or those for text without."""
    characters: Int64[np.ndarray, " candidate"]
    """The character that the sentence would begin with."""
    probabilities: Float64[np.ndarray, " candidate"]
    """Calibrated on texts that the weights were not trained on."""
    hard: Bool[np.ndarray, " candidate"]
    """True behind a blank line, where `blank_lines` makes a boundary certain."""

    @property
    def log_odds(self) -> Float64[np.ndarray, " candidate"]:
        """The logarithm of the odds of a boundary."""
        inside = np.clip(self.probabilities, 1e-9, 1 - 1e-9)
        odds: Float64[np.ndarray, " candidate"] = np.log(inside / (1 - inside))
        return odds


class Segmenter:
    """Cuts texts into sentences or topics; the pieces put together are the text.

    `model` is `demo`, a folder, a hub id or what `hs.load_model` gave. Weights for the demo model
    come with headscope; for any other model, `Segmenter.fit` learns them from plain texts, or
    `weights` names a folder written by `save`. `mode` is `auto`, `punctuated` or `unpunctuated`.
    `threshold` is the probability from which a boundary is worth a cut (the weights know the best
    one); lengths are in characters. With `blank_lines`, a blank line always ends a sentence.
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
        self.weights = _find_weights(self.model, weights)
        self._sites = self.weights.sites(self.model)

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
        deepest = max(site.layer for site in loaded.sites if site.stack == loaded.stacks[0])
        chosen = tuple(layers or range(1, max(1, round(deepest * 2 / 3)) + 1))
        sites = read_sites(loaded, chosen)
        settings = settings or TrainingSettings()
        learned = {}
        for mode in modes:
            taught = training_texts(documents, mode, random.Random(settings.seed))
            learned_from, chosen_by = split_held_out(taught)
            learned[mode] = fit_mode(loaded, sites, learned_from, chosen_by, mode, settings)
        weights = SegmenterWeights(loaded.name, loaded.weights_hash, chosen, learned, trained_on)
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
            return self._spans([text])[0]
        return self._spans(text)

    @overload
    def boundary_scores(self, text: str) -> BoundaryScores: ...  # type: ignore[overload-overlap]
    @overload
    def boundary_scores(self, text: Sequence[str]) -> list[BoundaryScores]: ...
    def boundary_scores(self, text: str | Sequence[str]) -> BoundaryScores | list[BoundaryScores]:
        """How likely a sentence begins at each place where one can."""
        if isinstance(text, str):
            return self._scores([text])[0]
        return self._scores(text)

    def mode_of(self, text: str) -> Mode:
        """The mode in which a text is read: the one asked for, or what its punctuation suggests."""
        mode = self.mode or choose_mode(text)
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
        if settings.n_segments is not None:
            return find_topics(sentence_vectors(self.model, sentences), settings)
        found: list[int] = []
        for first in range(0, len(sentences), MOST_SENTENCES):
            vectors = sentence_vectors(self.model, sentences[first : first + MOST_SENTENCES])
            found += [first] * (first > 0)
            found += [first + start for start in find_topics(vectors, settings)]
        return found

    def explain(self, text: str) -> pd.DataFrame:
        """Which heads and which signals put the sentence boundaries of a text there.

        A row per boundary, layer, head and signal, with what it adds to the log odds of that
        boundary, the largest first. Signals: `output` (what the head writes around the gap),
        `contrast`, `cut`, `mass_before`, `mass_after`, and `surface` (no head). The contributions
        of a boundary and its `base` row add up to its log odds.
        """
        scores = self._scores([text])[0]
        starts = self._cut_sentences(text, scores)
        return explain_boundaries(
            self.model, self._sites, self.weights.modes[scores.mode], text, starts
        )

    def _spans(self, texts: Sequence[str]) -> list[list[Span]]:
        all_starts = [
            self._cut_sentences(text, scores)
            for text, scores in zip(texts, self._scores(texts), strict=True)
        ]
        if self.by == "topic":
            all_starts = [
                self._cut_topics(text, starts)
                for text, starts in zip(texts, all_starts, strict=True)
            ]
        return [
            list(zip([0, *starts], [*starts, len(text)], strict=True)) if text else []
            for text, starts in zip(texts, all_starts, strict=True)
        ]

    def _scores(self, texts: Sequence[str]) -> list[BoundaryScores]:
        scores: dict[int, BoundaryScores] = {}
        for mode in MODES:
            group: list[int] = []
            size = 0
            for number, text in enumerate(texts):
                if self.mode_of(text) != mode:
                    continue
                if group and size + len(text) > _BATCH_CHARACTERS:
                    scores |= self._score_group(texts, group, mode)
                    group, size = [], 0
                group.append(number)
                size += len(text)
            if group:
                scores |= self._score_group(texts, group, mode)
        return [scores[number] for number in range(len(texts))]

    def _score_group(
        self, texts: Sequence[str], group: Sequence[int], mode: Mode
    ) -> dict[int, BoundaryScores]:
        tokenizer = text_tokenizer(self.model)
        learned = self.weights.modes[mode]
        encodings = [tokenizer.encode(texts[number]) for number in group]
        readings = read_heads(self.model, encodings, self._sites, learned.layer_maps(self._sites))
        found = {}
        for number, encoding, reading in zip(group, encodings, readings, strict=True):
            text = texts[number]
            candidates = find_candidates(text, encoding)
            log_odds = learned.log_odds(reading, candidates, text)
            found[number] = BoundaryScores(
                mode,
                candidates.characters,
                1 / (1 + np.exp(-log_odds)),
                _behind_blank_lines(text, candidates) & self.blank_lines,
            )
        return found

    def _cut_sentences(
        self, text: str, scores: BoundaryScores, rules: CutRules | None = None
    ) -> list[int]:
        learned = self.weights.modes[scores.mode]
        sentences = self.by == "sentence"
        return decode(
            scores.log_odds,
            scores.characters,
            len(text),
            threshold=self.threshold or learned.threshold,
            prior=learned.prior,
            rules=self.rules if sentences else CutRules(),
            hard=scores.hard,
        )

    def _cut_topics(self, text: str, starts: list[int]) -> list[int]:
        edges = [0, *starts, len(text)]
        sentences = [text[start:end] for start, end in itertools.pairwise(edges)]
        return [edges[index] for index in self.topics(sentences)]

    def _next_spans(self, before: str, text: str) -> list[Span]:
        """The spans of a text that follows another one, which is read for context only."""
        shift = len(before)
        scores = self._scores([before + text])[0]
        later = scores.characters > shift
        scores = BoundaryScores(
            scores.mode,
            scores.characters[later] - shift,
            scores.probabilities[later],
            scores.hard[later],
        )
        starts = self._cut_sentences(text, scores)
        if self.by == "topic":
            starts = self._cut_topics(text, starts)
        return list(zip([0, *starts], [*starts, len(text)], strict=True)) if text else []


def _behind_blank_lines(text: str, candidates: Candidates) -> Bool[np.ndarray, " candidate"]:
    found = np.zeros(len(candidates), dtype=bool)
    for index, character in enumerate(candidates.characters):
        place = int(character) - 1
        lines = 0
        while place >= 0 and text[place].isspace():
            lines += text[place] == "\n"
            place -= 1
        found[index] = lines > 1
    return found


def _find_weights(
    model: LoadedModel, weights: str | Path | SegmenterWeights | None
) -> SegmenterWeights:
    if isinstance(weights, SegmenterWeights):
        return weights
    if weights is not None:
        return load_weights(weights)
    shipped = load_weights(SHIPPED)
    if shipped.weights_hash != model.weights_hash:
        raise ModelError(
            f"no segmenter weights come with headscope for {model.name}; learn them from plain "
            "texts with Segmenter.fit(texts, model=...), or pass weights=FOLDER"
        )
    return shipped
