"""Sentence separators: the tokens that end a sentence, whatever the script writes them with."""

SEPARATOR_CHARACTERS = frozenset(".!?。！？．｡")  # noqa: RUF001  full-width forms are meant
"""Full stop, exclamation and question mark, with their full-width and ideographic forms."""


def is_separator(surface: str) -> bool:
    """True when a token consists of sentence-ending characters alone ("." "?!" "..." "。").

    It looks at the token, not at its role: the points of "U.S." count when the tokenizer makes
    them tokens of their own. Special tokens such as [SEP] are no separators.
    """
    return bool(surface) and SEPARATOR_CHARACTERS.issuperset(surface)
