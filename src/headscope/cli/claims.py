"""`headscope claims`: the verdict on each claim of the paper, with its null and interval."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.options import Json, RunFolder
from headscope.cli.tables import Column, print_table
from headscope.errors import SettingsError

if TYPE_CHECKING:
    from headscope.findings.claims import Verdict
    from headscope.findings.claims.sanity import Sign


def claims_command(
    run: RunFolder,
    explain: Annotated[
        str | None,
        typer.Option(metavar="CLAIM", help="Show definition, null and numbers of this claim."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the resampling.")] = 0,
    as_json: Json = False,
) -> None:
    """Judge each claim of the paper against its null: holds, fails or undecided."""
    from headscope.findings.claims import CLAIMS, judge
    from headscope.findings.claims.sanity import sanity_signs
    from headscope.run import open_run

    names = [claim.name for claim in CLAIMS]
    if explain is not None and explain not in names:
        raise SettingsError(f"claim {explain!r} is unknown; there are {', '.join(names)}")
    evidence = open_run(run).evidence(seed)
    verdicts = [verdict for of_stack in evidence.values() for verdict in judge(of_stack)]
    signs = {stack: sanity_signs(of_stack) for stack, of_stack in evidence.items()}
    if explain is not None:
        verdicts = [verdict for verdict in verdicts if verdict.name == explain]
    if as_json:
        typer.echo(json.dumps({"claims": [_as_json(v) for v in verdicts], "signs": _seen(signs)}))
    elif explain is not None:
        _explain(verdicts)
    else:
        _print(verdicts, signs)


def _as_json(verdict: "Verdict") -> dict[str, Any]:
    claim = verdict.claim
    return {
        "claim": claim.name,
        "stack": verdict.stack,
        "paper": claim.paper,
        "definition": claim.definition,
        "against": claim.null,
    } | asdict(verdict.finding)


def _seen(signs: "dict[str, list[Sign]]") -> list[dict[str, Any]]:
    return [
        {"stack": stack} | asdict(sign)
        for stack, of_stack in signs.items()
        for sign in of_stack
        if sign.seen
    ]


def _explain(verdicts: "list[Verdict]") -> None:
    claim = verdicts[0].claim
    typer.echo(f"{claim.name}: {claim.title}")
    for name in ("paper", "definition", "null", "breaks"):
        typer.echo(f"  {name:12}{getattr(claim, name)}")
    for verdict in verdicts:
        finding = verdict.finding
        typer.echo(f"{verdict.stack}: {verdict.status}")
        typer.echo(f"  {'numbers':12}{finding.summary}")
        if finding.effect is not None:
            typer.echo(f"  {'effect':12}{finding.effect} {finding.unit}")
        if finding.null is not None:
            typer.echo(f"  {'null':12}{finding.null}")
        if finding.p_value is not None:
            typer.echo(f"  {'p':12}{finding.p_value:.2g}")


_COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow", "cannot answer": "dim"}


def _print(verdicts: "list[Verdict]", signs: "dict[str, list[Sign]]") -> None:

    several = len({verdict.stack for verdict in verdicts}) > 1
    stack_column = [Column("stack")] if several else []
    print_table(
        [Column("claim"), *stack_column, Column("verdict"), Column("what was found", wrap=True)],
        [
            (
                verdict.name,
                *([verdict.stack] if several else []),
                f"[{_COLOURS[verdict.status]}]{verdict.status}[/]",
                verdict.summary,
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
    typer.echo("headscope claims RUN --explain CLAIM shows how a verdict is reached")
