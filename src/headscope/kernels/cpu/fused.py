"""All statistics of the layers of a stack over one batch of windows, by compiled code on the CPU.

Given the head outputs and column mass of each layer while the model runs; gives what `vectorised`
gives. Short windows: the dot products of a few windows at a time, each matrix measured while it is
in cache. Long windows: head by head in tiles of rows, so that no whole matrix is ever held.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.kernels.cpu.head_tiles import measure_heads
from headscope.kernels.cpu.jit import measure_heads as compiled
from headscope.kernels.cpu.jit.layout import (
    Layer,
    Outputs,
    Products,
    Scratch,
    Task,
    Tokens,
    even_bands,
    new_scratch,
)
from headscope.kernels.cpu.jit.measure_heads import measure_tokens
from headscope.kernels.cpu.pass_arrays import (
    HeadTables,
    empty_layer,
    empty_outputs,
    tokens_of,
    windows_of,
    with_position_sums,
)
from headscope.kernels.similarity import (
    comparable,
    diagonal_share,
    into_bins,
    mean_part_by_position,
    position_bins,
    sum_products_around_boundaries,
    sum_products_by_position,
)
from headscope.kernels.statistics import LayerStatistics, StackStatistics
from headscope.kernels.token_rows import count_kinds, defined
from headscope.kernels.window_batch import WindowBatch
from headscope.settings import Settings, SimilarityVariant
from headscope.system.memory import Buffers


def products_of(
    vectors: Float[Tensor, "batch head token d_head"], buffer: Float[Tensor, " number"]
) -> Products:
    """The dot products of what each head wrote for a window, on and above the diagonal.

    Args:
        vectors: What the heads wrote.
        buffer: Where the products are written.
    """
    n_windows, heads, n, _ = vectors.shape
    rows = even_bands(n)
    # One window at a time, or one head of all windows, so that no operand has to be copied first.
    heads_first = rows == n and heads < n_windows
    end = 0
    for operand in vectors.transpose(0, 1) if heads_first else vectors:
        for row in range(0, n, rows):
            one, other = operand[:, row : row + rows], operand[:, row:]
            begin, end = end, end + one.shape[0] * one.shape[1] * other.shape[1]
            out = buffer[begin:end].view(*one.shape[:2], other.shape[1])
            torch.bmm(one, other.mT, out=out)
    return Products(buffer[:end].numpy(), n_windows, heads, n, rows, heads_first)


TILE_NUMBERS = 1 << 20
"""Products held at once: 4 MB in float32, which fits in the cache of common machines."""


def fused_statistics(
    head_output: Float[Tensor, "batch head token d_head"],
    mass: Float[Tensor, "batch head key"],
    batch: WindowBatch,
    *,
    causal: bool,
    settings: Settings,
) -> LayerStatistics:
    """What `vectorised_statistics` gives, in one pass over each similarity matrix.

    Args:
        head_output: Z.
        mass: What each key received from all real queries.
        batch: The windows.
        causal: Whether no query sees a later key.
        settings: What is measured.
    """
    dtype = torch.float64 if head_output.dtype == torch.float64 else torch.float32
    measurement = FusedMeasurement(batch, settings, [head_output.shape[1]], dtype, Buffers())
    measurement.add(head_output, mass, causal=causal)
    alone = measurement.statistics()
    return LayerStatistics(alone.rows, alone.sums[0], alone.sweep)


class FusedMeasurement:
    """Measures the layers of a stack one after the other, and gives all statistics at the end.

    What depends on the windows alone is made once for all layers. What is kept of each layer is
    allocated before the model runs: allocated in between, it would take the place of large
    activations, which would then need new memory in every layer.
    """

    def __init__(
        self,
        batch: WindowBatch,
        settings: Settings,
        heads: Sequence[int],
        dtype: torch.dtype,
        buffers: Buffers,
    ) -> None:
        """Make room for what is kept of each layer.

        Args:
            batch: The windows as the stack reads them.
            settings: What is measured.
            heads: Number of heads of each layer that will be added.
            dtype: Of the vectors when they are measured: float32 or float64.
            buffers: Hold the sums by position, until the next measurement with the same buffers.
        """
        self._batch = batch
        self._settings = settings
        self._windows = windows_of(batch, settings)
        self._tokens: dict[tuple[bool, torch.dtype], Tokens] = {}
        self._scratch: Scratch | None = None
        self._buffers = buffers
        self._outputs = [empty_outputs(self._windows, number, dtype, settings) for number in heads]
        bins, variants = position_bins(settings.window_tokens), len(settings.variants)
        numbers = buffers.numbers("position sums", sum(heads) * variants * bins * bins, dtype)
        self._position_sums = numbers.view(-1, variants, bins, bins).split_with_sizes(list(heads))
        self._diagonal_shares: list[Tensor] = []
        self._added = 0

    def add(
        self,
        head_output: Float[Tensor, "batch head token d_head"],
        mass: Float[Tensor, "batch head key"],
        *,
        causal: bool,
    ) -> None:
        """Measure a layer."""
        settings = self._settings
        vectors = head_output.float() if head_output.dtype != torch.float64 else head_output
        layer = empty_layer(vectors, mass, settings)
        outputs = with_position_sums(self._outputs[self._added], layer)
        self._measure_tokens(vectors, mass, causal, layer, outputs)
        compared = comparable(vectors, settings.similarity, self._batch.counted)
        self._diagonal_shares.append(diagonal_share(compared, self._batch.counted))

        def sum_without_products(heads: slice) -> Tensor:
            around = sum_products_around_boundaries(compared[:, heads], self._batch)
            outputs.aligned_sums[heads] = around.numpy()
            return _position_sums(vectors, heads, outputs, layer, self._batch, settings)

        if _fits(vectors):
            self._measure_short_windows(compared, layer, outputs)
            position_sums = _position_sums(
                vectors, slice(None), outputs, layer, self._batch, settings
            )
        else:
            position_sums = measure_heads(
                compared, self._windows, layer, outputs, sum_without_products
            )
        self._position_sums[self._added].copy_(position_sums)
        self._added += 1

    def statistics(self) -> StackStatistics:
        """The statistics of the layers, in the order in which they were added."""
        tables = HeadTables.of(self._batch, self._outputs)
        by_rule = tables.by_rule()
        rows = tables.rows(by_rule)
        rows |= defined("diagonal_share", torch.cat(self._diagonal_shares, dim=1))
        sweep: dict[str, Tensor] = {}
        if not self._settings.minimal:
            for axis, columns in (
                ("pair_rule", by_rule),
                ("attention_threshold", tables.by_threshold()),
            ):
                sweep |= {f"{axis}/{name}": values[..., 1:] for name, values in columns.items()}
        focal_kinds = count_kinds(rows["focal_kind"]).split_with_sizes(tables.heads)
        sums = [
            self._sums(outputs) | {"similarity_sum": by_position, "focal_kinds": kinds}
            for outputs, by_position, kinds in zip(
                self._outputs, self._position_sums, focal_kinds, strict=True
            )
        ]
        return StackStatistics(rows, sweep, sums)

    def _measure_tokens(
        self,
        vectors: Float[Tensor, "batch head token d_head"],
        mass: Float[Tensor, "batch head key"],
        causal: bool,
        layer: Layer,
        outputs: Outputs,
    ) -> None:
        key = causal, mass.dtype
        if key not in self._tokens:
            self._tokens[key] = tokens_of(self._batch, mass.dtype, causal, self._settings)
        # As the model wrote them, the heads of a token are adjacent.
        by_token = vectors.transpose(1, 2).contiguous().numpy()
        measure_tokens(by_token, mass.contiguous().numpy(), self._tokens[key], layer, outputs)

    def _measure_short_windows(
        self, vectors: Float[Tensor, "batch head token d_head"], layer: Layer, outputs: Outputs
    ) -> None:
        """Run the compiled pass over the dot products of a few windows at a time."""
        n_windows, heads, n, _ = vectors.shape
        if self._scratch is None:
            self._scratch = new_scratch(self._windows, layer)
        task = Task(self._windows, layer, outputs, self._scratch)
        together = min(n_windows, TILE_NUMBERS // (heads * n * n))
        buffer = self._buffers.numbers("products", together * heads * n * n, vectors.dtype)
        for first in range(0, n_windows, together):
            products = products_of(vectors[first : first + together], buffer)
            compiled.measure_short_windows(products, first, task)

    def _sums(self, outputs: Outputs) -> dict[str, Tensor]:
        sums = {
            "aligned_sum": outputs.aligned_sums,
            "distance_histogram": outputs.distances,
            "element_kinds": outputs.element_kinds,
            "same_sentence_permuted": outputs.permuted_sentences,
        }
        if self._settings.profiles:
            sums["similarity_by_distance"] = outputs.by_distance
            sums["within_by_distance"] = outputs.within_by_distance
        return {name: torch.from_numpy(values).double() for name, values in sums.items()}


def _fits(vectors: Float[Tensor, "batch head token d_head"]) -> bool:
    """Whether all dot products of a window may be held at once."""
    _, heads, n, _ = vectors.shape
    return heads * n * n <= TILE_NUMBERS


def _position_sums(
    vectors: Float[Tensor, "batch head token d_head"],
    heads: slice,
    outputs: Outputs,
    layer: Layer,
    batch: WindowBatch,
    settings: Settings,
) -> Float[Tensor, "some_heads variant position position"]:
    """The sums by position of some heads: those that the pass made, and the rest from vectors."""
    vectors, n, window = vectors[:, heads], vectors.shape[2], settings.window_tokens
    own = torch.from_numpy(outputs.own_sums)[heads, :, :n]
    made = {}
    if layer.sum_own:
        made[settings.similarity] = into_bins(own, window)
    if layer.sum_scaled:
        other: SimilarityVariant = "raw" if settings.similarity == "cosine" else "cosine"
        made[other] = into_bins(torch.from_numpy(outputs.scaled_sums)[heads, :, :n], window)
    if layer.sum_own and settings.similarity == "raw" and "centred" in settings.variants:
        made["centred"] = into_bins(own - mean_part_by_position(vectors, batch.counted), window)
    for variant in settings.variants:
        if variant not in made:
            compared = comparable(vectors, variant, batch.counted)
            made[variant] = sum_products_by_position(compared, batch.counted, window)
    return torch.stack([made[variant] for variant in settings.variants], dim=1)
