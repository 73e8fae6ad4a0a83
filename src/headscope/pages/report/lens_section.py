"""The section of the report about what layers know, in a run whose folder holds a lens study."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from headscope.findings.findings_table import format_cell
from headscope.findings.lens.in_run import LensInRun
from headscope.findings.run_findings import RunFindings
from headscope.pages.figures.layout import NothingToDraw, settled
from headscope.pages.figures.lens import FIGURES, data_lines, draw_lens
from headscope.pages.figures.lens_heads import head_map_figure, head_scatter_figure
from headscope.pages.figures.style import style

COLUMNS = {
    "entropy": ("entropy", ".2f"),
    "cross_entropy": ("loss", ".2f"),
    "accuracy": ("accuracy", ".3f"),
    "token_type_accuracy": ("by token type", ".3f"),
    "part_of_speech": ("part of speech", ".3f"),
    "tree_distance": ("tree distance", ".3f"),
    "tree_edges": ("tree edges", ".3f"),
}
"""What the table shows of each layer: titles and forms."""
CAPTIONS = {
    "lens-layers": "Entropy, loss and accuracy of each layer's guess. A low entropy with a high "
    "loss is a confident error.",
    "lens-frequency": "Accuracy with every token type counted alike, by how frequent a type is.",
    "lens-confusion": "Which tokens the last layer takes for which, where it does so often.",
    "lens-heads": "What the guess of a layer loses without each of its heads.",
    "lens-roles": "What the guess of a layer loses without a head, against what the head writes "
    "and its signal to noise, coloured by its role.",
}


@dataclass(frozen=True, slots=True)
class LensSection:
    """What the page shows of a lens study."""

    sentence: str
    titles: list[str]
    rows: list[list[str]]
    """A row per layer, the layer first."""
    figures: dict[str, tuple[Markup, str]]
    """Picture and caption, by name."""


def lens_section(run: RunFindings, as_svg: Callable[[Figure], Markup]) -> LensSection | None:
    """What the page shows of a lens study; None without one.

    Args:
        run: What was found.
        as_svg: Makes an element of the page of a figure.
    """
    lens = run.lens
    if lens is None:
        return None
    figures = {}
    for name, draw in _figures(run, lens):
        try:
            figures[name] = as_svg(draw()), CAPTIONS[name]
        except NothingToDraw:
            continue
    readings = {"": "", "unmasked": "unmasked: ", "probe": "probe: "}
    first = lens.values["layers"][0]
    shown = [
        (reading, score, f"{prefix}{title}", form)
        for reading, prefix in readings.items()
        for score, (title, form) in COLUMNS.items()
        if score in (first.get(reading, {}) if reading else first)
    ]
    return LensSection(
        sentence=_sentence(lens.values),
        titles=["layer", *(title for _, _, title, _ in shown)],
        rows=[
            [str(layer["layer"]), *(_cell(layer, *one) for one in shown)]
            for layer in lens.values["layers"]
        ],
        figures=figures,
    )


def _figures(run: RunFindings, lens: LensInRun) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Each figure by name, and what draws it."""

    def with_style(draw: Callable[..., Figure], *given: Any) -> Figure:
        with style():
            return settled(draw(*given))

    for name in FIGURES:
        if name != "lens-heads":
            yield name, partial(draw_lens, name, lens.values)
    if lens.heads is not None:
        lines, heads = data_lines(lens.values), lens.heads
        yield "lens-heads", partial(with_style, head_map_figure, heads, lines)
        yield "lens-roles", partial(with_style, head_scatter_figure, run.heads, run.roles, lines)


def _cell(layer: dict[str, Any], reading: str, score: str, _: str, form: str) -> str:
    value = (layer[reading] if reading else layer)[score]["value"]
    return format_cell(float("nan") if value is None else value, form)


def _sentence(values: Any) -> str:
    what = {
        "causal": "The states of each layer are taken through the model's own head, as if it were "
        "the last: how well it guesses the next token, at {positions:,} positions",
        "masked": "The states of each layer are taken through the model's own head, as if it were "
        "the last: how well it guesses hidden tokens, {positions:,} of them, and tokens that it "
        "sees",
        "seq2seq": "The states of each layer of the decoder are taken through the model's own "
        "head, as if it were the last: how well it guesses what the model writes itself, at "
        "{positions:,} positions",
        "words": "A linear probe of each layer, fitted on other documents, tells parts of speech "
        "of {positions:,} words",
        "distances": "A linear probe of each layer, fitted on other documents, tells how far "
        "apart words are in the dependency tree, for {positions:,} words",
    }[values["outcome"]]
    return what.format(**values) + f" in {values['documents']:,} documents."
