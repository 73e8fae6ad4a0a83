"""The tables people read: every measure per head and per layer, from the totals of a run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.measures import MEASURES
from headscope.measures.columns import TOTAL

if TYPE_CHECKING:
    import xarray as xr

Totals = Mapping[str, NDArray[np.float64]]


def add_measures(results: "xr.Dataset") -> "xr.Dataset":
    """The dataset with every measure per layer and head beside the totals it comes from."""
    import xarray as xr  # here, because looking at one text does not need it

    totals = column_totals(results)
    return results.assign(
        {
            name: xr.DataArray(
                values,
                dims=("layer", "head"),
                attrs={
                    "long_name": (measure := MEASURES[name.removesuffix("_expected")]).title,
                    "units": measure.unit,
                    "definition": measure.definition,
                    "misleads": measure.misleads,
                    "source": measure.source,
                },
            )
            for name, values in measure_columns(totals).items()
        }
    )


def head_table(results: "xr.Dataset") -> pd.DataFrame:
    """A row per layer and head, a column per measure."""
    totals = column_totals(results)
    layers, heads = np.meshgrid(results["layer"], results["head"], indexing="ij")
    columns = {"layer": layers, "head": heads, "texts": totals["texts"], "pairs": totals["pairs"]}
    columns |= measure_columns(totals)
    table = pd.DataFrame({name: values.ravel() for name, values in columns.items()})
    # A layer with fewer heads than the widest one leaves empty cells in the arrays.
    return table[table["texts"] > 0].reset_index(drop=True).astype({"texts": int, "pairs": int})


def layer_table(results: "xr.Dataset") -> pd.DataFrame:
    """A row per layer: the measures pooled over its heads, and what they add up to."""
    totals = column_totals(results)
    heads = (totals["texts"] > 0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        texts = np.nansum(totals["texts"], axis=1) / heads
    columns = {"layer": np.asarray(results["layer"]), "heads": heads, "texts": texts}
    return pd.DataFrame(columns | layer_columns(totals)).astype({"texts": int})


def column_totals(results: "xr.Dataset") -> dict[str, NDArray[np.float64]]:
    """The sums over all windows, by column: arrays of shape (layer, head)."""
    return {
        str(name).removeprefix(TOTAL): results[name].transpose("layer", "head").to_numpy()
        for name in results.data_vars
        if str(name).startswith(TOTAL)
    }


def measure_columns(sums: Totals) -> dict[str, NDArray[np.float64]]:
    """Every measure whose columns are among the sums, and `NAME_expected`; of any one shape."""
    values: dict[str, NDArray[np.float64]] = {}
    for measure in MEASURES:
        if not {measure.numerator, measure.denominator} <= set(sums):
            continue
        values[measure.name] = measure.value(sums)
        if measure.expected in sums:
            expected = measure.expected_value(sums)
            assert expected is not None, "it has a column of expectations"
            values[f"{measure.name}_expected"] = expected
    return values


def layer_columns(sums: Totals) -> dict[str, NDArray[np.float64]]:
    """The measures pooled over heads, the second axis of the sums, and layer totals."""
    pooled = {name: _sum_over_heads(values) for name, values in sums.items()}
    columns = measure_columns(pooled)
    heads = (sums["texts"] > 0).sum(axis=1)
    for measure in MEASURES:
        if measure.layer_total is not None and measure.name in columns:
            columns[measure.layer_total.name] = columns[measure.name] * heads
    return columns


def _sum_over_heads(values: NDArray[np.float64]) -> NDArray[np.float64]:
    # Heads last and together in memory: how numpy groups its additions depends on that, and sums
    # must be the same to the last bit whatever other axes there are.
    per_head = np.ascontiguousarray(np.moveaxis(values, 1, -1))
    return np.where(np.isnan(per_head).all(axis=-1), np.nan, np.nansum(per_head, axis=-1))
