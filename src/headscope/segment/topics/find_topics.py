"""Topics: the sentences at which a text turns to another subject."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray
from scipy.linalg import toeplitz

from headscope.errors import SettingsError
from headscope.kernels.cpu.jit.best_cuts import cheapest_segments
from headscope.models.loaded import LoadedModel
from headscope.segment.reading.window_batches import text_tokenizer
from headscope.segment.topics.gap_features import similarity_channels
from headscope.segment.topics.sentence_similarity import sentence_vectors, word_overlap
from headscope.segment.topics.topic_net import TopicNet, topic_net_for

_ECHOES = 0.01
"""The share of pairs across segments that count as echoes: the most similar ones."""


def segments_differ(
    cosines: Float64[np.ndarray, "sentence sentence"], starts: Sequence[int]
) -> bool:
    """Whether segments differ from each other more than they echo each other.

    With m the mean cosine of pairs across segments: the contrast, (mean inside segments - m) /
    (1 - m), must exceed the square of the echo, (top 1 % across segments - m) / (1 - m). Dividing
    by 1 - m makes this independent of how close to 1 all cosines of a model are.

    >>> segments_differ(np.kron(np.eye(2), np.ones((3, 3))), starts=[3])
    True

    Args:
        cosines: Of all sentences, not centred.
        starts: The sentences at which segments begin, without the first.
    """
    n = len(cosines)
    first, second = np.triu_indices(n, 1)
    pairs = cosines[first, second]
    segment = np.searchsorted(np.asarray(starts), np.arange(n), side="right")
    inside = segment[first] == segment[second]
    if inside.all() or not inside.any():
        return False
    across = pairs[~inside]
    usual = across.mean()
    contrast = pairs[inside].mean() - usual
    echoes = np.quantile(across, 1 - _ECHOES) - usual
    return bool(contrast * (1 - usual) > echoes**2)


_MOST_SENTENCES = 1_000
"""Longer texts are processed in parts of this many sentences: costs grow with the square."""

_MOST_SEGMENTS = 100
_FEWEST_SENTENCES = 3
"""The shortest topic, where their number is not given: a shorter one is mostly an odd sentence."""

_WORDS = 0.5
"""The weight of shared words relative to the vectors. A mean over tokens keeps little of names and
terms, which matter most between texts on similar subjects."""

_NEIGHBOURS = 0.2
"""The weight with which the sentences before and after are added to each: a short or odd sentence
says little by itself."""

_UNRELATED = 0.2
"""Pairs of sentences less similar than this are evidence against one segment."""

_SIZE_POWER = 0.65
"""The sum over the pairs of a segment is divided by its size to this power. The size itself, which
gives the scatter around the mean, favours small segments of very similar sentences too much."""

_LEAST_GAIN = 0.05
"""The least that a cut has to gain over cuts of permuted sentences."""

_LEARNED = 0.25
"""The weight of the log odds of the network in the cost of a cut."""

_LEAST_GAIN_LEARNED = -0.3
"""The same with a network, whose odds are against most cuts already."""


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """How topics are found."""

    n_segments: int | None = None
    """The number of topics; None to find it."""
    permutations: int = 50
    """How often sentences are permuted to estimate what cuts gain where there are no topics."""
    seed: int = 0
    exact: bool = False
    """Whether sentences are read in the model's own precision."""

    def __post_init__(self) -> None:
        if self.n_segments is not None and self.n_segments < 1:
            raise SettingsError(f"n_segments: {self.n_segments} is too few; give at least 1")


def sentence_topics(
    model: LoadedModel, sentences: Sequence[str], settings: TopicSettings
) -> list[int]:
    """The sentences at which a new topic begins, in order, without the first.

    Args:
        model: The model that reads the sentences.
        sentences: The text, sentence by sentence.
        settings: Number of topics, permutations, seed.
    """
    number_given = settings.n_segments is not None
    size = max(len(sentences), 1) if number_given else _MOST_SENTENCES
    net = topic_net_for(model)
    found: list[int] = []
    for first in range(0, len(sentences), size):
        part = sentences[first : first + size]
        encodings = [text_tokenizer(model).encode(sentence) for sentence in part]
        vectors = sentence_vectors(model, encodings, exact=settings.exact)
        overlap = word_overlap(encodings)
        starts = find_topics(vectors, overlap, settings, net)
        found += [first] * (first > 0)
        found += [first + start for start in starts]
    return found


