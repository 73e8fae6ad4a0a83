"""Signal and noise over the sample of a run, while the model reads it for something else.

What is summed is in `headscope.measures.signal`. Documents are dealt into groups, and each group
has its own sums: they give intervals, and add up to those of the sample.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.kernels.head_writes import write_sums
from headscope.kernels.pairs import choose_pairs
from headscope.kernels.relations import cell_shape, centred_directions, relation_sums
from headscope.kernels.similarity import similarity
from headscope.measures.signal import GROUPS, LONGEST_PAIRED, SUMS
from headscope.measuring.redundancy import LayerRedundancy, RedundancyCollector
from headscope.measuring.repeats import repeat_sums
from headscope.measuring.sample_pairs import WindowPairs, groups_of, pairs_of_window, partners_of
from headscope.measuring.write_roots import write_roots
from headscope.models.head_writes import (
    FoundWrites,
    ResidualReader,
    find_writes,
    reading_residuals,
)
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.signal_files import SignalSums
from headscope.settings import Settings
from headscope.text.windows import Window

EVERY = 3
"""Of the windows of a run's sample, every third one is measured, which keeps the cost small."""
REPEATED = 8
"""Number of windows that are read a second time, for repeatability."""


@dataclass(eq=False, slots=True)
class BatchSums:
    """What one batch adds, kept apart until the whole batch is kept."""

    places: Sequence[int]
    counted: Mapping[str, Tensor]
    """By stack: batch, token."""
    pairs: Mapping[str, list[WindowPairs]]
    """By stack, of each window."""
    rows: Sequence[int]
    """Where its windows are in the model's batch."""
    found: list[tuple[AttentionSite, int, dict[str, NDArray[np.float64]]]] = field(
        default_factory=list
    )
    seen: list[tuple[AttentionSite, LayerRedundancy]] = field(default_factory=list)


