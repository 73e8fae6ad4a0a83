"""A layer under every analysis choice, by compiled code on the CPU.

Given Z and A of a layer; gives what `headscope.kernels.choices.choice_rows` gives. Window by
window: the pairs of all heads as one list of numbers per matrix, the thresholds of the rules by a
partial sort, and then one compiled pass.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray
from torch import Tensor

from headscope.kernels.choices import ChoiceRows, attention_matrix
from headscope.kernels.cpu.jit.count_choices import (
    COLUMNS,
    WindowPairs,
    contrast_of_sentences,
    count_choices,
    list_pairs,
    new_work,
)
from headscope.kernels.similarity import comparable
from headscope.kernels.token_rows import defined, exclusiveness
from headscope.kernels.window_batch import SENTENCE, TOKEN, WindowBatch
from headscope.settings import SIMILARITY_VARIANTS, PairRule


class ChoiceCounter:
    """Counts the layers of a batch under every choice; what windows share is made once."""

    def __init__(self, batch: WindowBatch, rules: Sequence[PairRule]) -> None:
        """List the pairs of each window.

        Args:
            batch: The windows.
            rules: The pair rules.
        """
        self._batch = batch
        self._rules = rules
        self._pairs = [_window_pairs(batch, window) for window in range(len(batch.counted))]

    def rows(
        self,
        head_output: Float[Tensor, "batch head token d_head"],
        attention: Float[Tensor, "batch head token key"],
    ) -> ChoiceRows:
        """The columns of a layer for each variant of C and each pair rule.

        Args:
            head_output: Z.
            attention: A.
        """
        batch, variants = self._batch, len(SIMILARITY_VARIANTS)
        n_windows, heads, n = head_output.shape[:3]
        vectors = head_output.float() if head_output.dtype != torch.float64 else head_output
        seen = attention.to(vectors.dtype)
        shown = attention_matrix(attention, batch).to(vectors.dtype)
        counts = np.zeros((n_windows, heads, variants, len(self._rules), len(COLUMNS)))
        contrast = np.full((n_windows, heads, variants), np.nan)
        for window, pairs in enumerate(self._pairs):
            one = slice(window, window + 1)
            products, of_rows = (
                _products(values[one], batch.counted[one], pairs) for values in (vectors, seen)
            )
            of_map = np.empty((heads, len(pairs.i)), products.dtype)
            list_pairs(shown[window].numpy(), pairs, of_map)
            count_choices(
                products,
                of_rows,
                of_map,
                self._thresholds(products),
                self._thresholds(of_rows),
                self._thresholds(of_map),
                pairs,
                new_work(len(pairs.i), n, len(self._rules)),
                counts[window],
            )
            contrast_of_sentences(
                products, pairs, self._inside(window), np.zeros((2, n)), contrast[window]
            )
        return self._columns(torch.from_numpy(counts), torch.from_numpy(contrast))

    def _thresholds(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """The least similarity that each rule takes; infinity where it takes nothing."""
        n = values.shape[-1]
        found = np.full((*values.shape[:-1], len(self._rules)), np.inf, values.dtype)
        if not n:
            return found
        most = max([rule.number_taken(n) for rule in self._rules if rule.kind == "top"], default=1)
        best = np.sort(np.partition(values, n - most, axis=-1)[..., n - most :], axis=-1)
        largest = best[..., -1]
        for place, rule in enumerate(self._rules):
            if rule.kind == "top":
                found[..., place] = best[..., most - rule.number_taken(n)]
            else:
                fraction = values.dtype.type(rule.value)
                found[..., place] = np.where(largest > 0, largest * fraction, np.inf)
        return found

    def _inside(self, window: int) -> NDArray[np.float64]:
        """Pairs at each distance, and those inside a sentence."""
        baseline = self._batch.baseline
        pairs = baseline.pairs[window].numpy()
        return np.stack([pairs, np.rint(baseline.rates[SENTENCE, window].numpy() * pairs)])

    def _columns(
        self,
        counts: Float[Tensor, "batch head variant rule column"],
        contrast: Float[Tensor, "batch head variant"],
    ) -> ChoiceRows:
        batch = self._batch
        rows: ChoiceRows = dict(zip(COLUMNS, counts.unbind(-1), strict=True))
        focal, common = rows.pop("focal_place").long(), rows.pop("common_place").long()
        ids = batch.queries.token_ids[:, :, None, None].expand(-1, -1, *counts.shape[2:4])
        rows["focal_token"] = ids.gather(1, focal.clamp_min(0)).masked_fill(focal < 0, -1).double()
        # Heads of a layer are compared with each other: they come last.
        alone = exclusiveness(focal.permute(0, 2, 3, 1))
        rows["focal_exclusiveness"] = alone.permute(0, 3, 1, 2)
        rows["focal_texts"] = (focal >= 0).double()
        rows["distance_expected"] = rows["pairs"] * _each(batch.baseline.mean_distance)
        rows["distinct_pairs"] = rows["pairs"] - rows["repetition_pairs"]
        rows["common_expected"] = rows["distinct_pairs"] * self._frequency(common)
        shape = counts.shape[:4]
        for name, values in defined("block_contrast", contrast.flatten(1)).items():
            rows[name] = values.view(*shape[:3], 1).expand(shape)
        return rows

    def _frequency(
        self, place: Int64[Tensor, "batch head variant rule"]
    ) -> Float[Tensor, "batch head variant rule"]:
        """Share of the pairs of different tokens that contain the token at a place."""
        inside = self._batch.counted.double()
        tokens = inside.sum(-1)
        occurrences = torch.zeros_like(inside).scatter_add_(1, self._batch.first, inside)
        own = occurrences.gather(1, place.clamp_min(0).flatten(1)).view(place.shape)
        different = (tokens.square() - occurrences.square().sum(-1)) / 2
        return own * (_each(tokens) - own) / _each(different.clamp_min(1)) * (place >= 0)


def _each(per_window: Float[Tensor, " batch"]) -> Float[Tensor, "batch 1 1 1"]:
    return per_window[:, None, None, None]


def _products(
    vectors: Float[Tensor, "1 head token width"],
    counted: Tensor,
    pairs: WindowPairs,
) -> NDArray[np.floating]:
    """The dot products of the pairs of a window, under each variant (head, variant, pair)."""
    heads, dtype = vectors.shape[1], vectors.numpy().dtype
    found = np.empty((heads, len(SIMILARITY_VARIANTS), len(pairs.i)), dtype)
    for place, variant in enumerate(SIMILARITY_VARIANTS):
        compared = comparable(vectors, variant, counted)[0]
        list_pairs((compared @ compared.mT).numpy(), pairs, found[:, place])
    return found


def _window_pairs(batch: WindowBatch, window: int) -> WindowPairs:
    places = batch.counted[window].nonzero().flatten().numpy()
    one, other = np.triu_indices(len(places), 1)
    i, j = places[one], places[other]
    distance = j - i

    def together(group: int) -> NDArray[np.float64]:
        ids = batch.queries.groups[group, window].numpy()
        same: NDArray[np.float64] = ((ids[i] == ids[j]) & (ids[i] >= 0)).astype(np.float64)
        return same

    in_sentence, same_token = together(SENTENCE), together(TOKEN)
    rates = batch.baseline.rates[:, window].numpy()
    return WindowPairs(
        # Unsigned: numba then skips its check for negative indices.
        i=i.astype(np.uint32),
        j=j.astype(np.uint32),
        distance=distance,
        in_sentence=in_sentence,
        same_token=same_token,
        sentence_excess=in_sentence - rates[SENTENCE, distance],
        token_excess=same_token - rates[TOKEN, distance],
        first=batch.first[window].numpy().astype(np.uint32),
    )
