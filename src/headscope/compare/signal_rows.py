"""Signal, noise and writes of compared runs: means over heads, by thirds of the layers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.compare.rows import Row
from headscope.findings.depth import PARTS, third_of
from headscope.measures.signal import SIGNAL_MEASURES

COLUMNS = ("run", "stack", "seeds", "name", "third", "measure", "value")


def signal_rows(rows: Sequence[Row]) -> pd.DataFrame:
    """The mean over heads of each measure of the sample, for each third of the layers of each row.

    Untrained models are pooled. NaN where a run was made without signal, or lacks what a measure
    needs.

    Args:
        rows: Of the comparison.
    """
    records: list[dict[str, Any]] = []
    for row in rows:
        members = row.run.untrained if row.seeds else [row.run]
        tables = [member.signal[member.signal["stack"] == row.stack] for member in members]
        table = pd.concat(tables, ignore_index=True)
        thirds = np.array([third_of(int(layer), row.deepest) for layer in table["layer"]])
        for measure in SIGNAL_MEASURES:
            for third in PARTS:
                of_third = table.loc[thirds == third, measure.name] if len(table) else pd.Series()
                records.append(
                    {
                        "run": row.label,
                        "stack": row.stack,
                        "seeds": row.seeds,
                        "name": row.name,
                        "third": third,
                        "measure": measure.name,
                        "value": float(of_third.astype(float).mean()),
                    }
                )
    return pd.DataFrame(records, columns=list(COLUMNS))
