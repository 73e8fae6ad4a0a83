"""Measuring and writing one shard of a run, and which shards are missing.

The result is a pure function of model, windows and settings. Nothing that grows with the corpus is
held: each layer is reduced during the forward pass, and Z, A and C are dropped.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext

import torch

from headscope.errors import RunError, option
from headscope.measuring.batch import BatchMeasurement, batches
from headscope.measuring.choices import ChoiceCollector
from headscope.measuring.shard_builder import ShardBuilder
from headscope.measuring.signal import SignalCollector
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.folder import RunFolder
from headscope.runs.left_out import LeftOut
from headscope.runs.shards import Shard
from headscope.runs.window_files import MEASURED_COLUMNS
from headscope.settings import Settings
from headscope.system.memory import give_back_free_memory, keeping_freed_memory
from headscope.system.progress import Progress
from headscope.system.threads import Turn, in_order
from headscope.system.timing import timed
from headscope.text.windows import Window

NAMED = 5
"""Maximum number of left-out windows of a shard that are named; `headscope info` names all."""


def measure_here(
    run: RunFolder,
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    numbers: Sequence[int],
    progress: Progress,
) -> None:
    """Measure some shards in this process, one by one.

    Args:
        run: Where windows are read from and shards are written to.
        model: What reads the windows.
        sites: Which attention layers are measured.
        numbers: Of the shards.
        progress: Is told of every window.
    """
    for number in numbers:
        started = time.monotonic()
        left_out = measure_shard(run, model, sites, number, on_windows=progress.advance)
        progress.note(
            "shard",
            number=number,
            texts=run.manifest.corpus.shard_texts[number],
            seconds=time.monotonic() - started,
        )
        say_left_out(left_out, progress)


def missing_shards(run: RunFolder, progress: Progress) -> list[int]:
    """The numbers of the shards that are missing or damaged.

    Args:
        run: The run.
        progress: Is told of damaged shards.
    """
    missing = [number for number in range(run.manifest.shards) if not run.shards.is_whole(number)]
    for number in filter(run.shards.is_written, missing):
        progress.say(
            f"shard {number} of {run.path} is damaged or of another run, and will be measured "
            "again",
            kind="damaged shard",
        )
    return missing


def windows_done(run: RunFolder, missing: Sequence[int]) -> int:
    """Number of windows in the shards that are not missing.

    Args:
        run: The run.
        missing: Numbers of the missing shards.
    """
    corpus = run.manifest.corpus
    return corpus.windows - sum(corpus.shard_texts[number] for number in missing)


def measure_shard(
    run: RunFolder,
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    number: int,
    on_windows: Callable[[int], None] = lambda windows: None,
) -> tuple[LeftOut, ...]:
    """Measure a shard and write it to the run folder; returns the windows that it leaves out.

    Any process that sees the folder may do this, for any shard, at any time, even twice.

    Args:
        run: Where the windows are read from and the shard is written to.
        model: What reads the windows.
        sites: Which attention layers are measured.
        number: Of the shard.
        on_windows: Called with the number of windows of each batch that is done.
    """
    left_out = _write_measured(run, model, sites, number, on_windows)
    # Only now is the shard itself gone: memory does not grow with the number of shards.
    give_back_free_memory()
    return left_out


def _write_measured(
    run: RunFolder,
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    number: int,
    on_windows: Callable[[int], None],
) -> tuple[LeftOut, ...]:
    corpus = run.manifest.corpus
    windows = run.read_windows(number, MEASURED_COLUMNS)
    refuse_unknown_tokens(run, model, windows)
    shard = measure_windows(
        model,
        windows,
        run.manifest.settings,
        sites=sites,
        first_window=sum(corpus.shard_texts[:number]),
        on_windows=on_windows,
    )
    with timed("writing shards"):
        run.shards.write(number, shard)
    return shard.left_out


def refuse_unknown_tokens(run: RunFolder, model: LoadedModel, windows: Sequence[Window]) -> None:
    """Refuse windows of tokens that the model does not have: they are not of this model.

    Args:
        run: That they are read from.
        model: What is about to read them.
        windows: The windows.
    """
    embeddings = model.model.get_input_embeddings()
    if not isinstance(embeddings, torch.nn.Embedding) or not windows:
        return
    largest = max(int(window.token_ids.max()) for window in windows)
    if largest >= embeddings.num_embeddings:
        raise RunError(
            f"the windows of {run.path} have a token {largest}, but {model.name} knows "
            f"{embeddings.num_embeddings}; analyse the corpus again with another {option('out')}"
        )


def say_left_out(left_out: Sequence[LeftOut], progress: Progress) -> None:
    """Name the first windows that a shard leaves out, and count the others.

    Args:
        left_out: By the shard.
        progress: Is told.
    """
    for window in left_out[:NAMED]:
        progress.say(f"left out {window}")
    if len(left_out) > NAMED:
        progress.say(
            f"left out {len(left_out) - NAMED} more windows of that shard; see: headscope info"
        )


def measure_windows(
    model: LoadedModel,
    windows: Sequence[Window],
    settings: Settings,
    *,
    sites: Sequence[AttentionSite],
    first_window: int = 0,
    on_windows: Callable[[int], None] = lambda windows: None,
    choices: ChoiceCollector | None = None,
    signal: SignalCollector | None = None,
) -> Shard:
    """The rows and summed arrays of some windows, at the sites asked for.

    Windows that cannot be measured are left out, and named in the shard.

    Args:
        model: What reads the windows.
        windows: In order.
        settings: What is measured.
        sites: Which attention layers are measured.
        first_window: The number of the first window in its run.
        on_windows: Called with the number of windows of each batch that is done.
        choices: Also gets what each layer shows under every analysis choice.
        signal: Also gets what each head writes; of the same windows.
    """
    groups = batches(windows, max_tokens=settings.batch_tokens)
    builder = ShardBuilder(
        windows=len(windows),
        first_window=first_window,
        sites=[(s.stack, s.layer, s.heads) for s in sites],
    )

    def worker() -> Callable[[list[int], Turn], None]:
        measurement = BatchMeasurement(model, windows, settings, sites, builder, choices, signal)

        def measure(places: list[int], turn: Turn) -> None:
            measurement.measure(places, turn)
            on_windows(len(places))

        return measure

    # A single long window frees too much memory to keep.
    several = settings.window_tokens < settings.batch_tokens
    reading = signal.reading() if signal is not None else nullcontext()
    with keeping_freed_memory() if several else nullcontext(), reading:
        if len(windows) == 1 and windows[0].n_tokens > settings.batch_tokens:
            # Alone and long, on all threads: the only case in which their number moves a bit.
            worker()(groups[0], lambda: None)
        else:
            threads = torch.get_num_threads() if model.device.type == "cpu" else 1
            in_order(worker, groups, threads)
    with timed("building shards"):
        return builder.shard()
