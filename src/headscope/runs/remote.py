"""Runs at an address that fsspec knows (s3://, hf://, https://, memory://): fetched, to be read.

Which files a run has follows from its manifest, so nothing is listed, and no name that the other
side makes up is believed. The sums of shards, which only merging needs, are left where they are.
"""

import re
import shutil
import weakref
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headscope.errors import RunError, in_one_line, shortened
from headscope.runs.files import write_whole
from headscope.runs.manifest import FILE_NAME as MANIFEST
from headscope.runs.manifest import Manifest
from headscope.runs.window_files import window_file

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/{1,3}(.*)", re.DOTALL)
"""At least two letters before the colon: `C:/` is a drive. Paths lose one of two slashes."""
_ROOTED = ("file", "local")
"""Protocols whose addresses are paths from the root."""
_MOST_SEEDS = 1000


def remote_address(folder: str | Path) -> str | None:
    """The address of a run that is not a folder of this machine; None for a folder.

    >>> remote_address("s3://bucket/runs/demo"), remote_address(Path("s3://bucket/runs/demo"))
    ('s3://bucket/runs/demo', 's3://bucket/runs/demo')
    >>> remote_address("runs/demo")

    Args:
        folder: As the user gave it.
    """
    match = _ADDRESS.fullmatch(str(folder))
    if match is None or Path(folder).is_dir():
        return None
    protocol, rest = match.groups()
    return f"{protocol}://{'/' if protocol in _ROOTED else ''}{rest.rstrip('/')}"


def fetch_run(address: str) -> TemporaryDirectory[str]:
    """A copy of a run, in a folder that is deleted when nobody uses it any more.

    Args:
        address: From `remote_address`.
    """
    store = _store(address)
    copy = TemporaryDirectory(prefix="headscope-run-")
    # Deleted without a warning: nobody can close what a run keeps for as long as it is used.
    copy._finalizer.detach()  # type: ignore[attr-defined]
    weakref.finalize(copy, shutil.rmtree, copy.name, ignore_errors=True)
    folder = Path(copy.name)
    try:
        if not _fetch(store, address, folder, MANIFEST):
            raise RunError(f"no run at {shortened(address)}: it has no {MANIFEST}; check it")
        for name in _names(Manifest.read(folder)):
            _fetch(store, address, folder, name)
        for seed in range(_MOST_SEEDS):
            null = f"nulls/untrained-{seed}"
            if not _fetch(store, address, folder, f"{null}/{MANIFEST}"):
                break
            for name in _names(Manifest.read(folder / null, within=folder)):
                _fetch(store, address, folder, f"{null}/{name}")
    except BaseException:
        copy.cleanup()
        raise
    return copy


def _names(manifest: Manifest) -> Iterator[str]:
    """The files of a run besides its manifest, whether it has them or not."""
    yield from ("results.nc", "results.json", "examples.parquet", "log.jsonl")
    yield from (f"robustness/{name}.parquet" for name in ("heads", "layers", "attention"))
    yield from ("robustness/receipt.json", "signal/sums.safetensors", "signal/receipt.json")
    for number in range(manifest.shards):
        yield window_file(number)
        yield from (f"shards/{number:05d}.{ending}" for ending in ("json", "parquet"))


def _store(address: str) -> Any:
    import fsspec

    try:
        return fsspec.core.url_to_fs(address)[0]
    except (ValueError, ImportError) as error:
        raise RunError(f"cannot open {shortened(address)}: {in_one_line(error)}") from error


def _fetch(store: Any, address: str, folder: Path, name: str) -> bool:
    """Copy a file of a run; False if there is none."""
    try:
        content = store.cat_file(f"{address}/{name}")
    except FileNotFoundError:
        return False
    # Each protocol has errors of its own.
    except Exception as error:
        raise RunError(
            f"cannot read {name} of {shortened(address)}: {in_one_line(error)}; check the address, "
            "and your rights there"
        ) from error
    write_whole(folder / name, content, within=folder)
    return True
