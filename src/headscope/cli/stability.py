"""`headscope stability`: whether heads measure the same over other windows."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.options import Json, RunFolder
from headscope.cli.tables import Column, cell, print_table
from headscope.settings import SUBSET_WINDOWS
from headscope.system.terminal import visible

if TYPE_CHECKING:
    import pandas as pd

    from headscope.findings.stability import GroupComparison, StabilityResult


_CAPTION = (
    "Spearman: rank correlation of the heads between two groups, mean and lowest; difference: mean "
    "difference of a head between two groups; low: 5 % of the splits are lower"
)


def stability_command(
    run: RunFolder,
    subset: Annotated[
        int,
        typer.Option(
            help="Number of windows in a random subset; a run too small for two is halved."
        ),
    ] = SUBSET_WINDOWS,
    subsets: Annotated[
        int | None, typer.Option(help="Number of subsets (default: as many as there are).")
    ] = None,
    by: Annotated[str, typer.Option(help="What a domain is: label or document.")] = "label",
    seed: Annotated[int, typer.Option(help="Seed of the random subsets and halves.")] = 0,
    as_json: Json = False,
) -> None:
    """Show how measures and roles of heads vary over subsets, domains and halves of the windows.

    It reads the rows of the run; the model is not needed. Documents stay whole.
    """
    from headscope.findings.stability import domain_of
    from headscope.run import open_run

    result = open_run(run).stability(subset=subset, subsets=subsets, by=domain_of(by), seed=seed)
    if as_json:
        typer.echo(json.dumps(_facts(result)))
        return
    for stack in _stacks(result):
        if result.subsets is not None and result.reliability is not None:
            sizes = _range(list(result.subsets.texts.values()), ",d")
            _print_agreement(
                f"{stack}: {len(result.subsets.texts)} random subsets of {sizes} windows",
                result.subsets,
                stack,
                extra=result.reliability,
            )
        if result.domains is not None:
            title = f"{stack}: {len(result.domains.texts)} domains by {by}"
            _print_agreement(title, result.domains, stack)
            _print_domains(result.domains, stack)
    for sentence in result.unanswered:
        typer.echo(f"not answered: {visible(sentence)}")


def _facts(result: "StabilityResult") -> dict[str, Any]:
    def records(table: "pd.DataFrame | None") -> Any:
        return None if table is None else json.loads(table.to_json(orient="records"))

    def comparison(groups: "GroupComparison | None") -> Any:
        return groups and {
            "texts": groups.texts,
            "agreement": records(groups.agreement),
            "layers": records(groups.layers),
            "heads": records(groups.heads),
            "roles": records(groups.roles),
        }

    return {
        "texts": result.texts,
        "documents": result.documents,
        "subsets": comparison(result.subsets),
        "reliability": records(result.reliability),
        "domains": comparison(result.domains),
        "unanswered": list(result.unanswered),
    }


def _stacks(result: "StabilityResult") -> list[str]:
    groups = result.subsets or result.domains
    return [] if groups is None else list(groups.agreement["stack"].unique())


def _print_agreement(
    title: str, groups: "GroupComparison", stack: str, extra: "pd.DataFrame | None" = None
) -> None:
    """Print how far the heads of a stack agree between groups, and measures' reliability."""
    rows = groups.agreement[groups.agreement["stack"] == stack]
    headings = ["Spearman", "lowest", "difference"]
    if extra is not None:
        rows = rows.merge(extra, on=["stack", "measure"])
        headings += ["reliability", "low"]
    else:
        headings += ["by chance"]
    lines = []
    for row in rows.dropna(subset="difference").to_dict("records"):
        line = [row["measure"].replace("_", " ")]
        line += [cell(row[key], ".3f") for key in ("rank_correlation", "lowest")]
        line += [cell(row["difference"], ".3g")]
        if extra is not None:
            line += [cell(row[key], ".3f") for key in ("reliability", "low")]
        else:
            line += [cell(row["difference_by_chance"], ".3g")]
        lines.append(line)
    _print_measures(title, headings, lines, caption=_CAPTION)
    of_stack = groups.layers[groups.layers["stack"] == stack]
    distinct = of_stack.groupby("layer")["distinct_focal_tokens"]
    typer.echo("distinct focal tokens, lowest to highest over these groups")
    for layer, values in distinct:
        typer.echo(f"  layer {layer:<3} {_range(values.tolist(), '.2f')}")
    if groups.roles is not None:
        kept = groups.roles.loc[groups.roles["stack"] == stack, "kept"]
        typer.echo(
            f"roles: {int((kept == 1).sum())} of {len(kept)} heads keep theirs in every group; "
            f"{kept.mean():.3f} on average\n"
        )


def _print_domains(domains: "GroupComparison", stack: str) -> None:
    """Print each measure in each of the largest domains, as the mean over heads."""
    of_stack = domains.heads[domains.heads["stack"] == stack]
    means = of_stack.drop(columns=["stack", "layer", "head", "texts", "pairs"]).groupby("group")
    shown = list(domains.texts)[:5]
    table = means.mean().loc[shown].T.dropna(how="all")
    lines = [
        [str(name).replace("_", " "), *(cell(value, ".3g") for value in row)]
        for name, row in zip(table.index, table.to_numpy(), strict=True)
    ]
    headings = [f"{name} ({domains.texts[name]:,})" for name in shown]
    title = f"{stack}: mean over heads in each domain (windows)"
    _print_measures(title, headings, lines)
    if len(shown) < len(domains.texts):
        typer.echo(f"{len(domains.texts) - len(shown)} smaller domains: see --json")


def _print_measures(
    title: str, headings: list[str], lines: list[list[str]], caption: str | None = None
) -> None:
    """Print a table with a row per measure."""
    columns = [Column("measure"), *(Column(heading, number=True) for heading in headings)]
    print_table(columns, lines, title=title, caption=caption)


def _range(values: list[Any], form: str) -> str:
    low, high = cell(min(values), form), cell(max(values), form)
    return low if low == high else f"{low}-{high}"
