"""What is known of some sentences in a row before topics are looked for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from headscope.models.loaded import LoadedModel
from headscope.segment.gap_contrast import gap_contrast
from headscope.segment.sentence_vectors import sentence_vectors
from headscope.segment.window_batches import text_tokenizer
from headscope.segment.word_overlap import word_overlap


@dataclass(frozen=True, eq=False, slots=True)
class ReadSentences:
    """Some sentences in a row, as a model and their words show them."""

    vectors: Float64[np.ndarray, "sentence output"]
    """What the model makes of each, read by itself."""
    overlap: Float64[np.ndarray, "sentence sentence"]
    """How much of their wording is the same."""
    contrast: Float64[np.ndarray, " sentence"]
    """How alike heads write before and behind the start of each, read in a row."""

    def __len__(self) -> int:
        return len(self.vectors)


def read_sentences(model: LoadedModel, sentences: Sequence[str]) -> ReadSentences:
    """Some sentences, read twice: one by one, and as one text."""
    encodings = [text_tokenizer(model).encode(sentence) for sentence in sentences]
    return ReadSentences(
        sentence_vectors(model, encodings),
        word_overlap(encodings),
        gap_contrast(model, encodings),
    )
