"""Chonkie: a chunker whose chunks are those of the segmenter."""

from typing import Unpack

from chonkie import Chunk
from chonkie.chunker.base import BaseChunker

from headscope.segment.options import SegmentOptions
from headscope.segment.segmenter import Segmenter


class HeadscopeChunker(BaseChunker):
    """A Chonkie chunker on `Segmenter.chunk`.

    Args:
        segmenter: Default: the demo model with the weights that come with headscope.
        options: Those of `Segmenter.chunk`: `max_tokens`, `min_tokens`, `overlap`, `tokenizer`...
    """

    def __init__(
        self, segmenter: Segmenter | None = None, **options: Unpack[SegmentOptions]
    ) -> None:
        self.segmenter = segmenter or Segmenter()
        self.options = options
        super().__init__(self.segmenter.token_counter(**options))

    def chunk(self, text: str) -> list[Chunk]:
        """The chunks of a text.

        Args:
            text: The text.
        """
        return [
            Chunk(
                text=chunk.text,
                start_index=chunk.start,
                end_index=chunk.end,
                token_count=chunk.tokens,
            )
            for chunk in self.segmenter.chunk(text, **self.options)
        ]
