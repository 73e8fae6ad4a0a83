"""Examples run as they stand."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = {
    "01_first_run.py": ("4", "{out}"),
    "02_segment.py": (),
    "03_training_steps.py": (
        *("--out", "{out}", "--steps", "0", "2", "--texts", "3", "--width", "16"),
    ),
}
"""Arguments that keep each example small; {out} is a new folder."""
SHOWS = {
    "01_first_run.py": ("gathers around", "report.html"),
    "02_segment.py": ("topics begin at [4]", None),
    "03_training_steps.py": ("step 2: heads by role: ", "training.png"),
}
"""What each example prints, and a file that it writes, if any."""


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_the_example_runs(path, demo_model, tmp_path):
    out = tmp_path / "run"
    arguments = [argument.format(out=out) for argument in SMALL[path.name]]
    done = subprocess.run(
        [sys.executable, "-W", "error", path, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    printed, written = SHOWS[path.name]
    assert printed in done.stdout
    assert written is None or (out / written).exists()
