"""`headscope info`: what a run is and how far it got."""

from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from headscope.cli.options import Json, RunFolder
from headscope.errors import RunError
from headscope.system.terminal import visible, visible_json

if TYPE_CHECKING:
    from headscope.run import Run
    from headscope.runs.corpus_summary import LabelCount


def info_command(
    run: RunFolder,
    as_json: Json = False,
) -> None:
    """Show what a run is and how far it got."""
    from headscope.run import open_run
    from headscope.runs.corpus_summary import sample_json

    opened = open_run(run)
    labels = _labels(opened)
    facts = _facts(run, opened, labels)
    left_out = opened.left_out
    if as_json:
        sample = sample_json(opened.manifest.corpus, labels)
        more = {
            "left out": [asdict(window) for window in left_out],
            "sample": sample,
            "labels": sample["labels"],
        }
        typer.echo(visible_json(facts | more))
        return
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"{name:{width}}  {visible(value)}")
    for window in left_out:
        typer.echo(f"  {visible(str(window))}")


def _facts(folder: Path, run: "Run", labels: "list[LabelCount]") -> dict[str, str]:
    from headscope.runs.corpus_summary import copies_sentence, labels_sentence, sample_sentence
    from headscope.runs.left_out import count_kinds

    manifest = run.manifest
    model, corpus = manifest.model, manifest.corpus
    stacks = {stack: [s for s in model.sites if s.stack == stack] for stack in manifest.stacks}
    copies = copies_sentence(corpus, keep=manifest.settings.keep_duplicates)
    shards = f"{run.shards_done} of {manifest.shards} shards"
    return {
        "run": run.address or str(folder),
        **_state(run.folder, run, shards),
        "model": f"{model.name} ({model.architecture}, {model.dtype} on {model.device})",
        "heads": ", ".join(
            f"{stack}: {len(sites)} layers x {max(site.heads for site in sites)} heads"
            for stack, sites in stacks.items()
        ),
        "corpus": f"{', '.join(corpus.sources)} ({corpus.documents} documents)",
        "texts": f"{corpus.windows} windows of up to {manifest.settings.window_tokens} tokens",
        "sample": sample_sentence(corpus),
        **({"copies": copies} if copies else {}),
        **({"labels": labels_sentence(labels)} if labels else {}),
        "shards": shards,
        "similarity": manifest.settings.similarity,
        "pairs": str(manifest.settings.pairs),
        "attention threshold": str(manifest.settings.attention_threshold),
        "created": manifest.created,
        "packages": ", ".join(f"{name} {number}" for name, number in manifest.packages.items()),
        "left out": f"{count_kinds(run.left_out)} windows",
        **({"notes": "; ".join(model.flags)} if model.flags else {}),
    }


def _labels(run: "Run") -> "list[LabelCount]":
    """The labels of the windows; none where the windows are missing or damaged."""
    try:
        return run.files.labels()
    except RunError:
        return []


def _state(folder: Path, run: "Run", shards: str) -> dict[str, str]:
    """Whether the run is finished, under way (and how far) or unfinished, and what went wrong."""
    from headscope.runs.lock import is_being_written
    from headscope.runs.log_reader import read_progress

    live = read_progress(folder)
    state = "finished" if run.finished else f"unfinished ({shards}); run analyze again to resume"
    if not is_being_written(folder) or live is None:
        facts = {"state": state}
    else:
        of_total = "" if live.total is None else f" of {live.total}"
        facts = {
            "state": f"running: {live.stage}, {live.done}{of_total}",
            "last sign of life": live.last_sign.isoformat(timespec="seconds"),
        }
        if live.left is not None and live.end is not None and live.rate is not None:
            facts["rate"] = f"{live.rate:.3g} a second"
            facts["left"] = f"about {_rounded(live.left)}"
            facts["estimated end"] = live.end.isoformat(timespec="seconds")
    if live is not None:
        facts["failures"] = (
            ", ".join(f"{number} {kind}" for kind, number in sorted(live.failures.items()))
            or "none"
        )
    return facts


def _rounded(time_left: timedelta) -> str:
    """A time in the unit that people would use."""
    seconds = time_left.total_seconds()
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
