"""Tap 1: an attention function registered with transformers' attention interface.

The registered function delegates to the family's own eager attention, so sinks, soft caps, position
biases and grouped heads are kept. The eager mask is registered along with it: without a mask
function, or with the sdpa one, padding is silently attended to.

A model set to this implementation keeps it. Outside `listen` it computes eager attention.
"""

import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from jaxtyping import Bool
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import eager_mask

from headscope.errors import TapError
from headscope.models.site import Tier
from headscope.models.taps.call import AttentionCall, MassCall, OnCall, OnMassCall, Tap
from headscope.models.taps.gates import gate_of
from headscope.models.taps.pieces import Cut, attention_in_pieces

IMPLEMENTATION = "headscope"


@dataclass(frozen=True, slots=True)
class _Listener:
    names: dict[nn.Module, str]
    on_call: OnCall | None = None
    on_mass_call: OnMassCall | None = None
    real: Bool[Tensor, "batch query"] | None = None
    cut: Cut | None = None


class _Listening(threading.local):
    def __init__(self) -> None:
        self.open: list[_Listener] = []


_listening = _Listening()
"""The open taps of each thread. A call goes to the innermost whose model holds the module."""


class InterfaceTap(Tap):
    """Reads head outputs and attention from the attention interface."""

    tier: Tier = "interface"

    cut: Cut | None = None
    """How the model's attention may be cut into pieces, set by the self-check, if at all."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._names = {module: name for name, module in model.named_modules()}
        self._model = model
        model.set_attn_implementation(IMPLEMENTATION)

    def listen(self, on_call: OnCall) -> AbstractContextManager[None]:
        """While open, every attention call that this thread makes is passed to `on_call`."""
        return _listen(_Listener(self._names, on_call=on_call))

    def listen_to_mass(
        self,
        on_call: OnMassCall,
        real: Bool[Tensor, "batch query"] | None,
    ) -> AbstractContextManager[None]:
        """The same with column mass instead of maps, computed in pieces where `cut` says so."""
        if self.cut is None:
            return super().listen_to_mass(on_call, real)
        return _listen(_Listener(self._names, on_mass_call=on_call, real=real, cut=self.cut))

    def in_pieces(self) -> AbstractContextManager[None]:
        """While open, this thread computes attention in pieces, where `cut` says so."""
        if self.cut is None:
            return nullcontext()
        return self.listen_to_mass(lambda call: None, None)

    def let_gates_act(self, modules: Collection[nn.Module]) -> Callable[[], None]:
        """Gates act in the registered function itself, as long as the model calls it."""
        there = self._model.config._attn_implementation
        if there != IMPLEMENTATION:
            raise TapError(
                f"gates act in headscope's attention, and this model was switched to {there!r}; "
                f"call set_attn_implementation({IMPLEMENTATION!r})"
            )
        return lambda: None


@contextmanager
def _listen(listener: _Listener) -> Iterator[None]:
    _listening.open.append(listener)
    try:
        yield
    finally:
        _listening.open.remove(listener)


def tapped_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """The family's own eager attention, reported. (Shapes are the interface's, not annotated.)"""
    eager = _eager_attention(type(module))
    listener = next((one for one in reversed(_listening.open) if module in one.names), None)
    if listener is not None and listener.on_mass_call is not None and listener.cut is not None:
        joined, mass = attention_in_pieces(
            eager,
            module,
            query,
            key,
            value,
            attention_mask,
            options,
            listener.real,
            listener.cut,
        )
        joined = _gated(module, joined, mass.shape[1], mass.shape[2])
        head_output = _heads_first(joined, mass.shape[1])
        listener.on_mass_call(MassCall(listener.names[module], head_output, mass))
        return joined, None
    joined, attention = eager(module, query, key, value, attention_mask, **options)
    joined = _gated(module, joined, query.shape[1], key.shape[2])
    if listener is not None and listener.on_call is not None:
        listener.on_call(
            AttentionCall(
                name=listener.names[module],
                head_output=_heads_first(joined, attention.shape[1]),
                attention=attention,
                value=value,
                has_sinks=getattr(module, "sinks", None) is not None,
            )
        )
    return joined, attention


def _gated(module: nn.Module, joined: Tensor, heads: int, keys: int) -> Tensor:
    """The joined heads as they leave the function: changed where the module has a gate."""
    gate = gate_of(module)
    if gate is None:
        return joined
    return gate.apply(_heads_first(joined, heads), keys).transpose(1, 2).reshape(joined.shape)


def _heads_first(joined: Tensor, heads: int) -> Tensor:
    return joined.reshape(*joined.shape[:2], heads, -1).transpose(1, 2)


def _eager_attention(attention_class: type[nn.Module]) -> Callable[..., Any]:
    """The `eager_attention_forward` in the file of the class, or of its nearest base class."""
    for base in attention_class.__mro__:
        eager = getattr(sys.modules.get(base.__module__), "eager_attention_forward", None)
        if eager is not None:
            return eager  # type: ignore[no-any-return]
    raise TapError(
        f"{attention_class.__qualname__} calls the attention interface, but its file defines no "
        "eager_attention_forward to delegate to; name its output projection instead, for example "
        "projection='layers.*.attention.o_proj'"
    )


AttentionInterface.register(IMPLEMENTATION, tapped_attention)
AttentionMaskInterface.register(IMPLEMENTATION, eager_mask)
