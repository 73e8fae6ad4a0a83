"""The windows of a corpus, cut once and kept in the run folder, one file per shard."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

from headscope.errors import CorpusError
from headscope.runs.manifest import CorpusRecord
from headscope.runs.window_files import write_windows
from headscope.settings import Settings
from headscope.text.corpus import read_corpus
from headscope.text.document import CorpusHasher, Document
from headscope.text.readers.columns import Columns
from headscope.text.windows import WindowTokenizer, iter_windows


@dataclass(frozen=True, slots=True)
class CorpusRequest:
    """The windows that a user asks for."""

    sources: tuple[str, ...]
    texts: int | None = None
    """Maximum number of windows; None for all."""
    columns: Columns = field(default_factory=Columns)
    """Which columns of tables hold text, id and label."""

    def documents(self) -> Iterator[Document]:
        """The documents, in the order of the corpus."""
        return read_corpus(self.sources, self.columns)

    def __str__(self) -> str:
        return ", ".join(self.sources)


def prepare_windows(
    request: CorpusRequest,
    tokenizer: WindowTokenizer,
    settings: Settings,
    folder: Path,
    on_windows: Callable[[int], None] = lambda windows: None,
) -> CorpusRecord:
    """Cut the windows of a corpus and write them to `folder/windows`; returns what the corpus is.

    Args:
        request: Which windows are asked for.
        tokenizer: Of the model.
        settings: How long windows are, and how many make a shard.
        folder: The run folder.
        on_windows: Called with the number of windows of each shard that is written.
    """
    hasher = CorpusHasher()
    documents = 0

    def on_document(document: Document) -> None:
        nonlocal documents
        documents += 1
        hasher.update(document)

    windows = iter_windows(
        request.documents(),
        tokenizer,
        window_tokens=settings.window_tokens,
        min_tokens=settings.min_tokens,
        limit=request.texts,
        on_document=on_document,
    )
    hashes: list[str] = []
    shard_texts: list[int] = []
    while shard := list(islice(windows, settings.shard_windows)):
        hashes.append(write_windows(folder, len(hashes), shard))
        shard_texts.append(len(shard))
        on_windows(len(shard))
    if not shard_texts:
        raise CorpusError(
            f"corpus {request}: {documents} documents, none with {settings.min_tokens} "
            "tokens; lower --min-tokens or choose another corpus"
        )
    return CorpusRecord(
        sources=request.sources,
        columns=asdict(request.columns),
        documents=documents,
        hash=hasher.hexdigest(),
        windows=sum(shard_texts),
        window_hashes=tuple(hashes),
        shard_texts=tuple(shard_texts),
        texts_asked=request.texts,
    )


def corpus_hash(request: CorpusRequest, documents: int) -> str:
    """The hash of the first documents of a corpus, a cheap way to see whether it is the same.

    Args:
        request: Which corpus.
        documents: Number of documents.
    """
    hasher = CorpusHasher()
    for document in islice(request.documents(), documents):
        hasher.update(document)
    return hasher.hexdigest()
