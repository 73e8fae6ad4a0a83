"""Corpora that are Python objects: a list of texts, or a table with a column of texts.

Whether a string in a list is a text or the name of a source is decided by `names_source`, and a
list that has both is refused: nothing is guessed.
"""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headscope.errors import CorpusError, kind_of, shortened
from headscope.text.document import CorpusHasher, Document
from headscope.text.readers import file_endings
from headscope.text.readers.columns import Columns
from headscope.text.readers.hub import HUB_PREFIX
from headscope.text.readers.source_file import STANDARD_INPUT, as_unicode

CorpusLike = Any
"""What a corpus is given as: the name of a source, several names, texts, or a table of texts; see
`corpus_sources`. (Tables of pandas, polars, pyarrow and datasets have no type in common.)"""

_HOW = (
    "pass the name of a source (a file, a folder, 'demo', 'hf:NAME'), a list of such names, a list "
    "of texts, or a table of texts (pandas, polars, pyarrow, datasets)"
)


@dataclass(frozen=True, slots=True, eq=False)
class TextsInMemory:
    """Texts that the caller holds: a source without a file. They are read anew by each reader."""

    rows: Any
    """A sequence of texts, a table with columns, or an iterable of rows."""
    kind: str
    """`texts`, `table` or `rows`: also what documents without an id are named after."""

    def documents(self, columns: Columns) -> Iterator[Document]:
        """The documents, in order.

        Args:
            columns: Which columns of a table hold text, id and label. A list of texts has none.
        """
        if self.kind == "texts" and (columns.id or columns.label):
            raise CorpusError("texts in a list have no id and no label; pass a table with columns")
        for number, row in enumerate(self._rows(columns), start=1):
            default_id = f"{self.kind}:{number}"
            yield columns.document(row, where=f"{self.kind} {number}", default_id=default_id)

    def _rows(self, columns: Columns) -> Iterator[Mapping[str, Any]]:
        if self.kind == "texts":
            yield from ({columns.text: text} for text in self.rows)
        elif self.kind == "table":
            names = columns.names()
            columns.check(_column_names(self.rows), "the table")
            for values in zip(*(self.rows[name] for name in names), strict=True):
                yield dict(zip(names, map(_plain, values), strict=True))
        else:
            for number, row in enumerate(self.rows, start=1):
                if not isinstance(row, Mapping):
                    raise CorpusError(
                        f"rows {number} is {kind_of(row)}, not a dict of columns; {_HOW}"
                    )
                columns.check(map(str, row), f"rows {number}")
                yield {name: _plain(row[name]) for name in columns.names()}

    def short_hash(self, columns: Columns) -> str:
        """Eight hexadecimal digits that identify the documents, to name a folder by.

        Args:
            columns: Which columns of a table are read.
        """
        hasher = CorpusHasher()
        for document in self.documents(columns):
            hasher.update(document)
        return hasher.hexdigest()[:8]

    def __str__(self) -> str:
        if not hasattr(self.rows, "__len__"):
            return f"{self.kind} in memory"
        count = len(self.rows)
        what = {"texts": "text", "table": "row"}.get(self.kind, "row")
        plural = "" if count == 1 else "s"
        return f"{count:,} {what}{plural} in memory"


Source = str | TextsInMemory
"""A part of a corpus: the name of a source, or texts in memory."""


class Sources(tuple[Source, ...]):
    """Sources that are known to be such, whatever their names look like."""

    __slots__ = ()


def corpus_sources(corpus: CorpusLike) -> Sources:
    """The sources of a corpus, in order.

    - A string or a `Path` names a source; it is never a text itself.
    - A list of strings is a list of sources if each of them names one (`names_source`), and a list
      of texts if none does.
    - A pandas Series is a list of texts.
    - A table (a DataFrame of pandas or polars, a pyarrow Table, a `datasets.Dataset`) and a list of
      dicts have a text in each row.

    >>> [str(source) for source in corpus_sources(["A first text.", "And another one."])]
    ['2 texts in memory']
    >>> corpus_sources(["demo", "notes.txt"])
    ('demo', 'notes.txt')
    >>> corpus_sources(["notes.txt", "And a text."])
    Traceback (most recent call last):
    headscope.errors.CorpusError: the corpus mixes names and texts: 'notes.txt' names a source, \
'And a text.' does not; pass either names or texts

    Args:
        corpus: Anything of the above.
    """
    if isinstance(corpus, Sources):
        return corpus
    if isinstance(corpus, TextsInMemory | str | Path):
        return Sources([_source(corpus)])
    if isinstance(corpus, Mapping) and not _is_table(corpus):
        # A DatasetDict, or a dict of columns that nobody made a table of.
        named = ", ".join(repr(name) for name in list(corpus)[:5])
        raise CorpusError(f"the corpus is a dict of {named}; pass one of its values")
    if _is_table(corpus):
        return Sources([TextsInMemory(corpus, "table")])
    if hasattr(corpus, "to_list") and hasattr(corpus, "index"):  # a pandas Series
        texts = [_plain(text) for text in corpus.to_list()]
        return Sources([TextsInMemory(texts, "texts")])
    if isinstance(corpus, bytes) or not isinstance(corpus, Iterable):
        raise CorpusError(f"the corpus is {kind_of(corpus)}; {_HOW}")
    if hasattr(corpus, "column_names"):  # a streaming dataset
        return Sources([TextsInMemory(corpus, "rows")])
    if isinstance(corpus, Iterator):
        corpus = list(corpus)  # it can be read once, and a corpus is read more often
    entries = list(corpus) if not isinstance(corpus, Sequence) else corpus
    return _listed(entries)


