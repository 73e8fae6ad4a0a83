"""The output projection of each attention call, found by the numbers that go into it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

_INPUT_POSITION: dict[Callable[..., Any], int] = {
    nn.functional.linear: 0,
    torch.matmul: 0,
    Tensor.matmul: 0,
    Tensor.__matmul__: 0,
    torch.addmm: 1,  # bias first
    torch.einsum: 1,  # equation first
}

_WEIGHT_POSITION: dict[Callable[..., Any], int] = {
    nn.functional.linear: 1,
    torch.matmul: 1,
    Tensor.matmul: 1,
    Tensor.__matmul__: 1,
    torch.addmm: 2,
}


@dataclass(frozen=True, slots=True)
class Projection:
    """The first linear map that took a head output, all heads joined, as its input."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]
    output: Tensor

    def contributions(self, heads: int) -> tuple[tuple[Tensor, ...], Tensor]:
        """What each head adds to the output, and what is added without any head (the bias)."""
        position = _INPUT_POSITION[self.function]
        joined = self.arguments[position]
        by_head = joined if joined.ndim == 4 else joined.unflatten(-1, (heads, -1))
        keep = torch.eye(heads + 1, heads, dtype=joined.dtype, device=joined.device)
        # All heads in one call, stacked along the first axis, which no projection mixes.
        parts = [(by_head * kept[:, None]).reshape(joined.shape) for kept in keep]
        arguments = list(self.arguments)
        arguments[position] = torch.cat(parts)
        *with_head, nothing = self.function(*arguments, **self.options).chunk(heads + 1)
        return tuple(part - nothing for part in with_head), nothing

    @property
    def weight_position(self) -> int | None:
        """Where among the arguments the weight is, for maps whose weight is one matrix."""
        if self.function not in _WEIGHT_POSITION:
            return None
        position = _WEIGHT_POSITION[self.function]
        weight = self.arguments[position] if len(self.arguments) > position else None
        return position if isinstance(weight, Tensor) and weight.ndim == 2 else None

    @property
    def takes_transposed(self) -> bool:
        """Whether the weight maps by its rows, as in `nn.Linear`: output x input."""
        return self.function is nn.functional.linear

    def weight(self, heads: int) -> Float[Tensor, "head d_head d_model"]:
        """W_O: what each coordinate of each head adds to the output.

        Args:
            heads: Number of heads that are joined in the input.
        """
        if (position := self.weight_position) is not None:
            weight = self.arguments[position]
            weight = weight.T if self.takes_transposed else weight
        else:  # einsum: the map of unit vectors, as tokens
            joined = self.arguments[_INPUT_POSITION[self.function]]
            width = joined.shape[-2] * joined.shape[-1] if joined.ndim == 4 else joined.shape[-1]
            units = torch.eye(width + 1, width, dtype=joined.dtype, device=joined.device)
            arguments = list(self.arguments)
            shape = (-1, 1, *joined.shape[2:]) if joined.ndim == 4 else (1, width + 1, width)
            arguments[_INPUT_POSITION[self.function]] = units.reshape(shape)
            mapped = self.function(*arguments, **self.options).reshape(width + 1, -1)
            weight = mapped[:-1] - mapped[-1]
        return weight.detach().unflatten(0, (heads, -1))  # type: ignore[no-any-return]


class ProjectionWatch(TorchFunctionMode):
    """Finds the projection of the head output that was announced last.

    A gate or a norm between the two changes the numbers: then nothing is found.
    """

    def __init__(self, tolerance: float) -> None:
        super().__init__()
        self.found: list[Projection | None] = []
        """One entry per announced head output."""
        self.reordered: list[int] = []
        """Which announced head outputs were projected with their heads in another order."""
        self._tolerance = tolerance
        self._layouts: list[Tensor] = []

    def announce(self, head_output: Float[Tensor, "batch head query d_head"]) -> None:
        """From now on, look for a linear map of this head output."""
        self.found.append(None)
        self._layouts = [
            head_output.permute(0, 2, 1, 3),  # batch, token, head, d_head
            head_output.permute(2, 0, 1, 3),  # token, batch, head, d_head: XLNet
        ]

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if self._layouts and func in _INPUT_POSITION:
            joined = args[_INPUT_POSITION[func]]
            if isinstance(joined, Tensor) and joined.numel() == self._layouts[0].numel():
                self._compare(joined, Projection(func, tuple(args), kwargs or {}, result))
        return result

    def _compare(self, joined: Tensor, projection: Projection) -> None:
        for layout in self._layouts:
            difference = joined.reshape(layout.shape) - layout
            allowed = self._tolerance * layout.abs().max()
            if (difference.abs() <= allowed).all():
                self.found[-1] = projection
                self._layouts = []
                return
            # The sum over heads does not know their order, but a gate or a norm changes it.
            if (difference.sum(dim=-2).abs() <= allowed).all():
                self.reordered.append(len(self.found) - 1)
