"""One way of reading windows, in a process of its own: it loads, says so, then waits for its turns.

Started by `worker.py`, as `python -m common.one_way WAY CONFIGURATION --tokens 128 --texts 64`. It
writes a line of JSON once it is ready, then one for every line that it is sent: the seconds that
the windows took, those of what a run does once whatever the number of windows, and the peak memory
so far. An error is such a line, too.
"""

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from common.configurations import BARE, CONFIGURATIONS, WAYS, Configuration
from common.process_memory import memory

Work = Callable[[], float]
"""Reads all windows once; gives the seconds of that which a run does only once."""


@dataclass(frozen=True)
class Prepared:
    """A way that is ready for its turns."""

    work: Work
    lengths: list[int]
    """Tokens of each window."""


def prepared(way: str, configuration: Configuration, asked: argparse.Namespace) -> Prepared:
    """What reads all windows once, and their lengths. Imports no more than this way needs."""
    if WAYS[way].ours and way != BARE:
        return _headscope(way, configuration, asked)
    import torch

    from common.models_and_windows import folder_of, plain_model, plain_tokenizer, windows_of
    from common.plain_batches import PlainBatch, plain_batches

    read_batch: Callable[[PlainBatch], object]
    if way == BARE:
        model = plain_model(configuration, asked.models, "sdpa")
        # No key is needed again: a cache of them would only slow this down.
        uncached = {"use_cache": False} if hasattr(model, "layers") else {}

        def read_batch(batch: PlainBatch) -> None:
            with torch.inference_mode():
                model(**batch.inputs, **uncached)

    else:
        from common.by_hand import hooks, numpy_per_head, torch_per_layer

        if way == "lens":
            from common.peers import transformer_lens_reader

            read, model = transformer_lens_reader(configuration, asked.models)
        else:
            model = plain_model(configuration, asked.models, "eager")
            if way == "nnsight":
                from common.peers import nnsight_reader

                read = nnsight_reader(model)
            else:
                read = hooks(model)
        analyse = torch_per_layer if way == "torch" else numpy_per_head

        def read_batch(batch: PlainBatch) -> None:
            analyse(read, batch)

    tokenizer = plain_tokenizer(folder_of(configuration, asked.models), model)
    windows = windows_of(tokenizer, asked.tokens, asked.texts, asked.corpus)

    def work() -> float:
        for batch in plain_batches(windows):
            read_batch(batch)
        return 0.0

    return Prepared(work, [window.n_tokens for window in windows])


def _headscope(way: str, configuration: Configuration, asked: argparse.Namespace) -> Prepared:
    """headscope with its default settings.

    Either given the windows as tokens, as the others are; or all of `analyze`, from the corpus to
    the results in a run folder, for a model that is already loaded.
    """
    from headscope.kernels.cpu.compile_ahead import compile_ahead, wait_until_compiled

    # As analyze does, in separate processes: neither the time nor the memory of compiling counts.
    compile_ahead(asked.tokens)
    from common.models_and_windows import fewest_tokens, tapped_model, windows_of
    from headscope.analyze import analyze
    from headscope.measuring.shard import measure_windows
    from headscope.settings import Settings
    from headscope.system.timing import stage_times

    minimal = way.startswith("minimal")
    settings = Settings(window_tokens=asked.tokens, minimal=minimal)
    model = tapped_model(configuration, asked.models)
    windows = windows_of(model.tokenizer, asked.tokens, asked.texts, asked.corpus)
    wait_until_compiled()

    def measure() -> float:
        measure_windows(model, windows, settings, sites=model.sites)
        return 0.0

    def whole_run() -> float:
        with tempfile.TemporaryDirectory() as folder, stage_times() as times:
            analyze(
                model,
                asked.corpus,
                texts=asked.texts,
                first=True,  # the windows that the other ways read
                window=asked.tokens,
                min_tokens=fewest_tokens(asked.tokens),
                minimal=minimal,
                out=Path(folder) / "run",
                nulls=0,
                report=False,
                progress=False,
            )
        return times.seconds["reducing"]

    work = whole_run if way.endswith("run") else measure
    return Prepared(work, [window.n_tokens for window in windows])


def serve(args: argparse.Namespace, turns: TextIO, replies: TextIO) -> None:
    """Get ready, then read all windows once for every line of `turns`."""

    def reply(**values: float | str) -> None:
        replies.write(json.dumps(values) + "\n")
        replies.flush()

    try:
        configuration = CONFIGURATIONS[args.configuration]
        ready = prepared(args.way, configuration, args)
        ready.work()
        import torch

        # Garbage of the imports is collected here, not during somebody's turn.
        gc.collect()
        reply(
            texts=len(ready.lengths),
            shortest=min(ready.lengths),
            longest=max(ready.lengths),
            threads=torch.get_num_threads(),
        )
        for _ in turns:
            start = time.perf_counter()
            once = ready.work()
            seconds = time.perf_counter() - start - once
            reply(seconds=seconds, once_s=once, peak_mb=memory("VmHWM"))
    except Exception as error:
        # Whatever it is, the others go on: a peer may fail in ways that nobody can list.
        said = str(error).strip().splitlines() or [""]
        reply(failed=f"{type(error).__name__}: {said[0]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("configuration", choices=CONFIGURATIONS)
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--texts", type=int, required=True)
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--models", type=Path, default=Path(".cache/models"))
    args = parser.parse_args()
    # If memory runs out, the system should end this process and no other.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    # The pipe is for replies alone: what libraries print goes to standard error.
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(args, sys.stdin, replies)


if __name__ == "__main__":
    main()
