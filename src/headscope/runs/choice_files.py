"""robustness/: the sample of a run under every analysis choice, as three Parquet tables.

robustness/heads.parquet       a row per window, stack, layer, head, similarity and pair rule
robustness/layers.parquet      the same with the heads of a layer added up
robustness/attention.parquet   a row per window, stack, layer and attention threshold
robustness/receipt.json        the SHA-256 of each, the run, and the windows of the sample
"""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from headscope.errors import RunError, in_one_line
from headscope.runs.files import is_there, read_bytes, read_json, write_whole
from headscope.runs.manifest import Manifest
from headscope.runs.parquet_files import read_bounded
from headscope.runs.sample_receipt import RECEIPT, receipt_holds
from headscope.settings import SIMILARITY_VARIANTS, SWEEP_ATTENTION
from headscope.system.untrusted import UntrustedFileError

FOLDER = "robustness"
HEADS, LAYERS, ATTENTION = "heads.parquet", "layers.parquet", "attention.parquet"
FILES = (HEADS, LAYERS, ATTENTION)

Cells = dict[str, NDArray[np.float32]]
"""Columns of one stack, of shape (window, head of any layer, ...) or (window, layer, ...)."""


@dataclass(frozen=True, eq=False)
class ChoiceTables:
    """The sample of a run under every choice."""

    windows: NDArray[np.int64]
    """The numbers of the windows in the run."""
    similarities: tuple[str, ...]
    rules: tuple[str, ...]
    thresholds: tuple[float, ...]
    heads: Mapping[str, Cells]
    """By stack, of shape (window, head, similarity, rule)."""
    layers: Mapping[str, Cells]
    """By stack, of shape (window, layer, similarity, rule)."""
    attention: Mapping[str, Cells]
    """By stack, of shape (window, layer, threshold)."""


def write_choices(folder: Path, manifest: Manifest, tables: ChoiceTables, *, within: Path) -> None:
    """Write the tables of a run.

    Args:
        folder: The run folder.
        manifest: Of the run.
        tables: What was measured.
        within: The outermost run folder: `folder`, or the one that it lies in.
    """
    by_choice = {"similarity": tables.similarities, "pair_rule": tables.rules}
    by_threshold = {"attention_threshold": tables.thresholds}
    files = {
        HEADS: _table(manifest, tables.windows, tables.heads, by_choice, per_head=True),
        LAYERS: _table(manifest, tables.windows, tables.layers, by_choice, per_head=False),
        ATTENTION: _table(manifest, tables.windows, tables.attention, by_threshold, per_head=False),
    }
    receipt: dict[str, object] = {"run": manifest.digest, "windows": tables.windows.tolist()}
    for name, table in files.items():
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd")
        receipt[name] = write_whole(folder / FOLDER / name, buffer.getvalue(), within=within)
    receipt |= {
        "similarities": list(tables.similarities),
        "rules": list(tables.rules),
        "thresholds": list(tables.thresholds),
    }
    write_whole(folder / FOLDER / RECEIPT, json.dumps(receipt).encode(), within=within)


def choices_are_whole(
    folder: Path,
    manifest: Manifest,
    windows: Sequence[int] | NDArray[np.int64],
    *,
    within: Path,
) -> bool:
    """Whether the tables of these windows are there, unchanged, and of this run.

    Args:
        folder: The run folder.
        manifest: Of the run.
        windows: The numbers of the windows that they should have.
        within: The outermost run folder: `folder`, or the one that it lies in.
    """
    return receipt_holds(folder / FOLDER, FILES, manifest, windows, within=within)


def read_choices(folder: Path, manifest: Manifest, *, within: Path) -> ChoiceTables | None:
    """The tables of a run, once they are shown to fit its manifest; None where there are none.

    Args:
        folder: The run folder.
        manifest: Of the run.
        within: The outermost run folder: `folder`, or the one that it lies in.
    """
    home = folder / FOLDER
    if not is_there(home / RECEIPT, within=within):
        return None
    again = "delete that folder and run the same analyze command again"
    try:
        receipt = read_json(home / RECEIPT, within=within)
        if receipt.get("run") != manifest.digest:
            raise ValueError("it belongs to another run")
        content = {name: read_bytes(home / name, within=within) for name in FILES}
        for name, data in content.items():
            if sha256(data).hexdigest() != receipt.get(name):
                raise ValueError(f"{name} is damaged")
        windows = _sampled_windows(receipt.get("windows"), manifest)
        similarities = SIMILARITY_VARIANTS
        rules = tuple(str(rule) for rule in dict.fromkeys(manifest.settings.every_rule))
        by_choice = {"similarity": similarities, "pair_rule": rules}
        by_threshold = {"attention_threshold": SWEEP_ATTENTION}
        return ChoiceTables(
            windows,
            similarities,
            rules,
            SWEEP_ATTENTION,
            heads=_cells(content[HEADS], manifest, windows, by_choice, per_head=True),
            layers=_cells(content[LAYERS], manifest, windows, by_choice, per_head=False),
            attention=_cells(content[ATTENTION], manifest, windows, by_threshold, per_head=False),
        )
    except UntrustedFileError:
        raise
    # The checksums fit, so it was written like this.
    except (pa.ArrowException, OSError, LookupError, ValueError, TypeError) as error:
        raise RunError(f"{home} cannot be read: {in_one_line(error)}; {again}") from error


