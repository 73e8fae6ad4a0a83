"""The result of `reach`: tables by layer, by head and by distance, computed when asked for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from headscope.findings.reach.decay import fit_decay
from headscope.findings.reach.evidence import GROUPS, VARIANTS, ReachEvidence
from headscope.findings.reach.extent import LEAST_PAIRS, extents, largest_distances
from headscope.findings.reach.retrieval import (
    long_text_roles,
    retrieval_heads,
    retrieval_table,
)
from headscope.findings.reach.use import agreement_table, far_use, loss_table, use_table
from headscope.findings.resampling.bootstrap import Interval
from headscope.findings.resampling.false_discovery import false_discovery
from headscope.findings.resampling.swap_bands import Bands, swap_bands

GROUP = "different_words"
"""The pairs of tokens that tables are about: a word is similar to itself however far apart."""
VARIANT = "centred_cosine"


@dataclass(frozen=True, eq=False)
class ReachResult:
    """How far similarity, and the use of context, extend in long texts.

    Distances are in tokens. A `reach` is the first distance of the farthest bin whose band lies
    above zero, NaN where no band does, or where fewer than 20 documents were read.
    """

    evidence: ReachEvidence
    about: Mapping[str, Any] = field(default_factory=dict)
    """What was measured: model, corpus, settings."""

    @cached_property
    def layers(self) -> pd.DataFrame:
        """A row per layer, heads averaged: how far, how it decays, and against what."""
        names, differences = self._curves(layers=True)
        table = pd.DataFrame([*names], columns=["stack", "layer"])
        return self._extent_columns(table, differences, layers=True)

    @cached_property
    def heads(self) -> pd.DataFrame:
        """A row per head, with `reaches`: whether any distance does, over all heads at once.

        The false discovery rate over heads is 5 %. `far_use` is the share of what the head writes
        that changes when all beyond 64 tokens and more is replaced; `looks_back` the largest
        distance from which it looks up an earlier occurrence.
        """
        names, differences = self._curves(layers=False)
        table = pd.DataFrame([*names], columns=["stack", "layer", "head"])
        table = self._extent_columns(table, differences, layers=False)
        bands = swap_bands(differences)
        rejected = false_discovery(bands.p_values) & (self.evidence.units >= LEAST_PAIRS)
        table["reaches"] = rejected & table["reach"].notna().to_numpy()
        use = far_use(self.evidence)
        if use is not None:
            table["far_use"] = use
        if self.evidence.changes("repeats_again") is not None:
            back = retrieval_heads(self.retrieval)
            table["looks_back"] = [back.get(name, np.nan) for name in self.evidence.heads]
            roles = self.roles.set_index(["stack", "layer", "head"])["role"].to_dict()
            table["role"] = [roles.get(name) for name in self.evidence.heads]
        return table

    @cached_property
    def curves(self) -> pd.DataFrame:
        """A row per layer, comparison, variant, group and distance, with simultaneous bands."""
        return self._curve_rows(layers=True)

    @cached_property
    def head_curves(self) -> pd.DataFrame:
        """The same for each head."""
        return self._curve_rows(layers=False)

    @cached_property
    def use(self) -> pd.DataFrame | None:
        """A row per layer and distance: what changes when all beyond it is replaced."""
        return use_table(self.evidence, layers=True)

    @cached_property
    def head_use(self) -> pd.DataFrame | None:
        """The same for each head."""
        return use_table(self.evidence, layers=False)

    @cached_property
    def loss(self) -> pd.DataFrame | None:
        """A row per distance: how much the loss increases, in nats; None without a loss."""
        return loss_table(self.evidence)

    @cached_property
    def agreement(self) -> pd.DataFrame | None:
        """A row per distance: rank agreement over heads of excess similarity and use of context."""
        return agreement_table(self.evidence, GROUP, VARIANT)

    @cached_property
    def retrieval(self) -> pd.DataFrame | None:
        """A row per head and distance: how it answers to a phrase that came before."""
        return retrieval_table(self.evidence)

    @cached_property
    def roles(self) -> pd.DataFrame:
        """A row per head that has a role in long texts, with its evidence in words.

        `retrieval` heads attend to an earlier occurrence from far away, and what they write depends
        on it; heads that `follow` write what depends on it, but attend elsewhere.
        """
        return long_text_roles(self.retrieval)

    @property
    def retrieval_strengths(self) -> pd.DataFrame:
        """A row per head with `retrieval`: how strongly it is a retrieval head, 0 for others."""
        table = pd.DataFrame([*self.evidence.heads], columns=["stack", "layer", "head"])
        named = self.roles[self.roles["role"] == "retrieval"]
        found = named.set_index(["stack", "layer", "head"])["strength"].to_dict()
        table["retrieval"] = [found.get(name, 0.0) for name in self.evidence.heads]
        return table

    def to_json(self) -> dict[str, Any]:
        """All tables that are not about single heads' curves, as plain values."""
        tables = {
            "layers": self.layers,
            "heads": self.heads,
            "curves": self.curves,
            "use": self.use,
            "loss": self.loss,
            "agreement": self.agreement,
            "retrieval": self.retrieval,
            "roles": self.roles,
        }
        return dict(self.about) | {
            name: [] if table is None else _records(table) for name, table in tables.items()
        }

    def _curves(self, *, layers: bool) -> tuple[list[Any], Float64[np.ndarray, "unit curve bin"]]:
        differences = self.evidence.differences("excess", VARIANT, GROUP)
        if layers:
            names, by_layer = self.evidence.by_layer(differences)
            return list(names), by_layer
        return list(self.evidence.heads), differences

    def _bands(self, comparison: str, variant: str, group: str, *, layers: bool) -> Bands:
        differences = self.evidence.differences(comparison, variant, group)
        if layers:
            differences = self.evidence.by_layer(differences)[1]
        return swap_bands(differences)

    def _extent_columns(
        self,
        table: pd.DataFrame,
        differences: Float64[np.ndarray, "unit curve bin"],
        *,
        layers: bool,
    ) -> pd.DataFrame:
        evidence = self.evidence
        found = extents(differences, swap_bands(differences), evidence.edges)
        table["reach"] = _numbers([one.largest for one in found])
        columns = {"reach_all": (VARIANT, "all"), "reach_raw": ("raw", GROUP)}
        for name, (variant, group) in columns.items():
            bands = self._bands("excess", variant, group, layers=layers)
            table[name] = _numbers(largest_distances(bands, evidence.edges))
        for comparison in evidence.comparisons[1:]:
            bands = self._bands(comparison, VARIANT, GROUP, layers=layers)
            table[f"reach_{comparison}"] = _numbers(largest_distances(bands, evidence.edges))
        _add_interval(table, "half", [one.half for one in found])
        _add_interval(table, "most", [one.most for one in found])
        decays = [
            None
            if one.largest is None
            else fit_decay(differences[:, at], evidence.edges, evidence.point, evidence.window)
            for at, one in enumerate(found)
        ]
        nothing = Interval(np.nan, np.nan, np.nan)
        table["decay"] = [one.better if one else None for one in decays]
        table["aic_difference"] = [one.aic_difference if one else np.nan for one in decays]
        table["misfit"] = [one.misfit if one else np.nan for one in decays]
        _add_interval(table, "exponent", [one.exponent if one else nothing for one in decays])
        _add_interval(table, "length", [one.length if one else nothing for one in decays])
        return table

    def _curve_rows(self, *, layers: bool) -> pd.DataFrame:
        names, _ = self._curves(layers=layers)
        parts = []
        for comparison in self.evidence.comparisons:
            for variant in VARIANTS:
                for group in GROUPS:
                    bands = self._bands(comparison, variant, group, layers=layers)
                    parts.append(
                        _band_rows(names, bands, self.evidence.edges).assign(
                            comparison=comparison, variant=variant, group=group
                        )
                    )
        return pd.concat(parts, ignore_index=True)


def _band_rows(names: list[Any], bands: Bands, edges: tuple[int, ...]) -> pd.DataFrame:
    curves, bins = np.nonzero(np.isfinite(bands.mean))
    keys = ("stack", "layer", "head")[: len(names[0])]
    table = pd.DataFrame([names[curve] for curve in curves], columns=list(keys))
    table["distance"] = np.asarray(edges[:-1])[bins]
    table["distance_to"] = np.asarray(edges[1:])[bins] - 1
    for name in ("mean", "low", "high"):
        table["excess" if name == "mean" else name] = getattr(bands, name)[curves, bins]
    return table


def _numbers(values: list[int | None]) -> list[float]:
    return [np.nan if value is None else float(value) for value in values]


def _add_interval(table: pd.DataFrame, name: str, values: list[Interval]) -> None:
    table[name] = [value.value for value in values]
    table[f"{name}_low"] = [value.low for value in values]
    table[f"{name}_high"] = [value.high for value in values]


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain values, with None for NaN."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=12))
    return rows
