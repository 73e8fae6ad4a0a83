"""What all taps have in common: they report attention calls, one after the other."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headscope.kernels.token_rows import column_mass
from headscope.models.site import Tier


@dataclass(frozen=True, slots=True)
class AttentionCall:
    """What one attention module computed in one call."""

    name: str
    """Qualified name of the module that made the call."""
    head_output: Float[Tensor, "batch head query d_head"]
    attention: Float[Tensor, "batch head query key"]
    value: Float[Tensor, "batch group key d_head"]
    """Value vectors, before grouped heads are repeated: head h reads group h // (head / group)."""
    has_sinks: bool = False
    """Whether part of the softmax goes to a learned sink, so that rows of A sum to less than 1."""


@dataclass(frozen=True, slots=True)
class MassCall:
    """What one attention module computed in one call, its maps reduced to column mass."""

    name: str
    head_output: Float[Tensor, "batch head query d_head"]
    mass: Float[Tensor, "batch head key"]
    """What each key received from all real queries."""


OnCall = Callable[[AttentionCall], None]
OnMassCall = Callable[[MassCall], None]


class Tap(ABC):
    """A way to read a model's attention, in the order in which it is computed."""

    tier: Tier

    @abstractmethod
    def listen(self, on_call: OnCall) -> AbstractContextManager[None]:
        """While open, every attention call that this thread makes is passed to `on_call`.

        Args:
            on_call: Called with head outputs and attention maps.
        """

    def listen_to_mass(
        self, on_call: OnMassCall, real: Bool[Tensor, "batch query"] | None
    ) -> AbstractContextManager[None]:
        """The same with column mass instead of maps: a tap then need not hold a whole map.

        Args:
            on_call: Called with head outputs and column mass.
            real: The queries that give mass; None for all.
        """

        def reduce(call: AttentionCall) -> None:
            batch, _, queries, _ = call.attention.shape
            counted = torch.ones(batch, queries, dtype=torch.bool) if real is None else real
            mass = column_mass(call.attention, counted.to(call.attention.device))
            on_call(MassCall(call.name, call.head_output, mass))

        return self.listen(reduce)

    def in_pieces(self) -> AbstractContextManager[None]:
        """While open, this thread computes attention in pieces, if this tap can."""
        return nullcontext()

    @abstractmethod
    def let_gates_act(self, modules: Collection[nn.Module]) -> Callable[[], None]:
        """Prepare a model so that open gates take effect; gives what undoes that.

        Args:
            modules: The attention modules of all sites.
        """
