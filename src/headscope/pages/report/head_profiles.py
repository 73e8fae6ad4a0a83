"""What the report shows of each head when it is clicked, as data for its script."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headscope.findings.roles import role_order
from headscope.pages.figures.distances import baseline_shares, in_bins, octave_bins, pair_shares
from headscope.pages.figures.layout import NothingToDraw
from headscope.pages.figures.matrices import mean_aligned, mean_similarity
from headscope.pages.head_values import (
    head_values,
    json_number,
    measure_facts,
    role_facts,
    shown_measures,
)
from headscope.pages.packed_arrays import packed_maps
from headscope.pages.report.examples import FocalCount, HeadKey
from headscope.settings import SIMILARITY_VARIANTS

SIDE = 64
"""The most cells on a side of a head's maps."""


def head_profiles(
    stack: str,
    results: xr.Dataset,
    heads: pd.DataFrame,
    roles: pd.DataFrame,
    focal: Mapping[HeadKey, Sequence[FocalCount]],
    claims: Mapping[tuple[int, int], Sequence[str]],
) -> dict[str, Any]:
    """The profiles of the heads of a stack, in the order of the table `heads`.

    Args:
        stack: Its name.
        results: The reduced arrays of the stack.
        heads: The measures of its heads.
        roles: Their roles.
        focal: The focal tokens of heads, most frequent first.
        claims: By layer and head, the claims whose verdict names the head.
    """
    order = role_order(heads, roles)
    there = heads.merge(
        roles[["layer", "head", "role", "others", "evidence"]], on=["layer", "head"]
    )
    shown = shown_measures(heads)
    ends = octave_bins(results.sizes["distance"] - 1)
    shares = in_bins(pair_shares(results["distance_histogram"]), ends)
    layers = results["layer"].to_numpy().tolist()
    return {
        "measures": measure_facts(shown),
        "heads": [
            {
                "layer": head["layer"],
                "head": head["head"],
                "role": head["role"],
                "order": order[place],
                "claims": list(claims.get((head["layer"], head["head"]), ())),
                "others": head["others"],
                "evidence": head["evidence"],
                "values": head_values(head, shown),
                "distances": [
                    json_number(share)
                    for share in shares[layers.index(head["layer"]), head["head"] - 1]
                ],
                "focal": [
                    [count.token, count.windows]
                    for count in focal.get((stack, head["layer"], head["head"]), ())
                ],
            }
            for place, head in enumerate(there.to_dict("records"))
        ],
        "roles": role_facts(roles),
        "distances": {"ends": ends.tolist(), "all": _baseline(results, ends)},
        "maps": _maps(results, there),
    }


def _baseline(results: xr.Dataset, ends: np.ndarray) -> list[float | None]:
    try:
        return [json_number(share) for share in in_bins(baseline_shares(results), ends)]
    except NothingToDraw:
        return [None] * len(ends)


def _maps(results: xr.Dataset, heads: pd.DataFrame) -> dict[str, Any]:
    places = [results["layer"].to_numpy().tolist().index(layer) for layer in heads["layer"]]
    numbers = (heads["head"] - 1).tolist()

    def of_heads(means: xr.DataArray) -> dict[str, Any]:
        matrices = means.transpose("layer", "head", ...).to_numpy()[places, numbers]
        return packed_maps(matrices.astype(np.float64), symmetric=True)

    by_position = {
        variant: of_heads(mean_similarity(results, variant, SIDE))
        for variant in SIMILARITY_VARIANTS
        if variant in results["variant"]  # a minimal run has only its own
    }
    return by_position | {"aligned": of_heads(mean_aligned(results))}
