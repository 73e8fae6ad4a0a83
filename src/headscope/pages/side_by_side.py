"""Models side by side on one page: curves, and of each role map, verdicts and striking heads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from headscope.findings.claims import CLAIMS, Verdict, judge
from headscope.findings.roles import ROLES
from headscope.findings.run_findings import RunFindings
from headscope.findings.striking import StrikingHead, striking_heads
from headscope.pages.document import Page, make_page
from headscope.pages.figures.write import figure_bytes
from headscope.pages.report.page import CHOICE_SIGNS, WORDS

SIGNS = {**CHOICE_SIGNS, "depends": "±"}
"""Verdicts in a strip: signs as well as colours."""


@dataclass(frozen=True)
class ModelColumn:
    """What is shown of one attention stack of one run."""

    name: str
    """Of the model, and of the stack where it has several."""
    facts: str
    """Layers, heads, windows, corpus."""
    role_rows: Sequence[tuple[int, Sequence[str | None]]]
    """By layer, the role of each head; None where a layer has fewer."""
    role_counts: Mapping[str, int]
    verdicts: Sequence[Verdict]
    striking: Sequence[StrikingHead]


def model_columns(runs: Mapping[str, RunFindings], seed: int = 0) -> list[ModelColumn]:
    """A column for each attention stack of each run.

    Args:
        runs: By the name that pages show.
        seed: Of the resampling that verdicts rest on.
    """
    return [
        _column(name, run, stack, judge(evidence))
        for name, run in runs.items()
        for stack, evidence in run.evidence(seed).items()
    ]


def side_by_side_page(
    columns: Sequence[ModelColumn], curves: Figure, remarks: Sequence[str]
) -> Page:
    """The page: curves over relative depth, then a column for each model.

    Args:
        columns: From `model_columns`.
        curves: The figure of a comparison of the same runs.
        remarks: What limits the comparison, a sentence each.
    """
    svg = figure_bytes(curves, "svg").decode()
    return make_page(
        "side_by_side.html.jinja",
        title="headscope: models side by side",
        styles=("base", "report", "side_by_side"),
        extra_style="".join(
            f".report .role-{role.name} {{ background: {role.colour}; color: {role.ink}; }}\n"
            for role in ROLES
        ),
        script="page_side_by_side",
        values={
            "columns": columns,
            "curves": Markup(svg[svg.index("<svg") :]),
            "remarks": remarks,
            "claims": list(CLAIMS),
            "roles": [role for role in ROLES if any(role.name in c.role_counts for c in columns)],
            "role_of": {role.name: role for role in ROLES},
            "signs": SIGNS,
            "words": WORDS,
        },
        inline_styles=True,
    )


def _column(name: str, run: RunFindings, stack: str, verdicts: Sequence[Verdict]) -> ModelColumn:
    manifest = run.manifest
    roles = run.roles[run.roles["stack"] == stack]
    heads = run.heads[run.heads["stack"] == stack]
    untrained = [null.heads[null.heads["stack"] == stack] for null in run.untrained]
    shown = f"{name} {stack}" if len(manifest.stacks) > 1 else name
    layers = sorted(roles["layer"].unique().tolist())
    return ModelColumn(
        name=shown,
        facts=(
            f"{manifest.model.architecture}, {len(layers)} layers of {int(roles['head'].max())} "
            f"heads, {manifest.corpus.windows:,} windows"
        ),
        role_rows=_role_rows(roles),
        role_counts={str(role): many for role, many in roles["role"].value_counts().items()},
        verdicts=verdicts,
        striking=striking_heads(heads, untrained),
    )


def _role_rows(roles: pd.DataFrame) -> list[tuple[int, list[str | None]]]:
    role = roles.set_index(["layer", "head"])["role"].to_dict()
    widest = int(roles["head"].max())
    return [
        (layer, [role.get((layer, head)) for head in range(1, widest + 1)])
        for layer in sorted(roles["layer"].unique().tolist())
    ]
