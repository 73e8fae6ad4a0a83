"""How similar sentences are: by the vectors that a model gives them, and by their words."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64
from scipy.sparse import csr_array

from headscope.errors import MeasurementError
from headscope.models.loaded import LoadedModel
from headscope.segment.reading.window_batches import PaddedBatch, for_each_batch
from headscope.text.encoding import Encoding


def sentence_vectors(
    model: LoadedModel, sentences: Sequence[Encoding], *, exact: bool = True
) -> Float64[np.ndarray, "sentence d_model"]:
    """The mean of the model's last hidden states over the tokens of each sentence.

    They contain what all heads of all layers wrote, transformed by later weights, and separate
    topics better than the head outputs themselves. A sentence without tokens is a row of zeros.

    Args:
        model: The model.
        sentences: The tokens of each sentence.
        exact: Whether the model reads in its own precision, see `rough_linear_maps`.

    Raises:
        MeasurementError: The model gives NaN or infinity.
    """

    def read(batch: PaddedBatch) -> list[tuple[int, Float64[np.ndarray, " d_model"]]]:
        states = model.last_states(batch.token_ids, batch.real).double().cpu()
        return [
            (window.text, states[row, kept].sum(0).numpy()) for row, window, kept in batch.kept()
        ]

    vectors = np.zeros((len(sentences), model.config.hidden_size))
    for sums in for_each_batch(model, sentences, read, exact=exact):
        for number, total in sums:
            vectors[number] += total / len(sentences[number].token_ids)
    if not np.isfinite(vectors).all():
        raise MeasurementError(
            f"the last layer of {model.name} writes NaN or infinity; "
            "load the model with dtype float32"
        )
    return vectors


def word_overlap(encodings: Sequence[Encoding]) -> Float64[np.ndarray, "sentence sentence"]:
    """Cosines of the token counts of sentences, weighted by rarity: 1 for the same words.

    The weight of a token is (1 + log of its count in the sentence) times minus the log of the share
    of sentences that contain it, so that a token of every sentence counts nothing (tf-idf, Spärck
    Jones 1972). A sentence without any weight has 0 with all, itself included. Tokens are used
    rather than words so that no rules for any language are needed.

    Args:
        encodings: The tokens of each sentence.
    """
    counts = [Counter(encoding.token_ids.tolist()) for encoding in encodings]
    sentences_with = Counter(token for count in counts for token in count)
    column_of = {token: column for column, token in enumerate(sentences_with)}
    rarity = {t: np.log(len(counts) / number) for t, number in sentences_with.items()}
    rows = [row for row, count in enumerate(counts) for _ in count]
    columns = [column_of[token] for count in counts for token in count]
    values = [(1 + np.log(n)) * rarity[t] for count in counts for t, n in count.items()]
    shape = (len(counts), len(column_of))
    weights = csr_array((np.array(values, dtype=np.float64), (rows, columns)), shape=shape)
    products: Float64[np.ndarray, "sentence sentence"] = (weights @ weights.T).toarray()
    lengths = np.sqrt(products.diagonal())
    return products / np.maximum(np.outer(lengths, lengths), 1e-18)
