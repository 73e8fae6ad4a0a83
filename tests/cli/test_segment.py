"""`headscope segment` and `segment-eval`: what is printed where, and what is refused."""

import gzip
import io
import json
import sys

import pytest

from tests.cli.test_bad_input import assert_refused

TEXT = "It rained all day. We stayed\nat home! Nobody called."

CONLLU = """\
# newdoc id = a
# text = It rained.
1\tIt\tit\tPRON\t_\t_\t2\tnsubj\t_\t_
2\trained\train\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

# text = We stayed.
1\tWe\twe\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tstayed\tstay\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def test_sentences_one_a_line_and_the_mode_on_standard_error(command, text_file):
    outcome = command("segment", text_file)
    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        "It rained all day.",
        "We stayed at home!",
        "Nobody called.",
    ]
    assert "mode: punctuated" in outcome.err
    assert command("segment", text_file, "--quiet").err == ""


def test_json_has_the_very_text_and_its_place(command, text_file):
    rows = [json.loads(line) for line in command("segment", text_file, "--json").out.splitlines()]
    assert "".join(row["text"] for row in rows) == TEXT
    assert all(TEXT[row["start"] : row["end"]] == row["text"] for row in rows)


def test_standard_input_and_gzip_are_read(command, tmp_path, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(TEXT.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    lines = command("segment", "-", "-q").out
    (tmp_path / "text.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert command("segment", tmp_path / "text.txt.gz", "-q").out == lines


def test_a_number_of_segments_and_topics(command, text_file):
    assert len(command("segment", text_file, "--n-segments", 2).out.splitlines()) == 2
    assert command("segment", text_file, "--by", "topic").code == 0


def test_chunks_keep_their_limit_and_say_their_tokens(command, text_file):
    rows = command("segment", text_file, "--max-tokens", 8, "--json", "-q").out.splitlines()
    chunks = [json.loads(row) for row in rows]
    assert "".join(chunk["text"] for chunk in chunks) == TEXT
    assert max(chunk["tokens"] for chunk in chunks) <= 8
    assert len(command("segment", text_file, "--max-tokens", 99, "-q").out.splitlines()) == 1


def test_an_unknown_language_is_warned_about(command, tmp_path):
    german = "Niemand sagte uns etwas, und wir warteten wieder eine Stunde am Bahnsteig. " * 3
    (tmp_path / "german.txt").write_text(german)
    outcome = command("segment", tmp_path / "german.txt")
    assert "warning: the weights do not know the language" in outcome.err
    assert len(outcome.out.splitlines()) == 3
    assert command("segment", tmp_path / "german.txt", "-q").err == ""
    bare = german.replace(",", "").replace(".", "").lower()
    (tmp_path / "bare.txt").write_text(bare)
    for options in ((), ("--by", "topic"), ("--max-tokens", 40)):
        outcome = command("segment", tmp_path / "bare.txt", *options)
        assert "mode: unpunctuated" in outcome.err
        assert "warning: the weights do not know the language" in outcome.err


def test_progress_has_a_total_where_the_size_is_known(command, tmp_path, monkeypatch):
    from headscope.system import progress

    seen = []

    class Watched(progress.Progress):
        def stage(self, name, total=None, done=0):
            seen.append([name, total, 0])

        def advance(self, steps=1):
            seen[-1][2] += steps

    monkeypatch.setattr(progress, "ProgressBars", Watched)
    (tmp_path / "text.txt").write_text(TEXT + " Déjà vu.")
    (tmp_path / "text.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    for name in ("text.txt", "text.txt.gz"):
        assert command("segment", tmp_path / name).code == 0
    size = (tmp_path / "text.txt").stat().st_size
    assert seen == [["bytes", size, size], ["characters", None, len(TEXT)]]


def test_markdown_is_told_by_its_name_and_can_be_asked_for(command, tmp_path):
    text = "- one. Two\n- three\n"
    for name in ("list.md", "list.txt"):
        (tmp_path / name).write_text(text)
    assert command("segment", tmp_path / "list.md", "-q").out.splitlines() == [
        "- one. Two",
        "- three",
    ]
    asked = command("segment", tmp_path / "list.txt", "-q", "--format", "markdown").out
    assert asked.splitlines() == ["- one. Two", "- three"]


def test_an_empty_file_has_no_segments(command, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    outcome = command("segment", tmp_path / "empty.txt")
    assert (outcome.code, outcome.out) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nowhere.txt"], "nowhere.txt"),
        (["."], "folder"),
        (["{file}", "--by", "chapter"], "sentence, topic"),
        (["{file}", "--threshold", "2"], "threshold"),
        (["{file}", "--mode", "shouted"], "unpunctuated"),
        (["{file}", "--weights", "nowhere"], "segmenter.json"),
        (["{file}", "--overlap", "9"], "--max-tokens"),
        (["{file}", "--format", "html"], "auto, text, markdown"),
        (["{file}", "--max-tokens", "0"], "max_tokens: 0"),
        (["{file}", "--max-tokens", "9", "--tokenizer", "nowhere.json"], "nowhere.json"),
    ],
)
def test_mistakes_are_refused(command, text_file, arguments, named):
    given = [argument.format(file=text_file) for argument in arguments]
    assert_refused(command("segment", *given, "-q"), named)


def test_damaged_text_is_refused_with_its_place(command, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"fine so far \xe9 not UTF-8")
    outcome = command("segment", tmp_path / "bad.txt", "-q")
    assert_refused(outcome, "UTF-8", "position 12")


def test_evaluation_of_sentences(command, tmp_path):
    (tmp_path / "gold.conllu").write_text(CONLLU)
    rows = json.loads(command("segment-eval", tmp_path / "gold.conllu", "--json", "-q").out)
    best = {(row["condition"], row["method"]): row["f1"] for row in rows}
    assert best["as written", "nupunkt"] == 1
    assert ("as written", "headscope") in best
    assert best["bare", "punctuation"] == 0
    table = command("segment-eval", tmp_path / "gold.conllu", "-q").out
    assert "headscope" in table
    assert "lower is better" in table


def test_evaluation_of_topics(command):
    arguments = ("segment-eval", "demo", "--by", "topic", "-n", 1, "--passages", 3)
    rows = json.loads(command(*arguments, "--passage", "4,6", "--json", "-q").out)
    methods = {row["method"]: row for row in rows}
    assert methods["none"]["segments"] == 1
    assert 0 <= methods["headscope"]["pk"] <= 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["demo"], "gold"),
        (["demo", "--by", "page"], "sentence, topic"),
        (["demo", "--by", "topic", "--passage", "9"], "MIN,MAX"),
        (["demo", "--by", "topic", "--passages", "999"], "passages"),
        (["demo", "-n", "0"], "texts"),
    ],
)
def test_evaluations_that_cannot_be_are_refused(command, arguments, named):
    assert_refused(command("segment-eval", *arguments, "-q"), named)
