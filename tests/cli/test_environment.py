"""Commands where something is missing: a home, memory, room for compiled code, valid names."""

import os
import resource
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest

import headscope as hs
from headscope.cli import app, main
from headscope.errors import RunError, SettingsError
from headscope.kernels.cpu import compile_ahead
from headscope.settings import Settings
from headscope.text.corpus import read_corpus
from tests.faults.seed_files import KEPT


def said_by(capsys, monkeypatch, *arguments):
    """Exit code and standard error of a command."""
    monkeypatch.setattr(sys, "argv", ["headscope", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code, capsys.readouterr().err


@pytest.mark.parametrize("value", ["1" + "0" * 30, "-1" + "0" * 30, "9" * 5000])
@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["analyze"], "--texts"),
        (["analyze"], "--window"),
        (["analyze"], "--nulls"),
        (["analyze"], "--workers"),
        (["serve"], "--max-tokens"),
        (["claims", "run"], "--seed"),
        (["stability", "run"], "--subset"),
    ],
)
def test_numbers_beyond_all_bounds_are_refused_in_one_line(
    capsys, monkeypatch, command, option, value
):
    code, said = said_by(capsys, monkeypatch, *command, f"{option}={value}")
    assert code == 2
    assert option in said
    assert said.count("\n") == 1
    assert len(said) < 5200


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e400"])
def test_numbers_that_are_none_are_refused(capsys, monkeypatch, value):
    for option in ("--attention-threshold", "--gpus-per-worker"):
        code, said = said_by(capsys, monkeypatch, "analyze", f"{option}={value}")
        assert (code, said.count("\n")) == (2, 1)
        assert option in said


def test_the_same_bounds_hold_in_python(tmp_path):
    for options in ({"texts": 10**30}, {"nulls": 10**30}, {"shard_windows": 10**30}):
        with pytest.raises(SettingsError, match="too large"):
            hs.analyze("demo", "demo", out=tmp_path / "run", **options)
    with pytest.raises(SettingsError, match="seed"):
        Settings(seed=10**30)


@pytest.mark.parametrize("command", [["info"], ["segment"], ["analyze", "--corpus"]])
def test_a_path_of_5000_characters_is_refused_in_one_short_line(capsys, monkeypatch, command):
    if command[0] == "analyze":  # the corpus alone: the model is found before it is read
        with pytest.raises(hs.HeadscopeError, match="File name too long") as refused:
            read_corpus(["x" * 5000 + ".txt"])
        assert len(str(refused.value)) < 300
        return
    code, said = said_by(capsys, monkeypatch, *command, "x" * 5000)
    assert code in (1, 2)
    assert said.count("\n") == 1
    assert len(said) < 300


def test_files_named_with_bytes_that_are_no_text_are_read(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/na\xefve.txt"))
    path.write_text("A text of words.")
    for corpus in (path, tmp_path):
        (document,) = read_corpus([corpus])
        assert document.id == "na\\xefve.txt"


def test_a_run_folder_whose_name_cannot_be_is_refused(demo_model, tmp_path):
    for name in (os.fsdecode(b"r\xff"), "x" * 5000):
        with pytest.raises(RunError, match="cannot be the name of a run folder"):
            hs.analyze(demo_model, "demo", texts=1, out=tmp_path / name, progress=False)


@pytest.mark.parametrize("home", [None, "/proc/nothing", "/dev/null"])
def test_without_a_home_compiled_code_goes_to_a_folder_of_our_own(tmp_path, monkeypatch, home):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(compile_ahead.tempfile, "gettempdir", lambda: str(tmp_path))
    if home is None:

        def no_home():
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.setattr(compile_ahead.Path, "home", no_home)
    else:
        monkeypatch.setenv("HOME", home)
    folder = compile_ahead.cache_folder()
    assert folder is not None
    assert folder.is_relative_to(tmp_path)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_code_that_others_could_have_written_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = compile_ahead.cache_folder()
    assert folder is not None
    for place in (folder, folder.parent, folder.parent.parent):
        place.chmod(0o777)
        assert compile_ahead.cache_folder() is None
        place.chmod(0o700)
    elsewhere = tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    assert compile_ahead.cache_folder() is None


def test_two_versions_share_no_compiled_code(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ours = compile_ahead.cache_folder()
    version = compile_ahead.version
    monkeypatch.setattr(
        compile_ahead, "version", lambda name: "0.0.1" if name == "headscope" else version(name)
    )
    assert compile_ahead.cache_folder() != ours


COMPILE = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from headscope.kernels.cpu.jit import decorators
def double(x):
    return x + x
if sys.argv[1] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))
print(decorators.entry(double)(21))
"""


def test_compiled_code_does_without_its_cache(tmp_path):
    """The disk of the cache is full; then its files are damaged; then all is well."""
    script = tmp_path / "script.py"
    script.write_text(COMPILE)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(how):
        command = [sys.executable, script, how]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    def kept():
        return [path for path in (tmp_path / "cache").rglob("*.nb?") if path.stat().st_size]

    full = run("full")
    assert (full.stdout, full.returncode) == ("42\n", 0), full.stderr
    assert run("well").stdout == "42\n"
    assert len(kept()) == 2
    for path in kept():
        path.write_bytes(path.read_bytes()[:-40] + b"x")
    damaged = run("damaged")
    assert (damaged.stdout, damaged.returncode) == ("42\n", 0), damaged.stderr


@pytest.mark.parametrize("megabytes", [40, 150])
def test_too_little_memory_to_be_loaded_is_one_line(megabytes):
    most = megabytes * 2**20
    ended = subprocess.run(
        [sys.executable, "-m", "headscope", "stability", "run"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("headscope: ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("stream", ["1>&-", "2>&-", "0<&-", ">/dev/full", "2>/dev/full", "| true"])
def test_streams_that_are_closed_or_full_give_no_traceback(tmp_path, stream):
    said = tmp_path / "said"
    others = "" if "2" in stream else f" 2>{said}"
    command = f"{sys.executable} -m headscope info {KEPT / 'schema-2'}{others} {stream}"
    subprocess.run(["bash", "-c", command], check=False)
    assert not said.exists() or "Traceback" not in said.read_text()
    assert not said.exists() or "Exception ignored" not in said.read_text()


def test_an_interrupt_in_the_clean_up_of_an_object_is_not_lost(capsys, monkeypatch):
    """Python prints a traceback there, and goes on as if nothing had happened."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs

    class Thing:
        pass

    def command(*arguments, **options):
        thing = Thing()
        reference = weakref.ref(thing, lambda gone: os.kill(os.getpid(), signal.SIGINT))
        del thing
        time.sleep(20)
        return reference

    monkeypatch.setattr(app, "build_app", lambda: command)
    assert said_by(capsys, monkeypatch) == (130, "headscope: interrupted\n")


def test_an_interrupt_while_something_is_opened_gives_no_traceback(capsys, monkeypatch):
    """What is half made cannot always be closed, which Python would tell in many lines."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs

    class HalfMade:
        def __init__(self):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(20)
            self.made = True

        def __del__(self):
            assert self.made

    monkeypatch.setattr(app, "build_app", lambda: lambda *arguments, **options: HalfMade())
    assert said_by(capsys, monkeypatch) == (130, "headscope: interrupted\n")


def test_where_no_thread_can_be_started_a_table_is_not_waited_for(monkeypatch):
    """Arrow would wait for ever for a thread of its own."""

    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", start)
    with pytest.raises(RunError, match="may not start more threads"):
        hs.open_run(KEPT / "schema-3").windows()
