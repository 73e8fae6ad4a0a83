"""The command line inside the test's own process: fast, with the exit code and both streams."""

import shutil
import sys
from dataclasses import dataclass
from importlib import import_module

import pytest

from headscope.cli import main

USUAL = {"dtype": "float32", "device": "cpu", "allow_pickle": False, "trust_remote_code": False}


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
def command(request, monkeypatch, capsys):
    """Runs `headscope ARGUMENTS...`.

    The demo model is loaded once.
    """
    home = import_module("headscope.models.load")
    load_model = home.load_model

    def load_once(spec, **options):
        as_usual = all(options.get(name, value) == value for name, value in USUAL.items())
        if spec == "demo" and as_usual:
            monkeypatch.setattr(home, "load_model", load_model)  # what the fixture itself calls
            model = request.getfixturevalue("demo_model")
            monkeypatch.setattr(home, "load_model", load_once)
            return model
        return load_model(spec, **options)

    monkeypatch.setattr(home, "load_model", load_once)

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["headscope", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return run
