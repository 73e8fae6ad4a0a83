"""The first minutes: what is refused at once, what is found finished, what leaves no trace."""

import json
import os
import subprocess
import sys

import pytest

import headscope as hs
from tests.compare.tiny_bert import TEXTS
from tests.faults.subject import save_model

HEAVY = """
import sys
from headscope.cli import main
try:
    main()
except SystemExit as end:
    heavy = {"torch", "transformers", "numba", "matplotlib"} & set(sys.modules)
    print("HEAVY", *heavy, file=sys.stderr)
    sys.exit(end.code)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """A folder to work in, with a corpus."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return path


@pytest.fixture
def analyze(command, model):
    def run(*arguments):
        quick = ("--min-tokens", 2, "--nulls", 0, "--minimal", "--no-report")
        return command("analyze", "--model", model, *quick, *arguments)

    return run


def in_a_process(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-c", HEAVY, *map(str, arguments)], cwd=cwd, capture_output=True, text=True
    )


def test_the_corpus_may_be_an_argument_and_models_are_shown_by_their_short_name(analyze, corpus):
    outcome = analyze("my.jsonl", "--out", "run")
    assert outcome.code == 0, outcome.err
    assert "tiny, encoder: 6 windows of my.jsonl" in outcome.out
    outcome = analyze("my.jsonl", "--corpus", "my.jsonl")
    assert outcome.code == 0, outcome.err
    assert "12 windows of my.jsonl, my.jsonl" in outcome.out
    assert "runs/tiny-my.jsonl-my.jsonl" in outcome.out


def test_a_finished_run_answers_again_without_torch(analyze, corpus, model, tmp_path):
    first = analyze("my.jsonl", "--out", "run")
    command = ["analyze", "my.jsonl", "--model", model, "--min-tokens", 2, "--nulls", 0]
    command += ["--minimal", "--no-report", "--out", "run"]
    again = in_a_process(*command, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.out
    assert again.stderr.splitlines() == ["run is finished: there is nothing to measure", "HEAVY"]


@pytest.mark.parametrize("change", ["file", "missing file", "corpus", "setting", "model", "report"])
def test_a_finished_run_is_looked_at_again_after_any_change(
    analyze, corpus, tmp_path, change, model, monkeypatch
):
    assert analyze("my.jsonl", "--out", "run").code == 0
    rows = tmp_path / "run" / "shards" / "00000.parquet"
    more = []
    if change == "file":
        rows.write_bytes(rows.read_bytes()[:-1] + b"x")
    elif change == "missing file":
        rows.unlink()
    elif change == "corpus":
        corpus.write_text(corpus.read_text() + '{"text": "One more text, with some words."}\n')
    elif change == "setting":
        more = ["--pairs", "top:0.02"]
    elif change == "model":
        config = model / "tokenizer_config.json"
        before = config.read_text()
        monkeypatch.setattr("headscope.models.source._FILES", ["*.json"])  # other files: other hash
        assert before
    else:
        more = ["--report"]
    outcome = analyze("my.jsonl", "--out", "run", *more)
    assert "nothing to measure" not in outcome.err
    if change in ("corpus", "setting"):
        assert outcome.code == 2
        assert "holds another run" in outcome.err
    else:
        assert outcome.code == 0, outcome.err
        assert "nothing to measure" in analyze("my.jsonl", "--out", "run", *more).err


def test_a_wrong_path_is_refused_without_torch_and_leaves_nothing(corpus, tmp_path):
    ended = in_a_process("analyze", "my.jsonlx", cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.startswith("headscope: no such file or folder: my.jsonlx")
    assert ended.stderr.splitlines()[-1] == "HEAVY"
    assert [path.name for path in tmp_path.iterdir()] == ["my.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["table.csv"], "no column 'text'"),
        (["my.jsonl", "--out", "file"], "is a file"),
        (["my.jsonl", "--min-tokens", 100], "none with 100 tokens"),
        (["damaged.jsonl"], "line 2"),
        (["empty.txt"], "no text"),
    ],
)
def test_a_mistake_leaves_no_folder_behind(analyze, corpus, tmp_path, arguments, says):
    (tmp_path / "table.csv").write_text("body\nSome words.\n")
    (tmp_path / "file").write_text("")
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "damaged.jsonl").write_text(
        corpus.read_text()[:100].split("\n")[0] + "\n{damaged\n"
    )
    before = sorted(tmp_path.rglob("*"))
    outcome = analyze(*arguments)
    assert outcome.code == 2
    assert says in outcome.err
    assert sorted(tmp_path.rglob("*")) == before


def test_after_a_mistake_a_finished_run_has_no_failure(analyze, command, corpus):
    damaged = corpus.read_text() + "{damaged\n"
    good = corpus.read_text()
    corpus.write_text(damaged)
    assert analyze("my.jsonl", "--out", "run").code == 2
    corpus.write_text(good)
    assert analyze("my.jsonl", "--out", "run").code == 0
    facts = json.loads(command("info", "run", "--json").out)
    assert (facts["state"], facts["failures"]) == ("finished", "none")


def test_an_empty_folder_of_the_user_stays(analyze, corpus, tmp_path):
    (tmp_path / "mine").mkdir()
    corpus.write_text(corpus.read_text() + "{damaged\n")
    assert analyze("my.jsonl", "--out", "mine").code == 2
    assert list((tmp_path / "mine").iterdir()) == []


def test_skipped_files_and_fewer_windows_than_asked_are_mentioned(analyze, corpus, tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text(" ".join(TEXTS))
    for name in ("b.docx", "c.docx", "d.PDF", ".hidden.docx"):
        (folder / name).write_bytes(b"PK")
    outcome = analyze("texts", "--texts", 50, "--out", "run", "--window", 32)
    assert outcome.code == 0, outcome.err
    assert "3 files are of no known format and skipped (2 .docx, 1 .pdf)" in outcome.err
    windows = hs.open_run("run").manifest.corpus.windows
    assert f"the corpus has {windows} windows, fewer than the 50 asked for" in outcome.err


def test_errors_name_the_remedy_of_the_place(command, model, corpus, tmp_path):
    (tmp_path / "file").write_text("")
    assert "choose a folder with --out" in command("analyze", "--out", "file").err
    with pytest.raises(hs.HeadscopeError, match="choose a folder with out="):
        hs.analyze(model, corpus, out="file")
    long = "word " * 600
    assert "pass --window 128" in command("look", long, "--model", model).err
    with pytest.raises(hs.HeadscopeError, match="pass window=128"):
        hs.look(model, long)


def test_completion_is_installed_and_completes(tmp_path):
    environment = os.environ | {"HOME": str(tmp_path)}
    script = "import sys; sys.argv[0] = 'headscope'; from headscope.cli import main; main()"
    base = [sys.executable, "-c", script]
    # The shell is the one that the command is given in, whichever started this test.
    shell = ["bash", "-c", '"$0" "$@"; exit $?', *base, "--install-completion"]
    done = subprocess.run(shell, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "headscope" in (tmp_path / ".bashrc").read_text()
    asked = {
        "_HEADSCOPE_COMPLETE": "complete_bash",
        "COMP_WORDS": "headscope an",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(base, env=environment | asked, capture_output=True, text=True)
    assert done.stdout.split() == ["analyze"]


def test_a_reader_that_has_seen_enough_ends_a_command_quietly(demo_run):
    shell = (
        f"{sys.executable} -m headscope info {demo_run.folder} | head -1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"
