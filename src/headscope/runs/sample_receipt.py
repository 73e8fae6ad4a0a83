"""receipt.json beside what was measured on the sample of a run: run, windows, checksums.

It is written last: without it, the files beside it count for nothing and are measured again.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.runs.files import is_unchanged, read_json
from headscope.runs.manifest import Manifest

RECEIPT = "receipt.json"


def receipt_holds(
    home: Path,
    files: Iterable[str],
    manifest: Manifest,
    windows: Sequence[int] | NDArray[np.int64],
    *,
    within: Path,
) -> bool:
    """Whether files of these windows are there, unchanged, and of this run.

    Args:
        home: The folder of the receipt.
        files: Their names in it.
        manifest: Of the run.
        windows: The numbers of the windows that they should have.
        within: The outermost run folder that `home` lies in.
    """
    try:
        receipt = read_json(home / RECEIPT, within=within)
    except RunError:
        return False
    return (
        receipt.get("run") == manifest.digest
        and receipt.get("windows") == [int(window) for window in windows]
        and all(is_unchanged(home / name, str(receipt.get(name)), within=within) for name in files)
    )
