"""The arrays of a view: from tensors of a layer to numpy, and to xarray with labelled axes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:
    import xarray as xr

    from headscope.look.view import View


def labelled_arrays(view: "View") -> "xr.Dataset":
    """The arrays of a view with their axes labelled.

    Args:
        view: The view.
    """
    import xarray as xr

    cross = view.key_tokens != view.tokens
    key, other = ("key_token", "other_token")
    arrays = {
        "head_output": (("layer", "head", "token", "d_head"), view.head_output),
        "attention": (("layer", "head", "token", key), view.attention),
        "similarity": (("layer", "head", "token", other), view.similarity),
        "column_mass": (("layer", "head", key), view.column_mass),
        "high_attention": (("layer", "head", key), view.high_attention),
    }
    return xr.Dataset(
        arrays,
        coords={
            "layer": list(view.layers),
            "head": np.arange(1, view.attention.shape[1] + 1),
            "token_text": ("token", list(view.tokens)),
            "key_token_text": (key, list(view.key_tokens if cross else view.tokens)),
            "sentence": ("token", view.sentences),
        },
        attrs={
            "text": view.text,
            "model": view.model,
            "stack": view.stack_name,
            "similarity": view.settings.similarity,
            "pairs": str(view.settings.pairs),
            "attention_threshold": view.settings.attention_threshold,
        },
    )


def as_array(values: Tensor) -> NDArray[Any]:
    """A tensor as numpy has it; half precision becomes single.

    Args:
        values: On any device.
    """
    wide = values.float() if values.dtype in (torch.float16, torch.bfloat16) else values
    return wide.cpu().numpy()


def stacked(layers: Sequence[Tensor]) -> NDArray[np.floating]:
    """The layers stacked, without the batch axis; NaN for heads that a layer does not have.

    Args:
        layers: In order, each a batch of one.
    """
    arrays = [as_array(values[0]) for values in layers]
    shape = np.max([array.shape for array in arrays], axis=0)
    whole = np.full((len(arrays), *shape), np.nan, dtype=arrays[0].dtype)
    for place, array in zip(whole, arrays, strict=True):
        place[tuple(slice(size) for size in array.shape)] = array
    return whole
