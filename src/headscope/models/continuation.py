"""Running a model from a block on: what earlier blocks put out is recorded once, and given back.

A change in layer 7 leaves layers 1 to 6 as they were. So for many changes to the same texts the
blocks before the changed one need not run again. Given inputs and the site of a change; gives what
the model puts out, the same as a whole pass. Whether that holds for a family is tried once, block
by block; where it does not, the whole model runs.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from headscope.models.check.probe import probe_of
from headscope.models.diverted_blocks import BlockCall, blocks_in_order, diverted
from headscope.models.linear_maps import quick_linear_maps
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite

Inputs = Mapping[str, Tensor]

_TOLERANCE = 1e-5
"""Relative, of the trial in single precision."""


@dataclass(frozen=True, eq=False, slots=True)
class Recording:
    """An intact pass: what the model and each of its blocks put out."""

    output: Any
    """None where the pass ended before there was one."""
    blocks: Mapping[nn.Module, Any]
    batch: int


class Continuation:
    """Runs a model whose heads are gated in one layer, from the block of that layer on."""

    def __init__(self, model: LoadedModel, network: nn.Module) -> None:
        """Find the blocks of a model.

        Args:
            model: Whose heads are gated.
            network: The model itself, or the part of it that is run.
        """
        self.model = model
        self._network = network
        self._blocks = blocks_in_order(model)
        self._proven: dict[AttentionSite, bool] = {}

    def block(self, site: AttentionSite) -> nn.Module:
        """The block of a site.

        Args:
            site: Of a model whose layers are modules of their own.
        """
        return self._blocks[site]

    def skips(self, site: AttentionSite) -> bool:
        """Whether blocks before a site are skipped; known after `prove`.

        Args:
            site: Where heads are gated.
        """
        return self._proven.get(site, False)

    def prove(self, names: Sequence[str]) -> None:
        """Try for each site whether going on from its block gives what a whole pass gives.

        Args:
            names: Of the inputs that the network takes.
        """
        probe = probe_of(self.model.model).padded
        inputs = {name: probe[name] for name in names}
        recording = self.record(inputs)
        for site in self.model.sites:
            self._proven[site] = site in self._blocks and self._is_exact(site, inputs, recording)

    def record(self, inputs: Inputs, until: AttentionSite | None = None) -> Recording:
        """An intact pass, with what is needed to go on from any block.

        Args:
            inputs: What the network takes.
            until: The site after whose block the pass ends; None for the whole of it.
        """
        modules = list(dict.fromkeys(self._blocks.values()))
        last = None if until is None else self._blocks[until]
        kept: dict[nn.Module, Any] = {}

        def keep(call: BlockCall) -> Any:
            kept[call.block] = output = call.run()
            if call.block is last:
                raise _BlockDone
            return output

        output = None
        with diverted(modules, keep), suppress(_BlockDone):
            output = self._run(inputs)
        return Recording(output, kept, len(next(iter(inputs.values()))))

    def run(self, site: AttentionSite, inputs: Inputs, recording: Recording) -> Any:
        """What the network puts out under the open gates, which must not gate earlier layers.

        Args:
            site: The layer whose heads are gated.
            inputs: Those of the recording, or the same several times over.
            recording: From `record`.
        """
        return self._go_on(site, inputs, recording) if self.skips(site) else self._run(inputs)

    def run_block(self, site: AttentionSite, inputs: Inputs, recording: Recording) -> Any:
        """What the block of a site puts out under the open gates; no block after it runs.

        Args:
            site: The layer whose heads are gated, which must have a block.
            inputs: Those of the recording, or the same several times over.
            recording: From `record`.
        """
        here = self._blocks[site]
        given = self._given(site, inputs, recording) if self.skips(site) else {}
        output = None

        def give(call: BlockCall) -> Any:
            nonlocal output
            if call.block in given:
                return given[call.block]
            output = call.run()
            if call.block is here:
                raise _BlockDone
            return output

        with diverted([*given, here], give), suppress(_BlockDone):
            self._run(inputs)
        return output

    def _go_on(self, site: AttentionSite, inputs: Inputs, recording: Recording) -> Any:
        given = self._given(site, inputs, recording)

        def give(call: BlockCall) -> Any:
            # Another thread may have diverted more blocks than these.
            return given[call.block] if call.block in given else call.run()

        with diverted(list(given), give):
            return self._run(inputs)

    def _given(
        self, site: AttentionSite, inputs: Inputs, recording: Recording
    ) -> dict[nn.Module, Any]:
        """What blocks before that of a site put out, for inputs that repeat the recorded ones."""
        order = list(dict.fromkeys(self._blocks.values()))
        times = len(next(iter(inputs.values()))) // recording.batch
        return {
            block: _repeated(recording.blocks[block], recording.batch, times)
            for block in order[: order.index(self._blocks[site])]
        }

    def _is_exact(self, site: AttentionSite, inputs: Inputs, recording: Recording) -> bool:
        gates = {(site.stack, site.layer, 1): 0.0}
        batch = recording.batch
        repeated = {name: _repeated(tensor, batch, 2) for name, tensor in inputs.items()}
        try:
            with self.model.gates(gates):
                expected = torch.cat([recording.output[0], self._run(inputs)[0]])
            with self.model.gates([{}] * batch + [gates] * batch):
                found = self._go_on(site, repeated, recording)[0]
        except (RuntimeError, ValueError, TypeError, LookupError, AttributeError):
            return False
        half = torch.finfo(expected.dtype).bits < 32
        tolerance = self.model.check.tolerance if half else _TOLERANCE
        if found.shape != expected.shape:
            return False
        return bool((found - expected).norm() <= tolerance * expected.norm())

    def _run(self, inputs: Inputs) -> Any:
        with torch.inference_mode(), quick_linear_maps(), self.model.in_pieces():
            return self._network(**inputs, **self.model.call_options)


class _BlockDone(Exception):
    """Raised inside the model to leave it after a block."""


def _repeated(output: Any, batch: int, times: int) -> Any:
    """What a block put out, for the same texts several times over."""
    if isinstance(output, Tensor):
        if output.ndim == 0 or output.shape[0] != batch or times == 1:
            return output
        return output.repeat(times, *[1] * (output.ndim - 1))
    if isinstance(output, tuple):
        return tuple(_repeated(part, batch, times) for part in output)
    return output
