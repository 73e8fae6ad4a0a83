"""Heads taken out of a model by other weights of its output projections.

What a head adds to the residual stream is z W_O. With its rows of W_O zero it adds nothing; what it
adds on average can stay, as a bias; or the other heads of the layer can be made to write what it
wrote, as far as they know it (least squares). All three leave a model of the same shape, which
loads wherever the model did.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.errors import ModelError, SettingsError
from headscope.kernels.head_writes import WriteSums
from headscope.measuring.writes import MeasuredWrites
from headscope.models.head_writes import HeadWrites
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite

Replacement = Literal["mean", "zero", "least-squares"]
REPLACEMENTS: tuple[Replacement, ...] = get_args(Replacement)
Head = tuple[str, int, int]
"""Stack, layer and head, from 1."""

_RIDGE = 1e-2
"""Of the mean variance of the remaining heads: what is added to each, so that a few thousand tokens
do not fit chance."""


@dataclass(frozen=True, eq=False, slots=True)
class ProjectionEdit:
    """The output projection of one layer without some of its heads."""

    writes: HeadWrites
    removed: tuple[int, ...]
    """Heads, from 1."""
    weight: Float[Tensor, "head d_head d_model"]
    """W_O, with zeros for the heads that are removed."""
    bias: Float[Tensor, "d_model"] | None
    """What is added to the projection's own bias; None for nothing."""


def edits_without(
    model: LoadedModel,
    heads: Collection[Head],
    measured: MeasuredWrites,
    replacement: Replacement,
) -> tuple[ProjectionEdit, ...]:
    """The edits that take heads out of a model, a layer each.

    Args:
        model: What they are taken out of; it is not changed.
        heads: Stack, layer and head, from 1.
        measured: What its heads write, with products of all heads for `least-squares`.
        replacement: What takes the place of what a head writes.
    """
    by_site: dict[AttentionSite, list[int]] = {}
    sites = {(site.stack, site.layer): site for site in model.sites}
    for stack, layer, head in sorted(heads):
        by_site.setdefault(sites[stack, layer], []).append(head)
    refuse_unknown_projections(model, by_site, measured)
    return tuple(
        _edit(measured.writes.found[site], measured.sums[site], removed, replacement)
        for site, removed in by_site.items()
    )


def refuse_unknown_projections(
    model: LoadedModel, sites: Collection[AttentionSite], measured: MeasuredWrites
) -> None:
    """Refuse a model some of whose output projections cannot be edited.

    Args:
        model: Whose they are.
        sites: The layers that are to lose heads.
        measured: What is known of their projections.
    """
    names = [site.name for site in model.sites]
    for site in sites:
        where = f"{site.stack} layer {site.layer} of {model.name}"
        if site in measured.writes.missing:
            raise ModelError(
                f"cannot prune {where}: {measured.writes.missing[site]}; prune another model, or "
                "switch heads off while it runs (model.gates)"
            )
        if names.count(site.name) > 1:
            raise ModelError(
                f"cannot prune {where}: its layers share their weights, so a head that goes from "
                "one goes from all; switch heads off while the model runs instead (model.gates)"
            )
        if measured.writes.found[site].weight_name is None:
            raise ModelError(
                f"cannot prune {where}: its output projection is not one matrix among the weights; "
                "switch heads off while the model runs instead (model.gates)"
            )


def _edit(
    writes: HeadWrites, sums: WriteSums, removed: Sequence[int], replacement: Replacement
) -> ProjectionEdit:
    heads, d_head, d_model = writes.weight.shape
    weight = writes.weight.detach().double().cpu()
    gone = torch.zeros(heads, dtype=torch.bool)
    gone[[head - 1 for head in removed]] = True
    edited = weight.masked_fill(gone[:, None, None], 0)
    bias: Tensor | None = None
    if replacement == "mean":
        bias = torch.einsum("hd,hdm->m", torch.from_numpy(sums.mean)[gone], weight[gone])
    elif replacement == "least-squares":
        width = gone.repeat_interleave(d_head).numpy()
        mean = sums.mean.ravel()
        explained = _explained(sums.covariance, width)  # kept, removed
        matrix = weight.reshape(heads * d_head, d_model).numpy()
        more = explained @ matrix[width]
        rows = np.zeros_like(matrix)
        rows[~width] = matrix[~width] + more
        edited = torch.from_numpy(rows).reshape(heads, d_head, d_model)
        bias = torch.from_numpy(mean[width] @ matrix[width] - mean[~width] @ more)
    elif replacement != "zero":
        raise SettingsError(f"replace: {replacement!r} is not one of {', '.join(REPLACEMENTS)}")
    like = writes.weight
    return ProjectionEdit(
        writes, tuple(removed), edited.to(like), None if bias is None else bias.to(like)
    )


def _explained(
    covariance: np.ndarray[tuple[int, int], np.dtype[np.float64]],
    gone: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """B with E[z_removed | z_kept] = mean + (z_kept - mean) B, by ridge regression."""
    kept = covariance[np.ix_(~gone, ~gone)]
    if not len(kept):
        return np.zeros((0, int(gone.sum())))
    ridge = _RIDGE * np.trace(kept) / len(kept) + np.finfo(np.float64).tiny
    solved = np.linalg.solve(kept + ridge * np.eye(len(kept)), covariance[np.ix_(~gone, gone)])
    return np.asarray(solved, dtype=np.float64)


@contextmanager
def edited(model: LoadedModel, edits: Collection[ProjectionEdit]) -> Iterator[None]:
    """While open, the model has these output projections; then its own again, bit for bit.

    Args:
        model: Changed in place.
        edits: At most one for each layer.
    """
    before: list[tuple[Any, Tensor, nn.Parameter | None]] = []
    try:
        for edit in edits:
            module = projection_of(model, edit.writes)
            before.append((module, module.weight.data, module.bias))
            matrix = edit.weight.reshape(-1, edit.weight.shape[-1])
            module.weight.data = (matrix.T if edit.writes.by_columns else matrix).contiguous()
            if edit.bias is not None:
                own = 0 if module.bias is None else module.bias.data
                module.bias = nn.Parameter(own + edit.bias, requires_grad=False)
        yield
    finally:
        for module, data, bias in before:
            module.weight.data = data
            module.bias = bias


def projection_of(model: LoadedModel, writes: HeadWrites) -> Any:
    """The module that holds the output projection of a layer, as `weight` and `bias`.

    It is a linear map of torch, or one like it (Conv1D of transformers).

    Args:
        model: Whose it is.
        writes: How the heads of the layer write.
    """
    assert writes.weight_name is not None
    module_name, _, parameter = writes.weight_name.rpartition(".")
    module = model.model.get_submodule(module_name)
    if parameter != "weight" or not hasattr(module, "bias"):
        raise ModelError(
            f"cannot prune {model.name}: {writes.weight_name} is not the weight of a linear map; "
            "switch heads off while the model runs instead (model.gates)"
        )
    return module
