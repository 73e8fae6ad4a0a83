"""Gates: what is done to the head outputs of a layer before they leave the attention function.

A gate belongs to the context in which it was opened, like the precision of `decimal`: other threads
that run the same model do not see it, threads that headscope starts inside do.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.errors import TapError


@dataclass(frozen=True, slots=True)
class SiteGate:
    """What is done to the heads of one attention layer."""

    scale: Float[Tensor, "row head"]
    """What each head output is multiplied by; one row for all of a batch, or a row for each."""
    replaced: Mapping[tuple[int, int], Float[Tensor, "token d_head"]] = field(default_factory=dict)
    """By row and head, from 0: what the head writes instead, from the first token on and again from
    the start where that ends."""
    causal: bool = False
    """Whether queries are the last of the keys, as when a model generates token by token."""

    def apply(
        self, head_output: Float[Tensor, "batch head query d_head"], keys: int
    ) -> Float[Tensor, "batch head query d_head"]:
        """What the heads write under the gate.

        Args:
            head_output: What they would write.
            keys: Number of tokens that the layer reads.
        """
        batch, _, queries, _ = head_output.shape
        rows = len(self.scale)
        if rows not in (1, batch):
            raise TapError(
                f"gates are given for {rows} texts, and the model reads a batch of {batch}; "
                "give one mapping, or one for each text of the batch"
            )
        scale = self.scale.to(head_output)[:, :, None, None]
        # Zero times infinity would not be zero.
        gated = (head_output * scale).masked_fill(scale == 0, 0)
        first = max(keys - queries, 0) if self.causal else 0
        for (row, head), vectors in self.replaced.items():
            places = torch.arange(first, first + queries) % len(vectors)
            gated[slice(None) if rows == 1 else row, head] = vectors[places].to(gated)
        return gated


Gates = Mapping[nn.Module, Sequence[SiteGate | None]]
"""The gates of attention modules: one for each time that the module runs in a forward pass."""

_open: ContextVar[Gates] = ContextVar("headscope_gates")


class _Calls(threading.local):
    def __init__(self) -> None:
        self.of: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()


_calls = _Calls()
"""How often each module that is shared by several layers ran since the forward pass began."""


def gate_of(module: nn.Module) -> SiteGate | None:
    """The gate of the attention that a module has just computed; None if it has none.

    Must be asked once per call: of a module that several layers share, it is the next one's.

    Args:
        module: An attention module.
    """
    gates = _open.get({}).get(module)
    if gates is None:
        return None
    if len(gates) == 1:
        return gates[0]
    number = _calls.of.get(module, 0)
    _calls.of[module] = number + 1
    return gates[number % len(gates)]


def is_gated(module: nn.Module) -> bool:
    """Whether a module has an open gate in this context.

    Args:
        module: An attention module.
    """
    return module in _open.get({})


@contextmanager
def opened(gates: Gates) -> Iterator[None]:
    """While open, these gates hold in this context.

    Args:
        gates: By attention module; they replace the open gates of the same modules, also by none.
    """
    there = {**_open.get({}), **gates}
    token = _open.set({module: gates for module, gates in there.items() if any(gates)})
    try:
        yield
    finally:
        _open.reset(token)


def start_counting(roots: Sequence[nn.Module], shared: Sequence[nn.Module]) -> Callable[[], None]:
    """A function that ends what is begun here: counting the calls of shared modules.

    Args:
        roots: Modules whose forward pass runs the shared ones from the first layer on.
        shared: Attention modules that are used by several layers.
    """

    def begin(*_: object) -> None:
        for module in shared:
            _calls.of[module] = 0

    handles = [root.register_forward_pre_hook(begin) for root in roots] if shared else []

    def end() -> None:
        for handle in handles:
            handle.remove()

    return end
