"""The result of pruning: which heads went, what the model loses without them, where it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.findings.resampling.bootstrap import Interval
from headscope.intervene.head_scores import Criterion, Head
from headscope.intervene.projection_edit import Replacement
from headscope.intervene.prune_curve import CurvePoint, as_values

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Pruning:
    """A model without some of its heads, and what it loses."""

    model: str
    heads: tuple[Head, ...]
    """Those that are gone: stack, layer and head, from 1."""
    of_heads: int
    """Number of heads of the model."""
    by: Criterion
    replacement: Replacement
    unit: str
    """Of the loss."""
    loss: float
    """Of the intact model, on the documents that judge; NaN for models without a loss."""
    increase: Interval
    """What the model loses without these heads."""
    ahead: Mapping[str, Interval]
    """How much more it would lose without as many heads chosen by the gradient, or by chance."""
    curve: tuple[CurvePoint, ...]
    documents: int
    """Number of documents that judge."""
    path: Path | None
    """The folder of the model without these heads; None if none was asked for."""
    smaller: str
    """Where the smaller model is, or why there is none."""

    @property
    def relative(self) -> float:
        """The increase as a share of the loss of the intact model."""
        return self.increase.value / self.loss

    @property
    def sentence(self) -> str:
        """What was done, in a sentence."""
        change = f"{self.increase} {self.unit}"
        if np.isfinite(self.loss):
            change += f" ({self.relative:+.2%} of {self.loss:.3f})"
        return (
            f"{len(self.heads)} of {self.of_heads} heads removed by "
            f"{self.by.replace('_', ' ')} ({self.replacement}): {change}"
        )

    def figure(self) -> "Figure":
        """The curve, for each way in which heads were chosen."""
        from headscope.pages.figures.pruning import pruning_figure

        source = f"{self.model}, {self.documents} documents"
        return pruning_figure(self.as_dict()["curve"], source=source, unit=self.unit)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as `--json` and heads.json have them."""
        return {
            "model": self.model,
            "heads": [{"stack": s, "layer": layer, "head": head} for s, layer, head in self.heads],
            "of_heads": self.of_heads,
            "by": self.by,
            "replace": self.replacement,
            "unit": self.unit,
            "documents": self.documents,
            "loss": None if np.isnan(self.loss) else self.loss,
            "loss_increase": as_values(self.increase),
            "ahead_of": {name: as_values(ahead) for name, ahead in self.ahead.items()},
            "curve": [
                {
                    "by": point.by,
                    "heads": point.heads,
                    "share": point.share,
                    "loss_increase": as_values(point.increase),
                    "kl": as_values(point.kl),
                }
                for point in self.curve
            ],
            "folder": None if self.path is None else str(self.path),
            "smaller": self.smaller,
        }
