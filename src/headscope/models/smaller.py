"""Models that lost attention heads for good: fewer rows and columns in the maps of a layer.

transformers has one number of heads for all layers of a model, so such a model is built with all of
its heads, and its smaller weights are then put in their place. Attention code takes the number of
heads from the width of what it is given; where a family does not, the self-check on load says so.
"""

from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from headscope.errors import ModelError

MARK = "heads.json"
"""The file of a model folder that says which heads it lost."""
SMALLER = "smaller"
"""Its key that is true if their weights are gone, and not just zero."""

Mismatch = tuple[str, Collection[int], Collection[int]]
"""A weight, its shape in the file, and the shape that the config asks for."""


def take_smaller(
    name: str,
    model: PreTrainedModel,
    mismatched: Collection[Mismatch],
    tensors: Mapping[str, Any],
    dtype: torch.dtype,
) -> None:
    """Put smaller weights in the place of those that a config asks for.

    Args:
        name: Of the model, for messages.
        model: Changed in place.
        mismatched: The weights whose shape in the file is another one.
        tensors: The tensors of the files, by name, to be sliced.
        dtype: Of the weights, once they are loaded.
    """
    for key, there, wanted in mismatched:
        owner, _, parameter = key.rpartition(".")
        module = model.get_submodule(owner)
        fits = len(there) == len(wanted) and all(
            0 < small <= whole for small, whole in zip(there, wanted, strict=True)
        )
        names = [each for each in tensors if each == key or each.endswith(f".{key}")]
        if not isinstance(module, nn.Linear) or not fits or len(names) != 1:
            raise ModelError(
                f"cannot load {name}: {key} has {' x '.join(map(str, there))} numbers, which no "
                "model without some of its heads would have; take a whole copy of the model"
            )
        weight = tensors[names[0]][:].to(dtype)
        setattr(module, parameter, nn.Parameter(weight, requires_grad=False))
        if parameter == "weight":
            module.out_features, module.in_features = weight.shape


def like_smaller(fresh: PreTrainedModel, model: PreTrainedModel) -> None:
    """Cut the linear maps of a whole model down to the shapes of a smaller one.

    Args:
        fresh: Changed in place: of the same family.
        model: The smaller model.
    """
    for key, weight in model.named_parameters():
        owner, _, parameter = key.rpartition(".")
        module = fresh.get_submodule(owner)
        whole = getattr(module, parameter)
        if whole.shape == weight.shape:
            continue
        part = whole.detach()[tuple(slice(size) for size in weight.shape)].clone()
        setattr(module, parameter, nn.Parameter(part, requires_grad=False))
        if parameter == "weight" and isinstance(module, nn.Linear):
            module.out_features, module.in_features = part.shape
