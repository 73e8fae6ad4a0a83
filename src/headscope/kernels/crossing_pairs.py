"""Similarity of the pairs of tokens that lie on both sides of a point of a text, by distance.

Given what heads write for a text; gives, for each head, the sum of C over the pairs (i, j) with i
before the point and j after it, in bins of the distance j - i. No matrix is formed: the sum over
all pairs at a distance of at least e is one dot product, of the vectors after the point with the
running sums of those before it, moved by e. So memory and time grow with the length of the text and
with the number of bins. Pairs that are reported apart (of one word with itself, and with special
tokens or the first tokens) are few, and are listed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

VARIANTS = ("centred_cosine", "raw")
"""How vectors are compared: cosines after the mean vector of the text is subtracted; dot products
as they are."""
GROUPS = ("all", "different_words", "sinks")
"""Pairs of ordinary tokens; those of them that are not of one word with itself; pairs with a
special token or one of the first tokens."""

_LISTED_AT_ONCE = 2048
"""Listed pairs whose vectors are copied at once."""


@dataclass(frozen=True, eq=False, slots=True)
class _Listed:
    """Some pairs, one by one."""

    before: Int[Tensor, " pair"]
    after: Int[Tensor, " pair"]
    bins: Int[Tensor, " pair"]


@dataclass(frozen=True, eq=False, slots=True)
class CrossingPairs:
    """The pairs of one text that cross a point, prepared once for all layers and heads."""

    point: int
    """The first token after the point."""
    edges: tuple[int, ...]
    """Bin b holds the distances from edges[b] up to, but not including, edges[b + 1]."""
    ordinary: Bool[Tensor, " token"]
    """The tokens that are neither special nor among the first ones."""
    counts: NDArray[np.float64]
    """Number of pairs by group and bin."""
    _repeats: _Listed
    _sinks: _Listed

    @classmethod
    def of(
        cls,
        point: int,
        edges: Sequence[int],
        forms: Int[np.ndarray, " token"],
        sinks: Bool[np.ndarray, " token"],
        device: torch.device | None = None,
    ) -> "CrossingPairs":
        """The crossing pairs of a text.

        Args:
            point: The first token after the point.
            edges: Of the bins of distance, ascending, from 1.
            forms: Equal for tokens of words that are written the same; negative for none.
            sinks: True at special tokens and at the first tokens.
            device: Where the heads' vectors will be.
        """
        n = len(forms)
        positions = np.arange(n)
        of_distance = np.searchsorted(edges, positions, side="right") - 1
        of_distance[positions >= edges[-1]] = -1  # farther than any bin

        def listed(before: NDArray[np.int64], after: NDArray[np.int64]) -> _Listed:
            bins = of_distance[after - before]
            kept = bins >= 0
            return _Listed(
                *(torch.from_numpy(part[kept]).to(device) for part in (before, after, bins))
            )

        first, second = positions[:point], positions[point:]
        sink_before, sink_after = (
            np.flatnonzero(sinks[:point]),
            point + np.flatnonzero(sinks[point:]),
        )
        plain_before = first[~sinks[:point]]
        # A pair of two sinks is listed once, with the sink before the point.
        with_sinks = (
            np.concatenate(
                [np.repeat(sink_before, len(second)), np.tile(plain_before, len(sink_after))]
            ),
            np.concatenate(
                [np.tile(second, len(sink_before)), np.repeat(sink_after, len(plain_before))]
            ),
        )
        pairs = cls(
            point,
            tuple(int(edge) for edge in edges),
            torch.from_numpy(~sinks).to(device),
            np.zeros((len(GROUPS), len(edges) - 1)),
            listed(*_repeats(point, np.where(sinks, -1, forms))),
            listed(*with_sinks),
        )
        pairs.counts[:] = pairs._count()
        return pairs

    def _count(self) -> NDArray[np.float64]:
        ones = self.ordinary.double()[None, :, None]
        everything = _sum_by_distance(ones, self.point, self.edges).round()[0].cpu().numpy()
        bins = len(self.edges) - 1
        repeats, sinks = (
            torch.bincount(listed.bins, minlength=bins).double().cpu().numpy()
            for listed in (self._repeats, self._sinks)
        )
        return np.stack([everything, everything - repeats, sinks])

    def sums(
        self, head_output: Float[Tensor, "head token d_head"]
    ) -> Float[Tensor, "variant group head bin"]:
        """The sum of C over the pairs of each group and bin, for each head, in double precision.

        Args:
            head_output: What the heads of a layer write for the text.
        """
        vectors = head_output.contiguous()
        mean = vectors[:, self.ordinary].double().mean(1, keepdim=True)
        centred = vectors - mean.to(vectors.dtype)
        lengths = centred.double().square().sum(-1).sqrt()
        scale = torch.where(lengths > 0, 1 / lengths, 0.0)
        # Listed pairs are looked up once, as centred vectors, which lose no digits to a large
        # mean; both variants follow from their dot products.
        onto_mean = (vectors.double() * mean).sum(-1)
        offset = mean.square().sum(-1)
        bins = len(self.edges) - 1
        listed = []
        for pairs in (self._repeats, self._sinks):
            products = _dot_products(centred, pairs)
            before, after = pairs.before, pairs.after
            cosines = products * scale.index_select(1, before) * scale.index_select(1, after)
            along = onto_mean.index_select(1, before) + onto_mean.index_select(1, after)
            raw = products + along - offset
            listed.append([_sum_by_bin(values, pairs.bins, bins) for values in (cosines, raw)])
        weight = self.ordinary.double()[:, None]
        plain = (centred.double() * (scale[..., None] * weight), vectors.double() * weight)
        by_variant = []
        for compared, repeats, sinks in zip(plain, *listed, strict=True):
            everything = _sum_by_distance(compared, self.point, self.edges)
            by_variant.append(torch.stack([everything, everything - repeats, sinks]))
        return torch.stack(by_variant)


def _repeats(
    point: int, forms: Int[np.ndarray, " token"]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The crossing pairs of tokens with equal forms."""
    order = np.argsort(forms[point:], kind="stable")
    ordered = forms[point:][order]
    first = np.searchsorted(ordered, forms[:point], side="left")
    last = np.searchsorted(ordered, forms[:point], side="right")
    number = np.where(forms[:point] < 0, 0, last - first)
    before = np.repeat(np.arange(point), number)
    # Counts up within the partners of each token: 0, 1, 2, 0, 1, ...
    within = np.arange(len(before)) - np.repeat(np.cumsum(number) - number, number)
    return before, point + order[np.repeat(first, number) + within]


