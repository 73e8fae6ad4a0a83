"""What is kept of a layer and a batch of windows: never Z, A or C themselves."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

ALIGNED_TOKENS = 24
"""Tokens before and after a sentence boundary in matrices aligned on boundaries."""

KINDS = 8
"""Number of token kinds."""


@dataclass(frozen=True, slots=True)
class LayerStatistics:
    """The statistics of the heads of a layer over a batch of windows."""

    rows: dict[str, Float[Tensor, "batch head"]]
    """One number per window and head: the columns of the run's Parquet shards."""
    sums: dict[str, Float[Tensor, "head ..."]]
    """Arrays summed over the windows of the batch, similarities in their own precision."""
    sweep: dict[str, Float[Tensor, "batch head threshold"]]
    """The columns that depend on a threshold, at every threshold of the sweep."""


@dataclass(frozen=True, slots=True)
class StackStatistics:
    """The statistics of several layers, the heads of all of them side by side."""

    rows: dict[str, Float[Tensor, "batch head"]]
    sweep: dict[str, Float[Tensor, "batch head threshold"]]
    sums: list[dict[str, Float[Tensor, "_ ..."]]]
    """Of each layer: (head, ...)."""


@runtime_checkable
class StackMeasurement(Protocol):
    """Measures the layers of a stack over a batch of windows, while the model runs."""

    def add(
        self,
        head_output: Float[Tensor, "batch head token d_head"],
        mass: Float[Tensor, "batch head key"],
        *,
        causal: bool,
    ) -> None:
        """Measure a layer. Of its attention maps only the column mass is needed.

        Args:
            head_output: Z.
            mass: What each key received from all real queries.
            causal: Whether no query sees a later key.
        """

    def statistics(self) -> StackStatistics:
        """The statistics of every layer that was added, in order. At least one must have been."""
