"""Corpora: files, folders, standard input or hub datasets, as a stream of documents."""

import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from headscope.errors import CorpusError, in_a_command, shortened
from headscope.text.demo import read_demo
from headscope.text.document import Document
from headscope.text.in_memory import CorpusLike, Source, TextsInMemory, corpus_sources
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


def read_corpus(corpus: CorpusLike, columns: Columns | None = None) -> Iterator[Document]:
    """The documents of a corpus, in order, one in memory at a time.

    A corpus is one or more sources, or texts in memory: a list of texts, or a table
    (`headscope.text.in_memory.corpus_sources`). A source is one of:

    - `"demo"`: the corpus that comes with Python itself (see `headscope.text.demo`);
    - `"-"` or `"/dev/stdin"`: standard input, one plain text;
    - a file that ends in one of `headscope.text.readers.file_endings()`, also gzipped (.gz);
    - a folder: all such files in it and below, in the order of their paths; others, and hidden
      ones, are skipped, and a link in place of such a file is refused;
    - `"hf:NAME[/CONFIG][:SPLIT]"`: a hub dataset, streamed (needs the extra `datasets`).

    Documents without text are skipped. A source that is missing, or that is no regular file (a
    pipe, a device), is refused at once, a damaged file when reading gets to the damage.

    Args:
        corpus: Names of sources in the order in which they are read, texts, or a table of texts.
        columns: Which columns of tables hold text, id and label; in CoNLL-U, `label` names the
            comment that holds the label. If None, text is in `text`, and there is nothing else.

    Raises:
        CorpusError: with what is wrong, where, and what to do.
    """
    sources = corpus_sources(corpus)
    readers = source_readers(sources, columns or Columns())
    return _with_text([reader for of_source in readers for reader in of_source], sources)


def source_readers(sources: Sequence[Source], columns: Columns) -> list[list[Documents]]:
    """For each source its readers, one per file; a source that is not there is refused.

    Args:
        sources: In the order in which they are read.
        columns: Which columns of tables hold text, id and label.
    """
    return [_readers(source, columns) for source in sources]


def is_read_again(source: str) -> bool:
    """Whether a source is quick to open and the same each time: a file or folder, or the demo.

    Args:
        source: The name of a source.
    """
    return source not in STANDARD_INPUT and not source.startswith(HUB_PREFIX)


def skipped_files(source: str) -> str:
    """The files of a folder that no reader knows, in words; empty if there are none.

    Args:
        source: The name of a source.
    """
    folder = Path(source)
    if source == "demo" or not is_read_again(source) or not folder.is_dir():
        return ""
    kinds = Counter(
        SourceFile.at(path).kind or "without an ending"
        for path in _visible_files(folder)
        if reader_of(SourceFile.at(path).kind) is None
    )
    if not kinds:
        return ""
    listed = ", ".join(f"{number} {shortened(kind, 20)}" for kind, number in kinds.most_common(5))
    more = "" if len(kinds) <= 5 else " and more"
    files = "file is" if sum(kinds.values()) == 1 else "files are"
    return f"{sum(kinds.values()):,} {files} of no known format and skipped ({listed}{more})"


def _with_text(readers: list[Documents], sources: Sequence[Source]) -> Iterator[Document]:
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


def _readers(source: Source, columns: Columns) -> list[Documents]:
    """The readers of a source, one per file. What is no regular file is refused now."""
    if isinstance(source, TextsInMemory):
        return [lambda: source.documents(columns)]
    if source == "demo":
        return [read_demo]
    if source in STANDARD_INPUT:
        return [lambda: read_plain(SourceFile.standard_input())]
    if source.startswith(HUB_PREFIX):
        dataset = parse_hub_source(source)
        return [lambda: read_hub(dataset, columns)]
    path = Path(source)
    named = shortened(as_unicode(str(source)))
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or "not a path"
        raise CorpusError(
            f"no such file or folder: {named} ({reason}); {_remedy(source)}"
        ) from None
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


def _remedy(source: str) -> str:
    """What to do about a source that is not there; it may be meant as a text."""
    if not any(character.isspace() for character in source):
        return "check the path"
    if in_a_command():
        return "check the path, or send a text itself to standard input (--corpus -)"
    return "check the path, or put a text itself into a list: [text]"


def _files_below(folder: Path) -> list[SourceFile]:
    """The corpora in a folder; links to folders are not followed."""
    found = []
    with refuse_damage(as_unicode(str(folder))):
        for path in _visible_files(folder):
            file = SourceFile.at(path, within=folder)
            if reader_of(file.kind) is not None:
                file.check()
                found.append(file)
    if not found:
        raise CorpusError(
            f"no corpus in the folder {shortened(as_unicode(str(folder)))}; it needs files that "
            f"end in one of {', '.join(file_endings())} (each also with .gz)"
        )
    return sorted(found, key=lambda file: file.name)


def _visible_files(folder: Path) -> Iterator[Path]:
    """What is in a folder and below that is no folder, without hidden files and folders."""
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and not path.is_dir():
            yield path


def _file_reader(file: SourceFile, columns: Columns) -> Documents:
    reader = reader_of(file.kind)
    assert reader is not None, "files of unknown formats were refused"
    return lambda: reader.read(file, columns)
