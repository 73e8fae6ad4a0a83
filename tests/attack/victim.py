"""The victim: a tree of files that no attack may touch, and how to see that none did."""

import hashlib
import os
import stat
from pathlib import Path

DEVICES = Path("/dev")
FILES = {
    "thesis.txt": b"Years of work.\n",
    "untrained-0/thesis.txt": b"What a link once deleted.\n",
    "shards/00000.json": b"{}",
    "windows/00000.parquet": b"PAR1",
    "model.safetensors": b"weights",
    ".hidden/key": b"secret",
}


def make_victim(folder: Path) -> Path:
    """The tree, made if it is not there."""
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(content)
            os.utime(path, (1_000_000_000, 1_000_000_000))
    return folder


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Kind, size, time of change and hash of everything below a folder, by name."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [folder, *folder.rglob("*")]:
        status = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        times = (status.st_mtime_ns, status.st_mode)
        size = status.st_size if digest else 0
        found[str(path.relative_to(folder))] = (size, *times, digest)
    return found


def devices() -> dict[str, tuple[object, ...]]:
    """Kind and number of everything in /dev, by name: an attack as root could replace them."""
    found: dict[str, tuple[object, ...]] = {}
    for path in DEVICES.iterdir() if DEVICES.is_dir() else ():
        status = path.lstat()
        found[str(path)] = (stat.S_IFMT(status.st_mode), status.st_rdev)
    return found
