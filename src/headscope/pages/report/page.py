"""report.html: what was measured and what was found, on one page that needs no network.

`templates/report.html.jinja` is the page as it is read. What it shows when a head is clicked is
data for its script, `assets/page_report.js`.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from headscope.findings.claims import Verdict
from headscope.findings.claims.grid import grid_of
from headscope.findings.claims.sanity import sanity_signs
from headscope.findings.findings_table import finding_columns, finding_rows
from headscope.findings.roles import ROLES
from headscope.findings.run_findings import RunFindings
from headscope.findings.stability import StabilityResult
from headscope.findings.striking import striking_heads
from headscope.measures.tables import layer_table
from headscope.pages.document import Page, make_page
from headscope.pages.figures import FIGURES, StackFindings, draw_figures
from headscope.pages.figures.write import figure_bytes
from headscope.pages.notebook import MimeBundle, notebook_bundle
from headscope.pages.report.examples import (
    ExampleWindow,
    FocalCount,
    HeadKey,
    example_windows,
    focal_counts,
)
from headscope.pages.report.head_profiles import head_profiles
from headscope.pages.report.judged import Judged
from headscope.pages.report.lens_section import lens_section
from headscope.pages.report.reach_section import reach_section
from headscope.pages.report.stability_rows import stack_stability
from headscope.runs.corpus_summary import copies_sentence, labels_sentence, sample_sentence
from headscope.runs.examples import read_examples
from headscope.runs.files import refuse_unwritable, write_whole
from headscope.runs.left_out import count_kinds

MOST_NAMED = 100
"""The most left-out windows that the page names; `headscope info` names all."""

MOST_LINKED = 40
"""The most heads that a verdict links to; the role map marks all."""

WORDS = {
    "holds": "Holds",
    "fails": "Does not hold",
    "undecided": "Undecided",
    "depends": "Depends on the choice",
    "cannot answer": "No answer",
}
"""Verdicts in plain words."""

CHOICE_SIGNS = {"holds": "✓", "fails": "✗", "undecided": "?", "cannot answer": "-"}
"""Verdicts in the cells of a grid: signs as well as colours."""


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


def write_report(run: RunFindings, path: Path, *, within: Path | None = None) -> Report:
    """Write the report of a run.

    Args:
        run: What was found.
        path: The file to write.
        within: The run folder, if that is where it goes.
    """
    if within is not None:
        refuse_unwritable(path, within)  # before minutes of work
    write_whole(path, report_page(run).encode(), within=within)
    return Report(path)


def report_page(run: RunFindings) -> Page:
    """The report of a run as a page."""
    manifest, folder = run.manifest, run.folder
    stability, left_out = run.stability(), folder.left_out
    judged = {stack: Judged.of(evidence) for stack, evidence in run.evidence().items()}
    with folder.refusing_unreadable():
        focal = focal_counts(folder.rows(), folder.windows())
        examples = example_windows(read_examples(folder.path, folder.manifest), folder.windows())
    return make_page(
        "report.html.jinja",
        title=f"headscope: {manifest.model.name}",
        styles=("base", "report"),
        extra_style=_role_style(),
        script="page_report",
        data={
            "windows": manifest.corpus.windows,
            "stacks": [
                _stack_data(run, stack, judged[stack], focal, examples) for stack in run.stacks
            ],
        },
        values={
            "manifest": manifest,
            "settings": manifest.settings.to_json(),
            "sample": sample_sentence(manifest.corpus),
            "copies": copies_sentence(manifest.corpus, keep=manifest.settings.keep_duplicates),
            "labels": labels_sentence(folder.labels()),
            "left_out": left_out,
            "left_out_count": count_kinds(left_out),
            "most_named": MOST_NAMED,
            "most_linked": MOST_LINKED,
            "stacks": [_stack_values(run, stack, judged[stack], stability) for stack in run.stacks],
            "unanswered": stability.unanswered,
            "findings": finding_columns(),
            "sections": {
                figure.name: figure.section for figure in FIGURES if figure.section is not None
            },
            "words": WORDS,
            "choice_signs": CHOICE_SIGNS,
            "roles": list(ROLES),
            "role_of": {role.name: role for role in ROLES},
            "reach": reach_section(run.reach, _as_svg),
            "lens": lens_section(run, _as_svg),
        },
        # Figures are SVG with style attributes.
        inline_styles=True,
    )


def _stack_values(
    run: RunFindings, stack: str, judged: Judged, stability: StabilityResult
) -> dict[str, Any]:
    """What the template shows of one attention stack."""
    roles = _of_stack(run.roles, stack)
    evidence, verdicts = judged.evidence, judged.verdicts
    shown = [figure for figure in FIGURES if figure.in_report]
    return {
        "name": stack,
        "rows": finding_rows(layer_table(run.stacks[stack])),
        "verdicts": verdicts,
        "grids": {verdict.name: grid_of(verdict, evidence.own_choice) for verdict in verdicts},
        "sampled": 0 if evidence.trained is None else len(evidence.trained.document),
        "no_answer": _no_answer(verdicts),
        "signs": [sign for sign in sanity_signs(evidence.own) if sign.seen],
        "figures": {
            name: {"svg": _as_svg(figure), "caption": FIGURES[name].caption}
            for name, figure in draw_figures(shown, StackFindings.of(run, stack)).items()
        },
        "role_counts": roles["role"].value_counts().to_dict(),
        "with_trait": {role.name: _with_trait(roles, role.name) for role in ROLES},
        "named": judged.heads,
        "named_by": judged.claims,
        "role_rows": _role_rows(roles),
        "stability": stack_stability(stability, stack),
    }


def _stack_data(
    run: RunFindings,
    stack: str,
    judged: Judged,
    focal: Mapping[HeadKey, Sequence[FocalCount]],
    examples: Iterable[ExampleWindow],
) -> dict[str, Any]:
    """What the script shows of the heads of one attention stack."""
    heads, roles = _of_stack(run.heads, stack), _of_stack(run.roles, stack)
    shifted = run.manifest.reads_shifted(stack)
    untrained = [_of_stack(null.heads, stack) for null in run.untrained]
    return {
        "name": stack,
        **head_profiles(stack, run.stacks[stack], heads, roles, focal, judged.claims),
        "opens": [
            {"layer": head.layer, "head": head.head, "why": head.why}
            for head in striking_heads(heads, untrained, most=1)
        ],
        "examples": [example.to_json(stack, heads, shifted=shifted) for example in examples],
    }


def _of_stack(table: pd.DataFrame, stack: str) -> pd.DataFrame:
    return table[table["stack"] == stack]


def _role_rows(roles: pd.DataFrame) -> list[tuple[int, list[Mapping[Any, str] | None]]]:
    """The rows of the role map: a layer, and role and other traits of each of its heads.

    None where a layer has no such head.
    """
    cells = roles.set_index(["layer", "head"])[["role", "others"]].to_dict("index")
    return [
        (layer, [cells.get((layer, head)) for head in range(1, roles["head"].max() + 1)])
        for layer in sorted(roles["layer"].unique().tolist())
    ]


def _with_trait(roles: pd.DataFrame, role: str) -> int:
    """The number of heads that have the trait of a role, if not as their strongest."""
    others = roles["others"].str.split(", ").map(lambda names: role in names)
    return int(((roles["role"] == role) | others).sum())


def _no_answer(verdicts: Sequence[Verdict]) -> str | None:
    """Why no claim at all can be answered; None where one can."""
    (reason, *others) = {verdict.summary for verdict in verdicts}
    same = not others and all(verdict.status == "cannot answer" for verdict in verdicts)
    return reason if same else None


def _role_style() -> str:
    """The colours of the roles, as CSS."""
    return "".join(
        f".report .role-{role.name} {{ background: {role.colour}; color: {role.ink}; }}\n"
        for role in ROLES
    )


def _as_svg(figure: Figure) -> Markup:
    """The figure as an element of the page."""
    svg = figure_bytes(figure, "svg").decode()
    return Markup(svg[svg.index("<svg") :])
