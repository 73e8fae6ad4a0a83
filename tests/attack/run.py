"""The permanent suite of hostile input: every case in a process of its own, with a victim to hurt.

    make attack                                          2,000 cases or more, all categories
    python -m tests.attack.run --category corpora --cases 50 --seed 7
    python -m tests.attack.run --category corpora=500 --category runs=100 --minutes 30

A case is refused (a HeadscopeError of one line) or harmless (it returns). Defects are a traceback,
a hang, a change of the victim tree or of /dev, and an opened pickle. Categories are the modules of
this folder that have `CATEGORY` and `cases`. The victim is beside the folder that a category is
given: `folder.parent / "victim"`.
"""

import argparse
import faulthandler
import os
import pickle
import pkgutil
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn

import tests.attack as package
from headscope.errors import HeadscopeError
from tests.attack.case import Case
from tests.attack.victim import devices, make_victim, snapshot

LIMIT_S = 20.0
"""Of computing, for one case."""
STUCK = 5
"""A case may wait this many times as long. The time in which it could have computed, but the
machine was busy with other things, does not count."""
OUTCOMES = ("refused", "harmless", "traceback", "hang", "touched", "pickle")
DEFECTS = OUTCOMES[2:]
LONGEST_MESSAGE = 4000

_REFUSED, _TRACEBACK, _PICKLE = 10, 11, 12
_BY_CODE = {0: "harmless", _REFUSED: "refused", _TRACEBACK: "traceback", _PICKLE: "pickle"}
_MAY_UNPICKLE = ("numba", "multiprocessing", "concurrent", "ray")
"""Modules that unpickle what this user wrote: compiled code, messages between processes."""


def categories() -> dict[str, ModuleType]:
    """The modules of hostile cases, by the name of their category."""
    found = {}
    for info in pkgutil.iter_modules(package.__path__, prefix=f"{package.__name__}."):
        if not info.name.rpartition(".")[2].startswith("test_") and info.name != __name__:
            module = import_module(info.name)
            if hasattr(module, "CATEGORY"):
                found[module.CATEGORY] = module
    return found


def attack(
    cases: Iterator[Case], home: Path, limit_s: float = LIMIT_S
) -> Iterator[tuple[Case, str, str]]:
    """Each case, its outcome, and what it said.

    Args:
        cases: Of one category.
        home: The folder that holds the victim, and everything else that cases use.
        limit_s: Maximum time of a case.
    """
    victim = make_victim(home / "victim")
    before = snapshot(victim) | devices()
    for case in cases:
        outcome, said = run_case(case, home, limit_s)
        if (after := snapshot(victim) | devices()) != before:
            changed = sorted({name for name, _ in set(before.items()) ^ set(after.items())})
            outcome, said = "touched", f"changed: {', '.join(changed)}\n{said}"
            shutil.rmtree(victim)
            before = snapshot(make_victim(victim)) | devices()
        yield case, outcome, said


def run_case(case: Case, home: Path, limit_s: float) -> tuple[str, str]:
    """The outcome of a case in a forked process, and what it wrote to standard error."""
    said = home / "said"
    said.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _live(case, said)
    code = _wait(child, limit_s)
    text = said.read_text(errors="replace") if said.exists() else ""
    if code is None:
        return "hang", text
    if code < 0:
        return "traceback", f"ended by {signal.Signals(-code).name}\n{text}"
    outcome = _BY_CODE.get(code, "traceback")
    # Threads and processes that the case started write theirs as well.
    if outcome in ("refused", "harmless") and "Traceback (most recent call last)" in text:
        outcome = "traceback"
    return outcome, text


def _wait(child: int, limit_s: float) -> int | None:
    """The exit code of a process, negative for a signal; None if it had to be killed."""
    watched = os.pidfd_open(child)
    started = time.monotonic()
    ended = False
    try:
        while not ended:
            ended = bool(select.select([watched], [], [], min(0.2, limit_s))[0])
            if not ended and _computing_s(child) > limit_s:
                break
            if not ended and time.monotonic() - started - _queueing_s(child) > limit_s * STUCK:
                break
        # The whole group: cases start processes, which must not outlive them.
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    finally:
        os.close(watched)
    return os.waitstatus_to_exitcode(status) if ended else None


def _computing_s(child: int) -> float:
    """CPU time of a process, all its threads included."""
    fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _queueing_s(child: int) -> float:
    """Time in which a process was ready to compute, and got no core."""
    try:
        return int(Path(f"/proc/{child}/schedstat").read_text().split()[1]) / 1e9
    except OSError:  # not on this kernel
        return 0.0


