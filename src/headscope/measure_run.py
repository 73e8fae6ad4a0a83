"""One shard of a run, measured and written; and which shards are still to do."""

import time
from collections.abc import Callable, Sequence

from headscope.free_memory import give_back_free_memory
from headscope.measure_windows import measure_windows
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.prepare import read_windows
from headscope.progress import Progress
from headscope.run import Run
from headscope.runs.left_out import LeftOut
from headscope.stage_times import timed
from headscope.text.window_store import MEASURED_COLUMNS

NAMED = 5
"""Texts that are named when a shard leaves them out; the run itself has them all."""


def measure_here(
    run: Run,
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    numbers: Sequence[int],
    bars: Progress,
) -> None:
    """Measure some shards in this process, one by one; `bars` is told of every text."""
    for number in numbers:
        begun = time.monotonic()
        left_out = measure_shard(run, model, sites, number, on_texts=bars.advance)
        bars.note(
            "shard",
            number=number,
            texts=run.manifest.corpus.shard_texts[number],
            seconds=time.monotonic() - begun,
        )
        say_left_out(left_out, bars)


def missing_shards(run: Run, bars: Progress) -> list[int]:
    """The numbers of the shards that are still to do; `bars` is told of damaged ones."""
    missing = [number for number in range(run.manifest.shards) if not run.shards.is_whole(number)]
    for number in filter(run.shards.is_written, missing):
        bars.say(f"shard {number} of {run.folder} is damaged and done again", kind="damaged shard")
    return missing


def texts_done(run: Run, missing: Sequence[int]) -> int:
    """The texts of the shards that are not missing."""
    corpus = run.manifest.corpus
    return corpus.windows - sum(corpus.shard_texts[number] for number in missing)


def measure_shard(
    run: Run,
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    number: int,
    on_texts: Callable[[int], None] = lambda texts: None,
) -> tuple[LeftOut, ...]:
    """The texts that a shard leaves out, after it was measured and written to the run folder.

    Any process that sees the folder may do this, for any shard, at any time, even twice. `on_texts`
    hears how many texts are done.
    """
    left_out = _write_measured(run, model, sites, number, on_texts)
    # Now, with the shard gone: a run of many shards then takes no more than one of few.
    give_back_free_memory()
    return left_out


def _write_measured(
    run: Run,
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    number: int,
    on_texts: Callable[[int], None],
) -> tuple[LeftOut, ...]:
    corpus = run.manifest.corpus
    shard = measure_windows(
        model,
        read_windows(run.folder, number, corpus.window_hashes[number], MEASURED_COLUMNS),
        run.manifest.settings,
        sites=sites,
        first_text=sum(corpus.shard_texts[:number]),
        on_texts=on_texts,
    )
    with timed("writing shards"):
        run.shards.write(number, shard)
    return shard.left_out


def say_left_out(left_out: Sequence[LeftOut], bars: Progress) -> None:
    """Name the first of the texts that a shard leaves out, and count the others."""
    for text in left_out[:NAMED]:
        bars.say(f"left out {text}")
    if len(left_out) > NAMED:
        bars.say(f"left out {len(left_out) - NAMED} more texts of that shard; see: headscope info")
