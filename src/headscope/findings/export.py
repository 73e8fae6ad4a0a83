"""The tables of a run as files for other programs: CSV or Parquet."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from headscope.errors import SettingsError, StorageError, option
from headscope.findings.run_findings import RunFindings
from headscope.runs.files import refuse_devices, write_whole

Format = Literal["csv", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)


def export_tables(findings: RunFindings, folder: Path, to: str) -> dict[str, Path]:
    """The files that were written, by the name of the table.

    `heads` and `layers` (a row each, a column per measure), `roles`, `claims`, `sweep`, and `rows`:
    a row per window, layer and head, a column per quantity that measures are made of. A table that
    the run has nothing for (`sweep` of a minimal run) is left out.

    Args:
        findings: Of a finished run.
        folder: Is made if need be; files of the same names in it are replaced.
        to: `csv` or `parquet`.
    """
    if to not in FORMATS:
        raise SettingsError(f"{option('to')} {to!r} is unknown; choose {' or '.join(FORMATS)}")
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file; choose a folder with {option('out')}")
    written = {}
    for name, table in _tables(findings):
        path = folder / f"{name}.{to}"
        buffer = io.BytesIO()
        with _writer(buffer, table.schema, to) as writer:
            writer.write_table(table)
        write_whole(path, buffer.getvalue())
        written[name] = path
    written["rows"] = _write_rows(findings, folder / f"rows.{to}", to)
    return written


def _tables(findings: RunFindings) -> Iterator[tuple[str, pa.Table]]:
    yield "heads", _arrow(findings.heads)
    yield "layers", _arrow(findings.layers)
    yield "roles", _arrow(findings.roles)
    yield "claims", _arrow(findings.claims().to_frame())
    if not findings.manifest.settings.minimal:
        yield "sweep", _arrow(findings.sweep())


def _write_rows(findings: RunFindings, path: Path, to: str) -> Path:
    """Write the rows batch by batch: a large run has millions."""
    part = path.with_name(f".{path.name}.part")
    refuse_devices(path)
    try:
        with findings.folder.refusing_unreadable():
            rows = findings.folder.rows()
            part.unlink(missing_ok=True)  # of an export that was ended; or a link, never followed
            with part.open("xb") as file, _writer(file, rows.schema, to) as writer:
                for batch in rows.to_batches():
                    writer.write_batch(batch)
        part.replace(path)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}; free space") from error
    finally:
        part.unlink(missing_ok=True)
    return path


def _arrow(table: pd.DataFrame) -> pa.Table:
    """A table of pandas; lists within it, such as a head's weaker roles, as words."""
    plain = table.copy()
    for name in plain.columns:
        if plain[name].map(lambda value: isinstance(value, list | tuple)).any():
            plain[name] = plain[name].map(lambda value: ", ".join(map(str, value)))
    return pa.Table.from_pandas(plain, preserve_index=False)


def _writer(file: Any, schema: pa.Schema, to: str) -> Any:
    if to == "parquet":
        return pq.ParquetWriter(file, schema)
    return pyarrow.csv.CSVWriter(file, schema)
