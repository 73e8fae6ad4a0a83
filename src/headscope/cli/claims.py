"""`headscope claims`: the verdict on each claim of the paper, with its null and interval."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.options import Json, RunFolder
from headscope.cli.tables import Column, print_table
from headscope.errors import SettingsError

if TYPE_CHECKING:
    from headscope.findings.claims import StackEvidence, Verdict
    from headscope.findings.claims.grid import Grid
    from headscope.findings.claims.sanity import Sign

COLOURS = {
    "holds": "green",
    "fails": "red",
    "undecided": "yellow",
    "depends": "magenta",
    "cannot answer": "dim",
}
"""Of a verdict in a terminal."""


def claims_command(
    run: RunFolder,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="CLAIM", help="Show definition, null, tests and other choices of this claim."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the resampling.")] = 0,
    as_json: Json = False,
) -> None:
    """Judge each claim of the paper against its null: holds, fails, undecided or depends.

    A claim depends if it holds under some analysis choices (pair rule, variant of similarity,
    attention threshold) and fails under others.
    """
    from headscope.findings.claims import CLAIMS, judge
    from headscope.findings.claims.sanity import sanity_signs
    from headscope.run import open_run
    from headscope.runs.corpus_summary import copies_sentence

    names = [claim.name for claim in CLAIMS]
    if explain is not None and explain not in names:
        raise SettingsError(f"claim {explain!r} is unknown; there are {', '.join(names)}")
    opened = open_run(run)
    evidence = opened.evidence(seed)
    asked = [claim for claim in CLAIMS if explain in (None, claim.name)]
    verdicts = [verdict for of_stack in evidence.values() for verdict in judge(of_stack, asked)]
    signs = {stack: sanity_signs(of_stack.own) for stack, of_stack in evidence.items()}
    if as_json:
        found = {"claims": [verdict_as_json(v) for v in verdicts], "signs": _seen(signs)}
        typer.echo(json.dumps(_without_nan(found), allow_nan=False))
    elif explain is not None:
        _explain(verdicts, evidence)
    else:
        _print(verdicts, signs)
        settings = opened.manifest.settings
        if copies := copies_sentence(opened.manifest.corpus, keep=settings.keep_duplicates):
            typer.echo(copies)


def verdict_as_json(verdict: "Verdict") -> dict[str, Any]:
    """A verdict as plain values, of which some may be NaN.

    Args:
        verdict: The verdict.
    """
    claim, finding = verdict.claim, asdict(verdict.finding)
    return {
        "claim": claim.name,
        "stack": verdict.stack,
        "status": verdict.status,
        "effect": finding["effect"],
        "null": finding["null"],
        "against": claim.null,
        "documents": verdict.documents,
        "robustness": _robustness(verdict),
        "summary": verdict.summary,
        "paper": claim.paper,
        "definition": claim.definition,
        "unit": finding["unit"],
        "p_value": finding["p_value"],
        "tests": [asdict(test) | {"status": test.status} for test in verdict.finding.tests],
        "heads": list(finding["heads"]),
    }


def _robustness(verdict: "Verdict") -> dict[str, Any] | None:
    robustness = verdict.robustness
    if robustness is None:
        return None
    return {
        "holds": robustness.count("holds"),
        "fails": robustness.count("fails"),
        "undecided": robustness.count("undecided"),
        "cannot_answer": robustness.count("cannot answer"),
        "choices": [
            asdict(one.choice)
            | {"status": one.status, "effect": None if one.effect is None else asdict(one.effect)}
            for one in robustness.choices
        ],
    }


def _without_nan(value: Any) -> Any:
    """The same with null for numbers that JSON has no word for."""
    if isinstance(value, dict):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _seen(signs: "dict[str, list[Sign]]") -> list[dict[str, Any]]:
    return [
        {"stack": stack} | asdict(sign)
        for stack, of_stack in signs.items()
        for sign in of_stack
        if sign.seen
    ]


def _explain(verdicts: "list[Verdict]", evidence: "Mapping[str, StackEvidence]") -> None:
    from headscope.findings.claims.grid import count_signs, grid_of

    claim = verdicts[0].claim
    typer.echo(f"{claim.name}: {claim.title}")
    for name in ("paper", "definition", "null", "breaks"):
        _say(name, getattr(claim, name))
    for verdict in verdicts:
        finding, of_stack = verdict.finding, evidence[verdict.stack]
        typer.echo(f"{verdict.stack}: {verdict.status}")
        _say("numbers", finding.summary)
        _say("documents", str(verdict.documents))
        if finding.effect is not None:
            _say("effect", f"{finding.effect} {finding.unit}")
        if finding.null is not None:
            _say("null", str(finding.null))
        if finding.p_value is not None:
            _say("p", f"{finding.p_value:.2g}")
        for test in finding.tests:
            against = "" if test.null is None else f"; null {test.null}"
            _say("test", f"{test.name}: {test.status}")
            _say("", f"{test.effect} {test.unit}; bar {test.bar:g}{against}")
        if claim.name == "focal-tokens" and (stable := of_stack.stability_of_focal_tokens()):
            _say(
                "stability",
                f"focal tokens of a head on two halves of the documents are alike by "
                f"{stable[0]:.2f}, those of two heads by {stable[1]:.2f} (1: the same tokens)",
            )
        grid = grid_of(verdict, of_stack.own_choice)
        if grid is not None and verdict.robustness is not None:
            _say("choices", f"{count_signs(verdict)}: {verdict.choices_sentence}")
            for line in grid_lines(grid):
                _say("", line)


def grid_lines(grid: "Grid") -> list[str]:
    """A grid as lines of text: rows similarity, columns pair rules, a letter in each cell.

    Args:
        grid: The grid of a verdict.
    """
    from headscope.findings.claims.grid import SIGNS

    width = max(len(row.title) for row in grid.rows)
    kinds = [column.kind for column in grid.columns]
    shown = [kind if kind not in kinds[:place] else "" for place, kind in enumerate(kinds)]
    titles = [column.title for column in grid.columns]
    widths = [max(len(title), len(kind), 3) for title, kind in zip(titles, shown, strict=True)]
    lines = [
        " ".join([" " * width, *(f"{text:<{w}}" for text, w in zip(texts, widths, strict=True))])
        for texts in (shown, titles)
    ]
    for row in grid.rows:
        signs = ["" if cell is None else SIGNS[cell.status] + "*" * cell.own for cell in row.cells]
        cells = (f"{sign:<{w}}" for sign, w in zip(signs, widths, strict=True))
        lines.append(" ".join([f"{row.title:<{width}}", *cells]))
    lines.append("H holds, F fails, ? undecided, - no answer, * the run's own choice")
    return [line.rstrip() for line in lines]


def _say(name: str, words: str) -> None:
    typer.echo(f"  {name:12}{words}")


def _print(verdicts: "list[Verdict]", signs: "dict[str, list[Sign]]") -> None:
    from rich.markup import escape

    from headscope.findings.claims.grid import count_signs

    several = len({verdict.stack for verdict in verdicts}) > 1
    tried = any(verdict.robustness is not None for verdict in verdicts)
    print_table(
        [
            Column("claim"),
            *([Column("stack")] if several else []),
            Column("verdict"),
            *([Column("choices")] if tried else []),
            Column("what was found", wrap=True),
        ],
        [
            (
                verdict.name,
                *([verdict.stack] if several else []),
                f"[{COLOURS[verdict.status]}]{verdict.status}[/]",
                *([count_signs(verdict)] if tried else []),
                escape(verdict.summary),
            )
            for verdict in verdicts
        ],
    )
    for stack, of_stack in signs.items():
        for sign in of_stack:
            if sign.seen:
                typer.echo(
                    f"warning: {stack} shows {sign.name} ({sign.evidence}); likely {sign.cause}"
                )
    if tried:
        typer.echo(
            "choices: analysis choices under which a claim holds (H), fails (F), is undecided"
        )
        typer.echo("(?) or cannot be answered (-), on the sample of the run")
    typer.echo("headscope claims RUN --explain CLAIM shows how a verdict is reached")
