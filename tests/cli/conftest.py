"""The command line inside the test's own process: fast, with the exit code and both streams."""

import shutil
import sys
from dataclasses import dataclass

import pytest

from headscope.cli import main


@dataclass
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def copied_run(demo_run, tmp_path):
    """A run that may be written to."""
    return shutil.copytree(demo_run.folder, tmp_path / "run")


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs `headscope ARGUMENTS...`."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["headscope", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return run
