"""`headscope info`: what a run is and how far it got."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli.options import Json
from headscope.runs.left_out import count_kinds


def info_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")],
    as_json: Json = False,
) -> None:
    """Say what a run is and how far it got."""
    from headscope.run import open_run

    opened = open_run(run)
    facts = _facts(run, opened)
    left_out = opened.left_out
    if as_json:
        texts = [asdict(text) for text in left_out]
        typer.echo(json.dumps(facts | {"left out": texts}, ensure_ascii=False))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"{name:{width}}  {value}")
    for text in left_out:
        typer.echo(f"  {text}")


def _facts(folder: Path, run: Any) -> dict[str, str]:
    manifest = run.manifest
    model, corpus = manifest.model, manifest.corpus
    stacks = {stack: [s for s in model.sites if s.stack == stack] for stack in manifest.stacks}
    shards = f"{run.shards_done} of {manifest.shards} shards"
    return {
        "run": str(folder),
        "state": "finished" if run.finished else f"unfinished ({shards}); analyze again to go on",
        "model": f"{model.name} ({model.architecture}, {model.dtype} on {model.device})",
        "heads": ", ".join(
            f"{stack}: {len(sites)} layers x {max(site.heads for site in sites)} heads"
            for stack, sites in stacks.items()
        ),
        "corpus": f"{', '.join(corpus.sources)} ({corpus.documents} documents)",
        "texts": f"{corpus.windows} windows of up to {manifest.settings.window_tokens} tokens",
        "shards": shards,
        "similarity": manifest.settings.similarity,
        "pairs": str(manifest.settings.pairs),
        "attention threshold": str(manifest.settings.attention_threshold),
        "created": manifest.created,
        "packages": ", ".join(f"{name} {number}" for name, number in manifest.packages.items()),
        "left out": f"{count_kinds(run.left_out)} texts",
    }
