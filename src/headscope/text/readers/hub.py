"""Datasets of the Hugging Face hub, streamed: hf:NAME[/CONFIG][:SPLIT]."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headscope.errors import CorpusError, in_one_line
from headscope.text.document import Document
from headscope.text.readers.columns import Columns
from headscope.text.readers.source_file import SourceFile

HUB_PREFIX = "hf:"


@dataclass(frozen=True, slots=True)
class HubDataset:
    """Which dataset is meant."""

    name: str
    """`owner/name` on the hub, a bare `name`, or a local folder."""
    config: str | None
    split: str


def parse_hub_source(source: str) -> HubDataset:
    """The dataset that `hf:NAME[/CONFIG][:SPLIT]` names; the split is "train" unless given.

    NAME has one slash (owner/name) before a config is read: `hf:owner/name/config:test`.
    A folder of this machine may stand for NAME, without a config.
    """
    name, _, split = source.removeprefix(HUB_PREFIX).partition(":")
    if not name:
        raise CorpusError(f"{source!r} names no dataset; write hf:NAME[/CONFIG][:SPLIT]")
    config = None
    if not Path(name).is_dir() and name.count("/") > 1:
        owner, name, config = name.split("/", 2)
        name = f"{owner}/{name}"
    return HubDataset(name, config, split or "train")


def read_hub(dataset: HubDataset, columns: Columns) -> Iterator[Document]:
    """The documents of a dataset, in order, fetched while they are read."""
    try:
        from datasets import load_dataset
    except ImportError:
        raise CorpusError(
            "reading a hub dataset needs the datasets library: pip install 'headscope[datasets]'"
        ) from None
    where = f"dataset {dataset.name} ({dataset.split})"
    source_name = f"{Path(dataset.name).name}:{dataset.split}"
    rows = None
    number = 0
    _check_local_files(Path(dataset.name))
    try:
        rows = load_dataset(dataset.name, dataset.config, split=dataset.split, streaming=True)
        for number, row in enumerate(rows, start=1):
            yield columns.document(
                row, where=f"{where} row {number}", default_id=f"{source_name}:{number}"
            )
    except CorpusError:
        raise
    # The library lets through whatever the network, its file formats and its cache raise.
    except Exception as error:
        reason = in_one_line(error)
        raise CorpusError(
            f"cannot read {where}: {reason}; check the name, the split and the network"
        ) from error


def _check_local_files(folder: Path) -> None:
    """Pass the files of a local folder through the gate, since the library opens them by itself."""
    if folder.is_dir():
        for path in folder.rglob("*"):
            if not path.is_dir():
                SourceFile.at(path, within=folder).check()
