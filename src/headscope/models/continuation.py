"""Running a model from a block on: what earlier blocks put out is recorded once, and given back.

A change in layer 7 leaves layers 1 to 6 as they were. So for many changes to the same texts the
blocks before the changed one need not run again. Given inputs and the site of a change; gives what
the model puts out, the same as a whole pass. Whether that holds for a family is tried once, block
by block; where it does not, the whole model runs.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from headscope.models.check.probe import probe_of
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
        self._blocks = _blocks_in_order(model)
        self._proven: dict[AttentionSite, bool] = {}

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

    def record(self, inputs: Inputs) -> Recording:
        """An intact pass, with what is needed to go on from any block.

        Args:
            inputs: What the network takes.
        """
        modules = list(dict.fromkeys(self._blocks.values()))
        kept: dict[nn.Module, Any] = {}
        with _diverted(modules), _setting(_keeping, kept):
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

    def _go_on(self, site: AttentionSite, inputs: Inputs, recording: Recording) -> Any:
        here = self._blocks[site]
        order = list(dict.fromkeys(self._blocks.values()))
        times = len(next(iter(inputs.values()))) // recording.batch
        given = {
            block: _repeated(recording.blocks[block], recording.batch, times)
            for block in order[: order.index(here)]
        }
        with _diverted(list(given)), _setting(_given, given):
            return self._run(inputs)

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


def _blocks_in_order(model: LoadedModel) -> dict[AttentionSite, nn.Module]:
    """The block of each site: the outermost element of a list of modules that holds it.

    Sites that share a module (ALBERT), or lie in no list, have none; then no site has.
    """
    names = [site.name for site in model.sites]
    if len(set(names)) < len(names):
        return {}
    found: dict[AttentionSite, nn.Module] = {}
    for site in model.sites:
        parts = site.name.split(".")
        for end in range(1, len(parts)):
            if isinstance(model.model.get_submodule(".".join(parts[:end])), nn.ModuleList):
                found[site] = model.model.get_submodule(".".join(parts[: end + 1]))
                break
    return found if len(found) == len(names) else {}


def _repeated(output: Any, batch: int, times: int) -> Any:
    """What a block put out, for the same texts several times over."""
    if isinstance(output, Tensor):
        if output.ndim == 0 or output.shape[0] != batch or times == 1:
            return output
        return output.repeat(times, *[1] * (output.ndim - 1))
    if isinstance(output, tuple):
        return tuple(_repeated(part, batch, times) for part in output)
    return output


_given: ContextVar[Mapping[nn.Module, Any] | None] = ContextVar("headscope_given", default=None)
"""What blocks put out without being run, in this context."""
_keeping: ContextVar[dict[nn.Module, Any] | None] = ContextVar("headscope_keeping", default=None)
"""Where blocks put what they put out, in this context."""
_users: dict[nn.Module, int] = {}
"""How many have diverted each block, in all threads."""
_own: dict[nn.Module, Callable[..., Any]] = {}
"""What diverted blocks had as a forward of their own, not of their class."""
_changing = threading.Lock()


@contextmanager
def _diverted(blocks: Sequence[nn.Module]) -> Iterator[None]:
    """While open, the forward of these blocks looks at this context first."""
    with _changing:
        for block in blocks:
            _users[block] = _users.get(block, 0) + 1
            if _users[block] == 1:
                if "forward" in vars(block):
                    _own[block] = block.forward
                block.forward = _looking_first(block, block.forward)
    try:
        yield
    finally:
        with _changing:
            for block in blocks:
                _users[block] -= 1
                if not _users[block]:
                    del _users[block], block.forward
                    if block in _own:
                        block.forward = _own.pop(block)


def _looking_first(block: nn.Module, forward: Callable[..., Any]) -> Callable[..., Any]:
    def diverted(*arguments: Any, **options: Any) -> Any:
        given, kept = _given.get(), _keeping.get()
        if given is not None and block in given:
            return given[block]
        output = forward(*arguments, **options)
        if kept is not None:
            kept[block] = output
        return output

    return diverted


@contextmanager
def _setting(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
