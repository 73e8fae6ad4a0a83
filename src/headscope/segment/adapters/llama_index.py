"""LlamaIndex: chunks as nodes, with the exact place of each in its document."""

from collections.abc import Sequence
from typing import Any, Unpack

from llama_index.core.node_parser import NodeParser
from llama_index.core.node_parser.node_utils import build_nodes_from_splits
from llama_index.core.schema import BaseNode, Document, MetadataMode
from pydantic import PrivateAttr

from headscope.segment.options import SegmentOptions
from headscope.segment.segmenter import Segmenter


class HeadscopeNodeParser(NodeParser):
    """A LlamaIndex node parser on `Segmenter.chunk`.

    Args:
        segmenter: Default: the demo model with the weights that come with headscope.
        include_metadata: Whether nodes take the metadata of their document.
        include_prev_next_rel: Whether nodes know the ones before and after them.
        options: Those of `Segmenter.chunk`: `max_tokens`, `min_tokens`, `overlap`, `tokenizer`...
    """

    _segmenter: Segmenter = PrivateAttr()
    _options: SegmentOptions = PrivateAttr()

    def __init__(
        self,
        segmenter: Segmenter | None = None,
        *,
        include_metadata: bool = True,
        include_prev_next_rel: bool = True,
        **options: Unpack[SegmentOptions],
    ) -> None:
        super().__init__(
            include_metadata=include_metadata, include_prev_next_rel=include_prev_next_rel
        )
        self._segmenter = segmenter or Segmenter()
        self._options = options

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex knows this parser."""
        return "HeadscopeNodeParser"

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        texts = [node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes]
        found: list[BaseNode] = []
        for node, chunks in zip(nodes, self._segmenter.chunk(texts, **self._options), strict=True):
            kept = [chunk for chunk in chunks if chunk.text.strip()]
            made = build_nodes_from_splits(
                [chunk.text for chunk in kept], node, id_func=self.id_func
            )
            for one, chunk in zip(made, kept, strict=True):
                one.start_char_idx, one.end_char_idx = chunk.start, chunk.end
            found += made
        return found

    def _postprocess_parsed_nodes(
        self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]
    ) -> list[BaseNode]:
        # LlamaIndex looks for the first text like the node's, which is not always the node.
        places = [(node.start_char_idx, node.end_char_idx) for node in nodes]
        done = super()._postprocess_parsed_nodes(nodes, parent_doc_map)
        for node, (start, end) in zip(done, places, strict=True):
            node.start_char_idx, node.end_char_idx = start, end
        return list(done)
