"""The statistics of the layers of a stack over one batch, by the kernel that suits the device."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.kernels.room import Room
from headscope.kernels.statistics import StackStatistics
from headscope.kernels.text_batch import TextBatch
from headscope.kernels.vectorised import VectorisedMeasurement
from headscope.settings import Settings


@runtime_checkable
class StackMeasurement(Protocol):
    """Measures the layers of a stack over a batch of texts, while the model runs."""

    def add(
        self,
        head_output: Float[Tensor, "batch head token d_head"],
        mass: Float[Tensor, "batch head key"],
        *,
        causal: bool,
    ) -> None:
        """Measure a layer. Of its attention maps only the column mass is needed."""

    def statistics(self) -> StackStatistics:
        """The statistics of every layer that was added, in order; one at least was."""


def stack_measurement(
    batch: TextBatch, settings: Settings, heads: Sequence[int], dtype: torch.dtype, room: Room
) -> StackMeasurement:
    """On the CPU one pass over each head's matrix while it is in cache; elsewhere by torch.

    Layers of so many heads each are expected, of a model of that type. What is measured may lie in
    `room`, until another measurement is given the same.
    """
    if batch.counted.device.type == "cpu":
        # Compiled code is loaded only where it is used.
        from headscope.kernels.fused import FusedMeasurement

        kind = torch.float64 if dtype == torch.float64 else torch.float32
        return FusedMeasurement(batch, settings, heads, kind, room)
    return VectorisedMeasurement(batch, settings)
