"""Corpora: files, folders, standard input or hub datasets, as a stream of documents."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from headscope.errors import CorpusError
from headscope.text.demo import read_demo
from headscope.text.document import Document
from headscope.text.readers import file_endings, reader_of
from headscope.text.readers.columns import Columns
from headscope.text.readers.hub import HUB_PREFIX, parse_hub_source, read_hub
from headscope.text.readers.plain import read_plain
from headscope.text.readers.source_file import SourceFile

Documents = Callable[[], Iterator[Document]]
"""A source, opened when it is called."""


def read_corpus(
    sources: Sequence[str | Path], columns: Columns | None = None
) -> Iterator[Document]:
    """The documents of one or more sources, in order, one in memory at a time.

    A source is one of:

    - `"demo"`: the corpus that comes with Python itself (see `headscope.text.demo`);
    - `"-"`: standard input, one plain text;
    - a file that ends in one of `headscope.text.readers.file_endings()`, also gzipped (.gz);
    - a folder: all such files in it and below, in the order of their paths; others, and hidden
      ones, are skipped;
    - `"hf:NAME[/CONFIG][:SPLIT]"`: a hub dataset, streamed (needs the extra `datasets`).

    Documents without text are skipped. A source that is missing is refused at once, a damaged file
    when reading gets to the damage.

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
        named = ", ".join(str(source) for source in sources) or "no source given"
        raise CorpusError(f"the corpus holds no text ({named}); give at least one text")


def _readers(source: str | Path, columns: Columns) -> list[Documents]:
    """The readers of a source, one per file."""
    if source == "demo":
        return [read_demo]
    if source == "-":
        return [lambda: read_plain(SourceFile(None, "stdin"))]
    if isinstance(source, str) and source.startswith(HUB_PREFIX):
        dataset = parse_hub_source(source)
        return [lambda: read_hub(dataset, columns)]
    if "\0" in str(source):
        raise CorpusError(f"no such file or folder: {str(source)!r}; check the path")
    path = Path(source)
    if path.is_dir():
        return [_file_reader(file, columns) for file in _files_below(path)]
    if not path.exists():
        raise CorpusError(f"no such file or folder: {path}; check the path")
    file = SourceFile(path, path.name)
    if reader_of(file.kind) is None:
        raise CorpusError(
            f"{path} is of no known format; files must end in one of {', '.join(file_endings())} "
            "(each also with .gz)"
        )
    return [_file_reader(file, columns)]


def _files_below(folder: Path) -> list[SourceFile]:
    found = []
    for path in folder.rglob("*"):
        relative = path.relative_to(folder)
        if any(part.startswith(".") for part in relative.parts) or not path.is_file():
            continue
        file = SourceFile(path, relative.as_posix())
        if reader_of(file.kind) is not None:
            found.append(file)
    if not found:
        raise CorpusError(
            f"no corpus in the folder {folder}; it needs files that end in one of "
            f"{', '.join(file_endings())} (each also with .gz)"
        )
    return sorted(found, key=lambda file: file.name)


def _file_reader(file: SourceFile, columns: Columns) -> Documents:
    reader = reader_of(file.kind)
    assert reader is not None, "files of unknown formats were refused"
    return lambda: reader.read(file, columns)
