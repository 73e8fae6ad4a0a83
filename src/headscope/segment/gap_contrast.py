"""Gap contrast: how much what heads write changes from one sentence to the next, read in a row."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float64

from headscope.models.capture import LayerCapture
from headscope.models.loaded import LoadedModel
from headscope.segment.head_signals import contrast
from headscope.segment.window_batches import WindowBatch, for_each_batch
from headscope.text.encoding import Encoding

_REACH_TOKENS = 32
"""Tokens on each side of a gap: one or two sentences."""


def gap_contrast(
    model: LoadedModel, sentences: Sequence[Encoding]
) -> Float64[np.ndarray, " sentence"]:
    """The cosine of what heads write before and behind the start of each sentence, over all heads.

    The sentences are read as one text, so that heads can look across. In standard deviations from
    the mean over the text; 0 for the first sentence, which has nothing before it.
    """
    if len(sentences) < 2:
        return np.zeros(len(sentences))
    fields = (
        np.concatenate([getattr(sentence, field) for sentence in sentences])
        for field in ("token_ids", "starts", "ends")
    )
    text = Encoding(*fields)
    sites = [site for site in model.sites if site.stack == model.stacks[0]]
    heads = sum(site.heads for site in sites)
    means = np.zeros(len(text.token_ids) + 1)

    def read(batch: WindowBatch) -> None:
        counted = batch.counted.to(model.device)

        def on_layer(capture: LayerCapture) -> None:
            cosines = contrast(capture.head_output * counted[:, None, :, None], _REACH_TOKENS)
            summed = cosines.sum(1).to("cpu", torch.float64).numpy()
            for row, window, kept in batch.kept():
                means[window.kept_first : window.kept_behind] += summed[row, kept] / heads

        model.forward(batch.token_ids, batch.real, on_layer, sites=sites)

    for_each_batch(model, [text], read)
    lengths = [len(sentence.token_ids) for sentence in sentences]
    at_starts = means[np.cumsum([0, *lengths[:-1]])]
    from_mean = at_starts - at_starts[1:].mean()
    from_mean[0] = 0.0
    spread = at_starts[1:].std()
    return from_mean / spread if spread > 1e-9 else np.zeros(len(sentences))
