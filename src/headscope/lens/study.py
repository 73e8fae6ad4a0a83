"""What is measured of every window: each layer's guess at some positions of it.

A position is scored at every layer: entropy, loss, rank, predicted token, divergence from the last
layer. Masked language models have two groups of positions, which are never mixed: tokens that were
hidden, and tokens that the model sees.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.findings.lens.heads import EFFECTS
from headscope.kernels.prediction_scores import PredictionScores, Reference, prediction_scores
from headscope.lens.heads import HeadSwitches, ScoredPositions
from headscope.lens.probe import PROBE, Probes, ProbeSums, halves_of
from headscope.measuring.batch import batches
from headscope.measuring.outcome import MOST_WRITTEN, Outcome, OutcomeBatch, window_generator
from headscope.measuring.study import Advance, Cells, Setting
from headscope.models.own_head import OwnHead
from headscope.runs.folder import RunFolder
from headscope.settings import Settings
from headscope.system.progress import Progress
from headscope.text.windows import Window

SCORES = ("entropy", "cross_entropy", "rank", "predicted", "kl")
"""What is kept of each scored position and layer."""
HEADS = "heads/"
"""Before the names of effects of heads, which are sums over the scored positions of a window."""
_WHOLE = {"target": 0, "predicted": 0, "rank": 1}
"""The cells that are whole numbers, and the smallest of each."""
_MOST_TOKENS = 1 << 24
"""No vocabulary is larger."""
_AT_ONCE = 128
"""Positions whose scores over the vocabulary are held at once."""


class LensStudy:
    """Each layer's states at scored positions, through the model's own head."""

    name = "lens"

    def __init__(
        self,
        outcome: Outcome,
        head: OwnHead,
        settings: Settings,
        positions: int | None,
        *,
        probe: bool = False,
        heads: bool = False,
    ) -> None:
        """Say what is measured.

        Args:
            outcome: What is hidden, and what the true tokens are.
            head: Of the same model.
            settings: Which layers, and the seed.
            positions: Maximum number of scored positions of a window and group; None for all.
            probe: Whether layers are also read through probes.
            heads: Whether layers are also read without each of their heads.
        """
        self.outcome, self.head = outcome, head
        self.groups: tuple[str, ...] = (
            ("masked", "unmasked") if outcome.kind == "masked" else ("scored",)
        )
        self.layers: tuple[int, ...] = head.numbers(settings.layers)
        """Numbers of the layers; 0 stands for what the first layer reads."""
        self._positions = positions
        self.probe = probe
        self.heads: HeadSwitches | None = HeadSwitches(head, settings) if heads else None
        self._probes: Probes | None = None
        self._seed = settings.seed
        longest = MOST_WRITTEN if outcome.kind == "seq2seq" else settings.window_tokens
        self._slots = longest if positions is None else min(positions, longest)

    @property
    def settings(self) -> Mapping[str, Setting]:
        """What identifies it."""
        return {
            "outcome": self.outcome.kind,
            "positions": self._positions,
            "whole_words": self.outcome.whole_words,
            "probe": self.probe,
            # Studies of layers alone are those that earlier versions made.
            **({} if self.heads is None else {"heads": True}),
        }

    @property
    def steps(self) -> int:
        """A step is a window, and each layer of it whose heads are switched off."""
        return 1 if self.heads is None else 1 + len(self.heads.sites)

    @property
    def cells(self) -> Mapping[str, tuple[int, ...]]:
        """The true token of each scored position, and its scores by layer; NaN in empty slots."""
        slots = (len(self.groups), self._slots)
        by_layer = (len(self.groups), len(self.layers), self._slots)
        probed = [f"{PROBE}{name}" for name in SCORES] if self.probe else []
        cells = {"target": slots, **dict.fromkeys([*SCORES, *probed], by_layer)}
        if self.heads is not None:
            by_head = (len(self.groups), len(self.heads.heads))
            kinds = ("", PROBE) if self.probe else ("",)
            cells |= {f"{HEADS}{kind}{effect}": by_head for kind in kinds for effect in EFFECTS}
        return cells

    def prepare(self, run: RunFolder, progress: Progress) -> None:
        """Fit the probes, and put them into the folder.

        Args:
            run: With the windows.
            progress: Is told of every window.
        """
        if not self.probe:
            return
        manifest = run.manifest
        progress.stage("fitting probes", total=manifest.corpus.windows)
        sums: ProbeSums | None = None
        for number in range(manifest.shards):
            windows = run.read_windows(number)
            for places in batches(windows, max_tokens=manifest.settings.batch_tokens):
                some = [windows[place] for place in places]
                batch = self.outcome.prepare(some)
                every = np.any(self._candidates(some, batch), axis=0)
                states = self.head.states(
                    batch.inputs, torch.from_numpy(every).to(batch.scored.device)
                )
                sums = sums or ProbeSums(self.layers, states.shape[-1])
                sums.add(states, halves_of(some, np.nonzero(every)[0]))
                progress.advance(len(some))
        assert sums is not None
        self._probes = sums.fit()
        self._probes.write(run.path)

    def refuse_impossible(self, cells: Cells) -> None:
        """ValueError for tokens that there are not, or ranks below the first.

        Args:
            cells: Of a shard.
        """
        for name, values in cells.items():
            kind = name.removeprefix(PROBE)
            known = values[np.isfinite(values)]
            if kind not in _WHOLE or not len(known):
                continue
            if known.min() < _WHOLE[kind] or known.max() >= _MOST_TOKENS:
                raise ValueError(f"{name} from {known.min():g} to {known.max():g}")
            if (known != np.floor(known)).any():
                raise ValueError(f"{name} that is no whole number")

    def measure(self, windows: Sequence[Window], advance: Advance) -> Cells:
        """The scores of a batch.

        Args:
            windows: A batch.
            advance: Is told of every window.
        """
        batch = self.outcome.prepare(windows)
        places = self._places(windows, batch)
        cells = {
            name: np.full((len(windows), *shape), np.nan) for name, shape in self.cells.items()
        }
        row, group, slot = places.row, places.group, places.slot
        assert batch.targets is not None
        targets = batch.targets[places.scored]
        cells["target"][row, group, slot] = targets.cpu().numpy()
        with torch.inference_mode():
            states = self.head.states(batch.inputs, places.scored)
            for first in range(0, len(targets), _AT_ONCE):
                some = slice(first, first + _AT_ONCE)
                halves = halves_of(windows, row[some])
                for prefix, layer, scores in self._by_layer(states[:, some], targets[some], halves):
                    known = np.isfinite(scores.entropy.cpu().numpy())
                    for name in SCORES:
                        values = getattr(scores, name).double().cpu().numpy()
                        values[~known] = np.nan
                        cells[f"{prefix}{name}"][row[some], group[some], layer, slot[some]] = values
            advance(len(windows))
            if self.heads is not None:
                scored = replace(batch, scored=places.scored)
                halves = halves_of(windows, row)
                positions = ScoredPositions(scored, row, group, halves)
                found = self.heads.measure(positions, len(self.groups), self._probes, advance)
                cells.update({f"{HEADS}{name}": values for name, values in found.items()})
        return cells

    def _by_layer(
        self,
        states: Float[Tensor, "layer scored d_model"],
        targets: Int[Tensor, " scored"],
        halves: Int[Tensor, " scored"],
    ) -> Iterator[tuple[str, int, PredictionScores]]:
        """The scores of each layer that is asked for: prefix of their names, place, scores."""
        last = self.head.answers(states[-1])
        reference = Reference.of(last)
        for place, layer in enumerate(self.layers):
            is_last = layer == len(self.head.layers)
            logits = last if is_last else self.head.answers(states[layer])
            scores = prediction_scores(logits, targets, reference)
            yield "", place, scores
            if self._probes is None:
                continue
            if not is_last:  # the last layer's states need no map to themselves
                mapped = self._probes.apply(place, states[layer], halves)
                scores = prediction_scores(self.head.answers(mapped), targets, reference)
            yield PROBE, place, scores

    def _candidates(
        self, windows: Sequence[Window], batch: OutcomeBatch
    ) -> list[Bool[np.ndarray, "batch position"]]:
        """The positions of each group that may be scored."""
        candidates = [batch.scored.cpu().numpy()]
        if len(self.groups) == 2:
            visible = np.zeros_like(candidates[0])
            for row, window in enumerate(windows):
                visible[row, : window.n_tokens] = ~window.special
            candidates.append(visible & ~candidates[0])
        return candidates

    def _places(self, windows: Sequence[Window], batch: OutcomeBatch) -> "_Places":
        """Which positions are scored."""
        candidates = self._candidates(windows, batch)
        chosen = np.full(candidates[0].shape, -1)
        for row, window in enumerate(windows):
            generator = window_generator(window, self._seed + 1)
            for group, candidate in enumerate(candidates):
                there = np.flatnonzero(candidate[row])
                most = len(there) if self._positions is None else self._positions
                some = generator.permutation(there)[: min(most, self._slots)]
                chosen[row, some] = group
        return _Places(chosen, batch.scored.device)


class _Places:
    """Scored positions, row by row, each with its group and its slot among those of the group."""

    def __init__(self, chosen: NDArray[np.int64], device: torch.device) -> None:
        there = chosen >= 0
        self.scored: Bool[Tensor, "batch position"] = torch.from_numpy(there).to(device)
        self.row, position = np.nonzero(there)
        self.group: NDArray[np.int64] = chosen[self.row, position]
        self.slot: NDArray[np.int64] = np.zeros_like(self.group)
        for group in range(int(chosen.max(initial=-1)) + 1):
            rank = (chosen == group).cumsum(axis=1) - 1
            mine = self.group == group
            self.slot[mine] = rank[self.row[mine], position[mine]]
