"""Tap 1: an attention function registered with transformers' attention interface.

The registered function delegates to the family's own eager attention, so sinks, soft caps, position
biases and grouped heads stay what they are. The eager mask is registered along with it: without a
mask function, or with the sdpa one, padding is silently attended to.

A model set to this implementation stays so. Outside `listen` it computes what eager attention does.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import eager_mask

from headscope.errors import TapError
from headscope.models.site import Tier
from headscope.models.tap.call import AttentionCall, OnCall, Tap

IMPLEMENTATION = "headscope"

_listening: list[tuple[dict[nn.Module, str], OnCall]] = []
"""The open taps, innermost last. A call goes to the innermost tap whose model holds the module."""


class InterfaceTap(Tap):
    """Reads head outputs and attention from the attention interface."""

    tier: Tier = "interface"

    def __init__(self, model: PreTrainedModel) -> None:
        self._names = {module: name for name, module in model.named_modules()}
        model.set_attn_implementation(IMPLEMENTATION)

    @contextmanager
    def listen(self, on_call: OnCall) -> Iterator[None]:
        """While open, every attention call of the model is passed to `on_call`."""
        entry = (self._names, on_call)
        _listening.append(entry)
        try:
            yield
        finally:
            _listening.remove(entry)


def tapped_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """The family's own eager attention, overheard. (Shapes are the interface's, not annotated.)"""
    joined, attention = _eager_attention(type(module))(
        module, query, key, value, attention_mask, **options
    )
    for names, on_call in reversed(_listening):
        if module in names:
            batch, heads, queries, _ = attention.shape
            on_call(
                AttentionCall(
                    name=names[module],
                    head_output=joined.reshape(batch, queries, heads, -1).transpose(1, 2),
                    attention=attention,
                    value=value,
                    has_sinks=getattr(module, "sinks", None) is not None,
                )
            )
            break
    return joined, attention


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
