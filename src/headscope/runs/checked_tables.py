"""The Parquet files of a run as one table, after their checksums were checked."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from headscope.errors import RunError, in_one_line
from headscope.runs.files import sha256_of


def open_checked(
    files: Mapping[Path, str],
    *,
    required: tuple[str, ...],
    type_of: Callable[[str], pa.DataType],
    advice: str,
) -> ds.Dataset:
    """The dataset of some files, given with their SHA-256, in order.

    It must have the `required` columns, and every column the type that `type_of` gives. `advice`
    says what to do about a file that is missing or damaged.
    """
    for path, expected in files.items():
        if not is_unchanged(path, expected):
            raise RunError(f"{path} is missing or damaged; {advice}")
    try:
        dataset = ds.dataset([str(path) for path in files], format="parquet")
        missing = set(required) - set(dataset.schema.names)
        wrong = [field.name for field in dataset.schema if field.type != type_of(field.name)]
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise RunError(f"{next(iter(files))} cannot be read: {in_one_line(error)}") from error
    if missing or wrong:
        raise RunError(
            f"{next(iter(files))} is no table of headscope: "
            f"{', '.join(sorted({*missing, *wrong})[:5])} missing or of a wrong type; {advice}"
        )
    return dataset


def is_unchanged(path: Path, expected: str) -> bool:
    """Whether a file is there, and is the one whose SHA-256 was noted."""
    try:
        return path.is_file() and sha256_of(path) == expected
    except OSError:
        return False
