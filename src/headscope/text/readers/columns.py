"""Which columns of a table are the text, the id and the label of a document."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from headscope.errors import CorpusError, in_one_line, shortened
from headscope.text.document import Document
from headscope.text.readers.source_file import MAX_TEXT_BYTES


class ColumnOptions(TypedDict, total=False):
    """Columns as keywords of `analyze`."""

    text_column: str
    id_column: str | None
    label_column: str | None


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns to read."""

    text: str = "text"
    id: str | None = None
    """None: documents are named after the source and the number of their row, from 1."""
    label: str | None = None
    """None: documents have no label."""

    @classmethod
    def of(cls, **options: Unpack[ColumnOptions]) -> "Columns":
        """The columns that keywords name; what is not named has its default."""
        return cls(**{name.removesuffix("_column"): value for name, value in options.items()})  # type: ignore[arg-type]

    def names(self) -> list[str]:
        """The columns asked for, each once."""
        return list(dict.fromkeys(name for name in (self.text, self.id, self.label) if name))

    def check(self, present: Iterable[str], where: str) -> None:
        """Refuse a table that lacks a column or has it twice; list the columns there are."""
        present = list(present)
        for name in self.names():
            if name not in present:
                raise CorpusError(
                    f"{where} has no column {shortened(name)!r}; its columns are: "
                    f"{listed_columns(present)}"
                )
            if present.count(name) > 1:
                raise CorpusError(
                    f"{where} has {present.count(name)} columns named {shortened(name)!r}; "
                    "rename all but one"
                )

    def document(self, row: Mapping[str, Any], *, where: str, default_id: str) -> Document:
        """The document of one row. A missing text (null) is an empty one."""
        self.check(row, where)
        text = row[self.text]
        if text is None:
            text = ""
        if not isinstance(text, str):
            raise CorpusError(
                f"{where}: column {shortened(self.text)!r} holds {type(text).__name__}, not text; "
                "name the column that holds the text"
            )
        if len(text) > MAX_TEXT_BYTES:
            raise CorpusError(
                f"{where}: a text of more than {MAX_TEXT_BYTES >> 20} MiB; divide it into documents"
            )
        given_id = row[self.id] if self.id else None
        label = row[self.label] if self.label else None
        document = Document(
            id=default_id if given_id is None else _as_text(given_id, where),
            text=text,
            label=None if label is None else _as_text(label, where),
        )
        for part in (document.text, document.id, document.label or ""):
            _refuse_lone_surrogates(part, where)
        return document


def listed_columns(names: Sequence[str]) -> str:
    """The first columns of a table, for a message.

    Args:
        names: Of the columns, of any length and number.
    """
    return ", ".join(repr(name[:40]) for name in names[:20]) or "none at all"


def _as_text(value: object, where: str) -> str:
    """A name as text, whatever type of value the table holds."""
    try:
        return str(value)
    except ValueError as error:  # a whole number of thousands of digits
        raise CorpusError(f"{where}: {in_one_line(error)}; name another column") from error


def _refuse_lone_surrogates(text: str, where: str) -> None:
    """JSON can spell half a character (an escape like backslash ud800), which UTF-8 cannot hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise CorpusError(
            f"{where}: half a surrogate pair ({text[error.start]!r}) at character {error.start} "
            "of the text; repair it where the file is written"
        ) from None