def find_topics(
    vectors: Float64[np.ndarray, "sentence output"],
    overlap: Float64[np.ndarray, "sentence sentence"],
    settings: TopicSettings,
    net: TopicNet | None = None,
) -> list[int]:
    """The sentences at which a new topic begins, in order, without the first.

    Args:
        vectors: The vector of each sentence, see `sentence_vectors`.
        overlap: Their `word_overlap`.
        settings: Number of topics, permutations, seed.
        net: The network learned for the model, if there is one.
    """
    n = len(vectors)
    if n < 2 or settings.n_segments == 1:
        return []
    channels = similarity_channels(vectors, overlap)
    gram = _of_length_1(channels[1] + _WORDS * overlap)
    credit = np.zeros(n + 1)
    if net is not None:
        credit[1:n] = _LEARNED * net.log_odds(channels).numpy()
    if settings.n_segments is not None:
        wanted = min(settings.n_segments, n)
        costs = _costs(_with_neighbours(gram), min(_FEWEST_SENTENCES, n // wanted))
        return _starts(cheapest_segments(costs - credit[:, None], wanted)[1], wanted)
    most = min(n // _FEWEST_SENTENCES, _MOST_SEGMENTS)
    if most < 2:
        return []
    costs = _costs(_with_neighbours(gram), _FEWEST_SENTENCES)
    least, starts = cheapest_segments(costs - credit[:, None], most)
    by_chance = _least_by_chance(gram, most, settings)
    expected = (by_chance[:, :1] - by_chance).mean(0)
    gains = least[0] - least - expected
    if gains.max() <= (by_chance[:, :1] - by_chance - expected).max():
        return []  # permuted sentences can gain as much: there are no topics to find
    least_gain = _LEAST_GAIN if net is None else _LEAST_GAIN_LEARNED
    found = _starts(starts, int(np.argmax(gains - least_gain * np.arange(most))) + 1)
    return found if segments_differ(channels[0], found) else []


def _with_neighbours(
    gram: Float64[np.ndarray, "sentence sentence"],
) -> Float64[np.ndarray, "sentence sentence"]:
    """The Gram matrix after adding some of its neighbours to each sentence; of length 1 again."""
    rows = gram.copy()
    rows[1:] += _NEIGHBOURS * gram[:-1]
    rows[:-1] += _NEIGHBOURS * gram[1:]
    both = rows.copy()
    both[:, 1:] += _NEIGHBOURS * rows[:, :-1]
    both[:, :-1] += _NEIGHBOURS * rows[:, 1:]
    return _of_length_1(both)


def _of_length_1(
    gram: Float64[np.ndarray, "sentence sentence"],
) -> Float64[np.ndarray, "sentence sentence"]:
    """The Gram matrix of the same vectors, each of length 1."""
    lengths = np.sqrt(np.maximum(np.diag(gram), 1e-18))
    scaled: Float64[np.ndarray, "sentence sentence"] = gram / np.outer(lengths, lengths)
    return scaled


def _costs(
    gram: Float64[np.ndarray, "sentence sentence"], fewest: int = 1
) -> Float64[np.ndarray, "edge edge"]:
    """The cost of a segment of the sentences i to j - 1, at [i, j].

    Minus the sum over its pairs of their similarity above that of unrelated sentences, divided by a
    power of its size. Infinite for segments of fewer sentences than `fewest`.
    """
    n = len(gram)
    pairs = gram - _UNRELATED
    np.fill_diagonal(pairs, 0.0)
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = pairs.cumsum(0).cumsum(1)
    corner = np.diag(sums)
    inside = corner[None, :] + corner[:, None] - sums - sums.T
    # A power for each size, not for each pair of edges: this is done for every permutation.
    powers = toeplitz(np.maximum(np.arange(n + 1), 1) ** _SIZE_POWER)
    too_short = np.tri(n + 1, k=fewest - 1, dtype=bool)
    return np.where(too_short, np.inf, -inside / powers)


def _least_by_chance(
    gram: Float64[np.ndarray, "sentence sentence"], most: int, settings: TopicSettings
) -> Float64[np.ndarray, "permutation segments"]:
    """The least cost of 1 to `most` segments of the same sentences, for each permutation."""
    rng = np.random.default_rng(settings.seed)
    found = []
    for _ in range(settings.permutations):
        order = rng.permutation(len(gram))
        permuted = _with_neighbours(gram[np.ix_(order, order)])
        found.append(cheapest_segments(_costs(permuted, _FEWEST_SENTENCES), most)[0])
    return np.array(found)


def _starts(starts: NDArray[np.int64], segments: int) -> list[int]:
    """The cuts into a number of segments, traced back from the last one."""
    cuts: list[int] = []
    end = starts.shape[1] - 1
    for k in range(segments - 1, 0, -1):
        end = int(starts[k, end])
        cuts.append(end)
    return cuts[::-1]
