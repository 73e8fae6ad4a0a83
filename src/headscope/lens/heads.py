"""What a layer's guess loses without each of its heads.

An intact pass is recorded. For each head the block of its layer runs again from what it read, with
the head switched off, several heads at once; the state that it puts out goes through the model's
own head, as that of the intact layer does. Later layers do not run: what the whole model loses is
what `headscope ablate` measures.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int, Int64
from torch import Tensor

from headscope.findings.lens.heads import EFFECTS
from headscope.kernels.prediction_scores import Reference, prediction_scores
from headscope.lens.probe import PROBE, Probes
from headscope.measuring.outcome import OutcomeBatch
from headscope.measuring.study import Advance
from headscope.models.continuation import Continuation, Recording
from headscope.models.own_head import OwnHead, states_of
from headscope.models.site import AttentionSite
from headscope.settings import Settings

_AT_ONCE = 128
"""Positions whose scores over the vocabulary are held at once."""


@dataclass(frozen=True, eq=False, slots=True)
class ScoredPositions:
    """Where the guesses of a batch are looked at."""

    batch: OutcomeBatch
    """With `scored` at these positions alone."""
    rows: Int64[np.ndarray, " scored"]
    """The window of each."""
    groups: Int64[np.ndarray, " scored"]
    """Such as 1 for tokens that a masked language model sees."""
    halves: Int[Tensor, " scored"]
    """In which half the document of each is, for probes."""

    @property
    def targets(self) -> Int[Tensor, " scored"]:
        """The true tokens."""
        assert self.batch.targets is not None
        return self.batch.targets[self.batch.scored]


class HeadSwitches:
    """Switches off the heads of each layer in turn, and looks at the guess of that layer."""

    def __init__(self, head: OwnHead, settings: Settings) -> None:
        """Say which heads.

        Args:
            head: Of the model.
            settings: Which layers, and how many tokens go through the model at once.
        """
        self._head = head
        self.sites: tuple[AttentionSite, ...] = head.sites(settings.layers)
        """The attention whose heads are switched off."""
        self._batch_tokens = settings.batch_tokens
        self._continuation: Continuation | None = None

    @property
    def heads(self) -> list[tuple[str, int, int]]:
        """Stack, layer and number of each head."""
        return [(s.stack, s.layer, h) for s in self.sites for h in range(1, s.heads + 1)]

    def measure(
        self, positions: ScoredPositions, groups: int, probes: Probes | None, advance: Advance
    ) -> Mapping[str, Float64[np.ndarray, "window group head"]]:
        """The sums over scored positions of each effect; those of a probe after `probe/`.

        Args:
            positions: Of a batch.
            groups: Number of groups of positions.
            probes: The maps through which layers are also read; None for the lens alone.
            advance: Is told of every site of every window.
        """
        windows = len(positions.batch.scored)
        going_on = self._prepared(list(positions.batch.inputs))
        recording = going_on.record(positions.batch.inputs, until=self._head.layers[-1])
        prefixes = ("",) if probes is None else ("", PROBE)
        sums = {
            f"{prefix}{effect}": np.zeros((windows, groups, len(self.heads)))
            for prefix in prefixes
            for effect in EFFECTS
        }
        done = 0
        for site in self.sites:
            intact = states_of(recording.blocks[going_on.block(site)])[positions.batch.scored]
            without = self._states_without(site, positions.batch, going_on, recording)
            for first in range(0, len(positions.rows), _AT_ONCE):
                some = slice(first, first + _AT_ONCE)
                place = positions.rows[some], positions.groups[some]
                for prefix in prefixes:
                    mapped = probes if prefix else None
                    compared = self._compare(site, intact, without, positions, some, mapped)
                    for head, effects in enumerate(compared, start=done):
                        for name, values in effects.items():
                            np.add.at(sums[f"{prefix}{name}"][..., head], place, values)
            done += site.heads
            advance(windows)
        scored = np.zeros((windows, groups), dtype=bool)
        scored[positions.rows, positions.groups] = True
        for values in sums.values():
            values[~scored] = np.nan
        return sums

    def _states_without(
        self,
        site: AttentionSite,
        batch: OutcomeBatch,
        going_on: Continuation,
        recording: Recording,
    ) -> Float[Tensor, "head scored d_model"]:
        """What the layer puts out at scored positions without each of its heads."""
        windows = len(batch.scored)
        together = max(1, self._batch_tokens // batch.scored.numel())
        found = []
        for first in range(1, site.heads + 1, together):
            heads = range(first, min(first + together, site.heads + 1))
            repeated = batch.repeated(len(heads))
            gates = [
                {(site.stack, site.layer, head): 0.0} for head in heads for _ in range(windows)
            ]
            with self._head.model.gates(gates):
                output = going_on.run_block(site, repeated.inputs, recording)
            states = states_of(output)[repeated.scored]
            found.append(torch.stack(states.tensor_split(len(heads))))
        return torch.cat(found)

    def _compare(
        self,
        site: AttentionSite,
        intact: Float[Tensor, "scored d_model"],
        without: Float[Tensor, "head scored d_model"],
        positions: ScoredPositions,
        some: slice,
        probes: Probes | None,
    ) -> Iterator[dict[str, Float64[np.ndarray, " some"]]]:
        """The effects of each head at some of the positions."""
        targets, halves = positions.targets[some], positions.halves[some]

        def guess(states: Float[Tensor, "some d_model"]) -> Float[Tensor, "some value"]:
            # The last layer's states need no map to themselves.
            if probes is not None and site.layer != len(self._head.layers):
                states = probes.apply(probes.layers.index(site.layer), states, halves)
            return self._head.answers(states)

        logits = guess(intact[some])
        reference = Reference.of(logits)
        before = prediction_scores(logits, targets, reference)
        for states in without:
            after = prediction_scores(guess(states[some]), targets, reference)
            effects = {
                "entropy_increase": after.entropy - before.entropy,
                "loss_increase": after.cross_entropy - before.cross_entropy,
                "kl": after.kl,
            }
            yield {name: values.double().cpu().numpy() for name, values in effects.items()}

    def _prepared(self, names: Sequence[str]) -> Continuation:
        if self._continuation is None:
            self._continuation = Continuation(self._head.model, self._head.model.model)
            self._continuation.prove(names)
        return self._continuation
