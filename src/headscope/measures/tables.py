"""The tables people read: every measure per head and per layer, from the totals of a run."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.measures import MEASURES
from headscope.measures.focal import FOCAL_EXCLUSIVENESS
from headscope.runs.reduce import TOTAL

Totals = Mapping[str, NDArray[np.float64]]


def add_measures(results: xr.Dataset) -> xr.Dataset:
    """The dataset with every measure per layer and head beside the totals it comes from."""
    totals = _totals(results)
    texts = {measure.name: measure for measure in MEASURES}
    return results.assign(
        {
            name: xr.DataArray(
                values,
                dims=("layer", "head"),
                attrs={
                    "long_name": (measure := texts[name.removesuffix("_expected")]).title,
                    "units": measure.unit,
                    "definition": measure.definition,
                    "misleads": measure.misleads,
                    "source": measure.source,
                },
            )
            for name, values in _all_measures(totals).items()
        }
    )


def head_table(results: xr.Dataset) -> pd.DataFrame:
    """A row per layer and head, a column per measure."""
    totals = _totals(results)
    layers, heads = np.meshgrid(results["layer"], results["head"], indexing="ij")
    columns = {"layer": layers, "head": heads, "texts": totals["texts"], "pairs": totals["pairs"]}
    columns |= _all_measures(totals)
    table = pd.DataFrame({name: values.ravel() for name, values in columns.items()})
    # A layer with fewer heads than the widest one leaves empty cells in the arrays.
    return table[table["texts"] > 0].reset_index(drop=True).astype({"texts": int, "pairs": int})


def layer_table(results: xr.Dataset) -> pd.DataFrame:
    """A row per layer: the measures pooled over its heads, and its distinct focal tokens."""
    per_head = _totals(results)
    pooled = {name: np.nansum(values, axis=1) for name, values in per_head.items()}
    for name, values in per_head.items():
        pooled[name][np.isnan(values).all(axis=1)] = np.nan
    heads = (per_head["texts"] > 0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        texts = pooled["texts"] / heads
    columns = {"layer": np.asarray(results["layer"]), "heads": heads, "texts": texts}
    columns |= _all_measures(pooled)
    columns["distinct_focal_tokens"] = columns[FOCAL_EXCLUSIVENESS.name] * heads
    return pd.DataFrame(columns).astype({"texts": int})


def _totals(results: xr.Dataset) -> dict[str, NDArray[np.float64]]:
    return {
        str(name).removeprefix(TOTAL): results[name].transpose("layer", "head").to_numpy()
        for name in results.data_vars
        if str(name).startswith(TOTAL)
    }


def _all_measures(totals: Totals) -> dict[str, NDArray[np.float64]]:
    values: dict[str, NDArray[np.float64]] = {}
    for measure in MEASURES:
        values[measure.name] = measure.value(totals)
        expected = measure.expected_value(totals)
        if expected is not None:
            values[f"{measure.name}_expected"] = expected
    return values
