"""The measures of every head on one text: those of a run over this one window."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from headscope.kernels.token_rows import column_mass
from headscope.kernels.vectorised import vectorised_statistics
from headscope.kernels.window_batch import WindowBatch
from headscope.look.stack_view import LayerView
from headscope.measures import TEXTS
from headscope.measures.tables import measure_columns
from headscope.settings import Settings


def head_measures(
    layers: Sequence[LayerView], batch: WindowBatch, settings: Settings, stack: str
) -> pd.DataFrame:
    """A row per layer and head: stack, layer, head, pairs, a column per measure.

    Args:
        layers: What each layer computed.
        batch: The text as the stack reads it.
        settings: How similarity, pairs and high-attention tokens are chosen.
        stack: Its name.
    """
    # Sums over positions and other thresholds are of no use for one text.
    few = replace(settings, minimal=True)
    tables = []
    for layer in layers:
        mass = column_mass(layer.attention, batch.queries.real)
        measured = vectorised_statistics(
            layer.head_output, mass, batch, causal=layer.site.causal, settings=few
        )
        sums = {name: values[0].double().cpu().numpy() for name, values in measured.rows.items()}
        sums[TEXTS] = (sums["pairs"] >= 0).astype(float)  # one
        heads = range(1, len(sums["pairs"]) + 1)
        whole = {"stack": stack, "layer": layer.site.layer, "head": heads}
        counted = {"pairs": sums["pairs"].astype(int)}
        tables.append(pd.DataFrame(whole | counted | measure_columns(sums)))
    return pd.concat(tables, ignore_index=True)
