"""Groups of windows side by side: the measures of every head in each, and how far they agree."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.findings.resampling.weighted_sums import WeightedSums
from headscope.findings.stability.window_groups import WindowGroups
from headscope.measures.tables import layer_columns, measure_columns

Values = NDArray[np.float64]

FEWEST_HEADS = 3
"""A correlation over fewer heads says nothing."""


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """The heads of a run in several groups of windows."""

    texts: dict[str, int]
    """The number of windows of each group."""
    heads: pd.DataFrame
    """A row per group, stack, layer and head: what `run.heads` is for the whole run."""
    layers: pd.DataFrame
    """A row per group, stack and layer: what `run.layers` is for the whole run."""
    agreement: pd.DataFrame
    """A row per stack and measure, over all pairs of groups: `rank_correlation` of the heads
    (Spearman; mean) and the `lowest`; `difference`, the mean absolute difference of a head between
    two groups; for domains `difference_by_chance`, the same after permuting the documents."""
    roles: pd.DataFrame | None = None
    """A row per head: its `role` in the whole run, and `kept`, the share of groups in which it has
    the same one. None where roles were not asked for."""


def compare(groups: WindowGroups, sums: WeightedSums) -> GroupComparison:
    """The groups side by side; choice g of the sums is group g."""
    return GroupComparison(
        texts=dict(zip(groups.names, groups.windows, strict=True)),
        heads=head_tables(groups.names, sums),
        layers=_layer_tables(groups.names, sums),
        agreement=_agreement(sums),
    )


def head_tables(names: tuple[str, ...], sums: WeightedSums) -> pd.DataFrame:
    """A row per group and head, with the columns of `run.heads`."""
    counts = {name: sums.sums[name].astype(np.int64) for name in ("texts", "pairs")}
    columns = counts | measure_columns(sums.sums)
    return pd.concat(
        [
            sums.heads.assign(**{column: values[group] for column, values in columns.items()})
            for group in range(len(names))
        ],
        keys=names,
        names=["group"],
    ).reset_index("group")


def findings(sums: WeightedSums) -> dict[str, Values]:
    """What is compared, of shape (choice, head): every measure, and `NAME_excess` where it applies.

    That is the measure minus its expectation, which says more than the measure by itself.
    """
    columns = measure_columns(sums.sums)
    values: dict[str, Values] = {}
    for name, measured in columns.items():
        if name.endswith("_expected"):
            continue
        values[name] = measured
        if f"{name}_expected" in columns:
            values[f"{name}_excess"] = measured - columns[f"{name}_expected"]
    return values


def mean_difference(values: Values) -> float:
    """The mean absolute difference of a head between two groups; NaN where none is defined."""
    pairs = np.array(list(combinations(range(len(values)), 2)))
    differences = np.abs(values[pairs[:, 0]] - values[pairs[:, 1]])
    there = differences[~np.isnan(differences)]
    return float(there.mean()) if len(there) else float("nan")


def stack_slices(heads: pd.DataFrame) -> dict[str, NDArray[np.intp]]:
    """The places of the heads of each stack."""
    return {
        str(stack): np.asarray(places) for stack, places in heads.groupby("stack").indices.items()
    }


def _layer_tables(names: tuple[str, ...], sums: WeightedSums) -> pd.DataFrame:
    tables = []
    layers = sums.heads.groupby(["stack", "layer"], sort=False)
    for (stack, layer), heads in layers:
        places = heads.index.to_numpy()
        of_layer = {name: values[:, places] for name, values in sums.sums.items()}
        keys = {"group": names, "stack": stack, "layer": layer, "heads": len(places)}
        texts = of_layer["texts"][:, 0].astype(np.int64)
        tables.append(pd.DataFrame(keys | {"texts": texts} | layer_columns(of_layer)))
    whole = pd.concat(tables)
    order = whole["group"].map(names.index).argsort(kind="stable")
    return whole.iloc[order].reset_index(drop=True)


def _agreement(sums: WeightedSums) -> pd.DataFrame:
    rows = []
    for stack, places in stack_slices(sums.heads).items():
        for name, values in findings(sums).items():
            correlations = _rank_correlations(values[:, places])
            rows.append(
                {
                    "stack": stack,
                    "measure": name,
                    "rank_correlation": correlations.mean(),
                    "lowest": correlations.min(),
                    "difference": mean_difference(values[:, places]),
                }
            )
    return pd.DataFrame(rows)


def _rank_correlations(values: Values) -> "pd.Series[float]":
    """Spearman's correlation over heads for each pair of groups; none where it is undefined."""
    matrix = pd.DataFrame(values.T).corr(method="spearman", min_periods=FEWEST_HEADS).to_numpy()
    return pd.Series(matrix[np.triu_indices(len(matrix), 1)]).dropna()
