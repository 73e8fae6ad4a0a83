"""Packing: the best cuts of a text into chunks that keep their limits, by dynamic programming.

A chunk of t tokens costs (1 - t / room) squared, as in TeX's lines of a paragraph: chunks become as
full as each other. A cut gains what its place is worth. The sum is the best there is.

Tokens of parts do not quite add up to those of the whole (spaces, merges across a cut). So sums are
used to find the cuts, every chunk is then counted as it stands, and where that breaks a limit, the
true number replaces the sum and the cuts are found again.
"""

from bisect import bisect_left
from collections import defaultdict
from itertools import pairwise

import numpy as np
from jaxtyping import Float64

from headscope.errors import SettingsError
from headscope.segment.chunks.cut_places import CutPlaces, even_places, word_places
from headscope.segment.chunks.limits import ChunkLimits
from headscope.segment.chunks.token_counter import TokenCounter

_TOO_SMALL = 1e6
"""What a chunk below `min_tokens` costs: any cut inside words is better."""
_ROUNDS = 12
"""After this many tries with sums, every chunk that is considered is counted."""
_PARTS = 8
"""Parts that a word which fills a chunk is cut into."""


def pack(
    text: str, places: CutPlaces, limits: ChunkLimits, count: TokenCounter, begin: int = 0
) -> list[tuple[int, int]]:
    """The spans of the chunks that cover a text from `begin` on, without overlap.

    No chunk has more than `limits.room` tokens, and none fewer than `min_tokens` unless the whole
    text has; where both cannot be kept, the first is.

    Args:
        text: The text.
        places: Where cuts are welcome; others are added between words, and inside words, where the
            limits need them.
        limits: Sizes in tokens.
        count: Counts tokens.
        begin: Where the first chunk begins.

    Raises:
        SettingsError: A single character has more tokens than a chunk may have.
    """
    return _Packing(text, places, limits, count, begin).chunks() if len(text) > begin else []


