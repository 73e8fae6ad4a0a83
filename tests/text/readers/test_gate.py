"""Every reader opens its file through the gate: what it reads is what the gate opened."""

import gzip
import os
import signal
import socket

import pytest

from headscope.errors import CorpusError
from headscope.text.corpus import read_corpus
from headscope.text.readers import file_endings, source_file
from tests.faults.seed_files import SEEDS

ENDINGS = [ending + packed for ending in file_endings() for packed in ("", ".gz")]


def good_file(folder, ending):
    folder.mkdir(exist_ok=True)
    path = folder / f"corpus{ending}"
    content = SEEDS[ending.removesuffix(".gz")][0]
    path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    return path


@pytest.fixture(autouse=True)
def no_waiting():
    """A reader that waits for a pipe is interrupted."""

    def stop(*_):
        raise TimeoutError("a reader waits")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(20)
    yield
    signal.alarm(0)


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_a_reader_reads_is_what_the_gate_opened(tmp_path, monkeypatch, ending):
    """The gate is given another file than the one that is named: no reader may read that one."""
    wanted = list(read_corpus([good_file(tmp_path / "other", ending)]))
    named = tmp_path / f"corpus{ending}"
    named.write_bytes(b"\xff what a reader sees that opens the path by itself")
    opened = source_file.open_untrusted
    monkeypatch.setattr(
        source_file,
        "open_untrusted",
        lambda path, **options: opened(tmp_path / "other" / path.name, **options),
    )
    assert list(read_corpus([named])) == wanted


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("in_folder", [False, True])
def test_a_pipe_is_refused_by_name_and_not_waited_for(tmp_path, ending, in_folder):
    path = tmp_path / f"corpus{ending}"
    os.mkfifo(path)
    with pytest.raises(CorpusError, match=f"corpus{ending} is not a regular file"):
        read_corpus([tmp_path if in_folder else path])


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_link_in_a_folder_is_refused_and_one_that_is_named_is_followed(tmp_path, ending):
    target = good_file(tmp_path / "elsewhere", ending)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / target.name).symlink_to(target)
    with pytest.raises(CorpusError, match=r"links inside .* are not followed"):
        read_corpus([folder])
    assert list(read_corpus([folder / target.name])) == list(read_corpus([target]))


def test_devices_and_sockets_are_refused(tmp_path, monkeypatch):
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.txt")
    for name in ("zero.txt", "socket.txt"):
        with pytest.raises(CorpusError, match=name):
            list(read_corpus([name]))
