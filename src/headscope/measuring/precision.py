"""What half precision does to the numbers: a few windows measured in float32 as well.

In bfloat16 and float16 rounding decides between pairs that are almost equally similar, so measures
move by a few hundredths. How far depends on the model; so a few windows are measured both ways, and
the run says what came of it.
"""

from collections.abc import Sequence

import numpy as np
import torch

from headscope.errors import HeadscopeError, in_one_line
from headscope.measures import MEASURES
from headscope.measuring.shard import measure_windows
from headscope.models.load import LoadOptions, load_model
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.shards import Shard
from headscope.settings import Settings
from headscope.system.memory import available_bytes
from headscope.text.windows import Window

COMPARED_WINDOWS = 4
"""Number of windows that are measured both ways."""
_COMPARED = ("same_sentence", "repetition")
_BYTES_PER_WEIGHT = 8
"""Of a float32 model while it is loaded: the weights, and as much again to work with."""


def is_rounded(model: LoadedModel) -> bool:
    """Whether a model computes in less than float32.

    Args:
        model: As it measures.
    """
    return torch.finfo(model.dtype).bits < 32


def precision_note(
    model: LoadedModel,
    windows: Sequence[Window],
    settings: Settings,
    sites: Sequence[AttentionSite],
    loading: LoadOptions,
) -> str:
    """A sentence on what the dtype of a model does to its numbers.

    Args:
        model: The model as it measures, in less than float32.
        windows: A few; all are measured with the model and with its float32 version.
        settings: What is measured.
        sites: Which attention layers are measured.
        loading: How the model was loaded; its dtype and device are those of `model`.
    """
    name = str(model.dtype).removeprefix("torch.")
    unknown = (
        f"computed in {name}, which moves shares by a few hundredths; how far was not measured"
    )
    if reason := _cannot_compare(model):
        return f"{unknown}: {reason}"
    try:
        moved = _differences(model, windows, settings, sites, loading)
    except (HeadscopeError, MemoryError) as error:
        return f"{unknown}: {in_one_line(error)}"
    measured = ", ".join(f"{measure} by up to {value:.3f}" for measure, value in moved.items())
    return (
        f"computed in {name}: over {len(windows)} windows, shares of single heads differ from "
        f"those in float32 ({measured}); use float32 where this matters"
    )


def _cannot_compare(model: LoadedModel) -> str | None:
    """Why there is no float32 version to compare with; None if there is one."""
    if model.path is None:
        return "the model was passed as an object and has no files"
    needed, free = _BYTES_PER_WEIGHT * model.n_parameters, available_bytes()
    if free is None:
        return "this system does not say how much memory is free"
    if needed > free:
        return (
            f"in float32 the model needs about {needed / 1e9:.1f} GB of memory, and "
            f"{free / 1e9:.1f} GB are free"
        )
    return None


def _differences(
    model: LoadedModel,
    windows: Sequence[Window],
    settings: Settings,
    sites: Sequence[AttentionSite],
    loading: LoadOptions,
) -> dict[str, float]:
    """By measure, the largest difference of a head between the model and its float32 version."""
    assert model.path is not None, "asked before"
    exact = load_model(
        model.path,
        dtype="float32",
        device=str(model.device),
        allow_pickle=loading.get("allow_pickle", False),
        trust_remote_code=loading.get("trust_remote_code", False),
        projection=model.projection,
    )
    rounded = _head_values(measure_windows(model, windows, settings, sites=sites))
    # Sites are values, equal in both models.
    with exact.gates(model.open_gates):
        true = _head_values(measure_windows(exact, windows, settings, sites=sites))
    return {
        name: float(np.nanmax(np.abs(rounded[name] - true[name]), initial=0.0)) for name in true
    }


def _head_values(shard: Shard) -> dict[str, np.ndarray]:
    """The compared measures of all heads, over all windows of a shard."""
    values = {}
    for name in _COMPARED:
        measure = MEASURES[name]
        columns = [measure.numerator, measure.denominator]
        heads = shard.rows.group_by(["stack", "layer", "head"]).aggregate(
            [(column, "sum") for column in columns]
        )
        heads = heads.sort_by([(key, "ascending") for key in ("stack", "layer", "head")])
        values[name] = measure.value(
            {column: heads[f"{column}_sum"].to_numpy() for column in columns}
        )
    return values
