"""`headscope report`, `headscope look` and `headscope serve`."""

import io
import json
import signal
import subprocess
import sys

import httpx2
import pytest

TEXT = "The cat sat on the mat. The dog saw the cat, and the cat ran away!"


def test_report_is_written_where_it_is_asked_for_the_same_every_time(command, demo_run, tmp_path):
    outcome = command("report", demo_run.folder, "--out", tmp_path / "page.html")
    assert outcome.code == 0
    assert outcome.out.split() == ["report", str(tmp_path / "page.html")]
    assert (tmp_path / "page.html").read_bytes() == (demo_run.folder / "report.html").read_bytes()


def test_look_writes_a_page(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = command("look", TEXT)
    assert (outcome.code, outcome.out.split()) == (0, ["page", "look.html"])
    assert "hs-data" in (tmp_path / "look.html").read_text()


def test_look_as_json_has_pairs_and_focal_tokens(command, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    arguments = ("--file", tmp_path / "text.txt", "--out", tmp_path / "look.html")
    found = json.loads(command("look", *arguments, "--json").out)
    (stack,) = found["stacks"]
    assert stack["tokens"][0] == "[CLS]"
    assert stack["pairs"][0]["layer"] == 1
    assert len(stack["focal"]) == 72


def test_look_reads_standard_input(command, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert command("look", "-", "--out", tmp_path / "look.html", "--quiet").out == ""
    assert (tmp_path / "look.html").is_file()


def test_serve_answers_where_it_says_until_it_is_interrupted():
    script = (
        "import sys; from headscope.cli import main\n"
        "sys.argv = ['headscope', 'serve', '--port', '0']; main()"
    )
    with subprocess.Popen(
        [sys.executable, "-u", "-c", script], stdout=subprocess.PIPE, text=True
    ) as process:
        address = process.stdout.readline().split()[1]
        assert address.startswith("http://127.0.0.1:")
        # It listens already: whoever asks now is answered once it has started.
        assert "hs-question" in httpx2.get(address, timeout=60).text
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("look",), "give a text or --file"),
        (("look", TEXT, "--file", "text.txt"), "one of the two"),
        (("look", "--file", "nowhere.txt"), "nowhere.txt"),
        (("look", "--file", "latin.txt"), "not UTF-8"),
        (("look", ""), "empty"),
        (("look", TEXT, "--pairs", "best"), "is not a rule"),
        (("look", TEXT, "--out", "folder/"), "folder"),
        (("report", "nowhere"), "no run"),
        (("serve", "--port", "99999999"), "--port"),
        (("serve", "--max-tokens", "1"), "max tokens"),
    ],
)
def test_mistakes_take_one_line(command, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 and more")
    outcome = command(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert says in outcome.err
