"""Familiarity: whether a text is in a language that the weights were learned from."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from headscope.models.loaded import LoadedModel
from headscope.segment.reading.window_batches import text_tokenizer

_COMMON = 100
"""Number of common tokens: mostly function words, which every text of a language is full of."""
_USUAL_TOKENS = 8
"""A text is judged as if this many usual tokens were part of it: a few words say little."""
_MOST_CHARACTERS = 20_000
"""A language is known after this much of a text."""

FAMILIAR = 0.5
"""Below this confidence, sentences are found by rules. Of documents of EWT that were not learned
from, none of 108 (train) and 4 of 318 (dev) are below it; rows of 20 sentences of German, French
and Dutch treebanks have 0.13 to 0.28, of Chinese 0.01 to 0.03."""


@dataclass(frozen=True, slots=True)
class Familiarity:
    """The tokens that are common in the texts that weights were learned from."""

    tokens: tuple[int, ...]
    share: float
    """Their share of all words in those texts."""

    @classmethod
    def of(cls, model: LoadedModel, texts: Iterable[str]) -> "Familiarity":
        """The familiarity with some texts.

        Args:
            model: The model whose tokenizer is used.
            texts: What the weights are learned from.
        """
        counts: Counter[int] = Counter()
        for text in texts:
            counts.update(_word_tokens(model, text).tolist())
        common = counts.most_common(_COMMON)
        share = sum(number for _, number in common) / max(counts.total(), 1)
        return cls(tuple(sorted(token for token, _ in common)), share)

    def confidence(self, model: LoadedModel, text: str) -> float:
        """From 0 to 1: the share of common tokens in a text, relative to what is usual.

        Args:
            model: The model whose tokenizer is used.
            text: The text.
        """
        found = _word_tokens(model, text[:_MOST_CHARACTERS])
        common = int(np.isin(found, self.tokens).sum())
        share = (common + _USUAL_TOKENS * self.share) / (len(found) + _USUAL_TOKENS)
        return min(1.0, share / self.share) if self.share else 1.0


def _word_tokens(model: LoadedModel, text: str) -> Int[np.ndarray, " token"]:
    """The tokens of a text that have a letter or a digit."""
    encoding = text_tokenizer(model).encode(text)
    starts, ends = encoding.starts.tolist(), encoding.ends.tolist()
    words = (text[start:end] for start, end in zip(starts, ends, strict=True))
    kept = [word.isalnum() or any(map(str.isalnum, word)) for word in words]
    found: Int[np.ndarray, " token"] = encoding.token_ids[np.array(kept, dtype=bool)]
    return found
