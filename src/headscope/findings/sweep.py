"""Threshold sensitivity: how every finding moves with the thresholds that it rests on.

A run measures ten pair rules and five attention thresholds besides its own, in the same pass over
the windows. These are tables of those numbers: nothing is measured again.
"""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import RunError, option
from headscope.measures import TEXTS
from headscope.measures.tables import column_totals, layer_columns, measure_columns

Axis = Literal["pair_rule", "attention_threshold"]
AXES: tuple[Axis, ...] = ("pair_rule", "attention_threshold")


def sweep_table(
    stacks: Mapping[str, xr.Dataset], *, per: Literal["layer", "head"] = "layer"
) -> pd.DataFrame:
    """A row per stack, layer (or head), axis and threshold; a column per measure that moves.

    On the axis `pair_rule` the attention threshold is the run's own, and vice versa. The
    measures are pooled over the heads of a layer unless `per` is `head`. Those that do not depend
    on an axis are NaN there.
    """
    if not all(dataset.sizes["pair_rule"] for dataset in stacks.values()):
        raise RunError(
            f"this run was measured at its own thresholds alone ({option('minimal', True)}); "
            "analyse again without it to see how findings move"
        )
    tables = [
        _axis_table(dataset, axis, per).assign(stack=stack)
        for stack, dataset in stacks.items()
        for axis in AXES
    ]
    whole = pd.concat(tables, ignore_index=True)
    return whole[["stack", *whole.columns.drop("stack")]]


def _axis_table(dataset: xr.Dataset, axis: Axis, per: Literal["layer", "head"]) -> pd.DataFrame:
    sums = _sums_at_thresholds(dataset, axis)
    coordinates = [np.asarray(dataset["layer"]), np.asarray(dataset["head"])]
    columns = measure_columns(sums)
    keys = ["layer", "head"]
    if per == "layer":
        columns, keys, coordinates = layer_columns(sums), keys[:1], coordinates[:1]
    thresholds = [str(threshold) for threshold in dataset[axis].to_numpy()]
    index = pd.MultiIndex.from_product([*coordinates, thresholds], names=[*keys, "threshold"])
    table = pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index)
    table.insert(0, "axis", axis)
    # A layer with fewer heads than the widest one leaves empty cells in the arrays.
    there = sums[TEXTS] > 0 if per == "head" else (sums[TEXTS] > 0).any(axis=1)
    return table[there.ravel()].reset_index()[[*keys, "axis", "threshold", *columns]]


def _sums_at_thresholds(dataset: xr.Dataset, axis: Axis) -> dict[str, NDArray[np.float64]]:
    """The column sums of shape (layer, head, threshold), with what they are divided by."""
    suffix = f"_by_{axis}"
    swept = {
        str(name).removesuffix(suffix): dataset[name].transpose("layer", "head", axis).to_numpy()
        for name in dataset.data_vars
        if str(name).endswith(suffix)
    }
    shape = next(iter(swept.values())).shape
    totals = column_totals(dataset)
    constant = {name: np.broadcast_to(totals[name][..., None], shape) for name in (TEXTS, "pairs")}
    return constant | swept
