"""Boundary scores: the probability that a sentence begins, at each candidate of a text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64
from scipy.special import expit

from headscope.models.loaded import LoadedModel
from headscope.segment.reading.read_heads import read_heads
from headscope.segment.reading.window_batches import text_tokenizer
from headscope.segment.sentences.candidates import Candidates, find_candidates
from headscope.segment.sentences.familiarity import FAMILIAR
from headscope.segment.sentences.mode import Mode
from headscope.segment.sentences.surface import rule_starts
from headscope.segment.sentences.weights import SegmenterWeights

_BATCH_CHARACTERS = 400_000
"""Texts are read together up to this many characters: memory does not grow with their number."""


@dataclass(frozen=True, eq=False, slots=True)
class BoundaryScores:
    """The probability that a sentence begins, at each candidate of a text."""

    mode: Mode
    """Which weights were used: those for text with punctuation, or those for text without."""
    characters: Int64[np.ndarray, " candidate"]
    """The character that the sentence would begin with."""
    probabilities: Float64[np.ndarray, " candidate"]
    """Calibrated on texts that the weights were not trained on."""
    hard: Bool[np.ndarray, " candidate"]
    """True after a blank line, where `blank_lines` makes a boundary certain."""
    confidence: float = 1.0
    """How far the text looks like what the weights were learned from, from 0 to 1; 1 as well for
    weights that do not say what they were learned from."""
    by_rules: bool = False
    """True where the confidence is too low: the boundaries are those of `split_sentences`."""

    @property
    def log_odds(self) -> Float64[np.ndarray, " candidate"]:
        """The logarithm of the odds of a boundary."""
        inside = np.clip(self.probabilities, 1e-9, 1 - 1e-9)
        odds: Float64[np.ndarray, " candidate"] = np.log(inside / (1 - inside))
        return odds

    def after(self, character: int) -> "BoundaryScores":
        """The scores of the rest of the text, as if it began at a character.

        Args:
            character: Where the rest begins.
        """
        later = self.characters > character
        return BoundaryScores(
            self.mode,
            self.characters[later] - character,
            self.probabilities[later],
            self.hard[later],
            self.confidence,
            self.by_rules,
        )


def score_texts(
    model: LoadedModel,
    weights: SegmenterWeights,
    texts: Sequence[str],
    modes: Sequence[Mode],
    *,
    blank_lines: bool,
    exact: bool = False,
) -> list[BoundaryScores]:
    """The scores of each text; by rules where the weights do not know its language.

    Args:
        model: The model that reads the texts.
        weights: Learned for that model.
        texts: The texts.
        modes: The mode in which each of them is read.
        blank_lines: Whether a blank line always ends a sentence.
        exact: Whether the model reads in its own precision.
    """
    scores: dict[int, BoundaryScores] = {}
    confidence = [weights.confidence(model, text) for text in texts]
    for number, text in enumerate(texts):
        if confidence[number] < FAMILIAR:
            candidates = find_candidates(text, text_tokenizer(model).encode(text))
            scores[number] = BoundaryScores(
                modes[number],
                candidates.characters,
                np.isin(candidates.characters, list(rule_starts(text))).astype(np.float64),
                _after_blank_lines(text, candidates) & blank_lines,
                confidence[number],
                by_rules=True,
            )
    for mode in sorted(set(modes)):
        numbers = [
            number
            for number, its_mode in enumerate(modes)
            if its_mode == mode and number not in scores
        ]
        for group in _groups(texts, numbers):
            read = [texts[number] for number in group]
            found = _score_group(model, weights, read, mode, exact)
            for number, (candidates, log_odds) in zip(group, found, strict=True):
                scores[number] = BoundaryScores(
                    mode,
                    candidates.characters,
                    expit(log_odds),
                    _after_blank_lines(texts[number], candidates) & blank_lines,
                    confidence[number],
                )
    return [scores[number] for number in range(len(texts))]


def _groups(texts: Sequence[str], numbers: Sequence[int]) -> Iterator[list[int]]:
    """The numbers of the texts that are read together."""
    group: list[int] = []
    size = 0
    for number in numbers:
        if group and size + len(texts[number]) > _BATCH_CHARACTERS:
            yield group
            group, size = [], 0
        group.append(number)
        size += len(texts[number])
    if group:
        yield group


def _score_group(
    model: LoadedModel,
    weights: SegmenterWeights,
    texts: Sequence[str],
    mode: Mode,
    exact: bool,
) -> Iterator[tuple[Candidates, Float64[np.ndarray, " candidate"]]]:
    learned = weights.modes[mode]
    sites = weights.sites(model)
    encodings = [text_tokenizer(model).encode(text) for text in texts]
    readings = read_heads(model, encodings, sites, learned.layer_maps(sites), exact=exact)
    for text, encoding, reading in zip(texts, encodings, readings, strict=True):
        candidates = find_candidates(text, encoding)
        yield candidates, learned.log_odds(reading, candidates, text)


def _after_blank_lines(text: str, candidates: Candidates) -> Bool[np.ndarray, " candidate"]:
    found = np.zeros(len(candidates), dtype=bool)
    for index, character in enumerate(candidates.characters):
        place = int(character) - 1
        lines = 0
        while place >= 0 and text[place].isspace():
            lines += text[place] == "\n"
            place -= 1
        found[index] = lines > 1
    return found
