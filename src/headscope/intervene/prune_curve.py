"""What a model loses with more and more of its heads gone: the curve that pruning is judged by."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from headscope.findings.resampling.bootstrap import Interval
from headscope.findings.resampling.window_cells import resample_windows
from headscope.intervene.head_scores import Head
from headscope.intervene.projection_edit import ProjectionEdit, edited
from headscope.measuring.batch import batches
from headscope.measuring.outcome import Outcome, OutcomeBatch, Reading
from headscope.settings import Settings
from headscope.text.windows import Window

SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)
"""Of all heads of the model, at which the curve has a point."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What the model loses without some of its heads, on documents that did not choose them."""

    by: str
    """How they were chosen."""
    heads: int
    """How many are gone."""
    share: float
    """Of all heads of the model."""
    increase: Interval
    """Of the loss; for models without a loss, 1 - cosine of pooled states."""
    kl: Interval | None
    """Divergence of the answers from those of the intact model; None without answers."""


@dataclass(eq=False)
class Judge:
    """Measures what models put out for some windows, against the intact model.

    What the intact model answers is read again for each batch: for a large vocabulary it would not
    fit into memory.
    """

    outcome: Outcome
    windows: Sequence[Window]
    documents: Int64[np.ndarray, " window"]
    seed: int
    _batches: list[tuple[list[int], OutcomeBatch]] = field(default_factory=list)

    def __post_init__(self) -> None:
        tokens = Settings().batch_tokens
        for places in batches(self.windows, max_tokens=tokens):
            batch = self.outcome.prepare([self.windows[place] for place in places])
            self._batches.append((places, batch))

    def losses(
        self,
        variants: Sequence[Collection[ProjectionEdit]],
        on_windows: Callable[[int], None] = lambda windows: None,
    ) -> dict[str, Float64[np.ndarray, "variant window"]]:
        """What is lost in each window, for each variant of the model.

        Args:
            variants: What is changed in each.
            on_windows: Called with the number of windows read.
        """
        found: dict[str, Float64[np.ndarray, "variant window"]] = {}
        for places, batch in self._batches:
            intact = self.outcome.read(batch)
            on_windows(len(places))
            for number, edits in enumerate(variants):
                with edited(self.outcome.model, edits):
                    changed = self.outcome.read(batch)
                for name, values in self._lost(changed, intact).items():
                    rows = found.setdefault(
                        name, np.full((len(variants), len(self.windows)), np.nan)
                    )
                    rows[number, places] = values
                on_windows(len(places))
        return found

    def _lost(self, changed: Reading, intact: Reading) -> Mapping[str, Float64[np.ndarray, " _"]]:
        after = self.outcome.compare(changed, intact)
        if not self.outcome.has_loss:
            return {"increase": after["pooled"], "intact": np.zeros_like(after["pooled"])}
        before = self.outcome.compare(intact, intact)
        return {
            "increase": after["loss"] - before["loss"],
            "kl": after["kl"],
            "intact": before["loss"],
        }

    def interval(self, values: Float64[np.ndarray, " window"]) -> Interval:
        """The mean over windows, with its interval over documents.

        Args:
            values: Of each window.
        """
        ones = np.ones((len(values), 1))
        (found,) = resample_windows(values[:, None], ones, self.documents, self.seed).intervals()
        return found


def curve_points(
    judge: Judge,
    orders: Mapping[str, Sequence[Head]],
    counts: Mapping[str, Sequence[int]],
    edits: Callable[[str, Sequence[Head]], Collection[ProjectionEdit]],
    on_windows: Callable[[int], None] = lambda windows: None,
) -> tuple[list[CurvePoint], dict[tuple[str, int], Float64[np.ndarray, " window"]], float]:
    """The curve of each order of heads, the increase of each window, and the intact loss.

    Args:
        judge: Of windows that chose no head.
        orders: All heads by how they were chosen, those that go first in front.
        counts: How many go at each point of the curve.
        edits: What is changed in the model without some heads.
        on_windows: Called with the number of windows read.
    """
    asked = [(by, count) for by in orders for count in counts[by]]
    lost = judge.losses([edits(by, orders[by][:count]) for by, count in asked], on_windows)
    points, increases = [], {}
    for number, (by, count) in enumerate(asked):
        increases[by, count] = lost["increase"][number]
        points.append(
            CurvePoint(
                by=by,
                heads=count,
                share=count / len(orders[by]),
                increase=judge.interval(lost["increase"][number]),
                kl=judge.interval(lost["kl"][number]) if "kl" in lost else None,
            )
        )
    intact = float(np.nanmean(lost["intact"][0])) if asked else float("nan")
    return points, increases, intact


def as_values(interval: Interval | None) -> dict[str, Any] | None:
    """An interval as JSON has it, null where it has no number.

    Args:
        interval: With its value.
    """
    return None if interval is None else interval.to_json()
