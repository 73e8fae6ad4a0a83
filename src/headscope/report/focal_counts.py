"""Which tokens each head gathers around, over the texts of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc
import pyarrow.dataset as ds

MOST_TOKENS = 8
"""Tokens named for a head."""

HeadKey = tuple[str, int, int]
"""Stack, layer and head."""


@dataclass(frozen=True, slots=True)
class FocalCount:
    """In how many texts a token is a head's focal token."""

    token: str
    texts: int


def focal_counts(rows: ds.Dataset, windows: ds.Dataset) -> Mapping[HeadKey, Sequence[FocalCount]]:
    """The most frequent focal tokens of every head, the first first."""
    keys = ["stack", "layer", "head", "focal_token"]
    found = rows.to_table(columns=keys, filter=pc.field("focal_token") >= 0)
    counts = found.group_by(keys).aggregate([([], "count_all")]).to_pandas()
    # Of tokens that occur equally often, the order must not depend on the machine.
    counts = counts.sort_values(["count_all", "focal_token"], ascending=[False, True])
    counts = counts.groupby(["stack", "layer", "head"], sort=False).head(MOST_TOKENS)
    names = _names(windows, set(counts["focal_token"].astype(int)))
    by_head: dict[HeadKey, list[FocalCount]] = {}
    for stack, layer, head, token, texts in counts.itertuples(index=False):
        by_head.setdefault((stack, int(layer), int(head)), []).append(
            FocalCount(names.get(int(token), f"#{int(token)}"), int(texts))
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
