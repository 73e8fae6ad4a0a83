"""One batch of windows through the model, into the shard that is being built.

A batch is kept whole or not at all. A window for which the model writes NaN or infinity is left
out, and the others are measured again without it. A batch that does not fit into memory is halved
until it does; a window that does not fit by itself is left out.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.kernels.similarity import count_around_boundaries, count_by_position
from headscope.kernels.statistics import KINDS, StackMeasurement
from headscope.kernels.token_rows import all_finite, column_mass
from headscope.kernels.vectorised import VectorisedMeasurement
from headscope.kernels.window_batch import SENTENCE, TokenLabels, WindowBatch
from headscope.measuring.choices import ChoiceCollector
from headscope.measuring.labels import label_tokens, shifted_right, window_batch
from headscope.measuring.shard_builder import ShardBuilder
from headscope.measuring.signal import BatchSums, SignalCollector
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite, LayerCapture, MassCapture
from headscope.runs.left_out import LeftOut, LeftOutKind
from headscope.settings import Settings
from headscope.system.memory import Buffers
from headscope.system.threads import Turn
from headscope.system.timing import timed
from headscope.text.windows import Window

_EVEN_THREADS = 4
"""Few groups are cut so that this many threads get an equal number. The number is fixed: how
windows are grouped decides the last bits of what is measured, and may not depend on the machine."""
_FEW_GROUPS = 16
"""With more, threads get almost equal numbers anyway."""


def batches(windows: Sequence[Window], *, max_tokens: int) -> list[list[int]]:
    """Groups of indices into `windows`: each window in one group, the longest windows first.

    A group is padded to its own longest window. A window longer than `max_tokens` is a group by
    itself. Windows of equal length keep their order.

    Args:
        windows: In any order.
        max_tokens: Maximum number of tokens of a group, padding included.
    """
    total = sum(window.n_tokens for window in windows)
    if 0 < total <= _FEW_GROUPS * max_tokens:
        each = math.ceil(total / (_EVEN_THREADS * max_tokens))
        max_tokens = min(max_tokens, math.ceil(total / (_EVEN_THREADS * each)))
    by_length = sorted(range(len(windows)), key=lambda index: -windows[index].n_tokens)
    groups: list[list[int]] = []
    for index in by_length:
        if groups and (len(groups[-1]) + 1) * windows[groups[-1][0]].n_tokens <= max_tokens:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


_WORDS = ("can't allocate memory", "not enough memory", "bad_alloc", "out of memory")
"""What errors say: torch on CPUs (Linux, Windows), the C++ library, other devices."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the same work in smaller pieces may succeed.

    Args:
        error: Raised while a batch was measured.
    """
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error) for word in _WORDS)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The result of running the model on a batch."""

    readings: dict[str, WindowBatch]
    """The batch as each stack reads it."""
    measurements: dict[str, StackMeasurement]
    """What was measured, by stack."""
    unmeasurable: dict[int, str]
    """Why a window cannot be measured, by its place in the shard."""
    signal: BatchSums | None = None
    """Signal and noise, where that is asked for."""