def checked_text(text: object) -> str:
    """The text, if it is one.

    >>> checked_text(["A text.", "Another."])
    Traceback (most recent call last):
    headscope.errors.CorpusError: the text is a list, not a string; pass one text at a time

    Args:
        text: What was given as a text.
    """
    if isinstance(text, str):
        return text
    what = "None" if text is None else kind_of(text)
    hint = "pass one text at a time"
    if hasattr(text, "dtype"):
        hint = "pass the text itself, which the model's tokenizer reads"
    elif isinstance(text, bytes):
        hint = "decode it: text.decode()"
    elif not isinstance(text, Iterable):
        hint = "pass a string"
    raise CorpusError(f"the text is {what}, not a string; {hint}")


def checked_texts(texts: Any) -> list[str]:
    """Several texts, each checked.

    Args:
        texts: What was given as a list of texts.
    """
    if isinstance(texts, str):
        raise CorpusError("the texts are one string; put it into a list")
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        return [checked_text(texts)]
    return [checked_text(text) for text in texts]


def names_source(text: str) -> bool:
    """Whether a string in a list names a source; otherwise it is a text.

    It does if it is `demo` or `-`, begins with `hf:`, is the path of a file or folder that exists,
    or looks like one: it ends like a corpus file, or has a `/` or backslash and no white space.

    >>> [names_source(text) for text in ("demo", "no/such/file", "no-such.csv.gz", "Some text.")]
    [True, True, True, False]

    Args:
        text: The string.
    """
    if text == "demo" or text in STANDARD_INPUT or text.startswith(HUB_PREFIX):
        return True
    endings = tuple(f"{ending}{more}" for ending in file_endings() for more in ("", ".gz"))
    if "\n" not in text and text.lower().endswith(endings):
        return True
    if ("/" in text or "\\" in text) and not any(character.isspace() for character in text):
        return True
    try:
        return bool(text) and os.path.exists(text)  # noqa: PTH110  a Path refuses some texts
    except ValueError:
        return False


def _listed(entries: Sequence[Any]) -> Sources:
    """The sources of a list of names, texts or rows."""
    if len(entries) == 0:
        raise CorpusError(f"the corpus is an empty {type(entries).__name__}; {_HOW}")
    if all(isinstance(entry, Mapping) for entry in entries):
        return Sources([TextsInMemory(entries, "rows")])
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, str | Path | TextsInMemory):
            raise CorpusError(
                f"item {number} of the corpus is {kind_of(entry)}, neither a text nor the "
                f"name of a source; {_HOW}"
            )
    named = [not isinstance(entry, str) or names_source(entry) for entry in entries]
    if all(named):
        return Sources(map(_source, entries))
    if not any(named):
        return Sources([TextsInMemory(entries, "texts")])
    name, text = (entries[named.index(kind)] for kind in (True, False))
    raise CorpusError(
        f"the corpus mixes names and texts: {shortened(as_unicode(str(name)))!r} names a source, "
        f"{shortened(text)!r} does not; pass either names or texts"
    )


def _source(source: str | Path | TextsInMemory) -> Source:
    return source if isinstance(source, TextsInMemory) else str(source)


def _is_table(corpus: object) -> bool:
    """Whether something has named columns and gives each by its name."""
    if isinstance(corpus, Mapping) or not hasattr(corpus, "__getitem__"):
        return False
    names = getattr(corpus, "columns", None)
    return hasattr(corpus, "column_names") or (names is not None and not callable(names))


def _column_names(table: Any) -> list[str]:
    names = table.column_names if hasattr(table, "column_names") else table.columns
    return [str(name) for name in names]


def _plain(value: Any) -> Any:
    """A value of a table as Python has it; None where it is missing."""
    if hasattr(value, "as_py"):  # of Arrow
        value = value.as_py()
    if value is None or type(value).__name__ == "NAType":
        return None
    return None if isinstance(value, float) and math.isnan(value) else value
