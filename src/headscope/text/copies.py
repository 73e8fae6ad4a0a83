"""Copies: documents with the same text, up to case, white space and punctuation.

A copy tells nothing new. If each counted as a document of its own, one text that is there 200 times
would make every interval narrow.
"""

import unicodedata
from hashlib import blake2b

import numpy as np

from headscope.text.document import Document
from headscope.text.stretches import stretches

HASH_BYTES = 16
"""Of a document's text: few enough to keep for every document of a corpus."""


def document_hash(text: str) -> str:
    """A hash that copies of a text share, as 32 hexadecimal digits.

    It is that of the normalised text: Unicode NFKC, case-folded, with each run of white space and
    punctuation as one space. A text of nothing else is taken as it is. Long texts are read in
    stretches, so that they are never held a second time.

    >>> document_hash("The cat, the dog.") == document_hash("the  CAT -- the dog")
    True
    >>> document_hash("The cat, the dog.") == document_hash("The cat, the dogs.")
    False

    Args:
        text: Of a whole document.
    """
    digest = blake2b(digest_size=HASH_BYTES)
    between = ""
    for stretch in stretches(Document("", text)):
        folded = unicodedata.normalize("NFKC", stretch.document.text).casefold()
        if words := folded.translate(_PUNCTUATION_AS_SPACE).split():
            digest.update(_encoded(between + " ".join(words)))
            between = " "
    if not between:
        digest.update(_encoded(text))
    return digest.hexdigest()


class CopyCounter:
    """Counts documents whose text came before; keeps 16 bytes for each document."""

    def __init__(self) -> None:
        self._hashes = bytearray()

    def add(self, hash_of_document: str) -> None:
        """Count one more document.

        Args:
            hash_of_document: From `document_hash`.
        """
        self._hashes += bytes.fromhex(hash_of_document)

    @property
    def documents(self) -> int:
        """Number of documents so far."""
        return len(self._hashes) // HASH_BYTES

    @property
    def copies(self) -> int:
        """Number of documents that are copies of an earlier one."""
        hashes = np.frombuffer(bytes(self._hashes), dtype=f"V{HASH_BYTES}")
        return self.documents - len(np.unique(hashes))


def _encoded(text: str) -> bytes:
    # Lone surrogates, which JSON can spell, have no other encoding.
    return text.encode("utf-8", "surrogatepass")


class _PunctuationAsSpace(dict[int, int | str]):
    """For `str.translate`: it learns a character when it first meets it."""

    def __missing__(self, code: int) -> int | str:
        is_punctuation = unicodedata.category(chr(code)).startswith("P")
        self[code] = " " if is_punctuation else code
        return self[code]


_PUNCTUATION_AS_SPACE = _PunctuationAsSpace()
