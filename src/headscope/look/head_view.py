"""One head of a view: its matrices, its pairs, its profile, and how it compares with another."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from headscope.errors import SettingsError
from headscope.kernels.debiased_cka import CentredHeads, debiased_cka
from headscope.look.arrays import as_array
from headscope.system.option_types import whole_number

if TYPE_CHECKING:
    from headscope.look.view import View


@dataclass(frozen=True, repr=False, eq=False)
class HeadView:
    """One head of one text. Made by `view.head(layer, head)` or `view[layer, head]`."""

    view: "View"
    layer: int
    """From 1."""
    head: int
    """From 1."""
    z: NDArray[Any]
    """What the head writes: token, d_head."""
    attention: NDArray[Any]
    """Query token, key token."""
    similarity: NDArray[Any]
    """C in the variant of the view: token, token."""
    column_mass: NDArray[Any]
    """The attention that each key token receives, scaled to a maximum of 1."""

    @classmethod
    def of(cls, view: "View", layer: int, head: int) -> "HeadView":
        """A head by its numbers; one that the view does not have is refused.

        Args:
            view: The view.
            layer: From 1.
            head: From 1.
        """
        layer, head = whole_number("layer", layer), whole_number("head", head)
        if layer not in view.layers:
            raise SettingsError(
                f"layer: this view has {_listed(view.layers)}, not {layer}; layers count from 1"
            )
        place = view.layers.index(layer)
        heads = view.here.layers[place].site.heads
        if not 1 <= head <= heads:
            raise SettingsError(
                f"head: layer {layer} has heads 1 to {heads}, not {head}; heads count from 1"
            )
        at = (place, head - 1)
        arrays = (view.head_output, view.attention, view.similarity, view.column_mass)
        return cls(view, layer, head, *(array[at] for array in arrays))

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The high-similarity pairs of the head, the most similar first."""
        table = self.view.pairs
        own = table[(table["layer"] == self.layer) & (table["head"] == self.head)]
        return own.drop(columns=["stack", "layer", "head"]).reset_index(drop=True)

    @cached_property
    def profile(self) -> pd.Series:
        """The head in numbers, named as in `run.heads`; NaN where the head has no pair.

        `pairs` is their number, `norm` the mean length of the vectors of the tokens that may form
        pairs, `focal` the token that occurs most in pairs.
        """
        pairs = self.pairs
        focal = self.view.focal
        own = focal[(focal["layer"] == self.layer) & (focal["head"] == self.head)]
        counted = as_array(self.view.here.batch.counted[0]).astype(bool)
        lengths = np.linalg.norm(self.z[counted].astype(np.float64), axis=1)
        return pd.Series(
            {
                "pairs": len(pairs),
                "mean_distance": pairs["distance"].mean(),
                "same_sentence": pairs["same_sentence"].mean(),
                "repetition": pairs["same_token"].mean(),
                "norm": lengths.mean() if len(lengths) else np.nan,
                "focal": own["token"].iloc[0] if len(own) else None,
                "focal_count": int(own["count"].iloc[0]) if len(own) else 0,
            },
            name=f"{self.layer}.{self.head}",
        )

    def compare(self, other: "HeadView") -> "HeadComparison":
        """How alike two heads are on the same text, of one model or of two.

        Args:
            other: A head of a view of the same text, cut into the same tokens.
        """
        if self.view.tokens != other.view.tokens:
            raise SettingsError(
                f"compare: the heads read different tokens ({len(self.view.tokens)} and "
                f"{len(other.view.tokens)}); compare heads of views of one text, by models with "
                "the same tokenizer"
            )
        ours, theirs = (set(zip(h.pairs["i"], h.pairs["j"], strict=True)) for h in (self, other))
        either = len(ours | theirs)
        counted = as_array(self.view.here.batch.counted[0]).astype(bool)
        one, two = (_centred(head.z[counted][:, None]) for head in (self, other))
        return HeadComparison(
            head=(self.layer, self.head),
            other=(other.layer, other.head),
            shared_pairs=len(ours & theirs),
            overlap=len(ours & theirs) / either if either else float("nan"),
            cka=float(debiased_cka(one, two)[0, 0]),
            mean_distances=(
                float(self.pairs["distance"].mean()),
                float(other.pairs["distance"].mean()),
            ),
            distance_shift=_shift(self.pairs["distance"], other.pairs["distance"]),
        )

    def __repr__(self) -> str:
        p = self.profile
        focal = "" if p["focal"] is None else f", focal token {p['focal']!r}"
        return (
            f"HeadView(layer {self.layer}, head {self.head} of {self.view.model}: {p['pairs']} "
            f"pair{'' if p['pairs'] == 1 else 's'}, mean distance {p['mean_distance']:.1f}{focal})"
        )


