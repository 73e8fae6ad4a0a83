"""What heads write into the residual stream, as sums over tokens that add up over batches.

For each head: the length of z W_O, its square, and z itself; for the layer the length of x, the
residual stream that enters it, and, where asked for, the outer product of all heads. The write of a
head lies in a space of d_head dimensions: with K = W_O W_O' and S its symmetric root, ||z S|| is
||z W_O||, at a fraction of the cost.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64
from numpy.typing import NDArray
from torch import Tensor


def write_root(
    weight: Float[Tensor, "head d_head d_model"],
) -> Float64[Tensor, "head d_head d_head"]:
    """S with S S = W_O W_O', for each head.

    Args:
        weight: W_O, head by head.
    """
    exact = weight.double()
    values, vectors = torch.linalg.eigh(exact @ exact.mT)
    root: Tensor = (vectors * values.clamp_min(0).sqrt()[:, None]) @ vectors.mT
    return root


@dataclass(frozen=True, eq=False)
class WriteSums:
    """Sums over the tokens that one layer wrote for. `+` joins those of different tokens."""

    tokens: float
    stream: float
    """Sum of ||x||."""
    lengths: NDArray[np.float64]
    """head: sum of ||z W_O||."""
    squares: NDArray[np.float64]
    """head: sum of ||z W_O||^2."""
    written: NDArray[np.float64]
    """head, d_head: sum of z S, which is as long as the sum of z W_O."""
    outputs: NDArray[np.float64]
    """head, d_head: sum of z."""
    outer: NDArray[np.float64] | None = None
    """width, width: sum of z z' over all heads joined (width = head x d_head); None unless asked
    for."""

    def __add__(self, other: "WriteSums") -> "WriteSums":
        both = self.outer is not None and other.outer is not None
        return WriteSums(
            self.tokens + other.tokens,
            self.stream + other.stream,
            self.lengths + other.lengths,
            self.squares + other.squares,
            self.written + other.written,
            self.outputs + other.outputs,
            self.outer + other.outer if both else None,  # type: ignore[operator]
        )

    @property
    def strength(self) -> NDArray[np.float64]:
        """Write strength of each head: E||z W_O|| / E||x||. NaN without tokens."""
        return _ratio(self.lengths, self.stream)

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Written deviation of each head: sqrt(tr(W_O' Cov(z) W_O)) / E||x||. NaN without tokens.

        What a head writes whatever the token is left out: that part can be kept as a bias.
        """
        mean = _ratio(self.written, self.tokens)
        variance = _ratio(self.squares, self.tokens) - np.square(mean).sum(-1)
        return _ratio(np.sqrt(np.maximum(variance, 0)), _ratio(self.stream, self.tokens))

    @property
    def mean(self) -> NDArray[np.float64]:
        """head, d_head: the mean of z."""
        return _ratio(self.outputs, self.tokens)

    @property
    def covariance(self) -> NDArray[np.float64]:
        """width, width: the covariance of all heads joined; their own blocks lie on its diagonal.

        Raises:
            ValueError: `outer` was not asked for.
        """
        if self.outer is None:
            raise ValueError("the outer products were not summed")
        mean = self.mean.ravel()
        return _ratio(self.outer, self.tokens) - np.outer(mean, mean)


def write_sums(
    head_output: Float[Tensor, "batch head token d_head"],
    stream: Float[Tensor, "batch token d_model"],
    counted: Bool[Tensor, "batch token"],
    root: Float64[Tensor, "head d_head d_head"],
    *,
    outer: bool = False,
) -> WriteSums:
    """The sums of one layer over the counted tokens of a batch.

    Args:
        head_output: Z.
        stream: x, what entered the layer.
        counted: The tokens that are summed over.
        root: From `write_root`.
        outer: Whether products of all heads are summed too.
    """
    precise = torch.float64 if head_output.dtype == torch.float64 else torch.float32
    z = head_output.transpose(1, 2)[counted].to(precise)  # token, head, d_head
    tokens = len(z)
    # In double precision, the mean apart: it can be so large that squares lose all else.
    mean = z.sum(0, dtype=torch.float64) / max(tokens, 1)
    centred = (z - mean.to(precise)).transpose(0, 1)  # head, token, d_head
    shaped = root.to(precise)
    deviation = centred @ shaped
    mean_written = (mean[:, None] @ root)[:, 0]
    lengths = (deviation + mean_written.to(precise)[:, None]).norm(dim=-1)
    # What rounding left of the mean is put back, so that sums are those of the tokens.
    rest = deviation.sum(1, dtype=torch.float64)
    squares = (
        deviation.square().sum((1, 2), dtype=torch.float64)
        + 2 * (rest * mean_written).sum(-1)
        + tokens * mean_written.square().sum(-1)
    )
    joint = None
    if outer:
        flat = centred.transpose(0, 1).flatten(1)
        left = flat.sum(0, dtype=torch.float64)
        flat_mean = mean.flatten()
        crossed = torch.outer(left, flat_mean)
        around = (flat.T @ flat).double() + crossed + crossed.T
        joint = (around + tokens * torch.outer(flat_mean, flat_mean)).cpu().numpy()
    return WriteSums(
        tokens=float(tokens),
        stream=float(stream[counted].to(precise).norm(dim=-1).sum(dtype=torch.float64)),
        lengths=lengths.sum(1, dtype=torch.float64).cpu().numpy(),
        squares=squares.cpu().numpy(),
        written=(rest + tokens * mean_written).cpu().numpy(),
        outputs=(mean * tokens).cpu().numpy(),
        outer=joint,
    )


def _ratio(
    top: NDArray[np.float64] | float, bottom: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """top / bottom, NaN where the bottom is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: NDArray[np.float64] = np.asarray(top, dtype=np.float64) / np.asarray(bottom)
    return np.where(np.asarray(bottom) == 0, np.nan, quotient)
