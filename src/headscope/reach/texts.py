"""The texts that are read of a pair of documents: intact, spliced, shuffled, replaced, repeated.

Every text is as long as a window, and every token that is taken from a window stays at its place
there (shuffled sentences and planted phrases aside): what depends on positions alone is the same in
all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Int
from numpy.typing import NDArray

from headscope.text.windows import Window

FIRST_TOKENS = 4
"""Tokens at the beginning that are kept apart: models use them as attention sinks."""
PHRASE_TOKENS = 8
"""Length of a planted phrase."""


@dataclass(frozen=True, eq=False, slots=True)
class Text:
    """What the model reads, with what is known of each token."""

    token_ids: Int[np.ndarray, " token"]
    forms: Int[np.ndarray, " token"]
    """Equal for tokens of words that are written the same, in all texts of a pair; -1 for none."""
    sinks: Bool[np.ndarray, " token"]
    """Special tokens and the first tokens."""
    sentences: Int[np.ndarray, " token"]
    """The sentence that each token is in; -1 for special tokens."""

    def __len__(self) -> int:
        return len(self.token_ids)

    def taking(self, other: "Text", places: NDArray[np.int64] | slice) -> "Text":
        """The text with some tokens replaced by those of another text at the same places."""
        token_ids, forms = self.token_ids.copy(), self.forms.copy()
        token_ids[places], forms[places] = other.token_ids[places], other.forms[places]
        return replace(self, token_ids=token_ids, forms=forms)


def intact_texts(windows: Sequence[Window]) -> list[Text]:
    """Windows of one length as texts, with forms that can be compared between them.

    Args:
        windows: Of a pair of documents.
    """
    known: dict[str, int] = {}
    return [_intact(window, known) for window in windows]


def _intact(window: Window, known: dict[str, int]) -> Text:
    words: dict[int, str] = {}
    for token, word in zip(window.tokens, window.word_ids.tolist(), strict=True):
        words[word] = words.get(word, "") + token
    number = {
        word: known.setdefault(text.strip().lower(), len(known)) for word, text in words.items()
    }
    special = window.special
    forms = np.array([number[word] for word in window.word_ids.tolist()])
    sinks = special.copy()
    sinks[np.flatnonzero(~special)[:FIRST_TOKENS]] = True
    return Text(
        window.token_ids.astype(np.int64),
        np.where(special, -1, forms),
        sinks,
        np.where(special, -1, window.sentence_ids),
    )


def splice(first: Text, second: Text, point: int) -> Text:
    """The first text up to a point, and the second from there on.

    Args:
        first: Gives the tokens before the point.
        second: Gives the tokens from the point on.
        point: The place of the first token of the second part.
    """
    return first.taking(second, slice(point, len(first)))


def shuffle_sentences(text: Text, rng: np.random.Generator) -> Text:
    """The same sentences in random order; special tokens stay where they are.

    Args:
        text: With sentences.
        rng: Draws the order.
    """
    body = np.flatnonzero(text.sentences >= 0)
    rank = rng.permutation(int(text.sentences.max()) + 1)
    order = body[np.argsort(rank[text.sentences[body]], kind="stable")]
    token_ids, forms = text.token_ids.copy(), text.forms.copy()
    token_ids[body], forms[body] = text.token_ids[order], text.forms[order]
    return replace(text, token_ids=token_ids, forms=forms)


@dataclass(frozen=True, eq=False, slots=True)
class Replaced:
    """A text of which all beyond some distance of the scored tokens is from another document."""

    text: Text
    scored: Int[np.ndarray, " score"]
    """Places of the scored tokens, which are those of the intact text, as is all around them."""
    distances: Int[np.ndarray, " score"]
    """How far the intact text extends from each scored token."""


MOST_SCORED = 64
"""Scored tokens of a bin of distance: what they are compared with is kept for all layers."""


def replaced_before(own: Text, spliced: Text, point: int, edges: Sequence[int]) -> Replaced:
    """A spliced text as one whose beginning is replaced: all that causal models can see.

    The token at `point + d` has d tokens of its own document before it, and the other document
    before those.

    Args:
        own: The text that the second part is from.
        spliced: That part after the beginning of another document.
        point: The place of the first token of the second part.
        edges: Of the bins of distance.
    """
    scored = []
    for low, high in pairwise(edges):
        places = np.arange(point + low, min(point + high, len(own)))
        places = places[~own.sinks[places]]
        kept = np.linspace(0, len(places) - 1, min(MOST_SCORED, len(places))).round()
        scored.append(places[kept.astype(np.int64)])
    places = np.concatenate(scored)
    return Replaced(spliced, places, places - point)


def replaced_around(own: Text, other: Text, distance: int) -> Replaced | None:
    """A text of which only the middle is kept, for models that see both sides; None without room.

    Scored are the tokens in the very middle. On each side of them at least `distance` tokens are
    intact, and at most a quarter more.

    Args:
        own: The text that the middle is from.
        other: The text that the rest is from.
        distance: How far the intact text extends from the scored tokens.
    """
    middle, spread = len(own) // 2, distance // 8
    places = np.arange(middle - spread, middle + spread + 1)
    low, high = places[0] - distance, places[-1] + distance + 1
    body = np.flatnonzero(~own.sinks)
    if low <= body[0] or high > body[-1]:
        return None
    replaced = np.concatenate([np.arange(body[0], low), np.arange(high, body[-1] + 1)])
    return Replaced(own.taking(other, replaced), places, np.full(len(places), distance))


@dataclass(frozen=True, eq=False, slots=True)
class Echo:
    """A text in which foreign phrases come back, and the same without their first occurrences."""

    text: Text
    control: Text
    """The same text with other foreign phrases in place of the first occurrences."""
    again: Int[np.ndarray, "distance token"]
    """Places of the second occurrences, without the first token of each."""
    before: Int[np.ndarray, "distance token"]
    """Places of as many tokens just before them, which repeat nothing."""
    distances: tuple[int, ...]
    """How far apart the occurrences are."""


def plant_echoes(
    own: Text, other: Text, distances: Sequence[int], rng: np.random.Generator
) -> Echo:
    """A text with a phrase of random foreign tokens planted twice, at each distance that has room.

    Random tokens, so that nothing but the first occurrence tells what follows in the second.

    Args:
        own: The text in which phrases are planted.
        other: The text whose tokens phrases are made of.
        distances: Between the occurrences.
        rng: Draws the phrases.
    """
    body = np.flatnonzero(~own.sinks)
    free = ~own.sinks
    vocabulary = np.flatnonzero(~other.sinks)
    each = max(1, min(4, len(own) // 256))
    texts = [own, own]
    again: dict[int, list[NDArray[np.int64]]] = {}
    for distance in sorted(distances, reverse=True):
        for _ in range(each):
            place = _room(free, body, distance)
            if place is None:
                continue
            second = place + np.arange(PHRASE_TOKENS)
            first = second - distance
            free[first] = free[second] = free[second - PHRASE_TOKENS] = False
            phrase, instead = rng.choice(vocabulary, (2, PHRASE_TOKENS))
            for number, earlier in enumerate((phrase, instead)):
                texts[number] = _overwrite(texts[number], other, first, earlier)
                texts[number] = _overwrite(texts[number], other, second, phrase)
            again.setdefault(distance, []).append(second[1:])
    complete = sorted(distance for distance, found in again.items() if len(found) == each)
    places = np.array([np.concatenate(again[distance]) for distance in complete], dtype=np.int64)
    places = places.reshape(len(complete), each * (PHRASE_TOKENS - 1))
    return Echo(texts[0], texts[1], places, places - PHRASE_TOKENS, tuple(complete))


def _room(free: Bool[np.ndarray, " token"], body: NDArray[np.int64], distance: int) -> int | None:
    """The last place where a phrase, what is before it and its first occurrence are free."""
    phrase = np.arange(PHRASE_TOKENS)
    last = int(body[-1]) - PHRASE_TOKENS + 1
    for place in range(last, int(body[0]) + distance - 1, -1):
        needed = np.concatenate(
            [place + phrase, place - PHRASE_TOKENS + phrase, place - distance + phrase]
        )
        if needed.min() >= body[0] and free[needed].all():
            return place
    return None


def _overwrite(
    text: Text, other: Text, places: NDArray[np.int64], taken: NDArray[np.int64]
) -> Text:
    token_ids, forms = text.token_ids.copy(), text.forms.copy()
    token_ids[places], forms[places] = other.token_ids[taken], other.forms[taken]
    return replace(text, token_ids=token_ids, forms=forms)
