"""The seal of a finished run: what was asked for, and the checksum of every file.

With it the same command again sees that there is nothing to do, without loading the model. Any file
that is missing or changed breaks the seal, and the run is then resumed as always.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from headscope.errors import HeadscopeError
from headscope.runs.files import is_there, is_unchanged, read_json, sha256_of, write_whole
from headscope.runs.own_files import files_of_run

SEAL = "finished.json"


def write_seal(folder: Path, asked: dict[str, Any]) -> None:
    """Seal a run that has all its results.

    Args:
        folder: The run folder.
        asked: Everything that the run was asked for, as JSON values.
    """
    files = {
        path.as_posix(): sha256_of(folder / path, within=folder) for path in files_of_run(folder)
    }
    seal = {"asked": _digest(asked), "files": files}
    write_whole(folder / SEAL, json.dumps(seal, indent=1).encode(), within=folder)


def is_sealed(folder: Path, asked: dict[str, Any]) -> bool:
    """Whether a folder holds a finished run of what is asked for, whole and unchanged.

    Args:
        folder: The run folder, whether it exists or not.
        asked: Everything that is asked for, as JSON values.
    """
    try:
        if not is_there(folder / SEAL, within=folder):
            return False
        seal = read_json(folder / SEAL, within=folder)
        if seal.get("asked") != _digest(asked) or not isinstance(seal.get("files"), dict):
            return False
        here = {path.as_posix() for path in files_of_run(folder)}
        # Only files that bear our names are opened, whatever the seal says.
        return here == set(seal["files"]) and all(
            is_unchanged(folder / name, str(expected), within=folder)
            for name, expected in seal["files"].items()
        )
    except (HeadscopeError, OSError):
        return False  # the run itself says what is wrong, when it is resumed


def _digest(asked: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