class _Packing:
    def __init__(
        self, text: str, places: CutPlaces, limits: ChunkLimits, count: TokenCounter, begin: int
    ) -> None:
        self.text, self.begin, self.limits = text, begin, limits
        self._count = count
        self._counted: dict[tuple[int, int], int] = {}
        later = places.characters > begin
        self.places = CutPlaces(places.characters[later], places.gains[later])
        self._sizes: dict[tuple[int, int], float] = {}
        self._known: defaultdict[int, dict[int, int]] = defaultdict(dict)
        added: list[CutPlaces] = []
        for start, end in self._units():
            if self.count(start, end) > limits.room:
                words = word_places(text, start, end)
                added.append(words)
                for first, last in pairwise([start, *words.characters.tolist(), end]):
                    added += self._parts_of_word(first, last)
        self.places = self.places.merged(*added)

    def count(self, start: int, end: int) -> int:
        """The number of tokens of a span, counted once."""
        key = (start, end)
        if key not in self._counted:
            self._counted[key] = self._count(self.text[start:end])
        return self._counted[key]

    def chunks(self) -> list[tuple[int, int]]:
        """The spans of the best chunks."""
        exact = False
        for tries in range(10 * _ROUNDS):
            exact = exact or tries >= _ROUNDS
            found = self._best(exact=exact)
            wrong = [span for span in found if self._breaks_sum(*span)]
            small = [span for span in found if self._too_small(*span)]
            if wrong:
                for start, end in wrong:
                    self._known[end][start] = self.count(start, end)
            elif not small or not self._refine(found, small):
                if exact or not small:
                    break
                exact = True  # a cut may look too small by sums alone
        return found

    def _units(self) -> list[tuple[int, int]]:
        return list(pairwise([self.begin, *self.places.characters.tolist(), len(self.text)]))

    def _parts_of_word(self, start: int, end: int) -> list[CutPlaces]:
        """Places inside a word that is too large for a chunk; none in others."""
        tokens, room = self.count(start, end), self.limits.room
        if tokens <= room:
            return []
        if end - start == 1:
            raise SettingsError(
                f"max_tokens: {self.limits.max_tokens} is too few; the character "
                f"{self.text[start]!r} alone has {tokens} tokens"
            )
        parts = even_places(self.text, start, end, max(2, _PARTS * tokens // room))
        added = [parts]
        for first, last in pairwise([start, *parts.characters.tolist(), end]):
            # Tokens of a word do not add up at all: share them out by length.
            self._sizes[first, last] = tokens * (last - first) / (end - start)
            added += self._parts_of_word(first, last)
        return added

    def _breaks_sum(self, start: int, end: int) -> bool:
        """Whether a chunk keeps its limits by sums alone, not as it stands."""
        if start in self._known[end]:
            return False
        tokens = self.count(start, end)
        return tokens > self.limits.room or tokens < self.limits.min_tokens

    def _too_small(self, start: int, end: int) -> bool:
        whole = start == self.begin and end == len(self.text)
        return not whole and self.count(start, end) < self.limits.min_tokens

    def _refine(self, found: list[tuple[int, int]], small: list[tuple[int, int]]) -> bool:
        """Add places around chunks that are too small; False if there are no more."""
        before = len(self.places)
        added: list[CutPlaces] = []
        for start, end in small:
            number = bisect_left(found, (start, end))
            first, last = found[max(0, number - 1)][0], found[min(number + 1, len(found) - 1)][1]
            words = word_places(self.text, first, last)
            if np.isin(words.characters, self.places.characters).all():
                added += self._letters(first, last)
            else:
                added.append(words)
        self.places = self.places.merged(*added)
        return len(self.places) > before

    def _letters(self, first: int, last: int) -> list[CutPlaces]:
        """A place before every letter of a part of the text."""
        characters = self.places.characters
        inside = characters[(characters > first) & (characters < last)].tolist()
        added = []
        for start, end in pairwise([first, *inside, last]):
            size = self._size(start, end)
            letters = even_places(self.text, start, end, end - start)
            for one, next_one in pairwise([start, *letters.characters.tolist(), end]):
                self._sizes[one, next_one] = size * (next_one - one) / (end - start)
            added.append(letters)
        return added

    def _size(self, start: int, end: int) -> float:
        """About how many tokens a unit adds: with the space before it, as tokenizers count."""
        if (start, end) not in self._sizes:
            first = self._visible_end(start)
            last = self._visible_end(end) if end < len(self.text) else end
            self._sizes[start, end] = float(self._count(self.text[first:last]))
        return self._sizes[start, end]

    def _visible_end(self, place: int) -> int:
        while place > self.begin and self.text[place - 1].isspace():
            place -= 1
        return place

    def _best(self, exact: bool) -> list[tuple[int, int]]:
        """The best chunks by sums; with `exact`, by counting each that is considered."""
        edges = [self.begin, *self.places.characters.tolist(), len(self.text)]
        sizes = [self._size(start, end) for start, end in pairwise(edges)]
        total = np.concatenate([[0.0], np.cumsum(sizes)])
        gains = np.concatenate([self.places.gains, [0.0]])
        index_of = {edge: index for index, edge in enumerate(edges)}
        best = np.full(len(edges), -np.inf)
        best[0] = 0.0
        back = np.zeros(len(edges), dtype=np.int64)
        for index in range(1, len(edges)):
            end = edges[index]
            first = int(np.searchsorted(total, total[index] - self.limits.room - 1e-9))
            first = min(first, index - 1)
            tokens = total[index] - total[first:index]
            for start, known in self._known[end].items():
                if start in index_of and first <= index_of[start] < index:
                    tokens[index_of[start] - first] = known
            # A unit by itself always fits: it was cut until it did.
            tokens[-1] = min(tokens[-1], self.limits.room)
            whole = first == 0 and index == len(edges) - 1
            values = best[first:index] + self._worth(tokens, whole)
            chosen = int(np.argmax(values))
            checked: set[int] = set()
            while exact and chosen not in checked:
                checked.add(chosen)
                tokens[chosen] = self.count(edges[first + chosen], end)
                values[chosen] = best[first + chosen]
                values[chosen] += self._worth(tokens, whole)[chosen]
                chosen = int(np.argmax(values))
            best[index] = values[chosen] + gains[index - 1]
            back[index] = first + chosen
        spans, index = [], len(edges) - 1
        while index:
            spans.append((edges[back[index]], edges[index]))
            index = int(back[index])
        return spans[::-1]

    def _worth(
        self, tokens: Float64[np.ndarray, " start"], whole: bool
    ) -> Float64[np.ndarray, " start"]:
        """What chunks of some sizes are worth; the first starts the text if `whole`."""
        worth = -((1 - tokens / self.limits.room) ** 2)
        small = tokens < self.limits.min_tokens
        if whole:
            small[0] = False
        worth[small] -= _TOO_SMALL
        worth[tokens > self.limits.room] = -np.inf
        result: Float64[np.ndarray, " start"] = worth
        return result
