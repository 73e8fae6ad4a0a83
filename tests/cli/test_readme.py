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


def test_the_lines_of_python_run_as_they_stand(copied_run, demo_model, tmp_path, monkeypatch):
    """On a run that is there already: the README says that it may be opened as well."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headscope.models.load.load_model", lambda *_, **__: demo_model)
    (code,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    analysed = re.compile(
        r'^run = hs\.analyze\("demo", "demo", texts=60, out="runs/example"\)', re.M
    )
    code, replaced = analysed.subn(f"run = hs.open_run({str(copied_run)!r})", code)
    assert replaced == 1
    names = {}
    exec(code, names)
    assert len(names["run"].heads) == 72
    assert len(names["view"].pairs) > 0
