"""Hostile environments: options out of all bounds, odd paths, closed streams, limits, signals.

Commands run as in a terminal, on a finished run: through `main`, with its exit code.
"""

import inspect
import os
import random
import resource
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from headscope.cli import main
from headscope.cli.commands import COMMANDS
from headscope.cli.option_groups import flatten
from headscope.errors import HeadscopeError
from tests.attack.case import Case
from tests.faults.seed_files import KEPT

CATEGORY = "environment"
NUMBERS = ["1" + "0" * 30, "-1" + "0" * 30, "9" * 5000, "-1", "0", "nan", "inf", "-inf", "1e400"]
NUMBERS += ["2147483648", "-0.0", "0x10", "1_0", "", " ", "\u0663", "1.5"]
READING = ("info", "claims", "sweep", "stability", "report", "figures")
"""Commands that need a run and no model."""
QUICK = ["info", "sweep", "stability"]
"""Those of them that take less than a second."""

Attack = Callable[[Path, random.Random], None]


def cases(seed: int, number: int, folder: Path) -> Iterator[Case]:
    """So many commands in hostile environments; the same for the same seed.

    Args:
        seed: Of all that is random.
        number: How many.
        folder: An empty folder.
    """
    attacks = [numbers, numbers, numbers, paths, streams, limits, homes, interruptions]
    for place in range(number):
        attack = attacks[place % len(attacks)]
        name = f"{seed}-{place}"
        yield Case(f"{name}: {attack.__name__}", partial(_attack, attack, folder / name, name))


def _attack(attack: Attack, folder: Path, seed: str) -> None:
    folder.mkdir(parents=True)
    os.chdir(folder)
    shutil.copytree(KEPT / "schema-2", folder / "run")
    attack(folder, random.Random(seed))


def command(*arguments: str) -> None:
    """Run a command; one that fails counts as refused.

    The runner takes a traceback on standard error for what it is.
    """
    sys.argv = ["headscope", *arguments]
    try:
        main()
    except SystemExit as end:
        if end.code not in (0, None):
            raise HeadscopeError(f"exit code {end.code}") from None


def options_that_take_numbers() -> list[tuple[str, str]]:
    """Command and option, for all that take a number."""
    return [
        (command.name, f"--{name.replace('_', '-')}")
        for command in COMMANDS
        for name, parameter in inspect.signature(flatten(command.run)).parameters.items()
        if {int, float} & set(_types(parameter.annotation))
    ]


def _types(annotation: Any) -> tuple[Any, ...]:
    """The types of a parameter: `Annotated[int | None, ...]` is int and None."""
    inner = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return get_args(inner) or (inner,)


def numbers(folder: Path, chance: random.Random) -> None:
    """Any number for any option. Models are named that are not there, so that none is loaded."""
    name, option = chance.choice(options_that_take_numbers())
    # Small numbers may be meant: what they start (a server, a run) is not what is tried here.
    value = chance.choice(NUMBERS if name in READING else [n for n in NUMBERS if len(n) > 8])
    arguments = ["run"] if name in (*READING, "look", "segment") else []
    arguments += ["run"] if name in ("compare", "merge") else []
    command(name, *arguments, f"{option}={value}")


def paths(folder: Path, chance: random.Random) -> None:
    """Paths that cannot be: too long, with bytes that are no text, of another kind."""
    os.mkfifo(folder / "pipe.txt")
    odd = ["x" * 5000, "y/" * 3000, os.fsdecode(b"n\xff"), "a\nb", "\x1b[2J", "", ".", "/dev/zero"]
    path = chance.choice([*odd, "run/manifest.json", "pipe.txt", "/proc/self/mem", "~nobody/x"])
    asked = [[name, path] for name in READING * 2]
    asked += [["segment", path], ["analyze", "-c", "pipe.txt", "-m", path]]
    asked += [["report", "run", "--out", path], ["merge", path, "run", "--out", "merged"]]
    asked += [["analyze", "--model", path], ["look", "text", "--model", path]]
    command(*chance.choice(asked))


def streams(folder: Path, chance: random.Random) -> None:
    """Standard streams that are closed, full, or read by nobody."""
    number = chance.choice([1, 2]) if chance.random() < 0.8 else 0
    match chance.randrange(3):
        case 0:
            os.close(number)
            name = ("stdin", "stdout", "stderr")[number]
            setattr(sys, name, None)  # as Python starts with a closed one
        case 1:
            os.dup2(os.open("/dev/full", os.O_RDWR), number)
        case _:
            reader, writer = os.pipe()
            os.close(reader)
            os.dup2(writer, number)
    command(chance.choice(["info", "sweep", "stability", "--help"]), *(["run"] * (number < 9)))


def limits(folder: Path, chance: random.Random) -> None:
    """Limits of memory, of the size of files, of open files, and of processes."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    kind, most = chance.choice(
        [
            (resource.RLIMIT_AS, used + chance.choice([0, 1, 10, 100]) * 2**20),
            (resource.RLIMIT_FSIZE, chance.choice([0, 1, 1000, 100_000])),
            (resource.RLIMIT_NOFILE, chance.choice([4, 8, 16])),
            (resource.RLIMIT_NPROC, 0),
        ]
    )
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as Python does
    if kind == resource.RLIMIT_NPROC and os.getuid() == 0:
        folder.chmod(0o755)
        os.setuid(65534)  # limits do not hold for root
    resource.setrlimit(kind, (most, most))
    command(chance.choice(["info", "sweep", "claims", *QUICK, "report"]), "run")


def homes(folder: Path, chance: random.Random) -> None:
    """No home, or one that is not there, is a file, or holds a link."""
    for name in ("HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR", "TMPDIR", "LANG", "COLUMNS", "TERM"):
        match chance.randrange(4):
            case 0:
                os.environ.pop(name, None)
            case 1:
                odd = ["/proc/nothing", "/dev/null", "", "\udcff", "0", "x" * 5000, "\x1b[2J"]
                os.environ[name] = chance.choice(odd)
    command(chance.choice([*QUICK * 4, "report", "figures"]), *chance.choice([["run"], []]))


def interruptions(folder: Path, chance: random.Random) -> None:
    """Signals in the midst of a command: interrupted, hung up, stopped and continued."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = os.getpid()
    delay = chance.random() * 0.5
    number = chance.choice([signal.SIGINT, signal.SIGWINCH, signal.SIGCONT, signal.SIGPIPE])

    def interrupt() -> None:
        time.sleep(delay)
        os.kill(process, number)

    threading.Thread(target=interrupt, daemon=True).start()
    try:
        command(chance.choice([*QUICK * 2, "claims", "report"]), "run")
        time.sleep(max(0.0, delay))
    except KeyboardInterrupt:  # between two commands, where nothing of ours runs
        return
