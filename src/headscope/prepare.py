"""The windows of a corpus, cut once and kept in the run folder, one Parquet file a shard.

They are what every later step reads: the model, whichever worker runs it, and the report, which
shows texts without a tokenizer at hand.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from headscope.errors import CorpusError, RunError
from headscope.runs.checked_tables import is_unchanged
from headscope.runs.files import write_whole
from headscope.runs.manifest import CorpusRecord
from headscope.settings import Settings
from headscope.text.corpus import read_corpus
from headscope.text.document import Document
from headscope.text.fingerprint import CorpusHasher
from headscope.text.window_store import windows_from_table, windows_to_table
from headscope.text.windows import Window, WindowTokenizer, iter_windows


@dataclass(frozen=True, slots=True)
class CorpusRequest:
    """The texts that a user asks for."""

    sources: tuple[str, ...]
    texts: int | None = None
    """How many windows at the most; None for all."""
    text_column: str = "text"
    id_column: str | None = None
    label_column: str | None = None

    def documents(self) -> Iterator[Document]:
        """The documents, in the order of the corpus."""
        return read_corpus(
            self.sources,
            text_column=self.text_column,
            id_column=self.id_column,
            label_column=self.label_column,
        )

    @property
    def columns(self) -> dict[str, str | None]:
        """Which columns of a table hold text, id and label."""
        return {"text": self.text_column, "id": self.id_column, "label": self.label_column}

    def __str__(self) -> str:
        return ", ".join(self.sources)


def prepare_windows(
    request: CorpusRequest,
    tokenizer: WindowTokenizer,
    settings: Settings,
    folder: Path,
    on_windows: Callable[[int], None] = lambda windows: None,
) -> CorpusRecord:
    """What the corpus is, after its windows were written to `folder/windows`."""
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
        columns=request.columns,
        documents=documents,
        hash=hasher.hexdigest(),
        windows=sum(shard_texts),
        window_hashes=tuple(hashes),
        shard_texts=tuple(shard_texts),
        texts_asked=request.texts,
    )


def corpus_hash(request: CorpusRequest, documents: int) -> str:
    """The hash of the first documents of a corpus: the cheap way to see that it is the same."""
    hasher = CorpusHasher()
    for document in islice(request.documents(), documents):
        hasher.update(document)
    return hasher.hexdigest()


def write_windows(folder: Path, number: int, windows: Sequence[Window]) -> str:
    """The SHA-256 of the file with the windows of one shard."""
    buffer = io.BytesIO()
    pq.write_table(windows_to_table(windows), buffer, compression="zstd")
    return write_whole(_path(folder, number), buffer.getvalue())


def read_windows(
    folder: Path, number: int, expected_hash: str, columns: list[str] | None = None
) -> list[Window]:
    """The windows of one shard, after their checksum was checked; all columns for None."""
    path = _path(folder, number)
    if not is_unchanged(path, expected_hash):
        raise RunError(f"{path} is missing or damaged; run the same analyze command again")
    # On this thread: memory of Arrow's own threads would stay behind in all of them.
    table = pq.read_table(path, columns=columns, use_threads=False, pre_buffer=False)
    return windows_from_table(table)


def windows_are_whole(folder: Path, corpus: CorpusRecord) -> bool:
    """Whether the windows of all shards are there as they were cut."""
    return all(
        is_unchanged(_path(folder, number), expected)
        for number, expected in enumerate(corpus.window_hashes)
    )


def read_windows_at(folder: Path, corpus: CorpusRecord, places: NDArray[np.int64]) -> list[Window]:
    """The windows at some places of the corpus, in order."""
    windows: list[Window] = []
    first = 0
    for number, size in enumerate(corpus.shard_texts):
        here = places[(places >= first) & (places < first + size)] - first
        if len(here):
            shard = read_windows(folder, number, corpus.window_hashes[number])
            windows += [shard[place] for place in here]
        first += size
    return windows


def _path(folder: Path, number: int) -> Path:
    return folder / "windows" / f"{number:05d}.parquet"