class SignalCollector:
    """Collects signal and noise of a sample of windows. Each thread has its own: see `partner`."""

    def __init__(
        self,
        model: LoadedModel,
        windows: Sequence[Window],
        sites: Sequence[AttentionSite],
        settings: Settings,
        *,
        whole: bool = True,
        every: int = 1,
    ) -> None:
        """Make room for what is measured.

        Args:
            model: What reads the windows.
            windows: Of the sample, all of them.
            sites: The attention layers that are measured.
            settings: Of the run.
            whole: Whether heads are also compared with each other, and windows read twice.
            every: 2 if only every second window counts, from the first on; 1 for all.
        """
        self._model, self._windows, self._settings = model, windows, settings
        self._writes: FoundWrites = find_writes(model, sites)
        self._every = every
        self._groups = np.zeros(len(windows), dtype=np.int64)
        self._groups[::every] = groups_of([window.document for window in windows[::every]])
        self._partners = partners_of(windows)
        self._tokens = min(settings.window_tokens, LONGEST_PAIRED)
        self._roots = write_roots(self._writes)
        stacks = dict.fromkeys(site.stack for site in sites)
        self.sites = {stack: [site for site in sites if site.stack == stack] for stack in stacks}
        self._every_site = tuple(sites)
        self.residuals: ResidualReader | None = None
        """Set while the model runs."""
        self._whole = whole
        self._begin()

    def _begin(self) -> None:
        self.sums = {stack: self._zeros(stack) for stack in self.sites}
        """The sums of each stack, by group of documents."""
        self.redundancy: RedundancyCollector | None = None
        if self._whole:
            windows = len(self._windows[:: self._every])
            self.redundancy = RedundancyCollector(self._every_site, windows, self._roots)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While open, the residual stream is read; the model runs meanwhile, on any thread."""
        with reading_residuals(self._model, self._writes.found.values()) as self.residuals:
            yield

    def partner(self) -> "SignalCollector":
        """A collector of the same sample that has nothing yet, for another thread."""
        other = copy(self)
        other._begin()
        return other

    def merge(self, other: "SignalCollector") -> None:
        """Count what another collector of the same sample has.

        Args:
            other: Of different windows.
        """
        for stack, sums in self.sums.items():
            for name, values in other.sums[stack].items():
                sums[name] += values
        if self.redundancy is not None and other.redundancy is not None:
            self.redundancy.merge(other.redundancy)

    def _zeros(self, stack: str) -> dict[str, NDArray[np.float64]]:
        sites = self.sites[stack]
        relation, labels, side, bins = cell_shape(self._tokens)
        sizes = {
            "group": GROUPS,
            "head": sum(site.heads for site in sites),
            "relation": relation,
            "labels": labels,
            "side": side,
            "bin": bins,
            "d_head": max(site.d_head for site in sites),
        }
        return {name: np.zeros([sizes[axis] for axis in axes]) for name, axes in SUMS.items()}

    def _heads(self, site: AttentionSite) -> slice:
        before = self.sites[site.stack][: self.sites[site.stack].index(site)]
        first = sum(other.heads for other in before)
        return slice(first, first + site.heads)

    def reader(self, places: Sequence[int]) -> BatchSums:
        """What reads the layers of one batch.

        Args:
            places: Of its windows in the sample.
        """
        given, longest = places, max(self._windows[place].n_tokens for place in places)
        rows = [row for row, place in enumerate(given) if place % self._every == 0]
        places = [given[row] for row in rows]
        counted, pairs = {}, {}
        for stack in self.sites:
            pairs[stack] = [
                pairs_of_window(
                    self._windows[place],
                    self._partners[place],
                    window_tokens=self._settings.window_tokens,
                    shifted=self._model.reads_shifted(stack),
                    device=self._model.device,
                )
                for place in places
            ]
            padded = torch.zeros(len(places), longest, dtype=torch.bool)
            for row, known in enumerate(pairs[stack]):
                padded[row, : len(known.counted)] = known.counted
            counted[stack] = padded.to(self._model.device)
        return BatchSums(places, counted, pairs, rows)

    def add(self, site: AttentionSite, head_output: Tensor, batch: BatchSums) -> None:
        """Sum one layer of one batch.

        Args:
            site: The layer.
            head_output: Z: batch, head, token, d_head.
            batch: From `reader`.
        """
        if not batch.places:
            return
        counted = batch.counted[site.stack]
        head_output = head_output[batch.rows]
        stream = None
        if site in self._writes.found:
            assert self.residuals is not None, "the model runs while its residual stream is read"
            stream = self.residuals.entering(self._writes.found[site])[batch.rows]
        first = counted[:, : self._tokens]
        paired = head_output[:, :, : self._tokens]
        directions = centred_directions(paired, first)
        settings = self._settings
        matrix = similarity(paired, settings.similarity, first)
        pairs = choose_pairs(matrix, first, settings.pairs)
        unrelated = torch.zeros(len(pairs.i), dtype=torch.float64, device=matrix.device)
        expected = torch.zeros_like(unrelated)
        for row, known in enumerate(batch.pairs[site.stack]):
            of_row = pairs.window == row
            i, j = pairs.i[of_row], pairs.j[of_row]
            unrelated[of_row] = known.unrelated[i, j].double()
            expected[of_row] = known.rate[j - i]
        noise = [
            values.cpu().numpy()
            for values in (pairs.count(), pairs.count(unrelated), pairs.count(expected))
        ]
        for row, known in enumerate(batch.pairs[site.stack]):
            tokens = len(known.unrelated)
            cosine, square = relation_sums(directions[row, :, :tokens], known.cells)
            sums = {
                "cosine": cosine.cpu().numpy(),
                "cosine_square": square.cpu().numpy(),
                "noise_pairs": noise[0][row],
                "noise_unrelated": noise[1][row],
                "noise_expected": noise[2][row],
            }
            sums |= self._written(site, head_output[row], stream, counted[row], row)
            batch.found.append((site, row, sums))
        if self.redundancy is not None:
            halves = self._groups[list(batch.places)] % 2
            seen = self.redundancy.read(head_output, counted, halves, batch.places)
            batch.seen.append((site, seen))

    def _written(
        self,
        site: AttentionSite,
        head_output: Tensor,
        stream: Tensor | None,
        counted: Tensor,
        row: int,
    ) -> dict[str, NDArray[np.float64]]:
        """What the heads write for one window; NaN where W_O is not known."""
        if stream is None:
            unknown = np.full(site.heads, np.nan)
            names = ("write_stream", "write_length", "write_square")
            written = np.full((site.heads, site.d_head), np.nan)
            return {**dict.fromkeys(names, unknown), "written": written}
        sums = write_sums(head_output[None], stream[row][None], counted[None], self._roots[site])
        return {
            "write_stream": np.full(site.heads, sums.stream),
            "write_length": sums.lengths,
            "write_square": sums.squares,
            "written": sums.written,
        }

    def keep(self, batch: BatchSums) -> None:
        """Count a batch: all its layers were read.

        Args:
            batch: From `reader`.
        """
        for stack in self.sites:
            sums, shape = self.sums[stack], cell_shape(self._tokens)
            for row, known in enumerate(batch.pairs[stack]):
                group = self._groups[batch.places[row]]
                sums["pairs"][group] += known.cells.counts.cpu().numpy().reshape(shape)
                sums["write_tokens"][group] += float(batch.counted[stack][row].sum())
        for site, row, found in batch.found:
            sums, heads = self.sums[site.stack], self._heads(site)
            group = self._groups[batch.places[row]]
            for name, values in found.items():
                target = sums[name][group, heads]
                if name == "written":
                    target[:, : site.d_head] += values
                else:
                    target += values.reshape(target.shape)
        for site, seen in batch.seen:
            assert self.redundancy is not None
            self.redundancy.keep(site, seen)

    def finish(self, numbers: NDArray[np.int64]) -> SignalSums:
        """All that was collected, once some windows are read a second time, from their middle on.

        Args:
            numbers: The numbers of the sample's windows in the run.
        """
        stacks = {stack: dict(sums) for stack, sums in self.sums.items()}
        if self.redundancy is not None:
            self._repeat()
            for stack, sites in self.sites.items():
                stacks[stack] |= self.redundancy.of_stack(sites)
        return SignalSums(numbers[:: self._every], stacks)

    def _repeat(self) -> None:
        chosen = np.arange(0, len(self._windows), self._every)
        places = chosen[np.linspace(0, len(chosen) - 1, REPEATED).round().astype(np.int64)]
        for place in np.unique(places).tolist():
            repeated = repeat_sums(self._model, self._windows[place], self._every_site)
            for site, found in (repeated or {}).items():
                if not np.isfinite(found.product).all():
                    continue
                sums, at = self.sums[site.stack], (self._groups[place], self._heads(site))
                sums["repeat_product"][at] += found.product
                sums["repeat_first"][at] += found.first
                sums["repeat_second"][at] += found.second
