"""A private copy of a model's small files, for libraries that take a folder.

transformers is never given the folder of a model that is not trusted, but a temporary one with
copies of its config and tokenizer files, cleaned: whatever a library looks for beside them is not
there.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headscope.errors import ModelError, keyword_of
from headscope.models.clean_config import clean_tokenizer_config
from headscope.models.folder import MOST_JSON_BYTES, model_file, parse_object, read_file
from headscope.models.smaller import MARK as HEADS

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
_TOKENIZER_FILES = (".json", ".txt", ".model", ".spm", ".codes", ".bpe", ".vocab", ".tiktoken")
_OTHERS = (
    *("generation_config.json", "adapter_config.json", ".index.json", "processor_config.json"),
    HEADS,
)
"""JSON files that belong to no tokenizer."""
_MOST_FILES = 64
_MOST_BYTES = 4 * MOST_JSON_BYTES
_MOST_GROWTH = 10_000


@contextmanager
def small_files(folder: Path, config: dict[str, Any]) -> Iterator[Path]:
    """While open, a temporary folder with the cleaned config and the tokenizer files of a model.

    Args:
        folder: The model folder.
        config: The cleaned content of its config.json.
    """
    with tempfile.TemporaryDirectory(prefix="headscope-", ignore_cleanup_errors=True) as place:
        copy = Path(place)
        (copy / CONFIG).write_text(json.dumps(config))
        left = _MOST_BYTES
        for name in _tokenizer_files(folder):
            content = read_file(folder, name) or b""
            left -= len(content)
            if left < 0:
                raise ModelError(f"{folder} has tokenizer files of more than {_MOST_BYTES:,} bytes")
            (copy / name).write_bytes(_checked(content, folder / name))
        yield copy


def _tokenizer_files(folder: Path) -> list[str]:
    names = sorted(
        entry.name
        for entry in os.scandir(folder)
        if entry.name.endswith(_TOKENIZER_FILES)
        and not entry.name.endswith(_OTHERS)
        and entry.name != CONFIG
        and not entry.is_dir(follow_symlinks=False)
    )
    if len(names) > _MOST_FILES:
        raise ModelError(
            f"{folder} has {len(names):,} small files, more than the {_MOST_FILES} that are read; "
            "remove those that do not belong to the model"
        )
    return [name for name in names if model_file(folder, name) is not None]


def _checked(content: bytes, path: Path) -> bytes:
    if path.suffix != ".json":
        return content
    if path.name == TOKENIZER_CONFIG:
        return json.dumps(clean_tokenizer_config(parse_object(content, path), path)).encode()
    if path.name == TOKENIZER:
        _refuse_growth(parse_object(content, path).get("normalizer"), path)
    return content


def _refuse_growth(normalizer: Any, path: Path) -> None:
    """Refuse normalisation that makes a text thousands of times longer: replacements in a row."""
    growth, steps = 1.0, [normalizer]
    while steps:
        step = steps.pop()
        if not isinstance(step, dict):
            continue
        inner = step.get("normalizers")
        steps += inner if isinstance(inner, list) else []
        content, pattern = step.get("content"), step.get("pattern")
        if isinstance(content, str):
            found = pattern.get("String") if isinstance(pattern, dict) else None
            growth *= max(1, len(content) / (len(found) or 1 if isinstance(found, str) else 1))
    if growth > _MOST_GROWTH:
        raise ModelError(
            f"cannot load {path}: its normalizer makes texts up to {growth:.0e} times longer; "
            f"{keyword_of('hs.load_model', 'tokenizer')}"
        )
