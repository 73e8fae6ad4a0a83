"""How much does analysing cost, against a plain forward pass of the same model and batches?

    python benchmarks/forward_ratio.py [--repeats 7] [--texts 64] [--tokens 128 ...]
        [--corpus demo] [--ways minimal torch ...] [--ours] [--markdown] [NAME ...]

Each way has a process of its own, with one copy of the model and the libraries that it needs: bare
forward (sdpa attention, inference mode), headscope with everything on, headscope's minimal
analysis, the same analysis by hand in torch and in NumPy, and through nnsight and TransformerLens
where they are installed. All of these get the windows as tokens; a whole run of headscope also
cuts them out of the corpus and writes the run folder. Processes take turns, one at a time, round by
round. Printed are the median of the ratios to the bare run of the same round, so that a machine
that slows down in between favours no side, and the peak memory of each process. What a run adds up
once at its end, whatever the number of windows, is not in its ratio but printed in seconds.
"""

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from common.configurations import BARE, CONFIGURATIONS, WAYS, Configuration
from common.ratio_tables import Measured, Sizes, markdown
from common.worker import Worker, WorkerFailed

PAUSE_S = 0.5
"""Between turns. OpenMP threads spin for up to 200 ms after their last work: without a pause they
would take a core from the process whose turn is next."""


class NotMeasured(Exception):
    """Why there is nothing to compare with, in one line."""


def measure(
    configuration: Configuration, ways: list[str], args: argparse.Namespace, tokens: int
) -> Measured:
    """All ways in turns; one that fails is left out of later turns."""
    texts = args.texts or configuration.texts
    options = ["--models", str(args.models), "--tokens", str(tokens), "--texts", str(texts)]
    options += ["--corpus", args.corpus]
    with ExitStack() as stack:
        workers: dict[str, Worker] = {}
        ready: dict[str, dict[str, int]] = {}
        problems: dict[str, str] = {}
        for way in ways:
            # One after the other: a warm-up may need most of the memory.
            say(f"{configuration.name}, {tokens} tokens: loading {WAYS[way].title}")
            worker = Worker(way, configuration.name, *options)
            stack.callback(worker.close)
            try:
                ready[way] = worker.reply()
            except WorkerFailed as failure:
                problems[way] = str(failure)
            if BARE in problems:
                raise NotMeasured(problems[BARE])
            if way in ready and ready[way] != ready[BARE]:
                problems[way] = f"read {ready[way]}, the bare model {ready[BARE]}"
            if way not in problems:
                workers[way] = worker
        made = Measured(configuration.name, args.repeats, Sizes(**ready[BARE]), problems=problems)
        for number in range(1, args.repeats + 1):
            say(f"{configuration.name}, {tokens} tokens: round {number} of {args.repeats}")
            take_turns(workers, made)
        return made


def take_turns(workers: dict[str, Worker], made: Measured) -> None:
    """One round. A worker that fails is removed, with its figures."""
    for way, worker in list(workers.items()):
        time.sleep(PAUSE_S)
        try:
            got = worker.run_once()
        except WorkerFailed as failure:
            if way == BARE:
                raise NotMeasured(str(failure)) from None
            made.problems[way] = str(failure)
            made.seconds.pop(way, None)
            del workers[way]
            continue
        made.seconds.setdefault(way, []).append(got["seconds"])
        made.once_s.setdefault(way, []).append(got["once_s"])
        made.peak_mb[way] = got["peak_mb"]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def chosen_ways(args: argparse.Namespace) -> list[str]:
    """The ways asked for that are installed, the bare one first, whether asked for or not."""
    ways = [BARE]
    for name, way in WAYS.items():
        if name == BARE or name not in args.ways or (args.ours and not way.ours):
            continue
        if way.is_installed:
            ways.append(name)
        else:
            print(f"{way.title}: left out, {way.package} is not installed")
    return ways


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*CONFIGURATIONS], metavar="NAME")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--texts", type=int, help="windows; 64 if not given, for SmolLM2 4")
    parser.add_argument(
        "--tokens", type=int, nargs="+", help="lengths of windows, if not the usual one"
    )
    parser.add_argument("--corpus", default="demo", help="where the windows are from")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS])
    parser.add_argument("--ours", action="store_true", help="leave out how others would do it")
    parser.add_argument("--markdown", action="store_true", help="at the end, rows for README.md")
    parser.add_argument("--models", type=Path, default=Path(".cache/models"))
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in CONFIGURATIONS]:
        parser.error(f"no configuration {unknown[0]!r}; there are {', '.join(CONFIGURATIONS)}")
    if args.repeats < 1:
        parser.error("repeats: ask for at least 1")
    print("ratios to the bare forward pass: median (least to most); peak memory, and above bare")
    ways = chosen_ways(args)
    measured = []
    for name in args.names:
        configuration = CONFIGURATIONS[name]
        if configuration.from_models and not (args.models / name).exists():
            print(f"{name}: not measured, there is no {args.models / name}")
            continue
        for tokens in args.tokens or [configuration.window_tokens]:
            try:
                made = measure(configuration, ways, args, tokens)
            except NotMeasured as reason:
                print(f"{name}, {tokens} tokens: not measured: {reason}", flush=True)
                continue
            print("\n".join(made.lines()), flush=True)
            measured.append(made)
    if args.markdown and measured:
        print("", *markdown(measured), sep="\n")


if __name__ == "__main__":
    main()