def _live(case: Case, said: Path) -> NoReturn:
    """Run a case; this process is the case's own, and ends here."""
    os.setpgid(0, 0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    sys.stdout = os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    # Where a test runner has put its own:
    threading.excepthook = threading.__excepthook__
    faulthandler.disable()
    os.chdir(said.parent)
    code = _TRACEBACK
    try:
        _forbid_pickles()
        case.attack()
        code = 0
    except HeadscopeError as error:
        code = _REFUSED
        if "\n" in str(error) or len(str(error)) > LONGEST_MESSAGE:
            code = _TRACEBACK
        os.write(
            2, f"{type(error).__name__}: {error}\n"[:LONGEST_MESSAGE].encode("utf-8", "replace")
        )
    except BaseException:
        code = _TRACEBACK
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os._exit(code)  # also after a late signal: nothing here may unwind into the runner's code


def _forbid_pickles() -> None:
    """End this process where a pickle is opened, by whomever it is not allowed to."""

    def opened(*arguments: Any, **options: Any) -> Any:
        os.write(2, b"a pickle was opened\n" + "".join(traceback.format_stack()).encode())
        os._exit(_PICKLE)

    def guarded(function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            return function(*arguments, **options) if _allowed(sys._getframe(1)) else opened()

        return call

    def on_event(event: str, arguments: tuple[Any, ...]) -> None:
        # Raised for every global that an unpickler looks up, whoever imported it under what name.
        if event == "pickle.find_class" and not _allowed(sys._getframe(1)):
            opened()

    sys.addaudithook(on_event)
    pickle.load, pickle.loads = guarded(pickle.load), guarded(pickle.loads)
    import numpy as np
    import torch

    torch.load = opened
    load = np.load

    def load_arrays(*arguments: Any, allow_pickle: bool = False, **options: Any) -> Any:
        return opened() if allow_pickle else load(*arguments, **options)

    np.load = load_arrays


def _allowed(frame: FrameType | None) -> bool:
    """Whether the nearest caller outside the pickle module may unpickle."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if module not in ("pickle", "_pickle") and frame.f_code.co_filename != __file__:
            return module in _MAY_UNPICKLE
        frame = frame.f_back
    return False


def table(counts: dict[str, Counter[str]]) -> str:
    """The outcomes by category, as Markdown."""
    lines = [
        f"| category | cases | {' | '.join(OUTCOMES)} |",
        f"| --- | --- | {' | '.join('---' for _ in OUTCOMES)} |",
    ]
    rows = counts | {"all": sum(counts.values(), Counter[str]())}
    for name, found in rows.items():
        numbers = " | ".join(f"{found[outcome]:,}" for outcome in OUTCOMES)
        lines.append(f"| {name} | {sum(found.values()):,} | {numbers} |")
    return "\n".join(lines)


def _import_everything() -> None:
    """So that no case has to; compiled code is loaded by calling it."""
    import headscope
    from headscope.kernels.cpu.compile_ahead import Part
    from headscope.kernels.cpu.jit.warm_up import compile_part
    from tests.nursery import compile_once

    for info in pkgutil.walk_packages(headscope.__path__, "headscope."):
        # Adapters import the libraries that they are for, which are not installed here.
        if not info.name.endswith(("__main__", "warm_up")) and ".adapters." not in info.name:
            import_module(info.name)
    for name in ("pandas", "xarray", "matplotlib.pyplot", "pyarrow.parquet", "h5netcdf"):
        import_module(name)
    compile_once()
    compile_part(Part.WINDOWS)


def shares(asked: Sequence[str], cases: int) -> dict[str, int]:
    """Number of cases of each category.

    Args:
        asked: Categories, or CATEGORY=CASES; none for all.
        cases: Of those without a number, together.
    """
    named = [name.partition("=") for name in asked or categories()]
    numbers = {name: number for name, _, number in named}
    rest = [name for name, number in numbers.items() if not number]
    return {name: int(number or -(-cases // len(rest))) for name, number in numbers.items()}


def in_turn(numbers: Mapping[str, int]) -> Iterator[str]:
    """Categories, each as often as it has cases, evenly mixed: one can stop at any time."""
    places = [((place + 0.5) / n, name) for name, n in numbers.items() for place in range(n)]
    return (name for _, name in sorted(places))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, help="Of all categories together.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--category", action="append", help="NAME or NAME=CASES; several times.")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="Stop after these.")
    parser.add_argument("--verbose", action="store_true", help="Print each case and its time.")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="Seconds for a case.")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # no threads before a fork
    _import_everything()
    numbers = shares(options.category or [], options.cases)
    counts: dict[str, Counter[str]] = {name: Counter() for name in numbers}
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attack-", ignore_cleanup_errors=True) as place:
        attacks = {}
        for name, number in numbers.items():
            home = Path(place) / name
            folder = home / "cases"
            folder.mkdir(parents=True)
            hostile = categories()[name].cases(options.seed, number, folder)
            attacks[name] = attack(hostile, home, options.limit)
        for name in in_turn(numbers):
            if time.monotonic() - started > 60 * options.minutes:
                break
            case, outcome, said = next(attacks[name])
            counts[name][outcome] += 1
            if options.verbose:
                seconds = time.monotonic() - started
                print(f"{seconds:7.1f} s  {name}, {case.name}: {outcome}", flush=True)
            if outcome in DEFECTS:
                told = f"{name}, {case.name}: {outcome}\n{said[-3000:]}"
                print(told, file=sys.stderr, flush=True)
    print(table(counts))
    sys.exit(any(found[defect] for found in counts.values() for defect in DEFECTS))


if __name__ == "__main__":
    main()
