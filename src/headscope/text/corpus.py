"""Corpora: files, folders, standard input or hub datasets, as a stream of documents."""

import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from headscope.errors import CorpusError, shortened
from headscope.text.demo import read_demo
from headscope.text.document import Document
from headscope.text.readers import file_endings, reader_of
from headscope.text.readers.columns import Columns
from headscope.text.readers.hub import HUB_PREFIX, parse_hub_source, read_hub
from headscope.text.readers.plain import read_plain
from headscope.text.readers.source_file import (
    STANDARD_INPUT,
    SourceFile,
    as_unicode,
    refuse_damage,
)

Documents = Callable[[], Iterator[Document]]
"""A source, opened when it is called."""


def read_corpus(
    sources: Sequence[str | Path], columns: Columns | None = None
) -> Iterator[Document]:
    """The documents of one or more sources, in order, one in memory at a time.

    A source is one of:

    - `"demo"`: the corpus that comes with Python itself (see `headscope.text.demo`);
    - `"-"` or `"/dev/stdin"`: standard input, one plain text;
    - a file that ends in one of `headscope.text.readers.file_endings()`, also gzipped (.gz);
    - a folder: all such files in it and below, in the order of their paths; others, and hidden
      ones, are skipped, and a link in place of such a file is refused;
    - `"hf:NAME[/CONFIG][:SPLIT]"`: a hub dataset, streamed (needs the extra `datasets`).

    Documents without text are skipped. A source that is missing, or that is no regular file (a
    pipe, a device), is refused at once, a damaged file when reading gets to the damage.

    Args:
        sources: In the order in which they are read.
        columns: Which columns of tables hold text, id and label; in CoNLL-U, `label` names the
            comment that holds the label. If None, text is in `text`, and there is nothing else.

    Raises:
        CorpusError: with what is wrong, where, and what to do.
    """
    columns = columns or Columns()
    readers = [reader for source in sources for reader in _readers(source, columns)]
    return _with_text(readers, sources)


def _with_text(readers: list[Documents], sources: Sequence[str | Path]) -> Iterator[Document]:
    """The documents that have text; an error when there are none at all."""
    empty = True
    for read in readers:
        for document in read():
            if not document.text or document.text.isspace():
                continue
            empty = False
            yield document
    if empty:
        named = as_unicode(", ".join(str(source) for source in sources)) or "no source given"
        raise CorpusError(f"the corpus holds no text ({shortened(named)}); give at least one text")


def _readers(source: str | Path, columns: Columns) -> list[Documents]:
    """The readers of a source, one per file. What is no regular file is refused now."""
    if source == "demo":
        return [read_demo]
    if str(source) in STANDARD_INPUT:
        return [lambda: read_plain(SourceFile.standard_input())]
    if isinstance(source, str) and source.startswith(HUB_PREFIX):
        dataset = parse_hub_source(source)
        return [lambda: read_hub(dataset, columns)]
    path = Path(source)
    named = shortened(as_unicode(str(source)))
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or "not a path"
        raise CorpusError(f"no such file or folder: {named} ({reason}); check the path") from None
    if stat.S_ISDIR(mode):
        return [_file_reader(file, columns) for file in _files_below(path)]
    file = SourceFile.at(path)
    if reader_of(file.kind) is None:
        raise CorpusError(
            f"{named} is of no known format; files must end in one of {', '.join(file_endings())} "
            "(each also with .gz)"
        )
    file.check()
    return [_file_reader(file, columns)]


def _files_below(folder: Path) -> list[SourceFile]:
    """The corpora in a folder; links to folders are not followed."""
    found = []
    with refuse_damage(as_unicode(str(folder))):
        for path in folder.rglob("*"):
            if any(part.startswith(".") for part in path.relative_to(folder).parts):
                continue
            file = SourceFile.at(path, within=folder)
            if reader_of(file.kind) is not None and not path.is_dir():
                file.check()
                found.append(file)
    if not found:
        raise CorpusError(
            f"no corpus in the folder {shortened(as_unicode(str(folder)))}; it needs files that "
            f"end in one of {', '.join(file_endings())} (each also with .gz)"
        )
    return sorted(found, key=lambda file: file.name)


def _file_reader(file: SourceFile, columns: Columns) -> Documents:
    reader = reader_of(file.kind)
    assert reader is not None, "files of unknown formats were refused"
    return lambda: reader.read(file, columns)
