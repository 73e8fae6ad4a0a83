"""All statistics of one layer over one batch of windows, in torch, on any device.

This is the definition that the fused kernel for the CPU is tested against. It reads top to bottom:
similarity, pairs, what the pairs have in common, where attention goes, and the sums over windows.
"""

from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headscope.kernels.common_token import common_rows, common_tokens
from headscope.kernels.distance_profile import block_contrast, distance_profile, half_distance
from headscope.kernels.pairs import Pairs, choose_pairs, focal_tokens
from headscope.kernels.similarity import (
    comparable,
    similarity,
    sum_around_boundaries,
    sum_by_position,
)
from headscope.kernels.statistics import KINDS, LayerStatistics, StackStatistics
from headscope.kernels.token_rows import (
    attention_rows,
    count_kinds,
    defined,
    exclusiveness,
    focal_rows,
    mask_rows,
    norm_rows,
    scaled_mass,
)
from headscope.kernels.window_batch import GROUPS, LEMMA, SENTENCE, TOKEN, WindowBatch, together
from headscope.settings import SWEEP_ATTENTION, SWEEP_PAIRS, Settings

PerWindowAndHead = Float[Tensor, "batch head"]


def vectorised_statistics(
    head_output: Float[Tensor, "batch head token d_head"],
    mass: Float[Tensor, "batch head key"],
    batch: WindowBatch,
    *,
    causal: bool,
    settings: Settings,
) -> LayerStatistics:
    """The statistics of every head of a layer, for each window and summed over windows.

    Args:
        head_output: Z.
        mass: What each key received from all real queries.
        batch: The windows.
        causal: Whether no query sees a later key.
        settings: What is measured.
    """
    matrices = {
        variant: similarity(head_output, variant, batch.counted) for variant in settings.variants
    }
    matrix = matrices[settings.similarity]
    pairs = choose_pairs(matrix, batch.counted, settings.pairs)
    scaled = scaled_mass(mass, batch, causal, settings)
    norms: Tensor = torch.linalg.vector_norm(head_output.double(), dim=-1)

    rows = _pair_rows(pairs, batch)
    rows |= _mask_rows(pairs, scaled, batch, settings, settings.attention_threshold)
    rows |= _group_rows(pairs, batch)
    focal = focal_tokens(pairs, batch.first)
    rows |= focal_rows(focal.place, rows["pairs"], batch)
    distinct = rows["pairs"] - rows["repetition_pairs"]
    rows |= common_rows(common_tokens(pairs, batch), distinct, batch)
    rows |= attention_rows(mass, batch)
    rows |= norm_rows(norms, batch)
    rows |= defined("diagonal_share", _diagonal_share(matrix, head_output, batch, settings))
    by_distance, profile_rows = _profile(matrix, batch, settings)
    rows |= profile_rows

    window = settings.window_tokens
    sums = {
        "similarity_sum": torch.stack(
            [sum_by_position(matrices[v], batch.counted, window) for v in settings.variants],
            dim=1,
        ),
        "aligned_sum": sum_around_boundaries(matrix, batch),
        "distance_histogram": _histogram(pairs, pairs.distance, window),
        "element_kinds": _element_kinds(pairs, batch),
        "focal_kinds": count_kinds(rows["focal_kind"]),
        "same_sentence_permuted": _permuted(pairs, batch.permuted_sentences),
    } | by_distance
    sweep = {} if settings.minimal else _sweep(matrix, pairs, scaled, batch, settings)
    return LayerStatistics(rows, sums, sweep)


@dataclass(frozen=True, slots=True)
class VectorisedMeasurement:
    """Measures the layers of a stack one after the other."""

    batch: WindowBatch
    settings: Settings
    _measured: list[LayerStatistics] = field(default_factory=list)

    def add(
        self,
        head_output: Float[Tensor, "batch head token d_head"],
        mass: Float[Tensor, "batch head key"],
        *,
        causal: bool,
    ) -> None:
        """Measure a layer."""
        self._measured.append(
            vectorised_statistics(
                head_output, mass, self.batch, causal=causal, settings=self.settings
            )
        )

    def statistics(self) -> StackStatistics:
        """The statistics of the layers, in the order in which they were added."""

        def joined(columns: list[dict[str, Tensor]]) -> dict[str, Tensor]:
            return {name: torch.cat([one[name] for one in columns], dim=1) for name in columns[0]}

        return StackStatistics(
            rows=joined([layer.rows for layer in self._measured]),
            sweep=joined([layer.sweep for layer in self._measured]),
            sums=[layer.sums for layer in self._measured],
        )


def _profile(
    matrix: Float[Tensor, "batch head token token"], batch: WindowBatch, settings: Settings
) -> tuple[dict[str, Float[Tensor, "head window"]], dict[str, PerWindowAndHead]]:
    """Sums by distance, and the columns that follow from them: NaN if not wanted."""
    if not settings.profiles:
        undefined = matrix.new_full(matrix.shape[:2], torch.nan, dtype=torch.float64)
        return {}, defined("half_distance", undefined) | defined("block_contrast", undefined)
    profile = distance_profile(matrix, batch)
    sums = {
        "similarity_by_distance": _padded(profile.all.sum(0), settings.window_tokens),
        "within_by_distance": _padded(profile.within.sum(0), settings.window_tokens),
    }
    rows = defined("half_distance", half_distance(profile.positive))
    return sums, rows | defined("block_contrast", block_contrast(profile, batch))


