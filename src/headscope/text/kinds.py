"""Token kinds: what kind of word a token is part of, by gold tags or by a word list."""

from enum import IntEnum

SEPARATOR_CHARACTERS = frozenset(".!?。！？．｡")  # noqa: RUF001  full-width forms are meant
"""Full stop, exclamation and question mark, with their full-width and ideographic forms."""


def is_separator(surface: str) -> bool:
    """True when a token consists only of sentence-ending characters ("." "?!" "..." "。").

    It looks at the token, not at its role: the full stops of "U.S." count if the tokenizer makes
    them tokens of their own. Special tokens such as [SEP] are not separators.
    """
    return bool(surface) and SEPARATOR_CHARACTERS.issuperset(surface)


class TokenKind(IntEnum):
    """The kind of a token. The numbers are written to disk: never renumber them."""

    SPECIAL = 0
    """Added for the model: [CLS], <s>, padding, ...; in runs before version 3 also [SEP], </s>."""
    SEPARATOR = 1
    """Ends a sentence: . ! ? and their full-width forms."""
    PUNCTUATION = 2
    """Any other punctuation mark or symbol, and white space that is a token of its own."""
    FUNCTION = 3
    """Part of a function word: the, of, and, is, ..."""
    CONTENT = 4
    """Part of a content word: nouns, verbs, adjectives, adverbs."""
    NUMBER = 5
    """Part of a number."""
    NAME = 6
    """Part of a proper name."""
    SPECIAL_SEPARATOR = 7
    """Added for the model to end or separate texts: [SEP], </s>, <|endoftext|>, ... At the start of
    a window it begins the text, and is of the kind `SPECIAL`."""


SPECIAL_KINDS = (TokenKind.SPECIAL, TokenKind.SPECIAL_SEPARATOR)
"""The kinds of special tokens."""


def kind_of_tagged_word(word: str, upos: str | None) -> TokenKind:
    """The kind by the gold part of speech; by the look of the word if there is none, or X."""
    kind = _KIND_OF_UPOS.get(upos or "")
    return kind_of_word(word, starts_sentence=True) if kind is None else kind


def kind_of_word(word: str, *, starts_sentence: bool) -> TokenKind:
    """The kind of an English word by its look.

    It misleads where the look does: a capitalised word that does not start its sentence counts as
    a name (as every German noun would), and only English function words are known.
    """
    if not any(character.isalnum() for character in word):
        return TokenKind.PUNCTUATION
    if word[0].isnumeric():
        return TokenKind.NUMBER
    if word.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") in _FUNCTION_WORDS:
        return TokenKind.FUNCTION
    if word[0].isupper() and not starts_sentence:
        return TokenKind.NAME
    return TokenKind.CONTENT


_KIND_OF_UPOS = {
    "PUNCT": TokenKind.PUNCTUATION,
    "SYM": TokenKind.PUNCTUATION,
    "NUM": TokenKind.NUMBER,
    "PROPN": TokenKind.NAME,
    "NOUN": TokenKind.CONTENT,
    "VERB": TokenKind.CONTENT,
    "ADJ": TokenKind.CONTENT,
    "ADV": TokenKind.CONTENT,
    "INTJ": TokenKind.CONTENT,
    "ADP": TokenKind.FUNCTION,
    "AUX": TokenKind.FUNCTION,
    "CCONJ": TokenKind.FUNCTION,
    "DET": TokenKind.FUNCTION,
    "PART": TokenKind.FUNCTION,
    "PRON": TokenKind.FUNCTION,
    "SCONJ": TokenKind.FUNCTION,
}
"""The universal parts of speech; X (other) is decided by the look of the word."""

_FUNCTION_WORDS_BY_CLASS = {
    "determiners and quantifiers": """
        a an the this that these those each every either neither some any no all both half such
        another other what which whose many much few several more most less least enough own""",
    "pronouns": """
        i me my mine myself you your yours yourself yourselves he him his himself she her hers
        herself it its itself we us our ours ourselves they them their theirs themselves one oneself
        who whom whoever whatever whichever somebody someone something anybody anyone anything
        everybody everyone everything nobody none nothing there""",
    "prepositions": """
        about above across after against along amid among around as at before behind below beneath
        beside besides between beyond by despite down during except for from in inside into like
        near of off on onto out outside over past per since through throughout till to toward
        towards under underneath until unto up upon via with within without""",
    "conjunctions": """
        and but or nor so yet if unless whether because although though while whereas when whenever
        where wherever than lest once how why""",
    "auxiliaries": """
        am is are was were be been being have has had having do does did doing will would shall
        should can could may might must ought cannot""",
    "particles and contractions": """
        not n't 's 're 've 'll 'd 'm isn't aren't wasn't weren't haven't hasn't hadn't don't doesn't
        didn't won't wouldn't shan't shouldn't can't couldn't mayn't mightn't mustn't i'm i've i'll
        i'd you're you've you'll you'd he's he'll he'd she's she'll she'd it's it'll it'd we're
        we've we'll we'd they're they've they'll they'd that's that'll that'd there's there'll
        there'd who's who'll who'd what's what'll""",
}
_FUNCTION_WORDS = frozenset(" ".join(_FUNCTION_WORDS_BY_CLASS.values()).split())
