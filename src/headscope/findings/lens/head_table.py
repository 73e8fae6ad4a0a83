"""lens.parquet: what each layer's guess loses without each of its heads, a row per head.

The columns are those of `hs.lens(..., heads=True).heads`. The file has no checksum, so every value
is checked when it is read.
"""

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from headscope.errors import RunError, in_one_line
from headscope.findings.lens.heads import EFFECTS
from headscope.runs.files import is_there, read_bytes, write_whole
from headscope.runs.parquet_files import read_bounded, refuse_wrong_shape
from headscope.runs.records import ModelRecord

FILE_NAME = "lens.parquet"
READINGS = ("lens", "lens_unmasked", "probe", "probe_unmasked")
"""How a layer may have been read; its columns begin with the name."""
_KEYS = {"stack": pa.string(), "layer": pa.int32(), "head": pa.int32()}
_MOST_COLUMNS = 100


def write_head_table(folder: Path, table: pd.DataFrame) -> None:
    """Write the table into the folder of a study.

    Args:
        folder: Of the study.
        table: A row per head.
    """
    buffer = io.BytesIO()
    schema = pa.schema([(name, _type_of(name)) for name in table.columns])
    pq.write_table(pa.Table.from_pandas(table, schema, preserve_index=False), buffer)
    write_whole(folder / FILE_NAME, buffer.getvalue(), within=folder)


def read_head_table(folder: Path, model: ModelRecord, *, within: Path) -> pd.DataFrame | None:
    """The table; None in a study without heads.

    Args:
        folder: Of the study.
        model: Of the study: its heads are those of the table, or all that are.
        within: The outermost folder that belongs to the run.
    """
    path = folder / FILE_NAME
    if not is_there(path, within=within):
        return None
    try:
        content = read_bytes(path, within=within)
        file = pq.ParquetFile(pa.BufferReader(content))
        names = file.schema_arrow.names
        known = {name: _type_of(name) for name in names[:_MOST_COLUMNS]}
        if not set(_KEYS) <= set(names) or len(names) > _MOST_COLUMNS or None in known.values():
            raise ValueError("its columns are others")
        rows = file.metadata.num_rows
        if rows > sum(site.heads for site in model.sites):
            raise ValueError("it has more heads than the model")
        refuse_wrong_shape(file, pa.schema(list(known.items())), rows=rows)
        # What a file says to pandas about itself is neither checked nor needed.
        read = read_bounded(content, file).replace_schema_metadata(None)
        read.validate(full=True)
        table: pd.DataFrame = read.to_pandas()
        _refuse_wrong_values(table, model)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise RunError(
            f"{path} cannot be read: {in_one_line(error)}; delete it and give the same lens "
            "command again"
        ) from error
    return table


def value_columns(table: pd.DataFrame) -> list[str]:
    """The columns that hold values, and neither bounds nor verdicts.

    Args:
        table: A row per head.
    """
    known = [f"{reading}_{effect}" for reading in READINGS for effect in EFFECTS]
    return [name for name in known if name in table]


def _type_of(name: str) -> pa.DataType | None:
    """The type of a column; None for one that no table has."""
    readings, effects = "|".join(READINGS), "|".join(EFFECTS)
    if re.fullmatch(rf"({readings})_({effects})(_low|_high)?", name):
        return pa.float64()
    return pa.bool_() if re.fullmatch(rf"({readings})_matters", name) else _KEYS.get(name)


def _refuse_wrong_values(table: pd.DataFrame, model: ModelRecord) -> None:
    """ValueError for heads that the model does not have, or infinite numbers."""
    there = {
        (site.stack, site.layer, head) for site in model.sites for head in range(1, site.heads + 1)
    }
    found = list(table[list(_KEYS)].itertuples(index=False, name=None))
    if len(set(found)) < len(found) or not set(found) <= there:
        raise ValueError("its heads are not those of the model")
    if np.isinf(table.select_dtypes("float").to_numpy()).any():
        raise ValueError("it has infinite numbers")
