"""Sentence vectors: what a model makes of each of some sentences, read one by one."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64

from headscope.errors import MeasurementError
from headscope.models.loaded import LoadedModel
from headscope.segment.window_batches import WindowBatch, for_each_batch
from headscope.text.encoding import Encoding


def sentence_vectors(
    model: LoadedModel, sentences: Sequence[Encoding]
) -> Float64[np.ndarray, "sentence d_model"]:
    """The mean of the model's last states over the tokens of each sentence.

    What all heads of all layers wrote is in them, through the weights behind. Topics are told apart
    better by these than by head outputs themselves. A sentence without tokens is a row of zeros.
    """

    def read(batch: WindowBatch) -> list[tuple[int, Float64[np.ndarray, " d_model"]]]:
        states = model.last_states(batch.token_ids, batch.real).double().cpu()
        return [
            (window.text, states[row, kept].sum(0).numpy()) for row, window, kept in batch.kept()
        ]

    vectors = np.zeros((len(sentences), model.config.hidden_size))
    for sums in for_each_batch(model, sentences, read):
        for number, total in sums:
            vectors[number] += total / len(sentences[number].token_ids)
    if not np.isfinite(vectors).all():
        raise MeasurementError(
            f"the last layer of {model.name} writes NaN or infinity; "
            "load the model with dtype float32"
        )
    return vectors
