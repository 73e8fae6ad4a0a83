"""Dependency trees of the sentences in a window, where the corpus marks them.

Words are looked at by their last token, as everywhere in probes. Punctuation is left out: in
Universal Dependencies marks are leaves that say little, and no path leads over them.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.stats import rankdata

from headscope.text.windows import Window

LEAST_WORDS = 5
"""Words of a sentence, without punctuation: distances in shorter ones hardly vary."""
MOST_WORDS = 60
"""Longer sentences are left out: they would need most of the memory."""


@dataclass(frozen=True, eq=False, slots=True)
class Tree:
    """The words of a sentence, and how far apart they are in its dependency tree."""

    tokens: Int64[np.ndarray, " word"]
    """The place of the last token of each word in the window."""
    distances: Int64[np.ndarray, "word word"]
    """Number of edges between two words."""

    @property
    def linear(self) -> Float64[np.ndarray, "word word"]:
        """Number of words from one to the other in the text: what order alone tells."""
        places = np.arange(len(self.tokens), dtype=np.float64)
        distances: Float64[np.ndarray, "word word"] = np.abs(places[:, None] - places)
        return distances


def trees_of(window: Window) -> list[Tree]:
    """The trees of the sentences whose words in the window hang together.

    A sentence that the window cuts may fall apart, and is then left out; otherwise the paths
    between the words that are there are those of the whole tree.

    Args:
        window: Any.
    """
    last = np.append(window.word_ids[1:] != window.word_ids[:-1], True)
    known = np.flatnonzero(last & (window.word_ids >= 0) & (window.head_ids >= 0))
    sentences = window.sentence_ids[known]
    wordlike = _wordlike(window)
    found = []
    for sentence in np.unique(sentences):
        tokens = known[sentences == sentence]
        words, heads = window.word_ids[tokens], window.head_ids[tokens]
        if (heads == words).sum() != 1 or not np.isin(heads, words).all():
            continue
        distances = _distances(words.astype(np.int64), heads.astype(np.int64))
        kept = wordlike[words]
        if distances is None or not LEAST_WORDS <= kept.sum() <= MOST_WORDS:
            continue
        found.append(Tree(tokens[kept], distances[np.ix_(kept, kept)]))
    return found


def _wordlike(window: Window) -> Bool[np.ndarray, " word"]:
    """Of each word of a window, whether it has a letter or a digit."""
    has = np.zeros(int(window.word_ids.max(initial=-1)) + 1, dtype=bool)
    for word, text in zip(window.word_ids.tolist(), window.tokens, strict=True):
        if word >= 0 and any(character.isalnum() for character in text):
            has[word] = True
    return has


def _distances(
    words: Int64[np.ndarray, " word"], heads: Int64[np.ndarray, " word"]
) -> Int64[np.ndarray, "word word"] | None:
    """Number of edges between words; None if not all are linked."""
    place = np.searchsorted(words, heads)
    inner = place != np.arange(len(words))
    edges = (np.ones(inner.sum()), (np.flatnonzero(inner), place[inner]))
    graph = csr_array(edges, shape=(len(words),) * 2)
    distances = shortest_path(graph, directed=False, unweighted=True)
    return distances.astype(np.int64) if np.isfinite(distances).all() else None


def rank_agreement(
    found: Float64[np.ndarray, "word word"], tree: Tree
) -> Float64[np.ndarray, " word"]:
    """Spearman's correlation of the distances from each word to the others with those in the tree.

    NaN for a word from which all others are equally far in the tree.

    Args:
        found: Distances that are held against the tree.
        tree: Of the sentence.
    """
    n = len(found)
    others = ~np.eye(n, dtype=bool)
    one, other = (
        rankdata(values[others].reshape(n, n - 1), axis=1) for values in (found, tree.distances)
    )
    one -= one.mean(1, keepdims=True)
    other -= other.mean(1, keepdims=True)
    spread = np.sqrt((one**2).sum(1) * (other**2).sum(1))
    # Distances that are all alike agree with nothing.
    agreement = np.where(spread > 0, (one * other).sum(1) / np.maximum(spread, 1e-12), 0.0)
    agreement[(other == 0).all(1)] = np.nan
    result: Float64[np.ndarray, " word"] = agreement
    return result


def edges_found(found: Float64[np.ndarray, "word word"], tree: Tree) -> tuple[int, int]:
    """How many edges of the tree are in the smallest spanning tree of distances, and of how many.

    Args:
        found: Distances that are held against the tree.
        tree: Of the sentence.
    """
    # To scipy, a distance of zero is no edge.
    spanning = minimum_spanning_tree(np.maximum(found, 1e-9)).toarray() > 0
    edges = np.triu(tree.distances == 1)
    return int((edges & (spanning | spanning.T)).sum()), int(edges.sum())
