"""Every mistake: one line that says what, where and what next, exit code 2, nothing overwritten."""

import io
import json
import sys

import pytest

from headscope.text.demo import read_demo

TEXT = "A sentence of some words that is long enough to be kept. And here is another one of them."


def assert_refused(outcome, *parts: str) -> None:
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("headscope: ")
    assert outcome.err.count("\n") == 1, outcome.err
    assert "Traceback" not in outcome.err
    for part in parts:
        assert part in outcome.err


@pytest.fixture
def analyze(command, tmp_path, monkeypatch):
    """`headscope analyze` into a folder of the test, which must hold no result afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "good.txt").write_text(TEXT * 5)

    def run(*arguments: object):
        outcome = command("analyze", "--out", tmp_path / "run", *arguments)
        assert not (tmp_path / "run" / "results.nc").exists()
        assert not (tmp_path / "run" / "manifest.json").exists()
        return outcome

    return run


def test_an_empty_corpus(analyze, tmp_path):
    (tmp_path / "empty.txt").write_text("  \n")
    assert_refused(analyze("--corpus", "empty.txt"), "no text", "empty.txt")


def test_an_empty_folder(analyze, tmp_path):
    (tmp_path / "folder").mkdir()
    assert_refused(analyze("--corpus", "folder"), "folder", ".txt")


def test_empty_standard_input(analyze, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert_refused(analyze("--corpus", "-"), "no text")


def test_a_file_that_is_not_there(analyze):
    assert_refused(analyze("--corpus", "no/such/file.txt"), "no such file", "no/such/file.txt")


def test_a_file_of_unknown_kind(analyze, tmp_path):
    (tmp_path / "slides.pptx").write_bytes(b"PK\3\4")
    assert_refused(analyze("--corpus", "slides.pptx"), "slides.pptx", ".jsonl")


def test_a_binary_file(analyze, tmp_path):
    (tmp_path / "binary.txt").write_bytes(b"some words\n\0\1\2\3")
    assert_refused(analyze("--corpus", "binary.txt"), "binary.txt", "binary file", "byte 11")


def test_invalid_utf_8_with_its_position(analyze, tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"first line\ncaf\xe9 and more")
    assert_refused(analyze("--corpus", "latin.txt"), "UTF-8", "position 14", "line 2")


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_missing_column_with_the_columns_there_are(analyze, tmp_path, kind):
    rows = {"jsonl": json.dumps({"title": "a", "body": TEXT}), "csv": "title,body\na,b"}
    (tmp_path / f"table.{kind}").write_text(rows[kind] + "\n")
    outcome = analyze("--corpus", f"table.{kind}", "--text-column", "words")
    assert_refused(outcome, "words", "title", "body")


def test_texts_that_are_all_shorter_than_the_minimum(analyze, tmp_path):
    (tmp_path / "short.jsonl").write_text('{"text": "Too short."}\n' * 3)
    assert_refused(analyze("--corpus", "short.jsonl"), "3 documents", "--min-tokens")


def test_a_model_that_nobody_has(analyze):
    outcome = analyze("--corpus", "good.txt", "--model", "nobody/has-this-model")
    assert_refused(outcome, "nobody/has-this-model", "demo")


def test_a_model_folder_that_is_not_there(analyze):
    assert_refused(analyze("--corpus", "good.txt", "--model", "./nowhere"), "./nowhere")


def test_a_folder_that_is_not_a_model(analyze, tmp_path):
    (tmp_path / "folder").mkdir()
    outcome = analyze("--corpus", "good.txt", "--model", tmp_path / "folder")
    assert_refused(outcome, "folder", "config.json")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--pairs", "best:3"], "top:SHARE"),
        (["--pairs", "top:0"], "top:0"),
        (["--similarity", "euclid"], "raw, centred, cosine"),
        (["--layers", "0"], "layers"),
        (["--layers", "one"], "layers"),
        (["--layers", "7"], "layers 1 to 6"),
        (["--texts", "0"], "texts"),
        (["--texts", "many"], "--texts"),
        (["--window", "100000"], "at most 512"),
        (["--window", "2"], "too short"),
        (["--min-tokens", "500"], "500"),
        (["--attention-threshold", "2"], "attention threshold"),
        (["--nulls", "-1"], "nulls"),
        (["--batch-tokens", "0"], "batch tokens"),
        (["--dtype", "int8"], "int8"),
        (["--device", "abacus"], "abacus"),
        (["--colour", "red"], "--colour"),
    ],
)
def test_options_that_mean_nothing(analyze, arguments, named):
    assert_refused(analyze("--corpus", "good.txt", *arguments), named)


def test_a_folder_with_another_run_is_left_alone(command, demo_run):
    def files():
        return {p: p.read_bytes() for p in demo_run.folder.rglob("*") if p.is_file()}

    before = files()
    outcome = command("analyze", "--out", demo_run.folder, "--texts", 5)
    assert_refused(outcome, "holds another run", "texts: 12 / 5", "--out")
    assert files() == before


def test_a_folder_with_other_peoples_files_is_left_alone(command, tmp_path):
    (tmp_path / "thesis.docx").write_text("years of work")
    assert_refused(command("analyze", "--out", tmp_path), "thesis.docx", "--out")
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.docx"]


def test_a_file_in_the_place_of_the_folder_is_left_alone(command, tmp_path):
    (tmp_path / "file").write_text("content")
    assert_refused(command("analyze", "--out", tmp_path / "file"), "is a file")
    assert (tmp_path / "file").read_text() == "content"


@pytest.mark.parametrize("content", [b"", b"{", b'{"schema": 1}', b'{"schema": 99}', b"\xff\xfe"])
def test_a_damaged_manifest(command, tmp_path, content):
    (tmp_path / "manifest.json").write_bytes(content)
    assert_refused(command("info", tmp_path), "manifest.json")
    assert_refused(command("analyze", "--out", tmp_path), "manifest.json")
    assert (tmp_path / "manifest.json").read_bytes() == content


def test_a_run_that_is_not_there(command, tmp_path):
    assert_refused(command("info", tmp_path / "nowhere"), "nowhere", "analyze")
    assert_refused(command("info", tmp_path), "is not a run", "analyze")
    assert_refused(command("merge", tmp_path, tmp_path / "b", "--out", tmp_path / "c"), "not a run")


def test_a_merge_of_one(command, demo_run, tmp_path):
    assert_refused(command("merge", demo_run.folder, "--out", tmp_path / "out"), "two runs")


def test_a_command_that_is_none(command):
    assert_refused(command("analyse"), "analyse", "--help")


def test_after_a_mistake_the_same_folder_can_be_used(command, analyze, tmp_path):
    """What a refused run leaves behind (a lock, perhaps windows) is in nobody's way."""
    (tmp_path / "mixed.jsonl").write_text(json.dumps({"text": TEXT * 9}) + "\n" + "{damaged\n")
    assert_refused(analyze("--corpus", "mixed.jsonl"), "mixed.jsonl", "line 2")
    document = next(read_demo())
    (tmp_path / "mixed.jsonl").write_text(json.dumps({"text": document.text}) + "\n")
    outcome = command(
        *("analyze", "--out", tmp_path / "run", "--corpus", "mixed.jsonl"),
        *("--texts", 2, "--layers", 1, "--nulls", 0),
    )
    assert outcome.code == 0
