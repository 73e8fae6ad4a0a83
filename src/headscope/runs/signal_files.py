"""signal/: signal and noise over the sample of a run, as sums over groups of documents.

signal/sums.safetensors   the sums of `headscope.measures.signal`, by `STACK/NAME`
signal/receipt.json       its SHA-256, the run, and the windows of the sample
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from headscope.errors import RunError, in_one_line
from headscope.measures.signal import (
    GROUPS,
    LABELS,
    LONGEST_PAIRED,
    RELATIONS,
    SIDES,
    SUMS,
    distance_bins,
)
from headscope.runs.files import is_there, read_bytes, read_json, write_whole
from headscope.runs.manifest import Manifest
from headscope.runs.sample_receipt import RECEIPT, receipt_holds
from headscope.system.untrusted import UntrustedFileError

FOLDER = "signal"
FILE = "sums.safetensors"
REDUNDANCY = {"cka": ("head", "head"), "reconstruction": ("head",)}
"""What a run has besides sums; runs of untrained models do not."""

_MAY_BE_NAN = ("write_stream", "write_length", "write_square", "written", *REDUNDANCY)
"""NaN in layers whose output projection is not known."""
_MAY_BE_NEGATIVE = ("cosine", "repeat_product", "written", *REDUNDANCY)


@dataclass(frozen=True, eq=False)
class SignalSums:
    """Signal and noise of a run."""

    windows: NDArray[np.int64]
    """The numbers of the windows in the run."""
    stacks: Mapping[str, Mapping[str, NDArray[np.float64]]]
    """By stack and name, with the axes of `SUMS` and `REDUNDANCY`."""


def write_signal(folder: Path, manifest: Manifest, signal: SignalSums, *, within: Path) -> None:
    """Write the sums of a run.

    Args:
        folder: The run folder.
        manifest: Of the run.
        signal: What was measured.
        within: The outermost run folder: `folder`, or the one that it lies in.
    """
    arrays = {
        f"{stack}/{name}": np.ascontiguousarray(values, dtype=np.float64)
        for stack, sums in signal.stacks.items()
        for name, values in sums.items()
    }
    digest = write_whole(folder / FOLDER / FILE, safetensors.numpy.save(arrays), within=within)
    receipt = {"run": manifest.digest, "windows": signal.windows.tolist(), FILE: digest}
    write_whole(folder / FOLDER / RECEIPT, json.dumps(receipt).encode(), within=within)


def signal_is_whole(
    folder: Path,
    manifest: Manifest,
    windows: Sequence[int] | NDArray[np.int64],
    *,
    within: Path,
) -> bool:
    """Whether the sums of these windows are there, unchanged, and of this run.

    Args:
        folder: The run folder.
        manifest: Of the run.
        windows: The numbers of the windows that they should have.
        within: The outermost run folder: `folder`, or the one that it lies in.
    """
    return receipt_holds(folder / FOLDER, [FILE], manifest, windows, within=within)


def read_signal(folder: Path, manifest: Manifest, *, within: Path) -> SignalSums | None:
    """The sums of a run, once they are shown to fit its manifest; None where there are none.

    Args:
        folder: The run folder.
        manifest: Of the run.
        within: The outermost run folder: `folder`, or the one that it lies in.
    """
    home = folder / FOLDER
    if not is_there(home / RECEIPT, within=within):
        return None
    try:
        receipt = read_json(home / RECEIPT, within=within)
        if receipt.get("run") != manifest.digest:
            raise ValueError("it belongs to another run")
        content = read_bytes(home / FILE, within=within)
        if sha256(content).hexdigest() != receipt.get(FILE):
            raise ValueError(f"{FILE} is damaged")
        windows = _sampled_windows(receipt.get("windows"), manifest)
        arrays = safetensors.numpy.load(content)
        stacks = {stack: _of_stack(arrays, manifest, stack) for stack in manifest.stacks}
        if unknown := set(arrays) - {f"{s}/{name}" for s in stacks for name in stacks[s]}:
            raise ValueError(f"it has an unknown array {min(unknown)[:60]!r}")
        return SignalSums(windows, stacks)
    except UntrustedFileError:
        raise
    except (SafetensorError, OSError, LookupError, ValueError, TypeError) as error:
        raise RunError(
            f"{home} cannot be read: {in_one_line(error)}; delete that folder and run the same "
            "analyze command again"
        ) from error


def _sampled_windows(values: object, manifest: Manifest) -> NDArray[np.int64]:
    last = manifest.corpus.windows - 1
    if not isinstance(values, list) or not all(
        type(value) is int and 0 <= value <= last for value in values
    ):
        raise ValueError("it names windows that the run does not have")
    if not values or sorted(set(values)) != values:
        raise ValueError("it names no windows, or one twice, or not in order")
    return np.array(values, dtype=np.int64)


def _of_stack(
    arrays: Mapping[str, NDArray[np.float64]], manifest: Manifest, stack: str
) -> dict[str, NDArray[np.float64]]:
    """The arrays of a stack, once shapes and values are those of its heads."""
    sites = [site for site in manifest.model.sites if site.stack == stack]
    tokens = min(manifest.settings.window_tokens, LONGEST_PAIRED)
    sizes = {
        "group": GROUPS,
        "head": sum(site.heads for site in sites),
        "relation": len(RELATIONS),
        "labels": len(LABELS),
        "side": len(SIDES),
        "bin": distance_bins(tokens),
    }
    there = {}
    for name, axes in {**SUMS, **REDUNDANCY}.items():
        key = f"{stack}/{name}"
        if key not in arrays and name in REDUNDANCY:
            continue
        values = arrays[key]
        shape = [sizes.get(axis, values.shape[-1]) for axis in axes]
        if values.dtype != np.float64 or list(values.shape) != shape:
            raise ValueError(f"array {key[:60]!r} is not of the shape or type of its heads")
        if np.isinf(values).any() or (name not in _MAY_BE_NAN and np.isnan(values).any()):
            raise ValueError(f"array {key[:60]!r} has values that are not finite")
        if name not in _MAY_BE_NEGATIVE and (values < 0).any():
            raise ValueError(f"array {key[:60]!r} has negative values")
        there[name] = values
    return there
