"""The Parquet files of a run as one table, after their checksums were checked."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from headscope.errors import RunError, in_one_line
from headscope.runs.files import is_unchanged


def open_checked(
    files: Mapping[Path, str],
    *,
    required: tuple[str, ...],
    type_of: Callable[[str], pa.DataType | None],
    advice: str,
) -> ds.Dataset:
    """The dataset of some files, given with their SHA-256, in order.

    It must have the `required` columns, and every column the type that `type_of` gives. `advice`
    says what to do about a file that is missing or damaged.
    """
    for path, expected in files.items():
        if not is_unchanged(path, expected):
            raise RunError(f"{path} is missing or damaged; {advice}")
    first = next(iter(files))
    with refuse_unreadable(str(first)):
        dataset = ds.dataset([str(path) for path in files], format="parquet")
    found = {field.name: field.type for field in dataset.schema}
    missing = set(required) - set(found)
    wrong = {name for name, kind in found.items() if kind != type_of(name)}
    if missing or wrong:
        names = ", ".join(map(repr, sorted(missing | wrong)[:5]))
        raise RunError(
            f"{first} is no table of headscope: {names} missing or of a wrong type; {advice}"
        )
    return dataset


@contextmanager
def refuse_unreadable(what: str) -> Iterator[None]:
    """Errors of Arrow, and rows that cannot be, become a RunError.

    Checksums tell what was damaged later; a file may also have been written wrong, or by others.
    """
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, IndexError) as error:
        raise RunError(
            f"{what} cannot be read: {in_one_line(error)}; take a whole copy of the run, or "
            "analyse the corpus again"
        ) from error
