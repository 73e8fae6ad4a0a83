"""Head signals: four numbers per head for the gap before each token.

- `contrast`: cosine of what the head writes for the tokens before the gap (summed) and for those
  after it. Low where the subject changes.
- `cut`: the attention that crosses the gap in either direction. Low where two parts of the text
  have little to do with each other.
- `mass_before`, `mass_after`: the attention that the last token before the gap, and the first one
  after it, receive from the whole window. High at separators, for some heads.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.kernels.cpu.jit.mass_and_cut import mass_and_cut

SIGNALS = ("contrast", "cut", "mass_before", "mass_after")
"""The names of the signals, in the order of their axis."""

CONTRAST_TOKENS = 8
"""Number of tokens on each side of a gap that are summed for the contrast."""


def head_signals(
    head_output: Float[Tensor, "batch head token d_head"],
    attention: Float[Tensor, "batch head token token"],
    counted: Bool[Tensor, "batch token"],
) -> Float[Tensor, "batch token head signal"]:
    """The signals of each head for the gap before each token.

    The first token of a window has nothing before its gap: all signals but its own mass are 0.

    Args:
        head_output: What each head writes.
        attention: The attention maps.
        counted: False for special tokens and padding, which give and receive nothing.
    """
    mass, cut = _mass_and_cut(attention, counted)
    contrast = _contrast(head_output * counted[:, None, :, None])
    before = torch.nn.functional.pad(mass[..., :-1], (1, 0))
    return torch.stack([contrast, cut, before, mass], dim=-1).transpose(1, 2)


def _mass_and_cut(
    attention: Float[Tensor, "batch head token token"], counted: Bool[Tensor, "batch token"]
) -> tuple[Float[Tensor, "batch head token"], Float[Tensor, "batch head token"]]:
    """The attention that each token receives, and the attention that crosses the gap before it."""
    maps = attention.detach().cpu()
    if maps.dtype not in (torch.float32, torch.float64):
        maps = maps.float()  # numba has no half precision
    mass, cut = (torch.empty(maps.shape[:3], dtype=maps.dtype) for _ in range(2))
    mass_and_cut(maps.contiguous().numpy(), counted.cpu().numpy(), mass.numpy(), cut.numpy())
    return mass.to(attention), cut.to(attention)


def _contrast(
    head_output: Float[Tensor, "batch head token d_head"],
) -> Float[Tensor, "batch head token"]:
    tokens, far = head_output.shape[2], CONTRAST_TOKENS
    sums = torch.nn.functional.pad(head_output, (0, 0, far + 1, far - 1)).cumsum(2)
    # The sum over the tokens before a gap is the sum over those after the gap `far` tokens earlier.
    near = torch.nn.functional.pad(sums[:, :, far:] - sums[:, :, :-far], (0, 0, 0, 1))
    lengths = torch.linalg.vector_norm(near, dim=-1)
    before, after = slice(0, tokens), slice(far, far + tokens)
    products = torch.linalg.vecdot(near[:, :, before], near[:, :, after])
    cosines: Float[Tensor, "batch head token"] = products / (
        lengths[..., before] * lengths[..., after]
    ).clamp(min=1e-8)
    return cosines
