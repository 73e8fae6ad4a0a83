"""Disks that are full or read-only, and two writers in one folder."""

import contextlib
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import headscope as hs
from tests.faults.subject import assert_nothing_half_written, assert_same_results, wait_for
from tests.faults.test_kills import moments


@contextlib.contextmanager
def mounted(folder: Path, options: str):
    """A file system in memory at `folder`; skips where mounting is not allowed."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a file system is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


@pytest.fixture(scope="module")
def run_bytes(undisturbed) -> int:
    return sum(path.stat().st_blocks * 512 for path in undisturbed.folder.rglob("*"))


@pytest.mark.fault("disk full (a small tmpfs), then space is made")
@pytest.mark.parametrize("seed", moments(1, 5))
def test_a_full_disk_stops_the_run_and_loses_nothing(
    subject, undisturbed, run_bytes, tmp_path, seed
):
    """From next to nothing to nearly enough: texts, shards, untrained models, results."""
    kilobytes = int(run_bytes / 1024 * (0.9 - 0.2 * seed))
    disk = tmp_path / "disk"
    with mounted(disk, f"size={kilobytes}k"):
        said = subject.run(disk / "run")
        assert said.code == 1
        assert said.err.count("\n") == 1, said.err
        assert "StorageError: cannot write" in said.err
        assert "space" in said.err
        remount(disk, "size=1g")
        run = subject.analyse(disk / "run")
        assert_same_results(run, undisturbed)
        assert_nothing_half_written(run)


TINY_FILES = f"""
import resource, signal
signal.signal({int(signal.SIGXFSZ)}, signal.SIG_IGN)
resource.setrlimit({resource.RLIMIT_FSIZE}, (20_000, -1))
"""


@pytest.mark.fault("writes that fail half-way (a limit on the size of files)")
def test_a_write_that_fails_half_way_leaves_no_half_of_a_file(subject, undisturbed, tmp_path):
    out = tmp_path / "run"
    said = subject.run(out, before=TINY_FILES)
    assert said.code == 1
    assert "StorageError: cannot write" in said.err
    assert "Traceback" not in said.err
    assert not list(out.rglob("*.part"))
    assert_same_results(subject.analyse(out), undisturbed)


@pytest.mark.fault("read-only folder")
def test_a_read_only_folder_is_refused_for_writing_and_good_for_reading(
    subject, undisturbed, tmp_path
):
    disk = tmp_path / "disk"
    with mounted(disk, "size=100m"):
        subject.analyse(disk / "run")
        # Without it, the same command would have to look at everything again.
        shutil.copytree(disk / "run", disk / "unfinished")
        (disk / "unfinished" / "finished.json").unlink()
        remount(disk, "ro")
        for out in (disk / "unfinished", disk / "new"):
            said = subject.run(out)
            assert said.code == 1
            assert said.err.count("\n") == 1, said.err
            assert "Read-only file system" in said.err
            assert "out=" in said.err
        # A finished run has nothing to write: the same command answers.
        assert subject.run(disk / "run").code == 0
        run = hs.open_run(disk / "run")
        assert_same_results(run, undisturbed)
        assert run.left_out == []
        assert run.report(tmp_path / "report.html").path.is_file()


@pytest.mark.fault("two processes on one run folder")
@pytest.mark.parametrize("seed", moments(1, 2))
def test_the_second_of_two_processes_is_refused(subject, undisturbed, tmp_path, seed):
    """Started together, so that both come to the folder at about the same time."""
    out = tmp_path / "run"
    both = [subject.start(out) for _ in range(2)]
    ended = [process.wait() for process in both]
    # One may have been so much later that it found a finished run.
    assert any(one.code == 0 for one in ended), ended
    for one in ended:
        if one.code != 0:
            assert "another process is writing" in one.err
            assert one.err.count("\n") == 1
    assert_same_results(hs.open_run(out), undisturbed)


@pytest.mark.fault("a second process while the first one is killed")
def test_a_lock_dies_with_its_process(subject, undisturbed, tmp_path):
    out = tmp_path / "run"
    first = subject.start(out)
    wait_for(first, out / "manifest.json")
    first.signal(signal.SIGSTOP)  # asleep, it still holds the folder
    said = subject.run(out)
    assert "another process is writing" in said.err
    first.signal(signal.SIGKILL)
    first.wait()
    assert_same_results(subject.analyse(out), undisturbed)
