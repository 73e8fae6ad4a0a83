"""The figures of `lens`: scores by layer, accuracy by frequency, tokens that are confused."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from headscope.errors import SettingsError
from headscope.pages.figures.layout import (
    NothingToDraw,
    draw_with_interval,
    framed_figure,
    label_layers,
    settled,
)
from headscope.pages.figures.lens_heads import head_map_figure, head_rows
from headscope.pages.figures.source import short_name
from headscope.pages.figures.style import (
    ABSENT,
    BLUE,
    EXPECTED,
    GREEN,
    ORANGE,
    ORDERED,
    SEQUENTIAL,
    SMALL,
    VERMILION,
    style,
)
from headscope.pages.figures.write import FORMATS, figure_bytes
from headscope.runs.files import write_whole

MOST_TOKENS = 30
"""In the figure of confused tokens."""
_PANELS = {
    "entropy": "entropy, nats",
    "cross_entropy": "loss, nats",
    "accuracy": "accuracy",
    "token_type_accuracy": "accuracy by token type",
}
_OF_PROBES = {
    "words": {"part_of_speech": "part of speech, share right"},
    "distances": {
        "tree_distance": "tree distance, rank correlation",
        "tree_edges": "tree edges, share found",
    },
}
"""What is shown of probes that have no guesses."""
_READINGS = {
    "lens": ("lens", BLUE),
    "lens_unmasked": ("lens, unmasked tokens", GREEN),
    "probe": ("probe", VERMILION),
    "probe_unmasked": ("probe, unmasked tokens", ORANGE),
}

Values = Mapping[str, Any]
"""A result of `lens` as JSON has it."""


def layers_figure(values: Values) -> Figure:
    """Entropy, loss and accuracy by layer, a line for each reading."""
    shown = _OF_PROBES.get(values["outcome"], _PANELS)
    alone = values.get("linear_distance") or {}
    figure = framed_figure(
        "What each layer knows",
        *data_lines(values),
        "bands: 95 % intervals over documents",
        height=1.6 + 1.5 * len(shown) / 2,
    )
    panels = figure.subplots(-(-len(shown) // 2), min(2, len(shown)), squeeze=False)
    for panel, (score, title) in zip(panels.flat, shown.items(), strict=True):
        for reading, (name, colour) in _READINGS.items():
            line = _line(values, reading, score)
            if len(line):
                draw_with_interval(
                    panel, line, "layer", color=colour, label=name, marker="o", markersize=2
                )
                label_layers(panel, line["layer"].to_numpy())
        if score in alone:
            panel.axhline(
                alone[score]["value"], color=EXPECTED, linestyle="--", label="distance in the text"
            )
        panel.set_ylabel(title)
        if score == "cross_entropy":
            panel.set_yscale("log")  # the lens of the embeddings may be at a hundred nats
        else:
            panel.set_ylim(bottom=0)
    panels[0, 0].legend()
    return figure


def frequency_figure(values: Values) -> Figure:
    """Accuracy by token type over the layers, a line for each bin of frequency."""
    bins = values["by_frequency"]
    if not bins:
        raise NothingToDraw("no token was scored")
    figure = framed_figure(
        "Accuracy by how frequent a token type is",
        *data_lines(values),
        "every token type counts alike; bands: 95 % intervals over documents",
        height=3.2,
    )
    panel = figure.subplots()
    colours = mpl.colormaps[ORDERED](np.linspace(0, 0.9, len(bins)))
    for one, colour in zip(bins, colours, strict=True):
        line = pd.DataFrame(one["accuracy"]).astype(float)
        most = one["at_most"]
        name = f"{one['at_least']} or more" if most is None else f"{one['at_least']} to {most}"
        draw_with_interval(
            panel, line, "layer", color=colour, label=f"{name} ({one['types']:,} types)"
        )
        label_layers(panel, line["layer"].to_numpy().astype(np.int64))
    panel.set_ylabel("accuracy by token type")
    panel.set_ylim(bottom=0)
    panel.legend(title="occurrences")
    return figure


def confusion_figure(values: Values) -> Figure:
    """Which tokens the last layer takes for which, the largest clusters first."""
    clusters = values["confused"]
    tokens: list[str] = []
    for cluster in clusters:
        if len(tokens) + len(cluster["tokens"]) <= MOST_TOKENS or not tokens:
            tokens += [one for one in cluster["tokens"][:MOST_TOKENS] if one not in tokens]
    if not tokens:
        raise NothingToDraw("no token is taken for another one often enough")
    shares = np.full((len(tokens), len(tokens)), np.nan)
    for cluster in clusters:
        for one in cluster["confusions"]:
            if one["true"] in tokens and one["taken_for"] in tokens:
                place = tokens.index(one["true"]), tokens.index(one["taken_for"])
                shares[place] = one["times"] / one["of"]
    figure = framed_figure(
        "Tokens that the last layer takes for others", *data_lines(values), height=5.4
    )
    panel = figure.subplots()
    image = panel.imshow(
        np.ma.masked_invalid(shares),
        cmap=mpl.colormaps[SEQUENTIAL].with_extremes(bad=ABSENT),
        vmin=0,
        vmax=1,
    )
    names = [repr(token)[1:-1] for token in tokens]
    panel.set_xticks(range(len(tokens)), names, rotation=90, fontsize=SMALL, parse_math=False)
    panel.set_yticks(range(len(tokens)), names, fontsize=SMALL, parse_math=False)
    panel.set_xlabel("is taken for")
    panel.set_ylabel("true token")
    figure.colorbar(image, ax=panel, label="share of its occurrences")
    return figure


def heads_figure(values: Values) -> Figure:
    """What a layer's guess loses without each of its heads."""
    return head_map_figure(head_rows(values), data_lines(values))


