"""Topics: where a sequence of sentences turns to something else.

Each sentence is the mean of what the heads write for its tokens, read by itself, centred over the
text, scaled to length 1, with some of its neighbours added. The best cuts into k segments are those
with the least scatter inside segments, found exactly by dynamic programming on the Gram matrix. How
many segments there are is read off the same sentences in random order, which have no topics.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64
from numpy.typing import NDArray

from headscope.compiled.best_cuts import cheapest_segments
from headscope.errors import SettingsError
from headscope.models.loaded import LoadedModel
from headscope.segment.read_heads import (
    WINDOW_TOKENS,
    keep_all,
    read_heads,
    read_sites,
    text_tokenizer,
)
from headscope.text.encoding import Encoding

_MOST_SENTENCES = 1_000
"""Longer sequences are cut into stretches of so many sentences: costs grow with the square."""

_MOST_SEGMENTS = 100
_FEWEST_SENTENCES = 3
"""A topic whose number is not given has at least so many: less is mostly one odd sentence."""

_NEIGHBOURS = 0.3
"""How much of the sentence before and of the one behind is added to each: a short or odd sentence
says little by itself."""

_PENALTY = 1.1
"""Cuts must gain so many times what as many cuts of shuffled sentences gain. Above 1, because
neighbouring sentences of one topic are more alike than shuffled ones."""


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """How topics are looked for."""

    n_segments: int | None = None
    """How many there are; None finds out."""
    permutations: int = 20
    """How often the sentences are shuffled to learn what cuts gain where there are no topics."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_segments is not None and self.n_segments < 1:
            raise SettingsError(f"n_segments: {self.n_segments} is too few; give at least 1")


def sentence_topics(
    model: LoadedModel, sentences: Sequence[str], settings: TopicSettings
) -> list[int]:
    """The sentences at which a new topic begins, the first one left out, in order."""
    if settings.n_segments is not None:
        return find_topics(sentence_vectors(model, sentences), settings)
    found: list[int] = []
    for first in range(0, len(sentences), _MOST_SENTENCES):
        vectors = sentence_vectors(model, sentences[first : first + _MOST_SENTENCES])
        found += [first] * (first > 0)
        found += [first + start for start in find_topics(vectors, settings)]
    return found


def sentence_vectors(
    model: LoadedModel, sentences: Sequence[str]
) -> Float64[np.ndarray, "sentence output"]:
    """The mean head outputs of each sentence in the upper half of the layers, side by side.

    Of a sentence longer than a window, its start. A sentence without tokens is a row of zeros.
    """
    tokenizer = text_tokenizer(model)
    deepest = max(site.layer for site in model.sites if site.stack == model.stacks[0])
    sites = read_sites(model, tuple(range(deepest // 2 + 1, deepest + 1)))
    special = len(tokenizer.prefix_ids) + len(tokenizer.suffix_ids)
    size = min(WINDOW_TOKENS, tokenizer.max_tokens or WINDOW_TOKENS) - special
    encodings = [tokenizer.encode(sentence) for sentence in sentences]
    starts = [
        Encoding(encoding.token_ids[:size], encoding.starts[:size], encoding.ends[:size])
        for encoding in encodings
    ]
    readings = read_heads(model, starts, sites, keep_all(sites), signals=False)
    vectors = torch.stack(
        [reading.columns.double().sum(0) / max(len(reading.columns), 1) for reading in readings]
    )
    return vectors.numpy()


def find_topics(
    vectors: Float64[np.ndarray, "sentence output"], settings: TopicSettings
) -> list[int]:
    """The sentences at which a new topic begins, the first one left out, in order."""
    n = len(vectors)
    if n < 2 or settings.n_segments == 1:
        return []
    gram = _gram(vectors)
    if settings.n_segments is not None:
        wanted = min(settings.n_segments, n)
        costs = _costs(_with_neighbours(gram), min(_FEWEST_SENTENCES, n // wanted))
        return _starts(cheapest_segments(costs, wanted)[1], wanted)
    most = min(n // _FEWEST_SENTENCES, _MOST_SEGMENTS)
    if most < 2:
        return []
    least, starts = cheapest_segments(_costs(_with_neighbours(gram), _FEWEST_SENTENCES), most)
    by_chance = _least_by_chance(gram, most, settings)
    penalty = _PENALTY * (by_chance[:, :1] - by_chance).mean(0)
    gains = least[0] - least - penalty
    if gains.max() <= (by_chance[:, :1] - by_chance - penalty).max():
        return []  # shuffled sentences can gain as much: nothing tells topics apart
    return _starts(starts, int(np.argmax(gains)) + 1)


def _gram(
    vectors: Float64[np.ndarray, "sentence output"],
) -> Float64[np.ndarray, "sentence sentence"]:
    """Scalar products of the sentences, centred over the text, each of length 1."""
    centred = vectors - vectors.mean(0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 1e-9)
    gram: Float64[np.ndarray, "sentence sentence"] = unit @ unit.T
    return gram


def _with_neighbours(
    gram: Float64[np.ndarray, "sentence sentence"],
) -> Float64[np.ndarray, "sentence sentence"]:
    """The same with some of the sentences before and behind added to each, of length 1 again."""
    rows = gram.copy()
    rows[1:] += _NEIGHBOURS * gram[:-1]
    rows[:-1] += _NEIGHBOURS * gram[1:]
    both = rows.copy()
    both[:, 1:] += _NEIGHBOURS * rows[:, :-1]
    both[:, :-1] += _NEIGHBOURS * rows[:, 1:]
    lengths = np.sqrt(np.maximum(np.diag(both), 1e-18))
    smoothed: Float64[np.ndarray, "sentence sentence"] = both / np.outer(lengths, lengths)
    return smoothed


def _costs(
    gram: Float64[np.ndarray, "sentence sentence"], fewest: int = 1
) -> Float64[np.ndarray, "edge edge"]:
    """The scatter inside the segment of sentences i to j - 1, at [i, j].

    Infinite for segments of fewer sentences than `fewest`.

    Scatter: the squared distances from the mean, which are all squared lengths less the squared
    length of the sum over the number of sentences.
    """
    n = len(gram)
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = gram.cumsum(0).cumsum(1)
    corner = np.diag(sums)
    block = corner[None, :] + corner[:, None] - sums - sums.T
    squares = np.concatenate([[0.0], np.cumsum(np.diag(gram))])
    sizes = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    scatter = squares[None, :] - squares[:, None] - block / np.maximum(sizes, 1)
    return np.where(sizes >= fewest, scatter, np.inf)


def _least_by_chance(
    gram: Float64[np.ndarray, "sentence sentence"], most: int, settings: TopicSettings
) -> Float64[np.ndarray, "permutation segments"]:
    """The least scatter inside 1 to `most` segments of the same sentences, each time shuffled."""
    rng = np.random.default_rng(settings.seed)
    found = []
    for _ in range(settings.permutations):
        order = rng.permutation(len(gram))
        shuffled = _with_neighbours(gram[np.ix_(order, order)])
        found.append(cheapest_segments(_costs(shuffled, _FEWEST_SENTENCES), most)[0])
    return np.array(found)


def _starts(starts: NDArray[np.int64], segments: int) -> list[int]:
    """The cuts into so many segments, read back from the last one."""
    cuts: list[int] = []
    behind = starts.shape[1] - 1
    for k in range(segments - 1, 0, -1):
        behind = int(starts[k, behind])
        cuts.append(behind)
    return cuts[::-1]
