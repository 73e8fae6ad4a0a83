"""A few texts of a run with the pairs of every head, for arcs over them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds

from headscope.pages.packed import packed_bytes
from headscope.report.focal_counts import HeadKey

_START = "<start>"


@dataclass(frozen=True, slots=True)
class ExampleText:
    """One text and, by stack, layer and head, its pairs."""

    document: str
    tokens: Sequence[str]
    sentences: Sequence[int]
    pairs: Mapping[HeadKey, pd.DataFrame]

    def to_json(self, stack: str, heads: pd.DataFrame, *, shifted: bool) -> dict[str, Any]:
        """The text with the pairs of the heads of a table, in its order.

        The decoder of an encoder-decoder reads the text behind a start token: it is `shifted`.
        """
        tables = [
            self.pairs.get((stack, int(layer), int(head)))
            for layer, head in zip(heads["layer"], heads["head"], strict=True)
        ]
        flat = [table[["i", "j"]].to_numpy() for table in tables if table is not None]
        places = np.concatenate([np.empty((0, 2)), *flat]).astype(np.uint16)
        return {
            "document": self.document,
            "tokens": [_START, *self.tokens[:-1]] if shifted else list(self.tokens),
            "sentences": [-1, *self.sentences[:-1]] if shifted else list(self.sentences),
            "counts": [0 if table is None else len(table) for table in tables],
            "pairs": packed_bytes(places),
        }


def example_texts(pairs: pd.DataFrame, windows: ds.Dataset) -> list[ExampleText]:
    """The texts that `pairs` are of."""
    texts = []
    for text in pairs["text"].unique().tolist():
        row = windows.take([text], columns=["document", "tokens", "sentence_ids"])
        (window,) = row.to_pylist()
        by_head: dict[HeadKey, pd.DataFrame] = {}
        for _, table in pairs[pairs["text"] == text].groupby(["stack", "layer", "head"]):
            first = table.iloc[0]
            by_head[str(first["stack"]), int(first["layer"]), int(first["head"])] = table
        texts.append(
            ExampleText(window["document"], window["tokens"], window["sentence_ids"], by_head)
        )
    return texts
