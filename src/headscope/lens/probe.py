"""Probes: what a layer's states hold, as far as an affine map fitted on other documents finds it.

The plain lens is brittle in early layers, whose states are in other directions than the head reads.
A probe is an affine map from a layer's states to what the last layer puts out for the same token;
what it gives goes through the model's own head, as the layer's states do in the lens. Documents are
in two halves, and each half is read with the maps that were fitted on the other. Source: Din et al.
2023 (linear shortcuts); Belrose et al. 2023 fit such maps to the last layer's answers instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor

from headscope.errors import ModelError, option
from headscope.lens.ridge import AffineMap, RidgeSums
from headscope.runs.files import write_whole
from headscope.text.windows import Window

FILE = "probe.safetensors"
PROBE = "probe/"
"""Before the names of scores through probes."""
HALVES = 2
_MOST_BYTES = 4 << 30


def half_of(window: Window) -> int:
    """Which half of the documents a window is in, 0 or 1; copies of a text are in the same.

    Args:
        window: Of any document.
    """
    named = window.document_hash or window.document
    return sha256(named.encode()).digest()[0] % HALVES


def halves_of(windows: Sequence[Window], rows: NDArray[np.int64]) -> Int[Tensor, " row"]:
    """The half of each scored position.

    Args:
        windows: A batch.
        rows: The window of each position.
    """
    return torch.tensor([half_of(window) for window in windows])[torch.from_numpy(rows)]


def refuse_too_large(layers: int, d_model: int) -> None:
    """Refuse to fit maps whose sums would not fit into memory.

    Args:
        layers: Number of layers.
        d_model: Width of their states.
    """
    needed = HALVES * layers * 2 * d_model**2 * 8
    if needed > _MOST_BYTES:
        raise ModelError(
            f"probes of {layers} layers of width {d_model:,} take {needed >> 30} GB; ask for fewer "
            f"{option('layers')}"
        )


class ProbeSums:
    """What maps to the last layer's states are fitted from, for each half of the documents."""

    def __init__(self, layers: Sequence[int], d_model: int) -> None:
        """Begin with no states.

        Args:
            layers: Numbers of the layers; 0 for what the first layer reads.
            d_model: Width of the states.
        """
        refuse_too_large(len(layers), d_model)
        self.layers = tuple(layers)
        self._sums = [[RidgeSums(d_model, d_model) for _ in layers] for _ in range(HALVES)]

    def add(self, states: Float[Tensor, "layer row d_model"], halves: Int[Tensor, " row"]) -> None:
        """Add states of some tokens.

        Errors are relative to the length of the last layer's state: after the final norm nothing
        but its direction counts, and the few tokens with huge states would otherwise decide all.

        Args:
            states: What the first layer reads, and what each layer puts out.
            halves: In which half the document of each token is.
        """
        last = states[-1].double()
        weights = 1 / last.square().sum(-1).clamp_min(1e-12)
        for half, of_half in enumerate(self._sums):
            mine = (halves == half).to(states.device)
            for layer, sums in zip(self.layers, of_half, strict=True):
                sums.add(states[layer, mine], last[mine], weights[mine])

    def fit(self) -> "Probes":
        """The maps of all layers."""
        return Probes(
            self.layers,
            tuple(tuple(sums.fit() for sums in of_half) for of_half in self._sums),
            tuple(of_half[0].rows for of_half in self._sums),
        )


@dataclass(frozen=True, eq=False, slots=True)
class Probes:
    """A map for each layer and half of the documents on which it was fitted."""

    layers: tuple[int, ...]
    maps: tuple[tuple[AffineMap | None, ...], ...]
    """By half and layer; None where there were too few tokens."""
    tokens: tuple[int, ...]
    """Number of tokens of each half."""

    def apply(
        self,
        place: int,
        states: Float[Tensor, "row d_model"],
        halves: Int[Tensor, " row"],
    ) -> Float[Tensor, "row d_model"]:
        """States of a layer as the last layer's, by maps of the other half; NaN without a map.

        Args:
            place: Of the layer.
            states: Of some tokens.
            halves: In which half the document of each token is.
        """
        found = torch.full_like(states, float("nan"))
        for half in range(HALVES):
            mine = (halves == half).to(states.device)
            fitted = self.maps[1 - half][place]
            if fitted is not None:
                found[mine] = fitted.on(states.device)(states[mine])
        return found

    def write(self, folder: Path) -> None:
        """Put the maps into a folder as safetensors: `layer_K/fitted_on_half_H/weight` and `bias`.

        Args:
            folder: Of the study.
        """
        tensors = {}
        for half, of_half in enumerate(self.maps):
            for layer, fitted in zip(self.layers, of_half, strict=True):
                if fitted is not None:
                    name = f"layer_{layer}/fitted_on_half_{half}"
                    tensors[f"{name}/weight"] = fitted.weight.contiguous()
                    tensors[f"{name}/bias"] = fitted.bias.contiguous()
        about = {"maps": "y = x @ weight + bias, from a layer's states to the last layer's"}
        write_whole(folder / FILE, save(tensors, metadata=about), within=folder)
