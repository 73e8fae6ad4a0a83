"""The result of `lens`: what each layer guesses, and how good its guesses are."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from headscope.findings.lens.heads import HeadEffects, nested_readings
from headscope.findings.lens.token_types import FrequencyBin
from headscope.findings.resampling.bootstrap import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCORES = ("entropy", "cross_entropy", "accuracy", "token_type_accuracy", "rank", "kl")
"""What a reading of a layer has, each with its interval."""


@dataclass(frozen=True, slots=True)
class LayerLens:
    """What one layer guesses."""

    stack: str
    layer: int
    """From 1; 0 stands for what the first layer reads."""
    readings: Mapping[str, Mapping[str, Interval]]
    """The scores (`SCORES`) of the `lens` and, where one was asked for, the `probe`; of a masked
    language model these are at hidden tokens, and `lens_unmasked` and `probe_unmasked` at tokens
    that it sees."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        plain = {
            name: {score: value.to_json() for score, value in scores.items()}
            for name, scores in self.readings.items()
        }
        return {"stack": self.stack, "layer": self.layer, **nested_readings(plain)}


@dataclass(frozen=True, slots=True)
class ConfusedTokens:
    """Token types that the last layer takes for each other."""

    tokens: tuple[str, ...]
    """As text, those that are guessed most often first."""
    confusions: tuple[tuple[str, str, int, int], ...]
    """True token, what it is taken for, how often, of how many occurrences."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        names = ("true", "taken_for", "times", "of")
        return {
            "tokens": list(self.tokens),
            "confusions": [dict(zip(names, one, strict=True)) for one in self.confusions],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Lens:
    """What each layer of a model guesses, and how good its guesses are."""

    model: str
    corpus: str
    outcome: str
    """What is guessed: causal (the next token), masked (hidden tokens), seq2seq (what the model
    itself writes); of probes words (their part of speech) or distances (in dependency trees)."""
    windows: int
    documents: int
    positions: int
    """Number of scored positions; of hidden ones, in a masked language model."""
    positions_asked: int | None = None
    """Maximum number of scored positions of a window; None for all."""
    layers: tuple[LayerLens, ...]
    token_types: int = 0
    """Number of different true tokens."""
    by_frequency: tuple[FrequencyBin, ...] = ()
    """Accuracy of the lens by how frequent a token type is, by layer."""
    confused: tuple[ConfusedTokens, ...] = ()
    """Clusters of tokens that the last layer takes for each other, those with most errors first."""
    head_effects: HeadEffects | None = None
    """What each layer's guess loses without each of its heads; None if that was not asked for."""
    usual_part: Interval | None = None
    """Of words: how often the part of speech is that which is most frequent in other documents."""
    linear_distance: Mapping[str, Interval] | None = None
    """Of distances in trees: what the distance in the text tells by itself."""
    folder: Path

    @property
    def table(self) -> pd.DataFrame:
        """A row per layer and reading (see `LayerLens`), the scores as columns."""
        rows = []
        for layer in self.layers:
            for reading, scores in layer.readings.items():
                row: dict[str, Any] = {
                    "stack": layer.stack,
                    "layer": layer.layer,
                    "reading": reading,
                }
                for name, one in scores.items():
                    row |= {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}
                rows.append(row)
        return pd.DataFrame(rows)

    @property
    def heads(self) -> pd.DataFrame | None:
        """A row per head: `lens_loss_increase`, `lens_entropy_increase`, `lens_kl` (nats per
        position), with `_low` and `_high`, and `lens_matters`; the same for other readings, such as
        `lens_unmasked` and `probe`. None if heads were not asked for."""
        return None if self.head_effects is None else self.head_effects.table

    def figure(self, name: str = "lens-layers") -> "Figure":
        """A figure: `lens-layers`, `lens-frequency`, `lens-confusion` or `lens-heads`.

        Args:
            name: Of the figure.
        """
        from headscope.pages.figures.lens import draw_lens

        return draw_lens(name, self.to_json())

    def write_figures(self) -> list[Path]:
        """Write all figures that there is something to show in, as PNG, SVG and PDF."""
        from headscope.pages.figures.lens import write_lens_figures

        return write_lens_figures(self.to_json(), self.folder)

    def to_json(self) -> dict[str, Any]:
        """Plain values, as `headscope lens --json` prints them."""
        return {
            "model": self.model,
            "corpus": self.corpus,
            "outcome": self.outcome,
            "unit": "nats",
            "windows": self.windows,
            "documents": self.documents,
            "positions": self.positions,
            "positions_of_a_window": self.positions_asked,
            "token_types": self.token_types,
            "layers": [layer.to_json() for layer in self.layers],
            "by_frequency": [
                {
                    "at_least": one.at_least,
                    "at_most": one.at_most,
                    "types": one.types,
                    "positions": one.positions,
                    "accuracy": [
                        {"layer": layer.layer, **accuracy.to_json()}
                        for layer, accuracy in zip(self.layers, one.accuracy, strict=True)
                    ],
                }
                for one in self.by_frequency
            ],
            "most_frequent_part": None if self.usual_part is None else self.usual_part.to_json(),
            "linear_distance": None
            if self.linear_distance is None
            else {name: value.to_json() for name, value in self.linear_distance.items()},
            "confused": [one.to_json() for one in self.confused],
            **({} if self.head_effects is None else self.head_effects.to_json()),
        }
