"""The section of the report about long texts, in a run whose folder holds a reach study."""

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.figure import Figure

from headscope.findings.findings_table import format_cell
from headscope.findings.reach.extent import LEAST_PAIRS
from headscope.findings.reach.result import ReachResult
from headscope.findings.reach.retrieval import MEANINGS
from headscope.pages.figures.layout import NothingToDraw
from headscope.pages.figures.reach import FIGURES, draw_reach

COLUMNS = {
    "reach": "reach",
    "reach_all": "with repeats",
    "reach_order": "by order",
    "reach_untrained": "untrained",
    "half": "half within",
    "most": "90 % within",
}
"""What the table shows of each layer, in tokens."""
CAPTIONS = {
    "reach-curves": "How much more alike tokens of one text are than tokens of two texts spliced "
    "together, by distance.",
    "reach-map": "The farthest distance at which the band of a head lies above zero, the false "
    "discovery rate over heads being controlled.",
    "reach-use": "Each dot is a head: what changes in its output when far context is replaced, "
    "against its excess similarity at the same distances.",
}


@dataclass(frozen=True, slots=True)
class ReachSection:
    """What the page shows of a reach study."""

    sentences: list[str]
    titles: list[str]
    rows: list[list[str]]
    """A row per layer, the layer first."""
    figures: dict[str, tuple[Markup, str]]
    """Picture and caption, by name."""
    heads: list[tuple[str, int, int, str, str]]
    """Stack, layer, head, role and evidence of heads that have a role in long texts."""
    meanings: dict[str, str]
    """What these roles mean."""


def reach_section(
    result: ReachResult | None, as_svg: Callable[[Figure], Markup]
) -> ReachSection | None:
    """What the page shows of a reach study; None without one.

    Args:
        result: What was found.
        as_svg: Makes an element of the page of a figure.
    """
    if result is None:
        return None
    shown = {name: title for name, title in COLUMNS.items() if name in result.layers}
    figures = {}
    for name in FIGURES:
        try:
            figures[name] = as_svg(draw_reach(name, result)), CAPTIONS[name]
        except NothingToDraw:
            continue
    return ReachSection(
        sentences=_sentences(result),
        titles=["layer", *shown.values()],
        rows=[
            [str(row["layer"]), *(format_cell(row[name], ".0f") for name in shown)]
            for row in result.layers.to_dict("records")
        ],
        figures=figures,
        heads=[
            (row["stack"], row["layer"], row["head"], row["role"], row["evidence"])
            for row in result.roles.to_dict("records")
        ],
        meanings=MEANINGS,
    )


def _sentences(result: ReachResult) -> list[str]:
    found = [
        f"{result.about['documents']} documents, a window of {result.about['window']} tokens each, "
        "are compared with texts spliced from two documents, token by token at the same places."
    ]
    if result.evidence.units < LEAST_PAIRS:
        found.append("Fewer than 20 documents answer nothing: no distance is reported.")
        return found
    heads = result.heads
    found.append(
        f"{int(heads['reaches'].sum())} of {len(heads)} heads have an excess of similarity at some "
        "distance (5 % false among them)."
    )
    if result.loss is not None and len(result.loss):
        far = result.loss.iloc[-1]
        found.append(
            f"With everything beyond {far['distance']:.0f} tokens from another document, the loss "
            f"increases by {far['increase']:.3f} [{far['increase_low']:.3f}, "
            f"{far['increase_high']:.3f}] nats per token."
        )
    if result.agreement is not None and len(result.agreement):
        row = result.agreement.iloc[-1]
        found.append(
            f"Over heads, use of context and similarity at {row['distance']:.0f} to "
            f"{row['distance_to']:.0f} tokens agree by {row['agreement']:.2f} "
            f"[{row['agreement_low']:.2f}, {row['agreement_high']:.2f}] (rank correlation)."
        )
    return found