def _sum_by_distance(
    vectors: Float[Tensor, "head token d_head"], point: int, edges: Sequence[int]
) -> Float[Tensor, "head bin"]:
    """Sum of dot products over crossing pairs, by bin of distance."""
    n = vectors.shape[1]
    after = vectors[:, point:]
    # running[i]: the sum of the vectors before token i, for i up to the point.
    running = torch.nn.functional.pad(vectors[:, :point].cumsum(1), (0, 0, 1, 0))
    running_after = torch.nn.functional.pad(after.cumsum(1), (0, 0, 1, 0))
    at_least = []
    for edge in edges:
        # Token j meets tokens up to j - edge: the first `moving` tokens meet ever more of them,
        # the others meet all that lie before the point.
        start = max(point, edge)
        stop = min(n, point + edge - 1)
        moving = torch.zeros(len(vectors), dtype=vectors.dtype, device=vectors.device)
        if start < stop:
            own = after[:, start - point : stop - point]
            met = running[:, start - edge + 1 : stop - edge + 1]
            moving = torch.stack(
                [torch.dot(a.flatten(), b.flatten()) for a, b in zip(own, met, strict=True)]
            )
        rest = running_after[:, -1] - running_after[:, min(stop, n) - point]
        everything = (rest * running[:, -1]).sum(-1) if stop < n else torch.zeros_like(moving)
        at_least.append(moving + everything)
    sums = torch.stack(at_least, dim=-1)
    return sums[:, :-1] - sums[:, 1:]


def _dot_products(
    vectors: Float[Tensor, "head token d_head"], listed: _Listed
) -> Float[Tensor, "head pair"]:
    """The dot product of each listed pair."""
    # `index_select`, which is seven times as fast as indexing with a tensor.
    products = [
        (vectors.index_select(1, before) * vectors.index_select(1, after)).sum(-1)
        for before, after in zip(
            torch.split(listed.before, _LISTED_AT_ONCE),
            torch.split(listed.after, _LISTED_AT_ONCE),
            strict=True,
        )
    ]
    return torch.cat(products, dim=1).double()


def _sum_by_bin(
    values: Float[Tensor, "head pair"], bins: Int[Tensor, " pair"], number: int
) -> Float[Tensor, "head bin"]:
    return values.new_zeros(len(values), number).index_add_(1, bins, values)
