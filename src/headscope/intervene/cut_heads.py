"""Heads cut out of the stored weights of a model, so that it becomes smaller.

It works for families whose attention has one linear map each for queries, keys and values, and
takes the number of heads from their width. Where heads share keys and values (grouped queries), a
head takes its weights along only together with all heads of its group.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from headscope.intervene.projection_edit import ProjectionEdit, projection_of
from headscope.intervene.stored_weights import Place, StoredWeights
from headscope.models.loaded import LoadedModel


@dataclass(frozen=True, slots=True)
class LayerCut:
    """What stays of one layer."""

    parts: Mapping[str, int]
    """The weights of the maps of queries, keys and values: into how many heads each divides."""
    kept: Mapping[str, tuple[int, ...]]
    """Which of these heads stay, from 0."""
    heads_kept: tuple[int, ...]
    """Which heads of the layer stay, from 0."""


def cut_heads(
    model: LoadedModel, edits: Collection[ProjectionEdit], stored: StoredWeights
) -> str | None:
    """Cut heads out of stored weights; gives the reason if the model's shapes do not allow it.

    Args:
        model: The model, with its own weights.
        edits: Which heads go.
        stored: Its weights, with the edited projections in place; changed only if all can be cut.
    """
    cuts = [(edit, layer_cut(model, edit)) for edit in edits]
    for _, cut in cuts:
        if isinstance(cut, str):
            return cut
    for edit, cut in cuts:
        assert isinstance(cut, LayerCut)
        assert edit.writes.weight_name is not None
        for weight, parts in cut.parts.items():
            _keep(stored, stored.place(weight), parts, cut.kept[weight], 0)
            _keep(stored, stored.bias_place(weight), parts, cut.kept[weight], 0)
        axis = 1 if edit.writes.by_columns else 0
        place = stored.place(edit.writes.weight_name)
        _keep(stored, place, edit.writes.site.heads, cut.heads_kept, axis)
    return None


def layer_cut(model: LoadedModel, edit: ProjectionEdit) -> LayerCut | str:
    """What stays of a layer, or why nothing can be cut out of it.

    Args:
        model: Whose layer it is.
        edit: Says which heads go.
    """
    site = edit.writes.site
    module = model.model.get_submodule(site.name)
    output = projection_of(model, edit.writes)
    maps = {
        f"{site.name}.{name}.weight": child
        for name, child in module.named_children()
        if isinstance(child, nn.Linear) and child is not output
    }
    if len(maps) != 3:
        return f"{site.name} has no linear map each for queries, keys and values"
    sharing = int(getattr(module, "num_key_value_groups", 1))
    groups = site.heads // sharing
    # The map of queries is for all heads; those of keys and values are for groups of heads.
    narrow, wide = (pick(child.out_features for child in maps.values()) for pick in (min, max))
    if wide != sharing * narrow or narrow % groups:
        return f"{site.name} has maps of {narrow} and {wide} numbers for {site.heads} heads"
    parts = {
        weight: site.heads if child.out_features == wide else groups
        for weight, child in maps.items()
    }
    gone = {head - 1 for head in edit.removed}
    left = [
        group
        for group in range(groups)
        if not gone.issuperset(range(group * sharing, (group + 1) * sharing))
    ] or [0]  # attention without any head has no shape: one stays, which writes nothing
    heads = tuple(group * sharing + one for group in left for one in range(sharing))
    kept = {weight: heads if each == site.heads else tuple(left) for weight, each in parts.items()}
    return LayerCut(parts, kept, heads)


def _keep(
    stored: StoredWeights, place: Place, parts: int, kept: tuple[int, ...], axis: int
) -> None:
    """Keep some of the equal parts of a stored tensor, if there is one."""
    whole = stored.get(place)
    if whole is not None:
        pieces: tuple[Tensor, ...] = torch.tensor_split(whole, parts, dim=axis)
        stored.put(place, torch.cat([pieces[part] for part in kept], dim=axis))
