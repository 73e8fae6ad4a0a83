"""report.html: what was measured and what was found, on one page that needs no network."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import xarray as xr
from markupsafe import Markup
from matplotlib.figure import Figure

from headscope.claims import Verdict
from headscope.claims.sanity import Sign
from headscope.figures.roles import ROLE_LOOKS
from headscope.figures.style import style
from headscope.pages.document import Page, make_page
from headscope.report.example_texts import ExampleText
from headscope.report.findings import FINDINGS, findings_rows
from headscope.report.focal_counts import FocalCount, HeadKey
from headscope.report.head_profiles import head_profiles
from headscope.report.stability_rows import stack_stability
from headscope.roles import TRAITS
from headscope.runs.left_out import LeftOut, count_kinds
from headscope.runs.manifest import Manifest
from headscope.stability import StabilityResult

REPORT_FIGURES: Mapping[str, str] = {
    "layers": (
        "Five measures over the layers. Dashed: what all pairs of the same texts give at the same "
        "distances; dotted: the number of heads."
    ),
    "summed": "Mean similarity by position: first, middle and last but one layer.",
    "distance-layers": "How far apart the tokens of a pair lie, by layer, against all pairs.",
    "separators": "Attention on separators, special tokens and the first token, by layer.",
    "same-sentence": "Pairs inside one sentence, beyond all pairs at the same distances.",
    "aligned": "Mean similarity around sentence boundaries: blocks are sentences.",
    "focal": "Distinct focal tokens of a layer, and what kinds of tokens heads choose.",
    "thresholds": "How every finding moves with the thresholds that the paper leaves open.",
}
"""The figures of the report, with what they show; `headscope figures` draws the rest."""

SECTIONS: Mapping[str, str] = {
    "layers": "Layer by layer",
    "summed": "Summed similarity at three depths",
    "distance-layers": "Distance",
    "separators": "Separators",
    "same-sentence": "Same sentence",
    "focal": "Focal tokens",
    "thresholds": "Sensitivity to thresholds",
}
"""The figures that begin a section, with its title."""

MOST_NAMED = 100
"""Texts left out that the page names; `headscope info` names all."""

WORDS = {
    "holds": "Holds",
    "fails": "Does not hold",
    "undecided": "Undecided",
    "cannot answer": "No answer",
}
"""Verdicts in plain words."""


@dataclass(frozen=True, slots=True)
class StackReport:
    """What the report says of one attention stack."""

    name: str
    results: xr.Dataset
    layers: pd.DataFrame
    heads: pd.DataFrame
    roles: pd.DataFrame
    verdicts: Sequence[Verdict]
    signs: Sequence[Sign]
    """Signs of a broken measurement that were seen."""
    figures: Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class RunReport:
    """What the report says of a run."""

    manifest: Manifest
    stacks: Sequence[StackReport]
    focal: Mapping[HeadKey, Sequence[FocalCount]]
    examples: Sequence[ExampleText]
    stability: StabilityResult | None
    left_out: Sequence[LeftOut] = ()
    """Texts that could not be measured."""


def report_page(report: RunReport) -> Page:
    """The page."""
    manifest = report.manifest
    return make_page(
        "report.html.jinja",
        title=f"headscope: {manifest.model.name}",
        styles=("base", "report"),
        script="page_report",
        data={
            "texts": manifest.corpus.windows,
            "stacks": [_stack_data(report, stack) for stack in report.stacks],
        },
        values={
            "manifest": manifest,
            "settings": manifest.settings.to_json(),
            "left_out": report.left_out,
            "left_out_count": count_kinds(report.left_out),
            "most_named": MOST_NAMED,
            "stacks": [_stack_values(report, stack) for stack in report.stacks],
            "unanswered": report.stability.unanswered if report.stability else (),
            "findings": FINDINGS,
            "sections": SECTIONS,
            "words": WORDS,
            "looks": ROLE_LOOKS,
            "meanings": _role_meanings(),
        },
        # Figures are SVG, whose looks are style attributes.
        inline_styles=True,
    )


def _stack_values(report: RunReport, stack: StackReport) -> dict[str, Any]:
    cells = stack.roles.set_index(["layer", "head"])["role"].to_dict()
    return {
        "name": stack.name,
        "rows": findings_rows(stack.layers),
        "verdicts": stack.verdicts,
        "no_answer": _no_answer(stack.verdicts),
        "signs": stack.signs,
        "figures": {
            name: {"svg": _as_svg(figure), "caption": REPORT_FIGURES[name]}
            for name, figure in stack.figures.items()
        },
        "role_counts": stack.roles["role"].value_counts().to_dict(),
        "role_rows": [
            (layer, [cells.get((layer, head)) for head in range(1, stack.roles["head"].max() + 1)])
            for layer in sorted(stack.roles["layer"].unique())
        ],
        "stability": stack_stability(report.stability, stack.name),
    }


def _no_answer(verdicts: Sequence[Verdict]) -> str | None:
    """Why no claim at all can be answered; None where one can."""
    (reason, *others) = {verdict.summary for verdict in verdicts}
    same = not others and all(verdict.status == "cannot answer" for verdict in verdicts)
    return reason if same else None


def _stack_data(report: RunReport, stack: StackReport) -> dict[str, Any]:
    profiles = head_profiles(stack.name, stack.results, stack.heads, stack.roles, report.focal)
    shifted = "encoder" in report.manifest.stacks and stack.name in ("decoder", "cross")
    examples = [
        example.to_json(stack.name, stack.heads, shifted=shifted) for example in report.examples
    ]
    return {"name": stack.name, **profiles, "examples": examples}


def _role_meanings() -> dict[str, str]:
    meanings = {trait.role: trait.meaning for trait in TRAITS}
    return meanings | {
        "local": "pairs of near tokens",
        "broad": "pairs over any distance",
        "mixed": "several traits, or none that is clear",
    }


def _as_svg(figure: Figure) -> Markup:
    buffer = io.StringIO()
    with style():  # what SVG files look like inside is decided when they are written
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    return Markup(svg[svg.index("<svg") :])
