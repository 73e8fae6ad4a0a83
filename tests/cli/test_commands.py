"""Commands that succeed: what is printed where, and that all of it is documented."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from headscope.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]


def test_analyze_prints_findings_and_where_they_are(command, tmp_path):
    arguments = (
        "analyze",
        "--texts",
        3,
        "--layers",
        "1,6",
        "--nulls",
        0,
        "--out",
        tmp_path / "run",
    )
    first = command(*arguments)
    assert first.code == 0
    assert first.err == "", "progress is for terminals"
    lines = first.out.splitlines()
    assert lines[-2].split() == ["run", str(tmp_path / "run")]
    assert lines[-1].split() == ["report", str(tmp_path / "run" / "report.html")]
    assert [line.split()[0] for line in lines if line.strip()[:1].isdigit()] == ["1", "6"]
    assert command(*arguments).out == first.out, "a finished run is printed again"


def test_analyze_as_json_is_json_alone(command, demo_run):
    outcome = command(
        *("analyze", "--texts", 3, "--layers", 2, "--nulls", 0, "--json"),
        *("--out", demo_run.folder.parent / "other"),
    )
    found = json.loads(outcome.out)
    assert found["texts"] == 3
    assert found["layers"][0]["layer"] == 2
    assert 0 < found["layers"][0]["mean_distance"] < 128


def test_info_says_what_a_run_is(command, demo_run):
    outcome = command("info", demo_run.folder)
    assert outcome.code == 0
    assert "finished" in outcome.out
    assert "6 layers x 12 heads" in outcome.out
    facts = json.loads(command("info", demo_run.folder, "--json").out)
    assert facts["shards"] == "3 of 3 shards"


def test_doctor_shows_stacks_and_residuals(command):
    facts = json.loads(command("doctor", "--model", "demo", "--json").out)
    (stack,) = facts["model"]["stacks"]
    assert (stack["layers"], stack["heads"], stack["d_head"]) == (6, [12], [32])
    assert all(value < 1e-3 for value in facts["model"]["residuals"].values() if value is not None)
    assert "self-check passed" in command("doctor", "--model", "demo").out


@pytest.mark.parametrize("name", COMMANDS.names)
def test_every_command_has_help_and_is_documented(command, name):
    outcome = command(name, "--help")
    assert outcome.code == 0
    assert "Usage" in outcome.out
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    assert any(f"headscope {name}" in page.read_text() for page in pages)


def test_without_a_command_help_is_shown(command):
    outcome = command()
    assert outcome.code == 0
    for name in COMMANDS.names:
        assert name in outcome.out


def test_a_reader_that_has_seen_enough_is_no_error(demo_run):
    """As in `headscope info RUN | head -1`."""
    script = (
        "import sys; from headscope.cli import main\n"
        f"sys.argv = ['headscope', 'info', {str(demo_run.folder)!r}]; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait(timeout=60)
