"""The statistics of one layer over one batch of texts, by the kernel that suits the device."""

from jaxtyping import Float
from torch import Tensor

from headscope.kernels.statistics import LayerStatistics
from headscope.kernels.text_batch import TextBatch
from headscope.kernels.vectorised import vectorised_statistics
from headscope.settings import Settings


def layer_statistics(
    head_output: Float[Tensor, "batch head token d_head"],
    mass: Float[Tensor, "batch head key"],
    batch: TextBatch,
    *,
    causal: bool,
    settings: Settings,
) -> LayerStatistics:
    """The statistics of every head of a layer, for each text and summed over texts.

    Of the attention maps only the column mass is needed.

    On the CPU one pass over each head's matrix while it is in cache; elsewhere the same in torch.
    """
    if head_output.device.type == "cpu":
        # Compiled code is loaded only where it is used.
        from headscope.kernels.fused import fused_statistics

        return fused_statistics(head_output, mass, batch, causal=causal, settings=settings)
    return vectorised_statistics(head_output, mass, batch, causal=causal, settings=settings)
