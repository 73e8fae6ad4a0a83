"""The sample of a run under every analysis choice, while the model reads it with whole maps."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.kernels.choices import ChoiceRows, choice_rows, high_attention_rows
from headscope.kernels.window_batch import WindowBatch
from headscope.models.site import AttentionSite, LayerCapture
from headscope.runs.choice_files import Cells, ChoiceTables
from headscope.settings import SIMILARITY_VARIANTS, SWEEP_ATTENTION, PairRule, Settings

HEAD_COLUMNS = (
    "pairs",
    "repetition_pairs",
    "repetition_expected",
    "distinct_pairs",
    "common_pairs",
    "common_expected",
    "focal_token",
)
"""What is kept of each head. Of the other columns only their sum over the heads of a layer is."""


def choice_rules(settings: Settings) -> tuple[PairRule, ...]:
    """The pair rules under which the sample is measured, the run's own among them.

    Args:
        settings: Of the run.
    """
    return tuple(dict.fromkeys(settings.every_rule))


class ChoiceCollector:
    """Collects what every layer shows under every choice. Threads may share it.

    Each window has its place, so that a batch that is measured twice does not count twice.
    """

    def __init__(
        self, numbers: NDArray[np.int64], sites: Sequence[AttentionSite], settings: Settings
    ) -> None:
        """Make room for what is measured.

        Args:
            numbers: The numbers of the windows in their run.
            sites: The attention layers that are measured.
            settings: Of the run.
        """
        self._numbers = numbers
        self._rules = choice_rules(settings)
        stacks = list(dict.fromkeys(site.stack for site in sites))
        self._sites = {stack: [site for site in sites if site.stack == stack] for stack in stacks}
        self._heads: dict[str, Cells] = {stack: {} for stack in stacks}
        self._layers: dict[str, Cells] = {stack: {} for stack in stacks}
        self._attention: dict[str, Cells] = {stack: {} for stack in stacks}

    def reader(self, batch: WindowBatch) -> "_BatchReader":
        """What reads the layers of a stack for one batch.

        Args:
            batch: The windows as the stack reads them.
        """
        return _BatchReader(batch, self._rules)

    def add(
        self,
        capture: LayerCapture,
        mass: Float[Tensor, "batch head key"],
        reader: "_BatchReader",
        places: Sequence[int],
    ) -> None:
        """Keep a layer of some windows.

        Args:
            capture: Z and A.
            mass: What each key received from all real queries.
            reader: Of the batch and stack.
            places: Of the windows among those of the sample.
        """
        stack = capture.site.stack
        sites = self._sites[stack]
        layer = sites.index(capture.site)
        first = sum(site.heads for site in sites[:layer])
        heads = slice(first, first + capture.site.heads)
        n_heads = sum(site.heads for site in sites)
        for name, values in reader.rows(capture.head_output, capture.attention).items():
            if name in HEAD_COLUMNS:
                self._put(self._heads[stack], name, values, places, heads, n_heads)
            if name not in HEAD_COLUMNS or name == "pairs":
                summed = values.sum(1, keepdim=True)
                at = slice(layer, layer + 1)
                self._put(self._layers[stack], name, summed, places, at, len(sites))
        for name, values in high_attention_rows(mass, reader.batch, SWEEP_ATTENTION).items():
            summed, at = values.sum(1, keepdim=True), slice(layer, layer + 1)
            self._put(self._attention[stack], name, summed, places, at, len(sites))

    def _put(
        self,
        kept: Cells,
        name: str,
        values: Float[Tensor, "batch unit ..."],
        places: Sequence[int],
        units: slice,
        n_units: int,
    ) -> None:
        shape = (len(self._numbers), n_units, *values.shape[2:])
        # Threads may make the same array at once: the first one stays.
        cells = kept.setdefault(name, np.full(shape, np.nan, np.float32))
        cells[np.asarray(places), units] = values.float().cpu().numpy()

    def tables(self, left_out: Sequence[int] = ()) -> ChoiceTables:
        """All that was collected.

        Args:
            left_out: Places of windows that could not be measured.
        """
        kept = np.setdiff1d(np.arange(len(self._numbers)), np.asarray(left_out, dtype=np.int64))

        def of(by_stack: dict[str, Cells]) -> dict[str, Cells]:
            return {
                stack: {name: values[kept] for name, values in cells.items()}
                for stack, cells in by_stack.items()
            }

        return ChoiceTables(
            windows=self._numbers[kept],
            similarities=SIMILARITY_VARIANTS,
            rules=tuple(map(str, self._rules)),
            thresholds=SWEEP_ATTENTION,
            heads=of(self._heads),
            layers=of(self._layers),
            attention=of(self._attention),
        )


class _BatchReader:
    """The choices of one batch: compiled on the CPU, torch elsewhere."""

    def __init__(self, batch: WindowBatch, rules: Sequence[PairRule]) -> None:
        self.batch = batch
        self._rules = rules
        self._counter = None
        if batch.counted.device.type == "cpu":
            # Compiled code is loaded only where it is used.
            from headscope.kernels.cpu.choices import ChoiceCounter

            self._counter = ChoiceCounter(batch, rules)

    def rows(
        self,
        head_output: Float[Tensor, "batch head token d_head"],
        attention: Float[Tensor, "batch head token key"],
    ) -> ChoiceRows:
        with torch.inference_mode():
            if self._counter is not None:
                return self._counter.rows(head_output, attention)
            return choice_rows(head_output, attention, self.batch, self._rules)