def _diagonal_share(
    matrix: Float[Tensor, "batch head token token"],
    head_output: Float[Tensor, "batch head token d_head"],
    batch: WindowBatch,
    settings: Settings,
) -> PerWindowAndHead:
    """The share of the diagonal, before it is set to zero, in the sum of squares of C."""
    both = (batch.counted[:, :, None] & batch.counted[:, None, :])[:, None]
    vectors = comparable(head_output.to(matrix.dtype), settings.similarity, batch.counted)
    squared_lengths = vectors.square().sum(-1) * batch.counted[:, None]
    diagonal = squared_lengths.double().square().sum(-1)
    return diagonal / (diagonal + (matrix.double() * both).square().sum((-2, -1)))


def _pair_rows(pairs: Pairs, batch: WindowBatch) -> dict[str, PerWindowAndHead]:
    """The columns that depend on the pair rule, other than those of the attention mask."""
    distance = pairs.distance
    bound = together(batch.queries.groups[[SENTENCE, TOKEN]])
    rates = batch.baseline.rates
    focal = focal_tokens(pairs, batch.first)
    return {
        "pairs": pairs.count(),
        "distance_sum": pairs.count(distance),
        "distance_expected": pairs.count() * batch.baseline.mean_distance[:, None],
        "same_sentence_pairs": pairs.count(pairs.of(bound[0])),
        "same_sentence_expected": pairs.count(rates[SENTENCE][pairs.window, distance]),
        "repetition_pairs": pairs.count(pairs.of(bound[1])),
        "repetition_expected": pairs.count(rates[TOKEN][pairs.window, distance]),
        "focal_elements": focal.elements,
        "focal_exclusiveness": exclusiveness(focal.place),
        "focal_texts": (focal.place >= 0).double(),
    }


def _mask_rows(
    pairs: Pairs,
    scaled: Float[Tensor, "batch head key"],
    batch: WindowBatch,
    settings: Settings,
    threshold: float,
) -> dict[str, PerWindowAndHead]:
    """The number of high-attention tokens among those that may form pairs; pairs with one."""
    may_be_high = batch.keys.counted(settings.special_tokens)[:, None]
    high: Bool[Tensor, "batch head key"] = (scaled >= threshold) & may_be_high
    count = high.sum(-1).double()
    chosen = pairs.count()
    touched = chosen
    if not batch.cross:
        touched = pairs.count(
            high[pairs.window, pairs.head, pairs.i] | high[pairs.window, pairs.head, pairs.j]
        )
    n = batch.counted.sum(-1).double()[:, None].expand_as(count)
    return {"high_attention_tokens": count} | mask_rows(
        chosen, touched, count, n, cross=batch.cross
    )


def _group_rows(pairs: Pairs, batch: WindowBatch) -> dict[str, PerWindowAndHead]:
    """Pairs of the same word, and of the same lemma where the corpus has lemmas."""
    rows: dict[str, PerWindowAndHead] = {}
    for group in range(TOKEN + 1, len(GROUPS)):
        same = together(batch.queries.groups[group : group + 1])[0]
        rate = batch.baseline.rates[group][pairs.window, pairs.distance]
        rows[f"{GROUPS[group]}_repetition_pairs"] = pairs.count(pairs.of(same))
        rows[f"{GROUPS[group]}_repetition_expected"] = pairs.count(rate)
    has_lemmas = (batch.queries.groups[LEMMA] >= 0).any(-1)
    rows["lemma_pairs"] = pairs.count(has_lemmas[pairs.window])
    return rows


def _histogram(
    pairs: Pairs, values: Int[Tensor, " pair"], size: int
) -> Float[Tensor, "head value"]:
    counts = torch.bincount(pairs.head * size + values, minlength=pairs.heads * size)
    return counts.view(pairs.heads, size).double()


def _element_kinds(pairs: Pairs, batch: WindowBatch) -> Float[Tensor, "head kind"]:
    """Number of elements of the pairs that are of each kind of token."""
    kinds = batch.queries.kinds
    return _histogram(pairs, kinds[pairs.window, pairs.i], KINDS) + _histogram(
        pairs, kinds[pairs.window, pairs.j], KINDS
    )


def _permuted(
    pairs: Pairs, labels: Int[Tensor, "batch token permutation"]
) -> Float[Tensor, "head permutation"]:
    """Number of pairs that belong together under each permutation of the labels."""
    one, other = labels[pairs.window, pairs.i], labels[pairs.window, pairs.j]
    same = ((one == other) & (one >= 0)).double()
    return same.new_zeros((pairs.heads, labels.shape[2])).index_add_(0, pairs.head, same)


def _sweep(
    matrix: Float[Tensor, "batch head token token"],
    pairs: Pairs,
    scaled: Float[Tensor, "batch head key"],
    batch: WindowBatch,
    settings: Settings,
) -> dict[str, Float[Tensor, "batch head threshold"]]:
    by_rule = []
    for rule in SWEEP_PAIRS:
        chosen = choose_pairs(matrix, batch.counted, rule)
        mask = _mask_rows(chosen, scaled, batch, settings, settings.attention_threshold)
        del mask["high_attention_tokens"]
        by_rule.append(_pair_rows(chosen, batch) | mask)
    by_threshold = [_mask_rows(pairs, scaled, batch, settings, at) for at in SWEEP_ATTENTION]
    return {
        f"{axis}/{column}": torch.stack([row[column] for row in rows], dim=-1)
        for axis, rows in (("pair_rule", by_rule), ("attention_threshold", by_threshold))
        for column in rows[0]
    }


def _padded(
    values: Float[Tensor, "head distance"], window_tokens: int
) -> Float[Tensor, "head window"]:
    return torch.nn.functional.pad(values, (0, window_tokens - values.shape[-1]))
