import os
from pathlib import Path

import pytest

from headscope.errors import RunError
from headscope.runs.files import sha256_of, write_whole


def test_what_was_written_is_what_the_hash_says(tmp_path):
    path = tmp_path / "deep" / "file"
    digest = write_whole(path, b"some bytes")
    assert path.read_bytes() == b"some bytes"
    assert sha256_of(path) == digest


def test_a_write_that_fails_leaves_the_old_file_and_no_remains(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("path", [".", "/", ""])
def test_a_folder_is_no_file_to_write(path):
    with pytest.raises(RunError, match="it is a folder; name a file"):
        write_whole(Path(path), b"content")


def test_a_pipe_is_not_replaced_by_a_file(tmp_path):
    """As root, a device would be: `--out /dev/null`."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RunError, match="no regular file"):
        write_whole(tmp_path / "pipe", b"content")
    assert (tmp_path / "pipe").is_fifo()
