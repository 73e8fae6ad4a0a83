"""Names from elsewhere on a terminal: nothing in them is obeyed."""

import json
import shutil

import pytest

from headscope.errors import LONGEST_MESSAGE, RunError
from headscope.runs.manifest import SCHEMA
from headscope.system.terminal import visible, visible_json
from tests.attack.run_forgery import change_json
from tools.keep_run import KEPT

HOSTILE = "BERT\x1b[2J\x1b]0;title\x07\x9b31m\u202egpj\n headscope: all is well"


@pytest.mark.parametrize("place", [("model", "name"), ("corpus", "sources", 0), ("created",)])
def test_info_writes_control_characters_out(tmp_path, command, place):
    run = shutil.copytree(KEPT / f"schema-{SCHEMA}", tmp_path / "run")
    change_json(run / "manifest.json", place, HOSTILE)
    for options in ([], ["--json"]):
        said = command("info", run, *options)
        assert said.code == 0
        assert not set(said.out) & set("\x1b\x07\x9b\u202e")
        assert "x1b" in said.out or "u001b" in said.out
        assert "\n headscope: all is well" not in said.out


def test_json_means_the_same_after_characters_are_written_out():
    values = {"name": HOSTILE, "é": ["你好", "\x7f\u2066"]}
    text = visible_json(values)
    assert json.loads(text) == values
    assert text.isprintable()
    assert "你好" in text


def test_what_people_can_see_stays_as_it_is():
    assert visible("naïve 你好 🙂 a\\b [red]") == "naïve 你好 🙂 a\\b [red]"
    assert visible("a\nb", keep="\n") == "a\nb"


def test_a_message_does_not_quote_a_megabyte():
    error = RunError(f"column {'x' * 1_000_000!r} is of a wrong type; take a whole copy")
    assert len(str(error)) < LONGEST_MESSAGE + 10
    assert str(error).startswith("column 'xxx")
    assert str(error).endswith("take a whole copy")
