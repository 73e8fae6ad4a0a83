"""The common face of all taps: a stream of attention calls."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

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


OnCall = Callable[[AttentionCall], None]


class Tap(ABC):
    """A way to overhear a model's attention, in the order in which it is computed."""

    tier: Tier

    @abstractmethod
    def listen(self, on_call: OnCall) -> AbstractContextManager[None]:
        """While open, every attention call of the model is passed to `on_call`."""
