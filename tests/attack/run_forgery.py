"""Forged files of a run: changed, and given checksums and receipts that fit again."""

import hashlib
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy

from headscope.errors import HeadscopeError
from headscope.runs.manifest import Manifest
from tests.faults.mutate import ODD_VALUES

TableChange = Callable[[pa.Table, random.Random], pa.Table]


def put_receipts_right(run: Path) -> None:
    """What an attacker would do: every checksum, and the run that receipts name, fit again."""
    manifest_path = run / "manifest.json"
    manifest = json.loads(manifest_path.read_text())
    windows = sorted((run / "windows").glob("*.parquet"))
    try:
        manifest["corpus"]["window_hashes"] = [_sha256(path) for path in windows]
        manifest_path.write_text(json.dumps(manifest))
        digest = Manifest.read(run).digest
    except (HeadscopeError, TypeError, KeyError):
        return  # a manifest that is refused has no digest
    for receipt in (run / "shards").glob("*.json"):
        values = json.loads(receipt.read_text())
        for ending in ("parquet", "safetensors"):
            if receipt.with_suffix(f".{ending}").is_file():
                values[ending] = _sha256(receipt.with_suffix(f".{ending}"))
        receipt.write_text(json.dumps(values | {"run": digest, "shard": int(receipt.stem)}))
    if (run / "results.nc").is_file():
        results = {"run": digest, "results.nc": _sha256(run / "results.nc")}
        (run / "results.json").write_text(json.dumps(results))


def change_json(path: Path, place: tuple[str | int, ...], value: Any) -> None:
    """Put a value into a JSON file."""
    values = json.loads(path.read_text())
    holder = values
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    path.write_text(json.dumps(values))