def _sampled_windows(values: object, manifest: Manifest) -> NDArray[np.int64]:
    """The numbers of the windows of a receipt; ValueError if the run has no such windows."""
    last = manifest.corpus.windows - 1
    if not isinstance(values, list) or not all(
        type(value) is int and 0 <= value <= last for value in values
    ):
        raise ValueError("it names windows that the run does not have")
    if not values or sorted(set(values)) != values:
        raise ValueError("it names no windows, or one twice, or not in order")
    return np.array(values, dtype=np.int64)


def _units(manifest: Manifest, stack: str, *, per_head: bool) -> NDArray[np.int16]:
    """Layer and head of every head of a stack, or every layer with head 0, as the cells lie."""
    return np.array(
        [
            (site.layer, head)
            for site in manifest.model.sites
            if site.stack == stack
            for head in (range(1, site.heads + 1) if per_head else (0,))
        ],
        dtype=np.int16,
    )


def _table(
    manifest: Manifest,
    windows: NDArray[np.int64],
    by_stack: Mapping[str, Cells],
    choices: Mapping[str, Sequence[object]],
    *,
    per_head: bool,
) -> pa.Table:
    """A row per window, head or layer, and choice, self-describing."""
    parts = []
    for stack, cells in by_stack.items():
        units = _units(manifest, stack, per_head=per_head)
        shape = (len(windows), len(units), *map(len, choices.values()))
        columns = {
            "text": _along(windows, 0, shape),
            "stack": pa.DictionaryArray.from_arrays(
                np.zeros(int(np.prod(shape)), dtype=np.int8), [stack]
            ),
            "layer": _along(units[:, 0], 1, shape),
        }
        if per_head:
            columns["head"] = _along(units[:, 1], 1, shape)
        for axis, (name, choice) in enumerate(choices.items(), 2):
            numbers = _along(np.arange(len(choice), dtype=np.int8), axis, shape)
            columns[name] = pa.DictionaryArray.from_arrays(numbers, pa.array(list(choice)))
        columns |= {name: pa.array(values.ravel()) for name, values in cells.items()}
        parts.append(pa.table(columns))
    return pa.concat_tables(parts).unify_dictionaries()


def _along(values: NDArray[Any], axis: int, shape: tuple[int, ...]) -> pa.Array:
    """Values along one axis, repeated along the others."""
    along = [1] * len(shape)
    along[axis] = -1
    return pa.array(np.broadcast_to(values.reshape(along), shape).ravel())


def _cells(
    content: bytes,
    manifest: Manifest,
    windows: NDArray[np.int64],
    choices: Mapping[str, Sequence[object]],
    *,
    per_head: bool,
) -> dict[str, Cells]:
    """The columns of each stack as arrays, once all rows are shown to be where they should."""
    nothing: dict[str, Cells] = {stack: {} for stack in manifest.stacks}
    keys = _table(manifest, windows, nothing, choices, per_head=per_head)
    file = pq.ParquetFile(pa.BufferReader(content))
    if file.metadata.num_rows != keys.num_rows:
        raise ValueError(f"it has {file.metadata.num_rows} rows, not {keys.num_rows}")
    table = read_bounded(content, file)
    table.validate(full=True)
    for name in keys.column_names:
        if not _plain(table[name]).equals(_plain(keys[name])):
            raise ValueError(f"column {name!r} is not that of its windows and heads")
    values = [name for name in table.column_names if name not in keys.column_names]
    for name in values:
        if table.schema.field(name).type != pa.float32() or table[name].null_count:
            raise ValueError(f"column {name[:40]!r} is of a wrong type, or has empty cells")
        if np.isinf(table[name].to_numpy()).any():
            raise ValueError(f"column {name[:40]!r} is infinite somewhere")
    cells, first = {}, 0
    for stack in manifest.stacks:
        units = len(_units(manifest, stack, per_head=per_head))
        shape = (len(windows), units, *map(len, choices.values()))
        size = int(np.prod(shape))
        part = table.slice(first, size)
        cells[stack] = {name: part[name].to_numpy().reshape(shape) for name in values}
        first += size
    return cells


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array, dictionaries spelt out."""
    kind = column.type
    decoded = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
    return decoded.combine_chunks()
