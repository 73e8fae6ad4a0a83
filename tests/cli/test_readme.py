"""What README shows is what a reader gets: the demo's table, line by line."""

import re
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()


def shown(text: str) -> list[str]:
    """The lines of a table: title and layers."""
    return [
        line.rstrip() for line in text.splitlines() if re.match(r"demo, encoder|\s+\d+ +\d", line)
    ]


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11),
    reason="README shows what Python 3.11 gives, whose documentation is the demo corpus",
)
def test_the_table_in_the_readme_is_that_of_the_demo(command, tmp_path):
    plain = ["--nulls", 0, "--robustness", 0, "--no-signal", "--no-report"]
    done = command("analyze", *plain, "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert len(shown(README)) == 7
    assert shown(done.out) == shown(README)
