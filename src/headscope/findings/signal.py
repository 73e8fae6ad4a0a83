"""Signal, noise and what heads write, as tables: one row per head, with intervals."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from headscope.findings.resampling.bootstrap import draw_documents
from headscope.measures.signal import (
    SIGNAL_MEASURES,
    SignalMeasure,
    signal_columns,
    without_each_group,
)
from headscope.runs.folder import RunFolder
from headscope.runs.signal_files import SignalSums, read_signal


def read_run_signal(folder: RunFolder) -> SignalSums | None:
    """The sums of a run's sample; None in a run that has none.

    Args:
        folder: The files of the run.
    """
    return read_signal(folder.path, folder.manifest, within=folder.within)


def signal_table(folder: RunFolder, signal: SignalSums | None) -> pd.DataFrame:
    """A row per stack, layer and head: every measure of the sample with `NAME_low`, `NAME_high`.

    `reconstruction` is R² of the head's write from the other heads of its layer. Without rows in a
    run that has no signal.

    Args:
        folder: The files of the run.
        signal: From `read_run_signal`.
    """
    parts = []
    for stack in folder.manifest.stacks if signal is not None else ():
        assert signal is not None
        sums = signal.stacks[stack]
        columns = signal_columns({k: v for k, v in sums.items() if k not in _WITHOUT_GROUPS})
        keys = head_keys(folder, stack)
        rebuilt = sums.get("reconstruction", np.full(len(keys), np.nan))
        parts.append(keys.assign(**columns, reconstruction=rebuilt))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=_KEYS)


@dataclass(frozen=True, eq=False)
class SignalSamples:
    """A measure of the sample of a run, in bootstrap samples of its groups of documents."""

    layers: Int[np.ndarray, " head"]
    samples: Float64[np.ndarray, "sample head"]
    """In the run itself (first), and in each bootstrap sample."""
    groups: int
    """Number of groups that were drawn from."""


def signal_samples(
    folder: RunFolder, signal: SignalSums, stack: str, measure: SignalMeasure, seed: int
) -> SignalSamples:
    """A measure of the sample in every bootstrap sample of its groups of documents, by head.

    The bootstrap is linear: what each group adds is how the measure moves when that group is left
    out, as in the jackknife that gives the intervals of `signal_table`. The same seed draws the
    same groups for all runs of one corpus.

    Args:
        folder: The files of the run.
        signal: From `read_run_signal`.
        stack: One of its stacks.
        measure: One of `SIGNAL_MEASURES`.
        seed: Of the draws.
    """
    sums = {k: v for k, v in signal.stacks[stack].items() if k not in _WITHOUT_GROUPS}
    totals, others = without_each_group(sums)
    value = measure.of(totals)
    without = np.stack([measure.of(rest) for rest in others])
    n = len(others)
    influence = (value - without) * (n - 1) / n
    drawn = draw_documents(n, seed).weights - 1
    return SignalSamples(
        head_keys(folder, stack)["layer"].to_numpy(),
        np.vstack([value, value + drawn @ influence]),
        n,
    )


def with_signal(table: pd.DataFrame, signal: pd.DataFrame) -> pd.DataFrame:
    """A table of heads with the measures of the sample beside the others, without intervals.

    Args:
        table: With the columns stack, layer and head.
        signal: From `signal_table`.
    """
    if signal.empty:
        return table
    return table.merge(signal[[*_KEYS, *value_columns(signal)]], on=_KEYS, how="left")


def with_signal_means(table: pd.DataFrame, signal: pd.DataFrame) -> pd.DataFrame:
    """A table of layers with the mean over heads of each measure of the sample.

    Args:
        table: With the columns stack and layer.
        signal: From `signal_table`.
    """
    if signal.empty:
        return table
    means = signal.groupby(["stack", "layer"], as_index=False)[value_columns(signal)].mean()
    return table.merge(means, on=["stack", "layer"], how="left")


def value_columns(signal: pd.DataFrame) -> list[str]:
    """The columns of a signal table that hold values and expectations, not bounds.

    Args:
        signal: From `signal_table`.
    """
    names = [name for measure in SIGNAL_MEASURES for name in _names(measure.name)]
    return [name for name in (*names, "reconstruction") if name in signal]


def cka_table(folder: RunFolder, signal: SignalSums | None, stack: str) -> pd.DataFrame | None:
    """Debiased CKA between all heads of a stack, by (layer, head); None where there is none.

    Args:
        folder: The files of the run.
        signal: From `read_run_signal`.
        stack: One of its stacks.
    """
    if signal is None or "cka" not in signal.stacks[stack]:
        return None
    heads = pd.MultiIndex.from_frame(head_keys(folder, stack)[["layer", "head"]])
    return pd.DataFrame(signal.stacks[stack]["cka"], index=heads, columns=heads)


def head_keys(folder: RunFolder, stack: str) -> pd.DataFrame:
    """Stack, layer and head of every head of a stack, as the sums count them.

    Args:
        folder: The files of the run.
        stack: One of its stacks.
    """
    keys = [
        (stack, site.layer, head)
        for site in folder.manifest.model.sites
        if site.stack == stack
        for head in range(1, site.heads + 1)
    ]
    return pd.DataFrame(keys, columns=_KEYS)


def _names(name: str) -> tuple[str, str]:
    return name, f"{name}_expected"


_KEYS = ["stack", "layer", "head"]
_WITHOUT_GROUPS = ("cka", "reconstruction")
