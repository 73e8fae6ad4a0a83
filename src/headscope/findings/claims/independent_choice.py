"""Heads that choose their focal tokens independently: how many distinct ones would a layer have?

Each layer has preferences: some tokens are focal more often than others where they occur. If every
head of a layer chose by these preferences, without regard to the other heads, some would choose the
same token. Preferences are estimated on half of the documents and applied to the other half.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int
from numpy.typing import NDArray

_CLASSES = 4
"""Tokens that occur once, twice, three or four times, or more often in a window."""


@dataclass(frozen=True, eq=False)
class WindowTokens:
    """The different tokens of some windows, one window after the other."""

    token: Int[np.ndarray, " entry"]
    """A number for each token of the vocabulary that occurs."""
    frequency: Int[np.ndarray, " entry"]
    """Class of the number of occurrences in the window."""
    window: Int[np.ndarray, " entry"]
    half: Int[np.ndarray, " window"]
    """0 or 1: which half of the documents the window belongs to."""
    ids: Int[np.ndarray, " token"]
    """The vocabulary ids, sorted; their places are the numbers of `token`."""


def window_tokens(
    token_ids: list[NDArray[np.int32]], document: Int[np.ndarray, " window"]
) -> WindowTokens:
    """The tokens of windows, ready to be chosen from.

    Args:
        token_ids: Of each window, special tokens left out.
        document: The number of each window's document.
    """
    found = [np.unique(ids, return_counts=True) for ids in token_ids]
    every = np.concatenate([ids for ids, _ in found])
    counts = np.concatenate([numbers for _, numbers in found])
    ids, token = np.unique(every, return_inverse=True)
    return WindowTokens(
        token=token,
        frequency=np.minimum(np.ceil(np.log2(counts)).astype(np.int64), _CLASSES - 1),
        window=np.repeat(np.arange(len(found)), [len(ids) for ids, _ in found]),
        half=np.unique(document, return_inverse=True)[1] % 2,
        ids=ids,
    )


def independent_distinct(
    focal: Float64[np.ndarray, "window head"], tokens: WindowTokens
) -> Float64[np.ndarray, " window"]:
    """The number of distinct focal tokens to expect of the independent heads of a layer.

    Args:
        focal: The vocabulary id of each head's focal token; -1 for none.
        tokens: Of the same windows.
    """
    heads = focal.shape[1]
    place = np.searchsorted(tokens.ids, focal).clip(max=len(tokens.ids) - 1)
    known = (focal >= 0) & (tokens.ids[place] == focal)
    # How often each token was chosen, and could have been, in each half of the documents.
    window, _ = np.nonzero(known)
    half_of_entry = tokens.half[tokens.window]
    chosen = _by_half(tokens.half[window], place[known], len(tokens.ids))
    offered = heads * _by_half(half_of_entry, tokens.token, len(tokens.ids))
    # A token that is rare in the other half is judged by its frequency in the window.
    of_entry = _choices_per_entry(place, known, tokens)
    chosen_of_class = _by_half(half_of_entry, tokens.frequency, _CLASSES, of_entry)
    offered_of_class = heads * _by_half(half_of_entry, tokens.frequency, _CLASSES)
    other = 1 - half_of_entry
    prior = (chosen_of_class + 1e-9) / np.maximum(offered_of_class, 1)
    rate = (chosen[other, tokens.token] + heads * prior[other, tokens.frequency]) / (
        offered[other, tokens.token] + heads
    )
    n_windows = len(focal)
    total = np.bincount(tokens.window, weights=rate, minlength=n_windows)
    probability = rate / total[tokens.window]
    choosing = known.sum(axis=1)[tokens.window]
    distinct = 1 - (1 - probability) ** choosing
    return np.bincount(tokens.window, weights=distinct, minlength=n_windows)


def _by_half(
    half: Int[np.ndarray, " entry"],
    kind: Int[np.ndarray, " entry"],
    kinds: int,
    weights: Float64[np.ndarray, " entry"] | None = None,
) -> Float64[np.ndarray, "half kind"]:
    """How often each kind is in each half. Many times as fast as np.add.at, and as exact."""
    counts = np.bincount(half * kinds + kind, weights=weights, minlength=2 * kinds)
    return counts.astype(np.float64).reshape(2, kinds)


def _choices_per_entry(
    place: Int[np.ndarray, "window head"], known: NDArray[np.bool_], tokens: WindowTokens
) -> Float64[np.ndarray, " entry"]:
    """How many heads chose each token of each window."""
    size = len(tokens.ids)
    key = tokens.window * size + tokens.token  # sorted, since windows and tokens are
    window, _ = np.nonzero(known)
    entry = np.searchsorted(key, window * size + place[known])
    return np.bincount(entry.clip(max=len(key) - 1), minlength=len(key)).astype(np.float64)


def choice_stability(
    focal: Float64[np.ndarray, "window head"], tokens: WindowTokens
) -> tuple[float, float]:
    """How alike the choices of a head are on two halves of the documents, and those of two heads.

    Cosine of the numbers of times that each token was chosen: of a head with itself, and with the
    other heads of its layer, mean over heads.

    Args:
        focal: The vocabulary id of each head's focal token; -1 for none.
        tokens: Of the same windows.
    """
    place = np.searchsorted(tokens.ids, focal).clip(max=len(tokens.ids) - 1)
    known = (focal >= 0) & (tokens.ids[place] == focal)
    heads = focal.shape[1]
    ids = len(tokens.ids)
    window, head = np.nonzero(known)
    counts = _by_half(tokens.half[window], head * ids + place[known], heads * ids)
    profiles = counts.reshape(2, heads, ids)
    lengths = np.linalg.norm(profiles, axis=2, keepdims=True)
    profiles /= np.maximum(lengths, 1e-12)
    alike = profiles[0] @ profiles[1].T
    own = float(np.diag(alike).mean())
    others = float((alike.sum() - np.trace(alike)) / max(heads * (heads - 1), 1))
    return own, others
