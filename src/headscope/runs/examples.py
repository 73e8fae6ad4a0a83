"""examples.parquet: the high-similarity pairs of a few windows, for pages that show them.

Optional: a run without the file has all its numbers.
"""

import io
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headscope.errors import RunError, in_one_line
from headscope.runs.files import is_there, read_bytes, write_whole
from headscope.runs.manifest import Manifest
from headscope.runs.parquet_files import read_bounded, refuse_wrong_shape

FILE_NAME = "examples.parquet"
MOST_PAIRS = 10_000_000
"""A larger file is not ours: 120 pairs of each head in four windows, for 20,000 heads."""
MOST_WINDOWS = 64
"""More windows are not shown, whatever a file says."""

SCHEMA = pa.schema(
    [
        pa.field("text", pa.int64(), nullable=False),
        pa.field("stack", pa.string(), nullable=False),
        pa.field("layer", pa.int32(), nullable=False),
        pa.field("head", pa.int32(), nullable=False),
        pa.field("i", pa.int32(), nullable=False),
        pa.field("j", pa.int32(), nullable=False),
        pa.field("score", pa.float32(), nullable=False),
    ]
)


def has_examples(folder: Path) -> bool:
    """Whether a run folder has examples."""
    return is_there(folder / FILE_NAME, within=folder)


def write_examples(folder: Path, pairs: pd.DataFrame) -> None:
    """Write the pairs of some windows into a run folder."""
    buffer = io.BytesIO()
    table = pa.Table.from_pandas(pairs, schema=SCHEMA, preserve_index=False)
    pq.write_table(table, buffer, compression="zstd")
    write_whole(folder / FILE_NAME, buffer.getvalue(), within=folder)


def read_examples(folder: Path, manifest: Manifest) -> pd.DataFrame:
    """The pairs, the most similar of a head first; an empty table where there are none.

    Args:
        folder: The run folder.
        manifest: Of the run: the file has no checksum, so every value is checked.
    """
    table = SCHEMA.empty_table()
    if has_examples(folder):
        try:
            content = read_bytes(folder / FILE_NAME, within=folder)
            file = pq.ParquetFile(pa.BufferReader(content))
            if file.metadata.num_rows > MOST_PAIRS:
                raise ValueError(f"it has {file.metadata.num_rows} pairs")
            refuse_wrong_shape(file, SCHEMA, rows=file.metadata.num_rows)
            table = read_bounded(content, file, SCHEMA.names)
            _refuse_wrong_pairs(table, manifest)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise RunError(
                f"{folder / FILE_NAME} cannot be read: {in_one_line(error)}; "
                "delete it and make the report again"
            ) from error
    # What a file says to pandas about itself is neither checked nor needed.
    pairs: pd.DataFrame = table.replace_schema_metadata(None).to_pandas()
    return pairs


def _refuse_wrong_pairs(table: pa.Table, manifest: Manifest) -> None:
    """ValueError for pairs of windows, heads or tokens that the run does not have."""
    table.validate(full=True)
    if any(column.null_count for column in table.columns):
        raise ValueError("it has empty cells")
    if not table.num_rows:
        return
    longest = {
        "text": (0, manifest.corpus.windows - 1),
        "i": (0, manifest.settings.window_tokens - 1),
        "j": (0, manifest.settings.window_tokens - 1),
    }
    for name, (least, most) in longest.items():
        values = table[name].to_numpy()
        if values.min() < least or values.max() > most:
            raise ValueError(f"{name!r} has values beyond {least} to {most}")
    if len(pc.unique(table["text"])) > MOST_WINDOWS:
        raise ValueError(f"it has pairs of more than {MOST_WINDOWS} windows")
    heads = {(site.stack, site.layer): site.heads for site in manifest.model.sites}
    found = table.group_by(["stack", "layer", "head"]).aggregate([]).to_pylist()
    for row in found:
        if not 1 <= row["head"] <= heads.get((row["stack"], row["layer"]), 0):
            raise ValueError(f"it has pairs of a head that the model does not have: {row['head']}")
