"""One way of reading texts, in a process of its own: it loads, says so, then waits for its turns.

    python benchmarks/one_way.py WAY CONFIGURATION --tokens 128 --texts 64

Started by `forward_ratio.py`. It writes a line of JSON once it is ready, then one for every line
that it is sent: the seconds that the texts took, and the most memory that it took so far. What goes
wrong is such a line as well.
"""

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from configurations import BARE, CONFIGURATIONS, WAYS, Configuration
from process_memory import memory

Work = Callable[[], object]


def prepared(
    way: str, configuration: Configuration, models: Path, tokens: int, texts: int
) -> tuple[Work, list[int]]:
    """What reads all texts once, and their lengths. Imports what this way needs, and no more."""
    if way in ("everything", "minimal"):
        return _headscope(configuration, models, tokens, texts, minimal=way == "minimal")
    import torch
    from model_and_texts import folder_of, plain_model, plain_tokenizer, windows_of
    from plain_batches import PlainBatch, plain_batches

    read_batch: Callable[[PlainBatch], object]
    if way == BARE:
        model = plain_model(configuration, models, "sdpa")
        # No key is needed again: a cache of them would only slow this down.
        uncached = {"use_cache": False} if hasattr(model, "layers") else {}

        def read_batch(batch: PlainBatch) -> None:
            with torch.inference_mode():
                model(**batch.inputs, **uncached)

    else:
        from by_hand import hooks, numpy_per_head, torch_per_layer

        if way == "lens":
            from peers import transformer_lens_reader

            read, model = transformer_lens_reader(configuration, models)
        else:
            model = plain_model(configuration, models, "eager")
            if way == "nnsight":
                from peers import nnsight_reader

                read = nnsight_reader(model)
            else:
                read = hooks(model)
        analyse = torch_per_layer if way == "torch" else numpy_per_head

        def read_batch(batch: PlainBatch) -> None:
            analyse(read, batch)

    tokenizer = plain_tokenizer(folder_of(configuration, models), model)
    windows = windows_of(tokenizer, tokens, texts)

    def work() -> None:
        for batch in plain_batches(windows):
            read_batch(batch)

    return work, [window.n_tokens for window in windows]


def _headscope(
    configuration: Configuration, models: Path, tokens: int, texts: int, *, minimal: bool
) -> tuple[Work, list[int]]:
    """The whole measuring path of `analyze`, with its settings as they are by default."""
    from headscope.compile_ahead import compile_ahead, wait_until_compiled

    # As analyze does, in processes apart: compiling is no part of what is measured, nor its memory.
    compile_ahead(tokens)
    from model_and_texts import tapped_model, windows_of

    from headscope.measure_windows import measure_windows
    from headscope.settings import Settings

    settings = Settings(window_tokens=tokens, minimal=minimal)
    model = tapped_model(configuration, models)
    windows = windows_of(model.tokenizer, tokens, texts)
    wait_until_compiled()
    return (
        lambda: measure_windows(model, windows, settings, sites=model.sites),
        [window.n_tokens for window in windows],
    )


def serve(args: argparse.Namespace, turns: TextIO, replies: TextIO) -> None:
    """Get ready, then read all texts once for every line of `turns`."""

    def reply(**values: float | str) -> None:
        replies.write(json.dumps(values) + "\n")
        replies.flush()

    try:
        configuration = CONFIGURATIONS[args.configuration]
        work, lengths = prepared(args.way, configuration, args.models, args.tokens, args.texts)
        work()
        import torch

        # What was imported is looked through once here, not during somebody's turn.
        gc.collect()
        reply(
            texts=len(lengths),
            shortest=min(lengths),
            longest=max(lengths),
            threads=torch.get_num_threads(),
        )
        for _ in turns:
            start = time.perf_counter()
            work()
            reply(seconds=time.perf_counter() - start, peak_mb=memory("VmHWM"))
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
