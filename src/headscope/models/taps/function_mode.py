"""Tap 2: follow softmax to the product with the values, for families outside the interface."""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode

from headscope.models.site import Tier
from headscope.models.taps.call import AttentionCall, OnCall, Tap
from headscope.models.taps.gates import gate_of, is_gated


class ModuleTrace:
    """The qualified name of the innermost running module of one model."""

    def __init__(self, model: nn.Module) -> None:
        self._names = {module: name for name, module in model.named_modules()}
        # Hooks are called on every thread: each thread follows its own forward pass.
        self._followed = threading.local()

    @property
    def innermost(self) -> str:
        """Name of the module whose forward is running ("" outside, and for the model itself)."""
        running = getattr(self._followed, "running", [])
        return running[-1] if running else ""

    @contextmanager
    def follow(self) -> Iterator[None]:
        """While open, `innermost` is kept up to date."""
        running: list[str] = []
        self._followed.running = running
        thread = threading.get_ident()

        def enter(module: nn.Module, arguments: Any) -> None:
            if module in self._names and threading.get_ident() == thread:
                running.append(self._names[module])

        def leave(module: nn.Module, arguments: Any, output: Any) -> None:
            if module in self._names and threading.get_ident() == thread:
                running.pop()

        handles = (register_module_forward_pre_hook(enter), register_module_forward_hook(leave))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


_SOFTMAX = {torch.softmax, Tensor.softmax, nn.functional.softmax}
_PRODUCT = {torch.matmul, torch.bmm, Tensor.matmul, Tensor.__matmul__, Tensor.bmm}


OnProduct = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Takes attention, value and head output; gives the head output with which the model goes on."""


class FunctionModeTap(Tap):
    """Reads head outputs and attention from the torch functions that a model calls."""

    tier: Tier = "function-mode"

    def __init__(self, model: nn.Module) -> None:
        self._trace = ModuleTrace(model)
        self._modules = dict(model.named_modules())
        self._here = threading.local()

    @contextmanager
    def listen(self, on_call: OnCall) -> Iterator[None]:
        """While open, every softmax-then-product of the model is passed to `on_call`."""

        def on_product(attention: Tensor, value: Tensor, head_output: Tensor) -> Tensor:
            name = self._trace.innermost
            head_output = _gated(self._modules[name], attention, head_output)
            on_call(AttentionCall(name, head_output, attention, value))
            return head_output

        before = getattr(self._here, "listens", False)
        self._here.listens = True
        try:
            with self._trace.follow(), _SoftmaxTrail(on_product):
                yield
        finally:
            self._here.listens = before

    def let_gates_act(self, modules: Collection[nn.Module]) -> Callable[[], None]:
        """Have the product of each module followed also while nobody listens."""
        undo = [self._let_gates_act(module) for module in modules]

        def undo_all() -> None:
            for one in undo:
                one()

        return undo_all

    def _let_gates_act(self, module: nn.Module) -> Callable[[], None]:
        own = vars(module).get("forward")
        forward = module.forward

        def gated_forward(*arguments: Any, **options: Any) -> Any:
            if getattr(self._here, "listens", False) or not is_gated(module):
                return forward(*arguments, **options)
            with _SoftmaxTrail(lambda attention, _, z: _gated(module, attention, z)):
                return forward(*arguments, **options)

        module.forward = gated_forward

        def undo() -> None:
            del module.forward
            if own is not None:
                module.forward = own

        return undo


def _gated(module: nn.Module, attention: Tensor, head_output: Tensor) -> Tensor:
    gate = gate_of(module)
    return head_output if gate is None else gate.apply(head_output, attention.shape[-1])


class _SoftmaxTrail(TorchFunctionMode):
    def __init__(self, on_product: OnProduct) -> None:
        super().__init__()
        self._on_product = on_product
        self._shape: torch.Size | None = None  # batch, head, query, key
        self._trail: list[
            Tensor
        ] = []  # the softmax and what it became; held, so that ids stay valid

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func in _SOFTMAX:
            if result.ndim == 4:
                self._shape, self._trail = result.shape, [result]
        elif self._trail and func in _PRODUCT and self._is_followed(args[0]):
            value, head_output = self._heads_first(args[1], result)
            changed = self._report(args[0], value, head_output)
            if changed is not head_output:
                result = changed.reshape(result.shape)
        elif self._trail and func is torch.einsum and self._is_followed(args[1]):
            equation, attention, value = args
            value, head_output = _einsum_heads_first(equation, value, result)
            changed = self._report(attention, value, head_output)
            if changed is not head_output:
                result = _einsum_from_heads_first(equation, changed)
        elif self._trail and self._keeps_trail(args, result):
            self._trail.append(result)
        return result

    def _is_followed(self, candidate: object) -> bool:
        return any(candidate is tensor for tensor in self._trail)

    def _keeps_trail(self, args: Sequence[Any], result: object) -> bool:
        return (
            isinstance(result, Tensor)
            and result.is_floating_point()
            and result.numel() == self._trail[0].numel()
            and any(self._is_followed(argument) for argument in args)
        )

    def _heads_first(self, value: Tensor, product: Tensor) -> tuple[Tensor, Tensor]:
        """Value and product as batch, head, token, d_head, also when bmm joined the first two."""
        assert self._shape is not None
        batch, heads = self._shape[:2]
        if product.ndim == 3:
            product = product.unflatten(0, (batch, heads))  # type: ignore[no-untyped-call]
        if value.ndim == 3:
            value = value.unflatten(0, (batch, -1))  # type: ignore[no-untyped-call]
        return value, product

    def _report(self, attention: Tensor, value: Tensor, head_output: Tensor) -> Tensor:
        assert self._shape is not None
        attention = attention.reshape(self._shape)
        self._trail = []
        return self._on_product(attention, value, head_output)


def _einsum_heads_first(equation: str, value: Tensor, product: Tensor) -> tuple[Tensor, Tensor]:
    """Value and product of an einsum such as bnij,jbnd->ibnd as batch, head, token, d_head."""
    _, value_axes, product_axes, (batch, head, query, key, d_head) = _axes(equation)
    value = torch.einsum(f"{value_axes}->{batch}{head}{key}{d_head}", value)
    return value, torch.einsum(f"{product_axes}->{batch}{head}{query}{d_head}", product)


def _einsum_from_heads_first(equation: str, head_output: Tensor) -> Tensor:
    """The product of such an einsum, from batch, head, token, d_head."""
    *_, product_axes, (batch, head, query, _, d_head) = _axes(equation)
    return torch.einsum(f"{batch}{head}{query}{d_head}->{product_axes}", head_output)


def _axes(equation: str) -> tuple[str, str, str, list[str]]:
    """The axes of attention, value and product, and batch, head, query, key and d_head."""
    inputs, product_axes = equation.replace(" ", "").split("->")
    attention_axes, value_axes = inputs.split(",")
    (d_head,) = set(product_axes) - set(attention_axes)
    return attention_axes, value_axes, product_axes, [*attention_axes, d_head]
