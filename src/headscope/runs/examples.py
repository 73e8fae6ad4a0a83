"""examples.parquet: the high-similarity pairs of a few windows, for pages that show them.

Optional: a run without the file has all its numbers.
"""

import io
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from headscope.errors import RunError, in_one_line
from headscope.runs.files import write_whole

FILE_NAME = "examples.parquet"

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
    return (folder / FILE_NAME).is_file()


def write_examples(folder: Path, pairs: pd.DataFrame) -> None:
    """Write the pairs of some windows into a run folder."""
    buffer = io.BytesIO()
    table = pa.Table.from_pandas(pairs, schema=SCHEMA, preserve_index=False)
    pq.write_table(table, buffer, compression="zstd")
    write_whole(folder / FILE_NAME, buffer.getvalue())


def read_examples(folder: Path) -> pd.DataFrame:
    """The pairs, the most similar of a head first; an empty table where there are none."""
    table = SCHEMA.empty_table()
    if has_examples(folder):
        try:
            table = pq.read_table(folder / FILE_NAME, schema=SCHEMA)
        except (OSError, pa.ArrowException) as error:
            raise RunError(
                f"{folder / FILE_NAME} cannot be read: {in_one_line(error)}; "
                "delete it and make the report again"
            ) from error
    pairs: pd.DataFrame = table.to_pandas()
    return pairs
