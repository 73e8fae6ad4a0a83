"""Signal, noise and write strength of every head over given windows."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.measures.signal import signal_columns
from headscope.measuring.batch import batches
from headscope.measuring.labels import label_tokens
from headscope.measuring.signal import BatchSums, SignalCollector
from headscope.models.loaded import LoadedModel
from headscope.models.site import MassCapture
from headscope.settings import Settings
from headscope.text.windows import Window


def signal_of_heads(
    model: LoadedModel, windows: Sequence[Window], settings: Settings
) -> dict[str, NDArray[np.float64]]:
    """The columns of all heads of a model, stack after stack and layer after layer."""
    collector = SignalCollector(model, windows, model.sites, settings, whole=False)
    with collector.reading(), torch.inference_mode():
        for places in batches(windows, max_tokens=settings.batch_tokens):
            labels = label_tokens([windows[place] for place in places], model.device)
            batch = collector.reader(places)

            def on_layer(capture: MassCapture, batch: BatchSums = batch) -> None:
                collector.add(capture.site, capture.head_output, batch)

            model.forward_mass(labels.token_ids, labels.real, on_layer)
            collector.keep(batch)
    stacks = [signal_columns(sums) for sums in collector.sums.values()]
    return {name: np.concatenate([columns[name] for columns in stacks]) for name in stacks[0]}