@dataclass(frozen=True, slots=True)
class HeadComparison:
    """Two heads on one text."""

    head: tuple[int, int]
    """Layer and head, from 1."""
    other: tuple[int, int]
    shared_pairs: int
    overlap: float
    """Shared pairs among those that either has; NaN if neither has any."""
    cka: float
    """Debiased CKA of what they write: 1 if the same up to rotation and scale, about 0 if
    unrelated. NaN for fewer than four tokens that may form pairs."""
    mean_distances: tuple[float, float]
    """Of the pairs of each head, in tokens."""
    distance_shift: float
    """How far the distances of one head's pairs have to be moved to become the other's, in tokens
    (earth mover's distance)."""


def redundancy(view: "View", by: Literal["cka", "pairs"] = "cka") -> pd.DataFrame:
    """How alike the heads of a view are: a symmetric matrix, rows and columns (layer, head).

    Args:
        view: The view.
        by: `cka` or `pairs`; see `View.redundancy`.
    """
    if by not in ("cka", "pairs"):
        raise SettingsError(f"by: {by!r} is unknown; choose cka or pairs")
    places = [
        (layer.site.layer, head) for layer in view.here.layers for head in range(layer.site.heads)
    ]
    index = pd.MultiIndex.from_tuples(
        [(layer, head + 1) for layer, head in places], names=["layer", "head"]
    )
    counted = view.here.batch.counted[0].bool()
    if by == "cka":
        centred = [
            CentredHeads.of(layer.head_output[0][:, counted].transpose(0, 1).float())
            for layer in view.here.layers
        ]
        rows = [torch.cat([debiased_cka(a, b) for b in centred], dim=1) for a in centred]
        return pd.DataFrame(torch.cat(rows).numpy(), index=index, columns=index)
    tokens = len(view.tokens)
    has = np.zeros((len(places), tokens * tokens), dtype=bool)
    row = {place: number for number, place in enumerate(places)}
    for layer, (pairs, _) in zip(view.layers, view.chosen, strict=True):
        head, i, j = (as_array(values) for values in (pairs.head, pairs.i, pairs.j))
        rows_of = [row[layer, int(number)] for number in head]
        has[rows_of, i * tokens + j] = True
    shared = has.astype(np.float64) @ has.T.astype(np.float64)
    sizes = np.diag(shared)
    either = sizes[:, None] + sizes[None, :] - shared
    overlap = np.divide(shared, either, out=np.full_like(shared, np.nan), where=either > 0)
    return pd.DataFrame(overlap, index=index, columns=index)


def _centred(vectors: NDArray[Any]) -> CentredHeads:
    return CentredHeads.of(torch.from_numpy(np.ascontiguousarray(vectors)).float())


def _shift(one: pd.Series, other: pd.Series) -> float:
    """The earth mover's distance of two sets of whole numbers: the area between their CDFs."""
    if one.empty or other.empty:
        return float("nan")
    grid = np.arange(max(one.max(), other.max()) + 1)
    shares = [np.searchsorted(np.sort(v), grid, side="right") / len(v) for v in (one, other)]
    return float(np.abs(shares[0] - shares[1]).sum())


def _listed(layers: tuple[int, ...]) -> str:
    if layers == tuple(range(layers[0], layers[-1] + 1)):
        return f"layers {layers[0]} to {layers[-1]}"
    return f"layers {', '.join(map(str, layers))}"
