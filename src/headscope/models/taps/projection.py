"""Tap 3: the input of an output projection that the user names.

For custom models that call `torch.nn.functional.scaled_dot_product_attention` themselves. Z is what
reaches the projection; A is recomputed from that call's own queries, keys and mask. The self-check
then compares Z with A V, and refuses a model with a gate or a norm in between.
"""

import math
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from headscope.errors import TapError
from headscope.models.site import Tier
from headscope.models.taps.call import AttentionCall, OnCall, Tap
from headscope.models.taps.gates import gate_of


class ProjectionTap(Tap):
    """Reads head outputs from the inputs of the projections whose names match a pattern."""

    tier: Tier = "projection"

    def __init__(self, model: nn.Module, pattern: str) -> None:
        self._projections = [
            (name, module) for name, module in model.named_modules() if fnmatchcase(name, pattern)
        ]
        if not self._projections:
            raise TapError(
                f"no module of {type(model).__name__} is called {pattern!r}; "
                f"its linear layers: {', '.join(linear_layer_patterns(model))}"
            )

    @contextmanager
    def listen(self, on_call: OnCall) -> Iterator[None]:
        """While open, every call of a named projection is passed to `on_call`."""
        watch = _ProductWatch()
        thread = threading.get_ident()

        def report(name: str, arguments: tuple[Any, ...]) -> None:
            if threading.get_ident() != thread:
                return
            attention, value = watch.take(name)
            batch, heads, queries, _ = attention.shape
            joined = arguments[0]
            if joined.numel() != batch * queries * heads * value.shape[-1]:
                raise TapError(
                    f"the input of {name!r} has shape {tuple(joined.shape)}, which is not "
                    f"{heads} heads of width {value.shape[-1]}; name the layer that joins the heads"
                )
            head_output = joined.reshape(batch, queries, heads, -1).transpose(1, 2)
            on_call(AttentionCall(name, head_output, attention, value))

        handles = [
            module.register_forward_pre_hook(
                lambda _, arguments, name=name: report(name, arguments)
            )
            for name, module in self._projections
        ]
        try:
            with watch:
                yield
        finally:
            for handle in handles:
                handle.remove()

    def let_gates_act(self, modules: Collection[nn.Module]) -> Callable[[], None]:
        """Have the input of each projection changed before it is projected, and reported."""

        def change(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
            gate = gate_of(module)
            if gate is None:
                return None
            joined = arguments[0]
            heads = gate.scale.shape[1]
            by_head = joined.reshape(*joined.shape[:2], heads, -1).transpose(1, 2)
            gated = gate.apply(by_head, joined.shape[1]).transpose(1, 2)
            return (gated.reshape(joined.shape), *arguments[1:])

        # First of all: those who listen get what is projected.
        handles = [module.register_forward_pre_hook(change, prepend=True) for module in modules]

        def undo() -> None:
            for handle in handles:
                handle.remove()

        return undo


def linear_layer_patterns(model: nn.Module) -> list[str]:
    """Names of the model's linear layers with * for layer numbers, each pattern once."""
    names = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    starred = [".".join("*" if p.isdigit() else p for p in name.split(".")) for name in names]
    return list(dict.fromkeys(starred))


class _ProductWatch(TorchFunctionMode):
    """Remembers the last scaled dot product, with its attention map."""

    def __init__(self) -> None:
        super().__init__()
        self._last: tuple[Tensor, Tensor] | None = None

    def take(self, name: str) -> tuple[Tensor, Tensor]:
        """Attention and value of the product since the last take."""
        if self._last is None:
            raise TapError(
                f"no scaled_dot_product_attention ran before {name!r}, so its attention map cannot "
                "be read; headscope reads attention from transformers' attention interface, from "
                "softmax and matmul, or from scaled_dot_product_attention"
            )
        last, self._last = self._last, None
        return last

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is nn.functional.scaled_dot_product_attention:
            self._last = _attention_and_value(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


def _attention_and_value(
    query: Float[Tensor, "batch head query d_key"],
    key: Float[Tensor, "batch group key d_key"],
    value: Float[Tensor, "batch group key d_head"],
    attn_mask: Bool[Tensor, "..."] | Float[Tensor, "..."] | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Float[Tensor, "batch head query key"], Float[Tensor, "batch group key d_head"]]:
    """The attention map that scaled_dot_product_attention computes inside, and the values."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) * scale
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
    if attn_mask is not None and attn_mask.dtype is torch.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return scores.softmax(dim=-1), value
