"""Token kinds: what sort of token a head looks at."""

from enum import IntEnum


class TokenKind(IntEnum):
    """The sort of a token. The numbers are written to disk: never renumber them."""

    SPECIAL = 0
    """Put there for the model: [CLS], [SEP], <s>, ..."""
    SEPARATOR = 1
    """Ends a sentence: . ! ? and their full-width forms."""
    PUNCTUATION = 2
    """Any other punctuation mark or symbol, and blank space that is a token of its own."""
    FUNCTION = 3
    """Part of a function word: the, of, and, is, ..."""
    CONTENT = 4
    """Part of a content word: nouns, verbs, adjectives, adverbs."""
    NUMBER = 5
    """Part of a number."""
    NAME = 6
    """Part of a proper name."""
