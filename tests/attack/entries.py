"""What stands in a hostile folder where a file should be, and somebody's files beside it."""

import contextlib
import hashlib
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

from headscope.errors import HeadscopeError

LINKS = ("same", "file", "folder", "nowhere", "/dev/zero", "itself", "hard")
"""What a link may lead to."""
ENTRIES = ("pipe", "socket", "device", "folder", "file", "empty file", "full folder")


def victim_beside(run: Path) -> Path:
    """Somebody's files, with names that a run has, too."""
    victim = run.parent / "victim"
    for name in ("untrained-0/thesis.txt", "00000.parquet", "00000.json", "manifest.json"):
        (victim / name).parent.mkdir(parents=True, exist_ok=True)
        (victim / name).write_text(f"precious: {name}")
    (victim / ".x.0123456789abcdef.part").write_text("precious, though it looks half-written")
    shutil.copytree(run, victim / "run", symlinks=True)
    return victim


def content_of(folder: Path) -> dict[str, object]:
    """Mode, time of change and hash of everything below a folder, by name."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, content)
    return found


def put_link(run: Path, name: str, target: str) -> None:
    """A link in place of a file or folder of a run.

    Args:
        run: Its folder, with a victim beside it.
        name: Of the file or folder in it.
        target: One of `LINKS`.
    """
    path, victim = run / name, run.parent / "victim"
    kept = path.is_dir()
    remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    match target:
        case "same":
            path.symlink_to(victim / "run" / name)
        case "file":
            path.symlink_to(victim / "untrained-0" / "thesis.txt")
        case "folder":
            path.symlink_to(os.path.relpath(victim, path.parent), target_is_directory=True)
        case "nowhere":
            path.symlink_to(victim / "new")
        case "itself":
            path.symlink_to(path)
        case "hard" if not kept and name in ("log.jsonl", ".lock", "report.html", "study.json"):
            path.hardlink_to(victim / "untrained-0" / "thesis.txt")
        case _:
            path.symlink_to("/dev/zero")


def put_entry(path: Path, kind: str) -> None:
    """Something else in place of a file or folder.

    Args:
        path: The file or folder, there or not.
        kind: One of `ENTRIES`.
    """
    remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            # The path of a socket has at most 107 characters.
            with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as made:
                made.bind(path.name)
        case "device" if os.geteuid() == 0:
            os.mknod(path, 0o600 | 0o020000, os.makedev(1, 5))
        case "file" | "empty file" | "device":
            path.write_bytes(b"" if kind == "empty file" else b"thesis")
        case "folder":
            path.mkdir()
        case _:
            path.mkdir()
            (path / "thesis.txt").write_text("precious")


def remove(path: Path) -> None:
    """Delete a file, a link, or a folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def in_one_line(attack: Callable[[], None]) -> None:
    """Attack; an error that is no short line for users becomes an AssertionError."""
    try:
        attack()
    except HeadscopeError as error:
        if "\n" in str(error) or len(str(error)) >= 2000:
            raise AssertionError(f"not one line: {str(error)[:300]!r}") from error
        raise