@dataclass(frozen=True, slots=True)
class BatchMeasurement:
    """Measures the windows of a shard, batch after batch."""

    model: LoadedModel
    windows: Sequence[Window]
    """All of the shard."""
    settings: Settings
    sites: Sequence[AttentionSite]
    builder: ShardBuilder
    choices: ChoiceCollector | None = None
    """Also gets what each layer shows under every analysis choice; the model then keeps whole
    attention maps."""
    signal: SignalCollector | None = None
    """Also gets what each head writes, for signal and noise."""
    _buffers: defaultdict[str, Buffers] = field(default_factory=lambda: defaultdict(Buffers))
    """By stack, reused from batch to batch."""

    def measure(self, places: Sequence[int], turn: Turn) -> None:
        """Add some windows to the shard, or leave them out.

        Args:
            places: Of the windows in the shard.
            turn: Waits until the shard holds all earlier windows: sums are added in order.
        """
        try:
            attempt = self._attempt(places)
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            attempt = None
        # Only after `except` is the memory of a failed attempt free: its error held on to it.
        if attempt is None:
            self._measure_in_halves(places, turn)
            return
        for place, reason in attempt.unmeasurable.items():
            self._leave_out(place, "not finite", reason)
        if not attempt.unmeasurable:
            with timed("building shards"):
                self._keep(attempt, places, turn)
        elif rest := [place for place in places if place not in attempt.unmeasurable]:
            self.measure(rest, turn)

    def _measure_in_halves(self, places: Sequence[int], turn: Turn) -> None:
        if len(places) == 1:
            tokens = self.windows[places[0]].n_tokens
            self._leave_out(places[0], "memory", f"memory does not suffice for its {tokens} tokens")
            return
        middle = len(places) // 2
        self.measure(places[:middle], turn)
        self.measure(places[middle:], turn)

    def _leave_out(self, place: int, kind: LeftOutKind, reason: str) -> None:
        number = self.builder.first_window + place
        self.builder.leave_out(place, LeftOut(number, self.windows[place].document, kind, reason))

    def _attempt(self, places: Sequence[int]) -> _Attempt:
        with timed("labelling tokens"):
            labels = label_tokens([self.windows[place] for place in places], self.model.device)
            numbers = self.builder.first_window + np.asarray(places, dtype=np.int64)
            readings = {
                stack: stack_reading(self.model, stack, labels, self.settings, numbers)
                for stack in dict.fromkeys(site.stack for site in self.sites)
            }
            measurements = {
                stack: stack_measurement(
                    reading,
                    self.settings,
                    [site.heads for site in self._sites_of(stack)],
                    self.model.dtype,
                    self._buffers[stack],
                )
                for stack, reading in readings.items()
            }
            signal = self.signal.reader(places) if self.signal is not None else None
        attempt = _Attempt(readings, measurements, unmeasurable={}, signal=signal)

        def on_layer(capture: MassCapture) -> None:
            site, reading = capture.site, readings[capture.site.stack]
            finite = all_finite(capture.head_output, reading)
            for index in (~finite).nonzero().flatten().tolist():
                reason = f"layer {site.layer} ({site.stack}) writes NaN or infinity"
                attempt.unmeasurable.setdefault(places[index], reason)
            if attempt.unmeasurable:
                return  # the rest of this pass only looks for more such windows
            with timed("measuring heads"):
                measurements[site.stack].add(capture.head_output, capture.mass, causal=site.causal)
            if self.signal is not None and signal is not None:
                with timed("measuring signal"):
                    self.signal.add(site, capture.head_output, signal)

        with timed("running the model"):
            if self.choices is None:
                self.model.forward_mass(labels.token_ids, labels.real, on_layer, sites=self.sites)
            else:
                on_map = self._under_every_choice(self.choices, readings, places, on_layer)
                self.model.forward(labels.token_ids, labels.real, on_map, sites=self.sites)
        return attempt

    def _under_every_choice(
        self,
        choices: ChoiceCollector,
        readings: Mapping[str, WindowBatch],
        places: Sequence[int],
        on_layer: Callable[[MassCapture], None],
    ) -> Callable[[LayerCapture], None]:
        """What hands a layer to `on_layer`, and then to the collector."""
        readers = {stack: choices.reader(reading) for stack, reading in readings.items()}

        def on_map(capture: LayerCapture) -> None:
            reader = readers[capture.site.stack]
            mass = column_mass(capture.attention, reader.batch.queries.real)
            on_layer(MassCapture(capture.site, capture.head_output, mass))
            if all_finite(capture.head_output, reader.batch).all():
                with timed("measuring every choice"):
                    choices.add(capture, mass, reader, places)

        return on_map

    def _keep(self, attempt: _Attempt, places: Sequence[int], turn: Turn) -> None:
        at = np.asarray(places, dtype=np.int64)
        of_windows = {
            stack: _arrays(_window_sums(reading, self.settings))
            for stack, reading in attempt.readings.items()
        }
        of_layers: list[tuple[AttentionSite, dict[str, NDArray[Any]]]] = []
        for stack, measurement in attempt.measurements.items():
            statistics = measurement.statistics()
            self.builder.add_rows(stack, at, _arrays(statistics.rows))
            self.builder.add_sweep(stack, at, _arrays(statistics.sweep))
            of_layers += zip(self._sites_of(stack), map(_arrays, statistics.sums), strict=True)
        turn()
        if self.signal is not None and attempt.signal is not None:
            self.signal.keep(attempt.signal)
        for stack, sums in of_windows.items():
            for name, summed in sums.items():
                self.builder.add_array(stack, name, summed)
        for site, sums in of_layers:
            for name, summed in sums.items():
                self.builder.add_array(site.stack, name, summed, layer=site.layer)

    def _sites_of(self, stack: str) -> list[AttentionSite]:
        """The sites of a stack, in the order in which the model runs them."""
        return [site for site in self.sites if site.stack == stack]


def _arrays(tensors: Mapping[str, torch.Tensor]) -> dict[str, NDArray[Any]]:
    return {name: values.cpu().numpy() for name, values in tensors.items()}


def stack_measurement(
    batch: WindowBatch,
    settings: Settings,
    heads: Sequence[int],
    dtype: torch.dtype,
    buffers: Buffers,
) -> StackMeasurement:
    """What measures the layers of a stack: compiled passes on the CPU, torch elsewhere.

    Args:
        batch: The windows as the stack reads them.
        settings: What is measured.
        heads: Number of heads of each layer that will be added.
        dtype: Of the model.
        buffers: May hold the results, until the next measurement with the same buffers.
    """
    if batch.counted.device.type == "cpu":
        # Compiled code is loaded only where it is used.
        from headscope.kernels.cpu.fused import FusedMeasurement

        precision = torch.float64 if dtype == torch.float64 else torch.float32
        return FusedMeasurement(batch, settings, heads, precision, buffers)
    return VectorisedMeasurement(batch, settings)


def stack_reading(
    model: LoadedModel,
    stack: str,
    labels: TokenLabels,
    settings: Settings,
    numbers: NDArray[np.int64],
) -> WindowBatch:
    """The batch as a stack reads it.

    Args:
        model: What reads it.
        stack: Which of its stacks.
        labels: Of the windows.
        settings: What is measured.
        numbers: The number of each window in its run.
    """
    queries = keys = labels
    if model.reads_shifted(stack):
        queries = shifted_right(labels, model.start_token_id)
        keys = labels if stack == "cross" else queries
    return window_batch(queries, keys, settings, numbers)


def _window_sums(batch: WindowBatch, settings: Settings) -> dict[str, torch.Tensor]:
    """What depends on the windows alone, not on any head."""
    window = settings.window_tokens
    pairs = batch.baseline.pairs
    inside = (batch.baseline.rates[SENTENCE] * pairs).round()
    kinds = batch.queries.kinds[batch.counted]

    def padded(by_distance: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(by_distance, (0, window - len(by_distance)))

    return {
        "position_count": count_by_position(batch.counted, window),
        "aligned_count": count_around_boundaries(batch),
        "distance_baseline": padded(pairs.sum(0)),
        "within_baseline": padded(inside.sum(0)),
        "token_kinds": torch.bincount(kinds, minlength=KINDS).double(),
    }
