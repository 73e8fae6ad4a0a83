"""report.html: what was measured and what was found, on one page that needs no network."""

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr
from markupsafe import Markup
from matplotlib.figure import Figure

from headscope.findings.claims import Verdict
from headscope.findings.claims.sanity import Sign
from headscope.findings.findings_table import finding_columns, finding_rows
from headscope.findings.roles import ROLES
from headscope.findings.stability import StabilityResult
from headscope.pages.document import Page, make_page
from headscope.pages.figures import FIGURES
from headscope.pages.figures.style import style
from headscope.pages.notebook import MimeBundle, notebook_bundle
from headscope.pages.report.examples import ExampleText, FocalCount, HeadKey
from headscope.pages.report.head_profiles import head_profiles
from headscope.pages.report.stability_rows import stack_stability
from headscope.runs.left_out import LeftOut, count_kinds
from headscope.runs.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Report(os.PathLike[str]):
    """The file of a report. It can be opened like a path, and shows itself in notebooks."""

    path: Path

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def _repr_mimebundle_(self, **_: Any) -> MimeBundle:
        return notebook_bundle(repr(self), "widget_report", self._html)

    def _html(self) -> str:
        return self.path.read_text(encoding="utf-8")


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
        extra_style=_role_style(),
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
            "findings": finding_columns(),
            "sections": {
                figure.name: figure.section for figure in FIGURES if figure.section is not None
            },
            "words": WORDS,
            "roles": list(ROLES),
            "letters": {role.name: role.letter for role in ROLES},
        },
        # Figures are SVG, whose looks are style attributes.
        inline_styles=True,
    )


def _stack_values(report: RunReport, stack: StackReport) -> dict[str, Any]:
    cells = stack.roles.set_index(["layer", "head"])["role"].to_dict()
    return {
        "name": stack.name,
        "rows": finding_rows(stack.layers),
        "verdicts": stack.verdicts,
        "no_answer": _no_answer(stack.verdicts),
        "signs": stack.signs,
        "figures": {
            name: {"svg": _as_svg(figure), "caption": FIGURES[name].caption}
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
    shifted = report.manifest.reads_shifted(stack.name)
    examples = [
        example.to_json(stack.name, stack.heads, shifted=shifted) for example in report.examples
    ]
    return {"name": stack.name, **profiles, "examples": examples}


def _role_style() -> str:
    """The colours of the roles, as CSS."""
    return "".join(
        f".report .role-{role.name} {{ background: {role.colour}; color: {role.ink}; }}\n"
        for role in ROLES
    )


def _as_svg(figure: Figure) -> Markup:
    buffer = io.StringIO()
    with style():  # what SVG files look like inside is decided when they are written
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    return Markup(svg[svg.index("<svg") :])
