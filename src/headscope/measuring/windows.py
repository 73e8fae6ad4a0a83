"""The windows of a corpus, cut once and kept in the run folder, one file per shard."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path

from headscope.errors import CorpusError, option
from headscope.runs.records import CorpusRecord, SampleKind
from headscope.runs.window_files import write_windows
from headscope.settings import Settings
from headscope.system.progress import Progress
from headscope.text.copies import CopyCounter, document_hash
from headscope.text.corpus import is_read_again, read_corpus, skipped_files, source_readers
from headscope.text.document import CorpusHasher, Document
from headscope.text.in_memory import Source, Sources
from headscope.text.readers.columns import Columns
from headscope.text.readers.source_file import as_unicode
from headscope.text.sampling import draw_sample
from headscope.text.windows import (
    Window,
    WindowTokenizer,
    check_window_settings,
    count_windows,
    cut_windows,
    iter_windows,
)


@dataclass(frozen=True, slots=True)
class CorpusRequest:
    """The windows that a user asks for."""

    sources: tuple[Source, ...]
    texts: int | None = None
    """Maximum number of windows; None for all."""
    columns: Columns = field(default_factory=Columns)
    """Which columns of tables hold text, id and label."""
    first: bool = False
    """Whether the first windows are taken; otherwise they are drawn at random."""

    def documents(self) -> Iterator[Document]:
        """The documents, in the order of the corpus."""
        return read_corpus(Sources(self.sources), self.columns)

    def check(self) -> None:
        """Refuse sources that are not there, or whose first document cannot be read.

        Standard input and the hub are left alone: they are read once.
        """
        readers = source_readers(self.sources, self.columns)
        for source, of_source in zip(self.sources, readers, strict=True):
            if not isinstance(source, str) or is_read_again(source):
                next(of_source[0](), None)

    def remarks(self) -> list[str]:
        """What people may not expect: files of folders that are of no known format."""
        return [
            f"{as_unicode(source)}: {skipped}"
            for source in self.sources
            if isinstance(source, str) and (skipped := skipped_files(source))
        ]

    def __str__(self) -> str:
        return as_unicode(", ".join(map(str, self.sources)))


def prepare_windows(
    request: CorpusRequest,
    tokenizer: WindowTokenizer,
    settings: Settings,
    folder: Path,
    progress: Progress,
) -> CorpusRecord:
    """Cut the windows of a corpus and write them to `folder/windows`; returns what the corpus is.

    Args:
        request: Which windows are asked for.
        tokenizer: Of the model.
        settings: How long windows are, how many make a shard, and the seed of the sample.
        folder: The run folder.
        progress: Is told of the documents that are read and of the windows that are written.
    """
    cutting = _Cutting(request, tokenizer, settings)
    if request.texts is None or request.first:
        progress.stage("cutting windows", total=request.texts)
        windows = cutting.first_windows()
    else:
        progress.stage("reading the corpus")
        windows = cutting.drawn_windows(request.texts, progress.advance)
        progress.stage("cutting windows", total=cutting.to_cut)
    if settings.keep_duplicates:
        windows = (replace(window, document_hash=None) for window in windows)
    hashes: list[str] = []
    shard_texts: list[int] = []
    while shard := list(islice(windows, settings.shard_windows)):
        hashes.append(write_windows(folder, len(hashes), shard))
        shard_texts.append(len(shard))
        progress.advance(len(shard))
    if not shard_texts:
        raise CorpusError(
            f"corpus {request}: {cutting.read.documents} documents, none with "
            f"{settings.min_tokens} tokens; lower {option('min_tokens')} or choose another corpus"
        )
    kind, available = cutting.sample(sum(shard_texts))
    return CorpusRecord(
        sources=tuple(as_unicode(str(source)) for source in request.sources),
        columns=asdict(request.columns),
        documents=cutting.read.documents,
        hash=cutting.hasher.hexdigest(),
        windows=sum(shard_texts),
        window_hashes=tuple(hashes),
        shard_texts=tuple(shard_texts),
        texts_asked=request.texts,
        sample=kind,
        windows_available=available,
        documents_sampled=cutting.sampled.documents,
        duplicates=cutting.read.copies,
        duplicates_sampled=cutting.sampled.copies,
    )


class _Cutting:
    """Cuts the windows asked for, and counts the documents on the way."""

    def __init__(
        self, request: CorpusRequest, tokenizer: WindowTokenizer, settings: Settings
    ) -> None:
        self.request, self.tokenizer, self.seed = request, tokenizer, settings.seed
        self.sizes = {"window_tokens": settings.window_tokens, "min_tokens": settings.min_tokens}
        check_window_settings(tokenizer, **self.sizes)
        self.hasher = CorpusHasher()
        self.read = CopyCounter()
        """Of the documents that were read."""
        self.sampled = CopyCounter()
        """Of the documents that have windows in the run."""
        self.to_cut: int | None = None
        """Number of windows that were drawn."""
        self.available: int | None = None
        """Number of windows of the whole corpus, where a sample was drawn and it is known."""

    def first_windows(self) -> Iterator[Window]:
        """The first windows, or all; no document after them is read."""
        return iter_windows(
            self._documents(),
            self.tokenizer,
            **self.sizes,
            limit=self.request.texts,
            on_document=self._count_sampled,
        )

    def drawn_windows(self, texts: int, on_document: Callable[[], None]) -> Iterator[Window]:
        """Windows drawn at random. The whole corpus is read at once, windows are cut as asked."""
        sample = draw_sample(self._documents(on_document), self._count_windows, texts, self.seed)
        self.to_cut, self.available = sample.windows, sample.windows_available
        for drawn in sample.documents:
            self._count_sampled(drawn.document)
        return (
            window
            for drawn in sample.documents
            for window in cut_windows(
                drawn.document, self.tokenizer, **self.sizes, only=frozenset(drawn.windows)
            )
        )

    def sample(self, windows: int) -> tuple[SampleKind, int | None]:
        """How the windows were taken, and the number of windows of the whole corpus if known."""
        request = self.request
        if request.texts is None or windows < request.texts or windows == self.available:
            return "all", windows
        return ("first", None) if request.first else ("random", self.available)

    def _documents(self, on_document: Callable[[], None] = lambda: None) -> Iterator[Document]:
        for document in self.request.documents():
            self.hasher.update(document)
            self.read.add(document_hash(document.text))
            on_document()
            yield document

    def _count_windows(self, document: Document) -> int:
        return count_windows(document, self.tokenizer, **self.sizes)

    def _count_sampled(self, document: Document) -> None:
        self.sampled.add(document_hash(document.text))


def is_same_corpus(request: CorpusRequest, record: CorpusRecord) -> bool:
    """Whether a corpus is the one that a run was made of, by its hash.

    Where the first windows were taken, only the documents that were read for them count.

    Args:
        request: Which corpus.
        record: The corpus of the run.
    """
    hasher = CorpusHasher()
    only = record.documents if record.sample == "first" else None
    for document in islice(request.documents(), only):
        hasher.update(document)
    return hasher.hexdigest() == record.hash
