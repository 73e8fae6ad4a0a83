"""The pairs of a sample's windows: which are related, under their own and under swapped labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float64
from numpy.typing import NDArray
from torch import Tensor

from headscope.kernels.relations import PairCells, PairLabels, cell_shape, pair_cells
from headscope.measures.signal import GROUPS, LONGEST_PAIRED
from headscope.text.windows import Window

_LABELS = {
    "token": "token_ids",
    "word": "word_ids",
    "form": "form_ids",
    "lemma": "lemma_ids",
    "sentence": "sentence_ids",
    "governor": "head_ids",
}


@dataclass(frozen=True, eq=False, slots=True)
class WindowPairs:
    """The pairs of one window as a stack reads it."""

    counted: Bool[Tensor, " token"]
    """The tokens that may form pairs: of the text, and not at position 0."""
    cells: PairCells
    unrelated: Bool[Tensor, "paired paired"]
    """Whether two counted tokens, i < j, have no known relation."""
    rate: Float64[Tensor, " paired"]
    """The share of such pairs at each distance."""


def groups_of(documents: Sequence[str]) -> NDArray[np.int64]:
    """The group of each window: documents are dealt out in turn, so that each is in one group.

    >>> groups_of(["a", "a", "b"]).tolist()
    [0, 0, 1]

    Args:
        documents: The document of each window.
    """
    turn = {document: number % GROUPS for number, document in enumerate(dict.fromkeys(documents))}
    return np.array([turn[document] for document in documents], dtype=np.int64)


def partners_of(windows: Sequence[Window]) -> list[Window | None]:
    """For each window one of another document that is about as long; None where there is none.

    Args:
        windows: Of a sample.
    """
    order = sorted(range(len(windows)), key=lambda place: -windows[place].n_tokens)
    partners: list[Window | None] = [None] * len(windows)
    for turn, place in enumerate(order):
        own = windows[place]
        others = (windows[order[(turn + step) % len(order)]] for step in range(1, len(order)))
        partners[place] = next((other for other in others if _is_another(own, other)), None)
    return partners


def _is_another(one: Window, other: Window) -> bool:
    """Whether two windows are of different documents that are no copies of each other."""
    same_text = one.document_hash is not None and one.document_hash == other.document_hash
    return one.document != other.document and not same_text


def pairs_of_window(
    window: Window,
    partner: Window | None,
    *,
    window_tokens: int,
    shifted: bool,
    device: torch.device | str = "cpu",
) -> WindowPairs:
    """The pairs of a window, and what is known of them.

    Args:
        window: The window.
        partner: Whose labels are the swapped ones.
        window_tokens: The length of the longest window of the run.
        shifted: Whether the stack reads the window after a start token, one place to the right.
        device: Where the tensors go.
    """
    counted = torch.zeros(window.n_tokens, dtype=torch.bool)
    first = int(shifted)
    counted[first:] = torch.from_numpy(~window.special)[: window.n_tokens - first]
    counted[0] = False
    longest = min(window_tokens, LONGEST_PAIRED)
    tokens = min(window.n_tokens, longest)
    inside = counted[:tokens].to(device)
    own = _labels(window, shifted, tokens, device)
    swapped = None if partner is None else _labels(partner, shifted, tokens, device)
    known = torch.eye(tokens, dtype=torch.bool, device=device)
    for group in (own.sentence, own.word, own.form, own.lemma, own.token):
        known |= (group[:, None] == group[None]) & (group >= 0)[:, None]
    possible = torch.triu(inside[:, None] & inside[None], diagonal=1)
    unrelated = possible & ~known
    places = torch.arange(tokens, device=device)
    distance = (places[None] - places[:, None]).clamp_min(0).flatten()

    def by_distance(chosen: Tensor) -> Tensor:
        return torch.bincount(distance, weights=chosen.flatten().double(), minlength=tokens)

    return WindowPairs(
        counted=counted.to(device),
        cells=pair_cells(own, swapped, inside, cell_shape(longest)[-1]),
        unrelated=unrelated,
        rate=by_distance(unrelated) / by_distance(possible).clamp_min(1),
    )


def _labels(window: Window, shifted: bool, tokens: int, device: torch.device | str) -> PairLabels:
    """The labels of the first tokens; -1 where the window is shorter, and at special tokens."""

    def of(name: str) -> Tensor:
        values = torch.full((tokens,), -1, dtype=torch.long)
        there = np.where(window.special, -1, getattr(window, name)).astype(np.int64)
        first = int(shifted)
        part = there[: tokens - first]
        values[first : first + len(part)] = torch.from_numpy(part)
        return values.to(device)

    return PairLabels(**{label: of(name) for label, name in _LABELS.items()})
