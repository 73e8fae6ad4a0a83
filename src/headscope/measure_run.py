"""The shards of a run that are not there yet, measured and written one by one."""

from collections.abc import Sequence

from headscope.measure_windows import measure_windows
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.prepare import read_windows
from headscope.progress import Progress
from headscope.run import Run
from headscope.runs.left_out import LeftOut

NAMED = 5
"""Texts that are named when a shard leaves them out; the run itself has them all."""


def measure_missing_shards(
    run: Run, model: LoadedModel, sites: Sequence[AttentionSite], bars: Progress
) -> None:
    """Do what is missing, and what is there but damaged; `bars` is told of every text."""
    corpus, settings = run.manifest.corpus, run.manifest.settings
    shards = range(run.manifest.shards)
    missing = [number for number in shards if not run.shards.is_whole(number)]
    bars.advance(sum(corpus.shard_texts[number] for number in shards if number not in missing))
    for number in missing:
        if run.shards.is_written(number):
            bars.say(f"shard {number} of {run.folder} is damaged and done again")
        windows = read_windows(run.folder, number, corpus.window_hashes[number])
        shard = measure_windows(
            model,
            windows,
            settings,
            sites=sites,
            first_text=sum(corpus.shard_texts[:number]),
            on_texts=bars.advance,
        )
        run.shards.write(number, shard)
        say_left_out(shard.left_out, bars)


def say_left_out(left_out: Sequence[LeftOut], bars: Progress) -> None:
    """Name the first of the texts that a shard leaves out, and count the others."""
    for text in left_out[:NAMED]:
        bars.say(f"left out {text}")
    if len(left_out) > NAMED:
        bars.say(f"left out {len(left_out) - NAMED} more texts of that shard; see: headscope info")
