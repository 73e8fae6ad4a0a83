"""Exchanging shards through an object store, for workers that do not see the run folder.

The store holds copies of the manifest and the windows, and shards in transit: a worker fetches its
windows and puts its shard there, and the process with the run folder takes the shard out. Windows
are checked by the checksums of the manifest, shards by those of their receipts.
"""

from contextlib import suppress
from pathlib import Path

from fsspec.core import url_to_fs

from headscope.errors import RunError, SettingsError
from headscope.runs.files import refuse_unwritable
from headscope.runs.manifest import FILE_NAME
from headscope.runs.shards import FILES
from headscope.runs.window_files import window_file

_RECEIPT = "json"


class ShardExchange:
    """A folder of an fsspec file system: s3://bucket/run, gs://..., file:///mnt/run.

    `folder` is always a local folder: the run folder, or one of the worker.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        try:
            self._files, root = url_to_fs(self.url)
        except (ValueError, ImportError) as error:
            raise SettingsError(
                f"via: {url!r} cannot be used: {error}; write PROTOCOL://FOLDER and install "
                "fsspec's package for that protocol"
            ) from error
        self._root = str(root).rstrip("/")

    def put_run(self, folder: Path, numbers: list[int]) -> None:
        """Put what workers need for some shards into the store, the manifest last.

        Args:
            folder: The run folder.
            numbers: Of the shards.
        """
        for number in numbers:
            self._put(folder, window_file(number))
        self._put(folder, FILE_NAME)

    def fetch_manifest(self, folder: Path) -> None:
        """Fetch the manifest into a folder of the worker.

        Args:
            folder: Of the worker.
        """
        self._fetch(folder, FILE_NAME)

    def fetch_windows(self, folder: Path, number: int) -> None:
        """Fetch the windows of a shard into a folder of the worker.

        Args:
            folder: Of the worker.
            number: Of the shard.
        """
        self._fetch(folder, window_file(number))

    def put_shard(self, folder: Path, number: int) -> None:
        """Move a shard from a folder of the worker to the store, the receipt last.

        Args:
            folder: Of the worker.
            number: Of the shard.
        """
        for name in _shard_files(number):
            self._put(folder, name)
            (folder / name).unlink()
        (folder / window_file(number)).unlink()

    def take_shard(self, folder: Path, number: int) -> None:
        """Move a shard from the store into the run folder, the receipt last.

        Args:
            folder: The run folder.
            number: Of the shard.
        """
        for name in _shard_files(number):
            self._fetch(folder, name)
        for name in (*_shard_files(number), window_file(number)):
            with suppress(FileNotFoundError):
                self._files.rm_file(f"{self._root}/{name}")

    def has_shard(self, number: int) -> bool:
        """Whether a shard waits in the store.

        Args:
            number: Of the shard.
        """
        return bool(self._files.exists(f"{self._root}/{_shard_files(number)[-1]}"))

    def _put(self, folder: Path, name: str) -> None:
        target = f"{self._root}/{name}"
        try:
            self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
            self._files.put_file(str(folder / name), target)
        except OSError as error:
            raise RunError(f"cannot write {self.url}/{name}: {error}; check the store") from error

    def _fetch(self, folder: Path, name: str) -> None:
        target = folder / name
        # An interrupted transfer leaves a file whose name belongs to no run.
        part = target.with_name(f".{target.name}.fetched.part")
        try:
            for path in (target, part):
                refuse_unwritable(path, folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            self._files.get_file(f"{self._root}/{name}", str(part))
            part.replace(target)
        except OSError as error:
            raise RunError(f"cannot read {self.url}/{name}: {error}; check the store") from error


def _shard_files(number: int) -> list[str]:
    return [f"shards/{number:05d}.{ending}" for ending in (*FILES, _RECEIPT)]
