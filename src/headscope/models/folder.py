"""The folder of a model, as files from elsewhere: plain names, regular files, no links out of it.

Hub snapshots are folders of links into the `blobs` of the same cached repository. These links are
followed, and those inside the folder itself; all others are refused by name.
"""

import json
import re
from pathlib import Path
from typing import Any

from headscope.errors import ModelError, in_one_line
from headscope.system.untrusted import UntrustedFileError, check_untrusted, open_untrusted

MOST_JSON_BYTES = 64 << 20
"""Of any small file: the longest tokenizer.json that we know of has 33 MB."""
_DEEPEST = 32
_PLAIN_NAME = re.compile(r"[\w.+@=,() -]{1,200}")


def model_file(folder: Path, name: str) -> Path | None:
    """The real path of a file in a model folder; None where there is no such file.

    Args:
        folder: The model folder.
        name: The name of the file: it has no folders in it.
    """
    if not _PLAIN_NAME.fullmatch(name) or name in (".", ".."):
        raise ModelError(
            f"{folder}: {in_one_line(ValueError(repr(name)))} is not the name of a file in this "
            "folder; files of a model lie beside its config.json"
        )
    path = folder / name
    if not path.is_symlink():
        return check_untrusted(path) if path.exists() else None
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise UntrustedFileError(
            f"{path} is a link that leads nowhere; put a file there"
        ) from error
    if not any(target.is_relative_to(root.resolve()) for root in _roots(folder)):
        raise UntrustedFileError(
            f"{path} is a link to a file outside the model folder; put the file itself there"
        )
    return check_untrusted(target)


def read_file(folder: Path, name: str, most_bytes: int = MOST_JSON_BYTES) -> bytes | None:
    """The content of a small file of a model; None where there is no such file.

    Args:
        folder: The model folder.
        name: The name of the file.
        most_bytes: A larger file is refused.
    """
    path = model_file(folder, name)
    if path is None:
        return None
    with open_untrusted(path, max_bytes=most_bytes) as file:
        return file.read(most_bytes)


def read_object(folder: Path, name: str) -> dict[str, Any] | None:
    """The JSON object in a file of a model; None where there is no such file.

    Args:
        folder: The model folder.
        name: The name of the file.
    """
    content = read_file(folder, name)
    return None if content is None else parse_object(content, folder / name)


def parse_object(content: bytes, path: Path, *, keys_once: bool = False) -> dict[str, Any]:
    """The JSON object in some bytes, if it is one and not nested deeply.

    Args:
        content: UTF-8.
        path: Where it comes from, for messages.
        keys_once: Whether an object that has a key twice is refused; otherwise the last one counts.
    """
    try:
        values = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_keys_once if keys_once else None,
            parse_constant=_refuse_nan,
        )
        deep = _is_deep(values)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else in_one_line(error)
        raise ModelError(f"cannot load {path}: {why}; take a whole copy of the model") from error
    if deep or not isinstance(values, dict):
        why = "is nested too deeply" if deep else f"holds a {type(values).__name__}, not an object"
        raise ModelError(f"cannot load {path}: it {why}; take a whole copy of the model")
    return values


def _roots(folder: Path) -> list[Path]:
    snapshots = folder.parent
    cached = snapshots.name == "snapshots" and snapshots.parent.name.startswith("models--")
    return [folder, *[snapshots.parent / "blobs"] * cached]


def _keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return values


def _refuse_nan(constant: str) -> float:
    if constant == "NaN":
        raise ValueError("a number is NaN")
    return float(constant)  # infinity, which some families have as a limit


def _is_deep(values: Any) -> bool:
    level, depth = [values], 0
    while level:
        depth += 1
        level = [
            child
            for value in level
            if isinstance(value, dict | list)
            for child in (value.values() if isinstance(value, dict) else value)
            if isinstance(child, dict | list)
        ]
        if depth > _DEEPEST:
            return True
    return False
