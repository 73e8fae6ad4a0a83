"""report.html: what was measured and what was found, on one page that needs no network."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jinja2
import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from headscope.claims import Verdict
from headscope.claims.sanity import Sign
from headscope.figures.style import style
from headscope.report.findings import FINDINGS, findings_rows
from headscope.runs.manifest import Manifest

REPORT_FIGURES: Mapping[str, str] = {
    "layers": (
        "Five measures over the layers. Dashed: what all pairs of the same texts give at the same "
        "distances; dotted: the number of heads."
    ),
    "roles": "The role of every head; `run.roles` has the evidence.",
    "separators": "Attention on separators, special tokens and the first token, by layer.",
    "distance-layers": "How far apart the tokens of a pair lie, by layer, against all pairs.",
    "same-sentence": "Pairs inside one sentence, beyond all pairs at the same distances.",
    "aligned": "Mean similarity around sentence boundaries: blocks are sentences.",
    "focal": "Distinct focal tokens of a layer, and what kinds of tokens heads choose.",
    "summed": "Mean similarity by position: first, middle and last but one layer.",
    "thresholds": "How every finding moves with the thresholds that the paper leaves open.",
}
"""The figures of the report, with what they show; `headscope figures` draws the rest."""


@dataclass(frozen=True, slots=True)
class StackReport:
    """What the report says of one attention stack."""

    name: str
    layers: pd.DataFrame
    verdicts: Sequence[Verdict]
    signs: Sequence[Sign]
    """Signs of a broken measurement that were seen."""
    figures: Mapping[str, Figure]


def report_page(manifest: Manifest, stacks: Sequence[StackReport]) -> str:
    """The page as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("headscope.report"), autoescape=True, trim_blocks=True
    )
    return environment.get_template("report.html.jinja").render(
        manifest=manifest,
        stacks=[
            {
                "name": stack.name,
                "rows": findings_rows(stack.layers),
                "verdicts": stack.verdicts,
                "signs": stack.signs,
                "figures": {
                    name: {"svg": _as_svg(figure), "caption": REPORT_FIGURES[name]}
                    for name, figure in stack.figures.items()
                },
            }
            for stack in stacks
        ],
        findings=FINDINGS,
    )


def _as_svg(figure: Figure) -> Markup:
    buffer = io.StringIO()
    with style():  # what SVG files look like inside is decided when they are written
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    return Markup(svg[svg.index("<svg") :])
