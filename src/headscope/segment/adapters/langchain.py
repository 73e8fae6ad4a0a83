"""LangChain: chunks as documents, with the exact place of each in its source."""

import copy
from typing import Any, Unpack

from langchain_core.documents import Document
from langchain_text_splitters import TextSplitter

from headscope.segment.options import SegmentOptions
from headscope.segment.segmenter import Segmenter


class HeadscopeTextSplitter(TextSplitter):
    """A LangChain text splitter on `Segmenter.chunk`.

    `start_index` in the metadata is the place of the chunk itself, not of the first text like it.

    Args:
        segmenter: Default: the demo model with the weights that come with headscope.
        add_start_index: Whether metadata hold `start_index`, in characters.
        strip_whitespace: Whether white space around chunks is left out, as LangChain does.
        options: Those of `Segmenter.chunk`: `max_tokens`, `min_tokens`, `overlap`, `tokenizer`...
    """

    def __init__(
        self,
        segmenter: Segmenter | None = None,
        *,
        add_start_index: bool = True,
        strip_whitespace: bool = True,
        **options: Unpack[SegmentOptions],
    ) -> None:
        self.segmenter = segmenter or Segmenter()
        self.options = options
        limits = self.segmenter.settings.changed("HeadscopeTextSplitter", options).limits
        super().__init__(
            chunk_size=limits.max_tokens,
            chunk_overlap=limits.overlap,
            add_start_index=add_start_index,
            strip_whitespace=strip_whitespace,
        )

    def split_text(self, text: str) -> list[str]:
        """The texts of the chunks.

        Args:
            text: The text.
        """
        return [document.page_content for document in self.create_documents([text])]

    def create_documents(
        self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None
    ) -> list[Document]:
        """The chunks of all texts as documents, each with the metadata of its text.

        Args:
            texts: The texts.
            metadatas: One for each text.
        """
        documents = []
        for number, chunks in enumerate(self.segmenter.chunk(texts, **self.options)):
            for chunk in chunks:
                content, start = chunk.text, chunk.start
                if self._strip_whitespace:
                    content = chunk.text.strip()
                    start += len(chunk.text) - len(chunk.text.lstrip())
                if content:
                    metadata = copy.deepcopy(metadatas[number]) if metadatas else {}
                    if self._add_start_index:
                        metadata["start_index"] = start
                    documents.append(Document(page_content=content, metadata=metadata))
        return documents
