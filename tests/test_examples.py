"""Examples run as they stand."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_the_example_runs(path, demo_model, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", path, "4", tmp_path / "run"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "gathers around" in done.stdout
    assert (tmp_path / "run" / "report.html").exists()
