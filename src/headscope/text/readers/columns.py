"""Which columns of a table are the text, the id and the label of a document."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headscope.errors import CorpusError
from headscope.text.document import Document


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns to read."""

    text: str = "text"
    id: str | None = None
    """None: documents are called after the source and the number of their row, from 1."""
    label: str | None = None
    """None: documents have no label."""

    def names(self) -> list[str]:
        """The columns asked for, each once."""
        return list(dict.fromkeys(name for name in (self.text, self.id, self.label) if name))

    def check(self, present: Iterable[str], where: str) -> None:
        """Refuse a table that lacks a column, and list the columns there are."""
        present = list(present)
        for name in self.names():
            if name not in present:
                listed = ", ".join(repr(column) for column in present[:20]) or "none at all"
                raise CorpusError(f"{where} has no column {name!r}; its columns are: {listed}")

    def document(self, row: Mapping[str, Any], *, where: str, default_id: str) -> Document:
        """The document of one row. A missing text (null) is an empty one."""
        self.check(row, where)
        text = row[self.text]
        if text is None:
            text = ""
        if not isinstance(text, str):
            raise CorpusError(
                f"{where}: column {self.text!r} holds {type(text).__name__}, not text; "
                "name the column that holds the text"
            )
        _refuse_lone_surrogates(text, where)
        given_id = row[self.id] if self.id else None
        label = row[self.label] if self.label else None
        return Document(
            id=default_id if given_id is None else str(given_id),
            text=text,
            label=None if label is None else str(label),
        )


def _refuse_lone_surrogates(text: str, where: str) -> None:
    """JSON can spell half a character (an escape like backslash ud800) that no UTF-8 can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"{where}: half a surrogate pair ({text[error.start]!r}) at character {error.start} "
            "of the text; repair it where the file is written"
        ) from None
