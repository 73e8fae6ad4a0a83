"""Haystack: documents cut into chunks, as a component of a pipeline."""

from copy import deepcopy
from typing import Any, Unpack

from haystack import Document, component, default_from_dict, default_to_dict

from headscope.errors import SettingsError
from headscope.segment.options import SegmentOptions
from headscope.segment.segmenter import Segmenter


@component
class HeadscopeDocumentSplitter:
    """A Haystack component on `Segmenter.chunk`.

    Chunks keep the metadata of their document, and get `source_id`, `split_id` and
    `split_idx_start`, as those of Haystack's own splitters.

    Args:
        model: `demo`, a folder or a hub id; it is loaded by `warm_up`, or when it is needed.
        weights: A folder written by `Segmenter.save`.
        options: Those of `Segmenter.chunk`: `max_tokens`, `min_tokens`, `overlap`...
    """

    def __init__(
        self, model: str = "demo", weights: str | None = None, **options: Unpack[SegmentOptions]
    ) -> None:
        self.model, self.weights, self.options = model, weights, options
        self._segmenter: Segmenter | None = None

    def warm_up(self) -> None:
        """Load the model."""
        if self._segmenter is None:
            self._segmenter = Segmenter(self.model, weights=self.weights)

    def to_dict(self) -> dict[str, Any]:
        """The component as a pipeline is saved."""
        return default_to_dict(self, model=self.model, weights=self.weights, **self.options)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "HeadscopeDocumentSplitter":
        """The component that `to_dict` described.

        Args:
            data: What `to_dict` gave.
        """
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """The chunks of all documents.

        Args:
            documents: With text.
        """
        self.warm_up()
        assert self._segmenter is not None
        for document in documents:
            if document.content is None:
                raise SettingsError(f"document {document.id} has no text to split")
        texts = [document.content for document in documents]
        found = []
        for document, chunks in zip(
            documents, self._segmenter.chunk(texts, **self.options), strict=True
        ):
            for number, chunk in enumerate(chunks):
                meta = deepcopy(document.meta) | {
                    "source_id": document.id,
                    "split_id": number,
                    "split_idx_start": chunk.start,
                }
                found.append(Document(content=chunk.text, meta=meta))
        return {"documents": found}
