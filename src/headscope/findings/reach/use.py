"""How far context is used: what changes when all beyond a distance is from another document.

And whether heads whose similarity reaches far are those that use far context.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float64
from numpy.typing import NDArray

from headscope.findings.reach.evidence import ReachEvidence
from headscope.findings.reach.extent import RESAMPLES, resampled_means
from headscope.findings.resampling.bootstrap import Interval, draw_documents, interval

FAR = 64
"""Distances from here on are far, in tokens."""


@dataclass(frozen=True, eq=False)
class _Resampled:
    """Shares of change by head and bin, as they are (row 0) and in each resample."""

    shares: Float64[np.ndarray, "sample row bin"]
    units: int


def use_table(evidence: ReachEvidence, *, layers: bool) -> pd.DataFrame | None:
    """A row per head (or layer) and distance: the share of what is written that changes.

    The share is the sum of squared changes over the sum of squared lengths of the scored tokens.

    Args:
        evidence: Of all pairs of documents.
        layers: Whether heads of a layer are added up.
    """
    found = evidence.changes("use")
    if found is None:
        return None
    names: list[tuple[str, int] | tuple[str, int, int]] = list(evidence.heads)
    change, size = found
    if layers:
        kinds, change = evidence.by_layer(change)
        _, size = evidence.by_layer(size)
        names = list(kinds)
    shares = _resampled(change, size).shares
    rows = []
    for at, name in enumerate(names):
        for number in np.flatnonzero(np.isfinite(shares[0, at])).tolist():
            one = shares[:, at, number]
            changed = interval(float(one[0]), one[1:], evidence.units)
            rows.append(_named(name) | _distance(evidence, number) | _columns("changed", changed))
    return pd.DataFrame(rows)


def loss_table(evidence: ReachEvidence) -> pd.DataFrame | None:
    """A row per distance: how much the loss of the next token increases, in nats.

    Args:
        evidence: Of all pairs of documents.
    """
    if "loss/increase" not in evidence.arrays:
        return None
    increase, tokens = evidence.arrays["loss/increase"], evidence.arrays["loss/tokens"]
    shares = _resampled(increase[:, None], tokens[:, None]).shares[:, 0]
    rows = []
    for number in np.flatnonzero(np.isfinite(shares[0])).tolist():
        one = interval(float(shares[0, number]), shares[1:, number], evidence.units)
        rows.append(_distance(evidence, number) | _columns("increase", one))
    return pd.DataFrame(rows)


def agreement_table(evidence: ReachEvidence, group: str, variant: str) -> pd.DataFrame | None:
    """A row per distance: the rank correlation over heads of excess similarity and use of context.

    The last row (`far`) takes the means over all distances from 64 tokens on.

    Args:
        evidence: Of all pairs of documents.
        group: Which pairs of tokens.
        variant: How vectors are compared.
    """
    found = evidence.changes("use")
    if found is None:
        return None
    writes = _writing(found[1])
    if writes.sum() < 4:
        return None
    used = _resampled(*(values[:, writes] for values in found)).shares
    differences = evidence.differences("excess", variant, group)[:, writes]
    weights = _weights(evidence.units)
    units, rows_, bins = differences.shape
    excess = resampled_means(differences.reshape(units, -1), weights).reshape(-1, rows_, bins)
    scored = np.isfinite(used[0]).all(0) & np.isfinite(excess[0]).all(0)
    rows = []
    for number in np.flatnonzero(scored).tolist():
        one = _rank_correlation(used[:, :, number], excess[:, :, number])
        found_interval = interval(float(one[0]), one[1:], units)
        rows.append(_distance(evidence, number) | _columns("agreement", found_interval))
    far = np.flatnonzero(scored & (np.asarray(evidence.edges[:-1]) >= FAR))
    if len(far):
        one = _rank_correlation(used[:, :, far].mean(2), excess[:, :, far].mean(2))
        ends = {"distance": evidence.edges[far[0]], "distance_to": evidence.edges[far[-1] + 1] - 1}
        together = interval(float(one[0]), one[1:], units)
        rows.append(ends | _columns("agreement", together))
    return pd.DataFrame(rows)


def far_use(evidence: ReachEvidence) -> NDArray[np.float64] | None:
    """The mean share of change over far distances, by head; NaN without far distances.

    Args:
        evidence: Of all pairs of documents.
    """
    found = evidence.changes("use")
    if found is None:
        return None
    change, size = (values.sum(0) for values in found)
    writes = _writing(found[1])
    far = (np.asarray(evidence.edges[:-1]) >= FAR) & (size[writes] > 0).all(0)
    mean = np.full(len(change), np.nan)
    if far.any():
        mean[writes] = (change[writes][:, far] / size[writes][:, far]).mean(1)
    return mean


def _writing(size: Float64[np.ndarray, "unit row bin"]) -> NDArray[np.bool_]:
    """The heads that write anything: those that were pruned have no share of change."""
    return np.asarray((size > 0).any(axis=(0, 2)))


def _weights(units: int) -> NDArray[np.int32]:
    return draw_documents(units, 0, RESAMPLES).weights


def _resampled(
    change: Float64[np.ndarray, "unit row bin"], size: Float64[np.ndarray, "unit row bin"]
) -> _Resampled:
    units = len(change)
    every = np.concatenate([np.ones((1, units)), _weights(units).astype(np.float64)])
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.tensordot(every, change, axes=1) / np.tensordot(every, size, axes=1)
    return _Resampled(shares, units)


def _rank_correlation(
    first: Float64[np.ndarray, "sample row"], second: Float64[np.ndarray, "sample row"]
) -> Float64[np.ndarray, " sample"]:
    """Spearman's rank correlation over rows, of each sample."""
    from scipy.stats import rankdata  # a second to import: every table of verdicts would wait

    ranks = [rankdata(values, axis=1) for values in (first, second)]
    centred = [one - one.mean(1, keepdims=True) for one in ranks]
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation: NDArray[np.float64] = (centred[0] * centred[1]).sum(1) / np.sqrt(
            np.square(centred[0]).sum(1) * np.square(centred[1]).sum(1)
        )
    return correlation


def _named(name: tuple[str, int] | tuple[str, int, int]) -> dict[str, str | int]:
    return dict(zip(("stack", "layer", "head"), name, strict=False))


def _distance(evidence: ReachEvidence, number: int) -> dict[str, int]:
    return {
        "distance": evidence.edges[number],
        "distance_to": evidence.edges[number + 1] - 1,
    }


def _columns(name: str, value: Interval) -> dict[str, float]:
    return {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
