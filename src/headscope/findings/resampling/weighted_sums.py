"""Column sums over any choice of windows, from the rows of a run and without the model.

A choice of windows is a row of weights, one per window: 1 and 0 for a subset, how often each window
was drawn for a bootstrap sample. Shards are read one after the other, so that memory does not grow
with the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
from jaxtyping import Shaped
from numpy.typing import NDArray

from headscope.errors import RunError

HEAD_KEYS = ("stack", "layer", "head")


@dataclass(frozen=True, slots=True)
class WeightedSums:
    """Sums of columns over windows, for each choice of windows and each head."""

    heads: pd.DataFrame
    """A row per head: stack, layer, head; in the order of the second axis of the sums."""
    sums: dict[str, NDArray[np.float64]]
    """By column, of shape (choice, head)."""

    def choices(self, some: slice) -> "WeightedSums":
        """The sums of some of the choices."""
        return WeightedSums(self.heads, {name: values[some] for name, values in self.sums.items()})


def weighted_sums(
    rows: ds.Dataset, columns: Sequence[str], weights: Shaped[np.ndarray, "choice window"]
) -> WeightedSums:
    """The sums of `columns` over the windows, once for each row of `weights`.

    Columns that an older run does not have are left out.
    """
    columns = [name for name in columns if name in rows.schema.names]
    heads: pd.DataFrame | None = None
    sums: dict[str, NDArray[np.float64]] = {}
    try:
        for shard in rows.get_fragments():
            table = shard.to_table(columns=["text", *columns])
            window = table["text"].to_numpy()
            n_heads = int(np.count_nonzero(window == window[0]))
            if heads is None:
                heads = shard.head(n_heads, columns=list(HEAD_KEYS)).to_pandas()
                heads = heads.astype({"layer": np.int64, "head": np.int64})
                sums = {name: np.zeros((len(weights), n_heads)) for name in columns}
            # Rows are sorted by window, and every window has the same heads: columns are matrices.
            of_shard = weights[:, window[::n_heads]].astype(np.float64)
            for name in columns:
                values = table[name].to_numpy().reshape(-1, n_heads).astype(np.float64)
                sums[name] += of_shard @ values
    except (pa.ArrowException, OSError, ValueError, IndexError) as error:
        raise RunError(
            f"the shards cannot be read ({str(error).splitlines()[0]}); run the same analyze "
            "command again to measure damaged ones again"
        ) from error
    assert heads is not None, "a run has shards"
    return WeightedSums(heads, sums)