FIGURES: dict[str, Callable[[Values], Figure]] = {
    "lens-layers": layers_figure,
    "lens-frequency": frequency_figure,
    "lens-confusion": confusion_figure,
    "lens-heads": heads_figure,
}
"""The figures of `lens`, by name."""


def draw_lens(name: str, values: Values) -> Figure:
    """A figure of `lens`.

    Args:
        name: Of the figure.
        values: What it is drawn from.
    """
    if name not in FIGURES:
        raise SettingsError(f"figure: {name!r} is unknown; choose from {', '.join(FIGURES)}")
    with style():
        return settled(FIGURES[name](values))


def write_lens_figures(values: Values, folder: Path) -> list[Path]:
    """Write every figure that there is something to show in, in every format.

    Args:
        values: What they are drawn from.
        folder: Of the study; figures go into `figures` there.
    """
    written = []
    for name in FIGURES:
        try:
            figure = draw_lens(name, values)
        except NothingToDraw:
            continue
        for kind in FORMATS:
            written.append(folder / "figures" / f"{name}.{kind}")
            write_whole(written[-1], figure_bytes(figure, kind), within=folder)
    return written


def _line(values: Values, reading: str, score: str) -> pd.DataFrame:
    """A score of a reading by layer."""
    kind, _, group = reading.partition("_")
    rows = []
    for layer in values["layers"]:
        scores = layer if kind == "lens" else layer.get(kind, {})
        scores = scores.get(group, {}) if group else scores
        if score in scores:
            rows.append({"layer": layer["layer"], **scores[score]})
    line = pd.DataFrame(rows, columns=["layer", "value", "low", "high"])
    return line.astype({"value": float, "low": float, "high": float})


def data_lines(values: Values) -> list[str]:
    """A line that names model, corpus and what was guessed.

    Args:
        values: A result of `lens`.
    """
    tokens = {
        "causal": "next tokens",
        "masked": "hidden tokens",
        "seq2seq": "what the model writes itself",
        "words": "words",
        "distances": "words",
    }
    corpus = ", ".join(map(short_name, values["corpus"].split(", ")))
    return [
        f"{short_name(values['model'])}; {corpus}: "
        f"{values['positions']:,} positions in "
        f"{values['documents']:,} documents, {tokens.get(values['outcome'], values['outcome'])}"
    ]
