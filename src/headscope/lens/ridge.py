"""Affine maps by ridge regression, from sums alone: rows are added a batch at a time and forgotten.

The penalty is chosen by generalised cross-validation, which needs nothing but the same sums.
Source: Golub, Heath and Wahba 1979.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor

PENALTIES = tuple(10.0**power for power in range(-8, 3))
"""Tried penalties, as multiples of the mean variance of an input."""


@dataclass(frozen=True, eq=False, slots=True)
class AffineMap:
    """y = x W + b."""

    weight: Float[Tensor, "inputs outputs"]
    bias: Float[Tensor, " outputs"]
    penalty: float
    """The multiple of the mean variance that was chosen."""

    def on(self, device: torch.device) -> "AffineMap":
        """The same map on a device.

        Args:
            device: Of what it is applied to.
        """
        return AffineMap(self.weight.to(device), self.bias.to(device), self.penalty)

    def __call__(self, rows: Float[Tensor, "row inputs"]) -> Float[Tensor, "row outputs"]:
        """The images of some rows, in their own precision.

        Args:
            rows: Inputs.
        """
        images: Float[Tensor, "row outputs"] = torch.addmm(
            self.bias.to(rows.dtype), rows, self.weight.to(rows.dtype)
        )
        return images


class RidgeSums:
    """Sums over rows of inputs and outputs, from which a map is fitted."""

    def __init__(self, inputs: int, outputs: int) -> None:
        """Begin with no rows.

        Args:
            inputs: Width of the inputs.
            outputs: Width of the outputs.
        """
        self.rows = 0
        self._total = torch.zeros((), dtype=torch.float64)
        self._x = torch.zeros(inputs, dtype=torch.float64)
        self._y = torch.zeros(outputs, dtype=torch.float64)
        self._xx = torch.zeros(inputs, inputs, dtype=torch.float64)
        self._xy = torch.zeros(inputs, outputs, dtype=torch.float64)
        self._yy = torch.zeros((), dtype=torch.float64)

    def add(
        self,
        inputs: Float[Tensor, "row inputs"],
        outputs: Float[Tensor, "row outputs"],
        weights: Float[Tensor, " row"] | None = None,
    ) -> None:
        """Add some rows.

        Args:
            inputs: x.
            outputs: y.
            weights: How much the square error of each row counts; 1 for None.
        """
        x, y = inputs.double().cpu(), outputs.double().cpu()
        w = torch.ones(len(x), dtype=torch.float64) if weights is None else weights.double().cpu()
        weighted = x * w[:, None]
        self.rows += len(x)
        self._total += w.sum()
        self._x += weighted.sum(0)
        self._y += (y * w[:, None]).sum(0)
        self._xx.addmm_(weighted.T, x)
        self._xy.addmm_(weighted.T, y)
        self._yy += (y.square() * w[:, None]).sum()

    def fit(self) -> AffineMap | None:
        """The map with the best penalty; None with fewer than three rows."""
        if self.rows < 3:
            return None
        mean_x, mean_y = self._x / self._total, self._y / self._total
        xx = self._xx - self._total * torch.outer(mean_x, mean_x)
        xy = self._xy - self._total * torch.outer(mean_x, mean_y)
        yy = float(self._yy - self._total * mean_y.square().sum())
        variances, axes = torch.linalg.eigh(xx)
        variances = variances.clamp_min(0)
        along = axes.T @ xy
        scale = float(variances.mean()) or 1.0
        best = min(PENALTIES, key=lambda p: self._error(variances, along, yy, p * scale))
        weight = axes @ (along / (variances + best * scale)[:, None])
        return AffineMap(weight.float(), (mean_y - mean_x @ weight).float(), best)

    def _error(
        self,
        variances: Float64[Tensor, " inputs"],
        along: Float64[Tensor, "inputs outputs"],
        yy: float,
        penalty: float,
    ) -> float:
        """The error that generalised cross-validation expects on other rows."""
        kept = 1 / (variances + penalty)
        squares = along.square().sum(1)
        left = yy - float((squares * (2 * kept - variances * kept.square())).sum())
        free = 1 - (1 + float((variances * kept).sum())) / self.rows
        return max(left, 0.0) / free**2 if free > 0 else float("inf")
