"""What the report shows of single windows: focal tokens, and pairs as arcs over a few of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.dataset as ds

from headscope.pages.packed_arrays import packed_bytes

MOST_TOKENS = 8
"""The most focal tokens that are named for a head."""

HeadKey = tuple[str, int, int]
"""Stack, layer and head."""


@dataclass(frozen=True, slots=True)
class FocalCount:
    """In how many windows a token is a head's focal token."""

    token: str
    windows: int


def focal_counts(rows: ds.Dataset, windows: ds.Dataset) -> Mapping[HeadKey, Sequence[FocalCount]]:
    """The most frequent focal tokens of every head, in order."""
    keys = ["stack", "layer", "head", "focal_token"]
    found = rows.to_table(columns=keys, filter=pc.field("focal_token") >= 0)
    counts = found.group_by(keys).aggregate([([], "count_all")]).to_pandas()
    # Of tokens that occur equally often, the order must not depend on the machine.
    counts = counts.sort_values(["count_all", "focal_token"], ascending=[False, True])
    counts = counts.groupby(["stack", "layer", "head"], sort=False).head(MOST_TOKENS)
    names = _names(windows, set(counts["focal_token"].astype(int)))
    by_head: dict[HeadKey, list[FocalCount]] = {}
    for stack, layer, head, token, windows in counts.itertuples(index=False):
        by_head.setdefault((stack, int(layer), int(head)), []).append(
            FocalCount(names.get(int(token), f"#{int(token)}"), int(windows))
        )
    return by_head


def _names(windows: ds.Dataset, wanted: set[int]) -> dict[int, str]:
    """How tokens are written where they first occur; windows are read until all are found."""
    names: dict[int, str] = {}
    for batch in windows.to_batches(columns=["token_ids", "tokens"]):
        ids = batch.column("token_ids").flatten().to_pylist()
        tokens = batch.column("tokens").flatten().to_pylist()
        for number, token in zip(ids, tokens, strict=True):
            if number in wanted:
                names.setdefault(number, token)
        if len(names) == len(wanted):
            break
    return names


_START = "<start>"


@dataclass(frozen=True, slots=True)
class ExampleWindow:
    """One window and, by stack, layer and head, its pairs."""

    document: str
    tokens: Sequence[str]
    sentences: Sequence[int]
    pairs: Mapping[HeadKey, pd.DataFrame]

    def to_json(self, stack: str, heads: pd.DataFrame, *, shifted: bool) -> dict[str, Any]:
        """The window with the pairs of the heads of a table, in its order.

        The decoder of an encoder-decoder reads the window after a start token: it is `shifted`.
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


def example_windows(pairs: pd.DataFrame, windows: ds.Dataset) -> list[ExampleWindow]:
    """The windows that `pairs` are from."""
    examples = []
    for number in pairs["text"].unique().tolist():
        row = windows.take([number], columns=["document", "tokens", "sentence_ids"])
        (window,) = row.to_pylist()
        by_head: dict[HeadKey, pd.DataFrame] = {}
        for _, table in pairs[pairs["text"] == number].groupby(["stack", "layer", "head"]):
            first = table.iloc[0]
            by_head[str(first["stack"]), int(first["layer"]), int(first["head"])] = table
        examples.append(
            ExampleWindow(window["document"], window["tokens"], window["sentence_ids"], by_head)
        )
    return examples
