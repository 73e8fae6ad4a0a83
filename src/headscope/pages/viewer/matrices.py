"""What a viewer shows: one text as the attention stacks of a model see it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from headscope.settings import Settings, SimilarityVariant


@dataclass(frozen=True, slots=True)
class LayerMatrices:
    """What the heads of one layer did with the text."""

    layer: int
    """From 1."""
    head_output: Float[np.ndarray, "head token d_head"]
    attention: Float[np.ndarray, "head token key"]
    column_mass: Float[np.ndarray, "head key"]
    """Scaled to a maximum of 1."""
    similarity: Mapping[SimilarityVariant, Float[np.ndarray, "head token token"]]
    pairs: Mapping[SimilarityVariant, Int[np.ndarray, "3 pair"]] = field(default_factory=dict)
    """The pairs by the rule of the settings: head (from 0), i and j of each. Only of long texts,
    whose pages keep rounded numbers."""


@dataclass(frozen=True, slots=True)
class StackMatrices:
    """The text as one attention stack reads it."""

    name: str
    tokens: Sequence[str]
    key_tokens: Sequence[str] | None
    """The tokens that heads read, in cross attention; elsewhere None."""
    sentences: Int[np.ndarray, " token"]
    counted: Bool[np.ndarray, " token"]
    """The tokens that may form pairs."""
    first: Int[np.ndarray, " token"]
    """For each token the place of the first occurrence of the same token."""
    layers: Iterable[LayerMatrices]
    """One at a time: all at once might not fit into memory."""
    numbers: int = 0
    """How many numbers all heads write: pages of many are packed compactly."""
    heads: pd.DataFrame | None = None
    """The measures of each head on this text, a row each, as `View.heads`; None where nothing was
    measured."""


@dataclass(frozen=True, slots=True)
class TextMatrices:
    """One text with every matrix of every head."""

    text: str
    model: str
    settings: Settings
    stacks: Sequence[StackMatrices]
