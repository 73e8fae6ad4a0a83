"""The identity of a corpus: a hash that changes when any document does."""

import hashlib

from headscope.text.document import Document


class CorpusHasher:
    """Documents in, in order; one SHA-256 over all that analysis can see of them out."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, document: Document) -> None:
        """Take in the next document: id, label, text, gold sentences and gold words."""
        for field in (document.id, document.label, document.text):
            self._add(field)
        self._add(repr(document.sentences))
        if document.words is None:
            self._add(None)
        else:
            for word in document.words:
                self._add(f"{word.start} {word.end} {word.lemma!r} {word.upos!r}")
        self._add("end of document")

    def hexdigest(self) -> str:
        """The hash of the documents so far, as 64 hexadecimal digits."""
        return self._hash.hexdigest()

    def _add(self, field: str | None) -> None:
        # Each field is led by its length: no two different corpora give the same bytes.
        data = b"" if field is None else field.encode("utf-8")
        length = -1 if field is None else len(data)
        self._hash.update(length.to_bytes(8, "little", signed=True))
        self._hash.update(data)
