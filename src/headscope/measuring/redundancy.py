"""Redundancy within a model: how alike heads are, and how well the rest of a layer replaces one.

Collected on the sample of a run together with signal and noise. It is no order in which heads can
be removed: see `headscope.kernels.redundancy`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.kernels.redundancy import head_cka, reconstruction
from headscope.models.site import AttentionSite
from headscope.system.threads import on_threads

COMPARED_TOKENS = 512
"""Number of tokens on which heads are compared with each other (CKA)."""
MOST_BYTES = 1 << 29
"""Larger models are not asked how well heads reconstruct each other."""


@dataclass(frozen=True, eq=False, slots=True)
class _OuterSums:
    """Σ1, Σz and Σzz' over some tokens, for all heads of a layer joined."""

    tokens: int
    total: Tensor
    outer: Tensor

    def __add__(self, other: "_OuterSums") -> "_OuterSums":
        return _OuterSums(
            self.tokens + other.tokens, self.total + other.total, self.outer + other.outer
        )

    @property
    def covariance(self) -> Tensor:
        mean = self.total / max(self.tokens, 1)
        return self.outer / max(self.tokens, 1) - torch.outer(mean, mean)


@dataclass(frozen=True, eq=False, slots=True)
class LayerRedundancy:
    """What one layer of one batch adds."""

    halves: dict[int, _OuterSums]
    """By half of the documents."""
    compared: dict[int, Tensor]
    """By place of the window in the sample: what heads write for a few of its tokens."""


class RedundancyCollector:
    """Collects what heads of one layer, and of one stack, have in common."""

    def __init__(
        self,
        sites: Sequence[AttentionSite],
        windows: int,
        roots: Mapping[AttentionSite, Tensor],
    ) -> None:
        """Make room for what is measured.

        Args:
            sites: The attention layers.
            windows: Number of windows in the sample.
            roots: Of W_O W_O', for the layers whose W_O is known.
        """
        self._roots = roots
        size = sum(16 * (site.heads * site.d_head) ** 2 for site in sites)
        self._with_outer = size <= MOST_BYTES
        self._tokens_of_window = -(-COMPARED_TOKENS // max(windows, 1))
        self._outer: dict[tuple[AttentionSite, int], _OuterSums] = {}
        self._compared: dict[AttentionSite, dict[int, Tensor]] = {site: {} for site in sites}

    def read(
        self,
        head_output: Tensor,
        counted: Tensor,
        halves: NDArray[np.int64],
        places: Sequence[int],
    ) -> LayerRedundancy:
        """What a layer of a batch adds; nothing is counted yet.

        Args:
            head_output: Z: batch, head, token, d_head.
            counted: batch, token: the tokens that count.
            halves: In which half of the documents each window is, 0 or 1.
            places: Of the windows in the sample.
        """
        outer = {}
        if self._with_outer:
            vectors = head_output.transpose(1, 2)
            for half in np.unique(halves).tolist():
                rows = torch.from_numpy(halves == half).to(counted.device)
                z = vectors[counted & rows[:, None]].flatten(1).float()
                mean = z.mean(0) if len(z) else z.new_zeros(z.shape[1])
                # Around the mean of the batch, which can be so large that products lose the rest.
                around = z - mean
                rest, exact = around.sum(0, dtype=torch.float64), mean.double()
                crossed = torch.outer(rest, exact)
                products = (around.T @ around).double() + crossed + crossed.T
                products += len(z) * torch.outer(exact, exact)
                outer[half] = _OuterSums(len(z), rest + len(z) * exact, products)
        few = {place: self._few(head_output[row], counted[row]) for row, place in enumerate(places)}
        return LayerRedundancy(outer, few)

    def _few(self, head_output: Tensor, counted: Tensor) -> Tensor:
        """What is written for a few tokens of a window, evenly spread."""
        places = counted.nonzero()[:, 0]
        last = max(len(places) - 1, 0)
        spread = torch.linspace(0, last, self._tokens_of_window + 2).long()[1:-1]
        chosen = torch.unique(spread)
        return head_output[:, places[chosen[: len(places)].to(places.device)]].float().cpu()

    def keep(self, site: AttentionSite, seen: LayerRedundancy) -> None:
        """Count a layer of a batch.

        Args:
            site: The layer.
            seen: From `read`.
        """
        for half, sums in seen.halves.items():
            key = (site, half)
            self._outer[key] = self._outer[key] + sums if key in self._outer else sums
        self._compared[site] |= seen.compared

    def merge(self, other: "RedundancyCollector") -> None:
        """Count what another collector has.

        Args:
            other: Of different windows of the same sample.
        """
        for site, compared in other._compared.items():
            halves = {
                half: other._outer[at] for half in (0, 1) if (at := (site, half)) in other._outer
            }
            self.keep(site, LayerRedundancy(halves, compared))

    def of_stack(self, sites: Sequence[AttentionSite]) -> dict[str, NDArray[np.float64]]:
        """`cka` (head, head) and `reconstruction` (head), heads counted through all layers.

        Args:
            sites: The layers of a stack.
        """
        with on_threads(1):  # the last bits of an inverse depend on their number
            return {"cka": self._cka(sites), "reconstruction": self._reconstruction(sites)}

    def _reconstruction(self, sites: Sequence[AttentionSite]) -> NDArray[np.float64]:
        rebuilt = []
        for site in sites:
            even, odd = self._outer.get((site, 0)), self._outer.get((site, 1))
            if even is None or odd is None or site not in self._roots:
                rebuilt.append(np.full(site.heads, np.nan))
                continue
            root = self._roots[site]
            there = reconstruction(even.covariance, odd.covariance, root)
            back = reconstruction(odd.covariance, even.covariance, root)
            rebuilt.append((0.5 * (there + back)).cpu().numpy())
        return np.concatenate(rebuilt)

    def _cka(self, sites: Sequence[AttentionSite]) -> NDArray[np.float64]:
        heads = sum(site.heads for site in sites)
        places = sorted(set.intersection(*(set(self._compared[site]) for site in sites)))
        if not places or len({site.d_head for site in sites}) > 1:
            return np.full((heads, heads), np.nan)
        by_layer = [torch.cat([self._compared[site][at] for at in places], 1) for site in sites]
        return head_cka(torch.cat(by_layer)[:, :COMPARED_TOKENS]).numpy()
