"""The weights of a model folder: safetensors only, each header verified before anything is built.

A header says where in its file each tensor lies. The tensors must fill the file, without gaps and
without overlap; so the number of weights that a model has is known from its files, whatever its
config.json claims.
"""

import json
import math
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open

from headscope.errors import ModelError
from headscope.models.folder import model_file, parse_object, read_object
from headscope.system.untrusted import open_untrusted

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
_MOST_HEADER_BYTES = 64 << 20
_LENGTH = struct.Struct("<Q")
_BYTES = {
    **{"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "BOOL": 1},
    **{f"{kind}{bits}": bits // 8 for kind in "IU" for bits in (8, 16, 32, 64)},
}


@dataclass(frozen=True, slots=True)
class WeightFiles:
    """The safetensors files of a model, whose headers are true."""

    paths: tuple[Path, ...]
    tensors: int
    """Number of tensors in all files."""
    numbers: int
    """Number of weights in all tensors."""

    @contextmanager
    def tensors_by_name(self) -> Iterator[dict[str, Any]]:
        """The tensors, each read from its file when it is sliced."""
        with ExitStack() as stack:
            files = [
                stack.enter_context(safe_open(path, framework="pt", device="cpu"))
                for path in self.paths
            ]
            yield {name: file.get_slice(name) for file in files for name in file.keys()}  # noqa: SIM118  no mapping


def find_weights(folder: Path) -> WeightFiles | None:
    """The weights in a model folder; None if it has no safetensors of a whole model.

    Args:
        folder: The model folder.
    """
    single = model_file(folder, WEIGHTS)
    if single is not None:
        paths = [single]
    else:
        index = read_object(folder, INDEX)
        if index is None:
            return None
        paths = [_shard(folder, name) for name in _names(index, folder / INDEX)]
    sizes: dict[str, int] = {}
    for path in paths:
        header = _read_header(path)
        if twice := sizes.keys() & header.keys():
            raise ModelError(
                f"{folder}: two files hold the tensor {min(twice)[:100]!r}; take a whole copy of "
                "the model"
            )
        sizes |= header
    return WeightFiles(tuple(paths), len(sizes), sum(sizes.values()))


def _names(index: dict[str, Any], path: Path) -> list[str]:
    files = index.get("weight_map")
    if (
        not isinstance(files, dict)
        or not files
        or not all(isinstance(name, str) for name in files.values())
    ):
        raise ModelError(f"{path} maps no weights to files; take a whole copy of the model")
    return sorted(set(files.values()))


def _shard(folder: Path, name: str) -> Path:
    if not name.endswith(".safetensors"):
        raise ModelError(
            f"{folder / INDEX} names {name[:100]!r}, which is not a safetensors file; other files "
            "may be pickles, which can run any code when they are opened"
        )
    path = model_file(folder, name)
    if path is None:
        raise ModelError(f"{folder} lacks {name}; take a whole copy of the model")
    return path


def _read_header(path: Path) -> dict[str, int]:
    """The number of weights of each tensor of a file whose header is true."""
    with open_untrusted(path) as file:
        start = file.read(_LENGTH.size)
        size = path.stat().st_size
        length = _LENGTH.unpack(start)[0] if len(start) == _LENGTH.size else size
        if length > min(size - _LENGTH.size, _MOST_HEADER_BYTES):
            raise _damaged(path, "its header is longer than the file, or than 64 MiB")
        content = file.read(length)
    if not content.startswith(b"{"):
        raise _damaged(path, "it does not begin with a header")
    header = parse_object(content, path, keys_once=True)
    header.pop("__metadata__", None)
    places = sorted(_place(path, name, entry) for name, entry in header.items())
    end = 0
    for first, last, _, name in places:
        if first != end:
            raise _damaged(path, f"its tensor {name[:100]!r} overlaps another, or leaves a gap")
        end = last
    if end != size - _LENGTH.size - length:
        raise _damaged(path, "its tensors do not fill it")
    return {name: numbers for _, _, numbers, name in places}


def _place(path: Path, name: str, entry: Any) -> tuple[int, int, int, str]:
    """First byte, last byte and number of weights of a tensor, and its name."""
    try:
        dtype, shape, (first, last) = entry["dtype"], entry["shape"], entry["data_offsets"]
        whole = all(type(number) is int and number >= 0 for number in (*shape, first, last))
    except (TypeError, KeyError, ValueError, IndexError) as error:
        raise _damaged(path, f"its header does not describe {name[:100]!r}") from error
    if not whole:
        raise _damaged(path, f"{name[:100]!r} has a size that is no whole number")
    if dtype not in _BYTES:
        raise ModelError(
            f"{path} stores {name[:100]!r} as {json.dumps(dtype)[:20]}, which headscope does not "
            "read; take a version of the model whose weights are not quantised"
        )
    numbers = math.prod(shape)
    if numbers * _BYTES[dtype] != last - first:
        raise _damaged(path, f"{name[:100]!r} has another size than its shape says")
    return first, last, numbers, name


def _damaged(path: Path, why: str) -> ModelError:
    return ModelError(f"cannot load {path}: {why}; take a whole copy of the model")
