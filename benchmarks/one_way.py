"""One way of reading texts, in a process of its own: it loads, says so, then waits for its turns.

    python benchmarks/one_way.py WAY CONFIGURATION --tokens 128 --texts 64

Started by `forward_ratio.py`. It writes a line of JSON once it is ready, then one for every line
that it is sent: the seconds that the texts took, those of what a run does once whatever the number
of texts, and the most memory that it took so far. What goes wrong is such a line as well.
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

from configurations import BARE, CONFIGURATIONS, WAYS, Configuration
from process_memory import memory

Work = Callable[[], float]
"""Reads all texts once; gives the seconds in it of what is done once a run."""


@dataclass(frozen=True)
class Prepared:
    """A way that is ready for its turns."""

    work: Work
    lengths: list[int]
    """Tokens of each text."""


def prepared(way: str, configuration: Configuration, asked: argparse.Namespace) -> Prepared:
    """What reads all texts once, and their lengths. Imports what this way needs, and no more."""
    if WAYS[way].ours and way != BARE:
        return _headscope(way, configuration, asked)
    import torch
    from model_and_texts import folder_of, plain_model, plain_tokenizer, windows_of
    from plain_batches import PlainBatch, plain_batches

    read_batch: Callable[[PlainBatch], object]
    if way == BARE:
        model = plain_model(configuration, asked.models, "sdpa")
        # No key is needed again: a cache of them would only slow this down.
        uncached = {"use_cache": False} if hasattr(model, "layers") else {}

        def read_batch(batch: PlainBatch) -> None:
            with torch.inference_mode():
                model(**batch.inputs, **uncached)

    else:
        from by_hand import hooks, numpy_per_head, torch_per_layer

        if way == "lens":
            from peers import transformer_lens_reader

            read, model = transformer_lens_reader(configuration, asked.models)
        else:
            model = plain_model(configuration, asked.models, "eager")
            if way == "nnsight":
                from peers import nnsight_reader

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
    """headscope with its settings as they are by default.

    Either as others do it, given the texts as tokens; or the whole of `analyze` from the corpus to
    the results in a run folder, for a model that is loaded.
    """
    from headscope.kernels.cpu.compile_ahead import compile_ahead, wait_until_compiled

    # As analyze does, in processes apart: compiling is no part of what is measured, nor its memory.
    compile_ahead(asked.tokens)
    from model_and_texts import fewest_tokens, tapped_model, windows_of

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
    """Get ready, then read all texts once for every line of `turns`."""

    def reply(**values: float | str) -> None:
        replies.write(json.dumps(values) + "\n")
        replies.flush()

    try:
        configuration = CONFIGURATIONS[args.configuration]
        ready = prepared(args.way, configuration, args)
        ready.work()
        import torch

        # What was imported is looked through once here, not during somebody's turn.
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
        # Whatever it is, others go on: a peer may fail in ways that nobody can list.
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
    # If memory runs out, the system is to end this process and no other.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    # Replies have the pipe to themselves: what libraries print goes where errors go.
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(args, sys.stdin, replies)


if __name__ == "__main__":
    main()
