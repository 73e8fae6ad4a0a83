"""The Parquet files of a run as one table, once their checksums are verified."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from headscope.errors import RunError, in_one_line
from headscope.runs.files import is_unchanged

if TYPE_CHECKING:
    import pyarrow.dataset as ds


def open_verified(
    files: Mapping[Path, str],
    *,
    required: tuple[str, ...],
    type_of: Callable[[str], pa.DataType | None],
    advice: str,
) -> "ds.Dataset":
    """The dataset of some files, in order.

    Args:
        files: Each file with the SHA-256 that it must have.
        required: Columns that must be there.
        type_of: The type that a column must have; None for a column that must not be there.
        advice: What to do about a file that is missing or damaged.
    """
    # Here, because importing it imports pandas, which those who measure do not need.
    import pyarrow.dataset as ds

    for path, expected in files.items():
        if not is_unchanged(path, expected):
            raise RunError(f"{path} is missing or damaged; {advice}")
    first = next(iter(files))
    with refuse_unreadable(str(first)):
        dataset = ds.dataset([str(path) for path in files], format="parquet")
    found = {field.name: field.type for field in dataset.schema}
    missing = set(required) - set(found)
    wrong = {name for name, type_ in found.items() if type_ != type_of(name)}
    if missing or wrong:
        names = ", ".join(map(repr, sorted(missing | wrong)[:5]))
        raise RunError(
            f"{first} is not a table of headscope: {names} missing or of a wrong type; {advice}"
        )
    return dataset


@contextmanager
def refuse_unreadable(what: str) -> Iterator[None]:
    """Errors of Arrow, and of impossible rows, become a RunError that names `what`.

    Checksums show what was damaged after writing; a file may also have been written wrong, or by
    another program.
    """
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, IndexError) as error:
        raise RunError(
            f"{what} cannot be read: {in_one_line(error)}; take a whole copy of the run, or "
            "analyse the corpus again"
        ) from error
