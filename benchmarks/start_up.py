"""How long do commands take before they do anything, beside the import of transformers alone?

    python benchmarks/start_up.py --run runs/demo --rounds 5

Every command is run once a round, in turns, so that a busy hour slows all of them alike; the table
has medians, and what each takes beyond `from transformers import BertModel`, which is not ours.
Commands that need no model are compared with nothing.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TEXT = "The cat sat on the mat. The dog saw the cat, and the cat ran away!"
BASE = "from transformers import BertModel"


def commands(run: Path, folder: Path) -> dict[str, list[str]]:
    headscope = [sys.executable, "-m", "headscope"]
    text = folder / "text.txt"
    text.write_text(TEXT)
    return {
        BASE: [sys.executable, "-c", BASE],
        "look": [*headscope, "look", TEXT, "--out", str(folder / "look.html"), "-q"],
        "segment": [*headscope, "segment", str(text), "-q"],
        "claims": [*headscope, "claims", str(run)],
        "info": [*headscope, "info", str(run)],
        "analyze, finished": [*headscope, "analyze", "--out", str(run), "-q"],
        "analyze, wrong path": [*headscope, "analyze", str(folder / "no-such-file.txt")],
        "--help": [*headscope, "--help"],
    }


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    # Compiled files of Python are kept, as for users, whatever this process was told.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    nowhere = subprocess.DEVNULL
    subprocess.run(command, stdout=nowhere, stderr=nowhere, env=environment, check=False)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, default=Path("runs/demo"), help="a finished demo run")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asked = commands(args.run, Path(folder))
        times: dict[str, list[float]] = {name: [] for name in asked}
        for number in range(args.rounds + 1):
            for name, command in asked.items():
                took = seconds(command)
                if number:  # the first round fills caches
                    times[name].append(took)
    base = statistics.median(times[BASE])
    print(f"{'command':36} {'median s':>9} {'least s':>8} {'beyond the import':>18}")
    for name, took in times.items():
        median = statistics.median(took)
        beyond = f"{median - base:+.2f}" if name in ("look", "segment") else ""
        print(f"{name:36} {median:9.2f} {min(took):8.2f} {beyond:>18}")


if __name__ == "__main__":
    main()