def places_of(values: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where every value of a JSON object is."""
    if isinstance(values, dict):
        below = [place for key in values for place in places_of(values[key], (*here, key))]
    elif isinstance(values, list):
        below = [
            p for number, value in enumerate(values) for p in places_of(value, (*here, number))
        ]
    else:
        below = []
    return ([here] if here else []) + below


def change_table(path: Path, change: TableChange, chance: random.Random) -> None:
    """Write a Parquet file again with something else in it."""
    stream = io.BytesIO()
    pq.write_table(change(pq.read_table(path), chance), stream)
    path.write_bytes(stream.getvalue())


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _with_row_twice(table: pa.Table, chance: random.Random) -> pa.Table:
    row = chance.randrange(table.num_rows)
    return pa.concat_tables([table, table.slice(row, 1)])


def _without_a_row(table: pa.Table, chance: random.Random) -> pa.Table:
    row = chance.randrange(table.num_rows)
    return pa.concat_tables([table.slice(0, row), table.slice(row + 1)])


def _row_in_place_of_another(table: pa.Table, chance: random.Random) -> pa.Table:
    """As many rows as before, one of them twice."""
    rows = list(range(table.num_rows))
    rows[chance.randrange(len(rows))] = chance.randrange(len(rows))
    if rows == list(range(table.num_rows)):
        rows = rows[::-1]
    return table.take(rows)


def _reversed(table: pa.Table, chance: random.Random) -> pa.Table:
    return table.take(list(range(table.num_rows))[::-1])


def _without_a_column(table: pa.Table, chance: random.Random) -> pa.Table:
    return table.drop_columns([chance.choice(table.column_names)])


def _with_another_column(table: pa.Table, chance: random.Random) -> pa.Table:
    name = chance.choice(["x" * 1_000_000, "\x1b[2J", "", "new"])
    return table.append_column(name, pa.array([0] * table.num_rows))


def _column_of_another_type(table: pa.Table, chance: random.Random) -> pa.Table:
    name = chance.choice(table.column_names)
    values = chance.choice(
        [["x"] * table.num_rows, [None] * table.num_rows, [[[1]]] * table.num_rows]
    )
    return table.set_column(table.column_names.index(name), name, pa.array(values))


def _without_rows(table: pa.Table, chance: random.Random) -> pa.Table:
    return table.slice(0, 0)


def list_column(name: str, change: Callable[[list[list[Any]], random.Random], None]) -> TableChange:
    def changed(table: pa.Table, chance: random.Random) -> pa.Table:
        values = table[name].to_pylist()
        change(values, chance)
        column = pa.array(values, table.schema.field(name).type)
        return table.set_column(table.column_names.index(name), name, column)

    return changed


def one_value(value: Any) -> Callable[[list[list[Any]], random.Random], None]:
    def change(lists: list[list[Any]], chance: random.Random) -> None:
        row = chance.choice(lists)
        row[chance.randrange(len(row))] = value

    return change


def _one_longer(lists: list[list[Any]], chance: random.Random) -> None:
    row = chance.choice(lists)
    row.append(row[-1])


def _one_absent(lists: list[list[Any]], chance: random.Random) -> None:
    lists[chance.randrange(len(lists))] = None  # type: ignore[call-overload]


_OF_ANY_TABLE: dict[str, TableChange] = {
    "a row twice": _with_row_twice,
    "a row missing": _without_a_row,
    "a row in place of another": _row_in_place_of_another,
    "rows reversed": _reversed,
    "a column missing": _without_a_column,
    "a column more": _with_another_column,
    "a column of another type": _column_of_another_type,
    "no rows": _without_rows,
}
_LISTS = ("token_ids", "starts", "ends", "sentence_ids", "word_ids", "kinds")
WINDOW_CHANGES: dict[str, TableChange] = _OF_ANY_TABLE | {
    f"{what} in {name}": list_column(name, change)
    for name in _LISTS
    for what, change in {
        "a value of 2**31-1": one_value(2**31 - 1),
        "a value of -7": one_value(-7),
        "an empty place": one_value(None),
        "a list too long": _one_longer,
        "a list missing": _one_absent,
    }.items()
    # Any end and start after another is possible.
    if (what, name) not in {("a value of 2**31-1", "ends")}
}


def _cell(name: str, value: Any) -> TableChange:
    def changed(table: pa.Table, chance: random.Random) -> pa.Table:
        values = table[name].to_pylist()
        values[chance.randrange(len(values))] = value
        column = pa.array(values, table.schema.field(name).type)
        return table.set_column(table.column_names.index(name), name, column)

    return changed


ROW_CHANGES: dict[str, TableChange] = _OF_ANY_TABLE | {
    f"{value!r} in {name}": _cell(name, value)
    for name, values in {
        "text": (-1, 10**12, None),
        "layer": (0, 99, None),
        "head": (0, 99, -1, None),
        "stack": ("decoder", "", None),
        "texts": (0, 2, None),
    }.items()
    for value in values
}


def change_arrays(path: Path, chance: random.Random) -> str:
    """Spoil the sums of a shard; returns how."""
    arrays = safetensors.numpy.load_file(path)
    name = chance.choice(sorted(arrays))
    how = chance.choice(["missing", "another", "longer", "NaN", "whole numbers", "flat", "renamed"])
    values = arrays[name]
    match how:
        case "missing":
            del arrays[name]
        case "another":
            arrays[chance.choice(["encoder/new", "new", "decoder/token_kinds", "/"])] = values
        case "longer":
            arrays[name] = np.concatenate([values, values[:1]])
        case "NaN":
            arrays["encoder/token_kinds"][0] = chance.choice([np.nan, np.inf])
        case "whole numbers":
            arrays[name] = values.astype(np.int64)
        case "flat":
            arrays["encoder/aligned_sum"] = arrays["encoder/aligned_sum"].ravel()
        case _:
            arrays[f"{name}x"] = arrays.pop(name)
    path.write_bytes(
        safetensors.numpy.save({k: np.ascontiguousarray(v) for k, v in arrays.items()})
    )
    return how


def change_results(path: Path, chance: random.Random, outside: Path) -> str:
    """Spoil results.nc; returns how."""
    with h5py.File(path, "a") as file:
        group = file["encoder"]
        arrays = [name for name in group if group[name].ndim == 2 and name.startswith("total_")]
        name = chance.choice(arrays)
        how = chance.choice(list(_RESULT_CHANGES))
        _RESULT_CHANGES[how](group, name, outside)
    return how


def _replaced(group: h5py.Group, name: str, values: Any) -> None:
    del group[name]
    group[name] = values


def _external(group: h5py.Group, name: str, outside: Path) -> None:
    del group[name]
    group.create_dataset(name, (2, 4), "f8", external=[(str(outside), 0, 64)])


def _link(group: h5py.Group, name: str, outside: Path) -> None:
    del group[name]
    group[name] = h5py.ExternalLink(str(outside), "/x")


def _set(name: str, value: Any) -> Callable[[h5py.Group, str, Path], None]:
    def change(group: h5py.Group, _: str, outside: Path) -> None:
        group[name][...] = value

    return change


_RESULT_CHANGES: dict[str, Callable[[h5py.Group, str, Path], None]] = {
    "no windows": lambda g, n, o: g.__delitem__("total_texts"),
    "no pairs": lambda g, n, o: g.__delitem__("total_pairs"),
    "no labels of layers": lambda g, n, o: g.__delitem__("layer"),
    "no group": lambda g, n, o: g.parent.__delitem__("encoder"),
    "strings": lambda g, n, o: _replaced(g, n, np.array([[b"x"] * 4] * 2)),
    "whole numbers": lambda g, n, o: _replaced(g, n, np.ones((2, 4), dtype=np.int64)),
    "fewer axes": lambda g, n, o: _replaced(g, n, np.ones(2)),
    "more axes": lambda g, n, o: _replaced(g, n, np.ones((2, 4, 3))),
    "an empty axis": lambda g, n, o: _replaced(g, n, np.ones((2, 0))),
    "another size": lambda g, n, o: _replaced(g, n, np.ones((3, 5))),
    "a huge array": lambda g, n, o: g.create_dataset("big", (10**6, 10**7), "f8", chunks=(9, 9)),
    "a group in place of an array": lambda g, n, o: (g.__delitem__(n), g.create_group(n))[0],
    "equal labels": _set("layer", 1),
    "other labels": _set("head", [5, 6, 7, 8]),
    "other windows": _set("total_texts", 7777.0),
    "no windows measured": _set("total_texts", 0.0),
    "infinity": _set("total_pairs", np.inf),
    "a measure that its totals do not give": _set("mean_distance", 3.25),
    "data in another file": _external,
    "a link to another file": _link,
    "a link inside": lambda g, n, o: g.__setitem__("soft", h5py.SoftLink("/encoder/layer")),
    "an unknown array": lambda g, n, o: g.__setitem__("x\x1b[2J", np.ones(3)),
}

ODD_JSON: list[Any] = [*ODD_VALUES, "\x1b[2J\x1b]0;title\x07", "\u202egpj.exe", "é" * 3000]
