"""What the compiled passes over a layer are given, made of tensors."""

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.kernels.cpu.jit.layout import RULE_COLUMNS, Layer, Outputs, Texts, Tokens, padded
from headscope.kernels.similarity_sums import position_bins, sentence_starts
from headscope.kernels.statistics import ALIGNED_TOKENS, KINDS
from headscope.kernels.token_rows import scaling_keys, viewers
from headscope.kernels.window_batch import WindowBatch
from headscope.settings import PairRule, Settings


def texts_of(batch: WindowBatch, settings: Settings) -> Texts:
    """What is known of the texts of a batch."""
    counted = batch.counted.numpy()
    n = counted.shape[1]
    first = counted.argmax(1)
    end = np.where(counted.any(1), n - counted[:, ::-1].argmax(1), 0)
    starts = np.zeros_like(counted)
    starts[tuple(sentence_starts(batch).numpy().T)] = True
    return Texts(
        counted=counted,
        end_counted=end,
        has_holes=counted.sum(1) < end - first,
        groups=batch.queries.groups.int().numpy(),
        rates=batch.baseline.rates.numpy(),
        pair_counts=batch.baseline.pairs.numpy(),
        first=batch.first.numpy(),
        kinds=batch.queries.kinds.numpy(),
        starts=starts,
        permuted_sentences=batch.permuted_sentences.numpy(),
        permuted_tokens=batch.permuted_tokens.numpy(),
        is_top=np.array([rule.kind == "top" for rule in settings.rules]),
        taken=_numbers_taken(batch.counted, settings.rules),
    )


def tokens_of(batch: WindowBatch, mass: torch.dtype, causal: bool, settings: Settings) -> Tokens:
    """What is known of the tokens of a batch, for column mass of that type."""
    keys = batch.keys
    seen_by = viewers(batch.queries.real, keys.real.shape[1], causal=causal).to(mass)
    return Tokens(
        counted=batch.counted.numpy(),
        separators=(batch.counted & batch.queries.separator).numpy(),
        key_separators=(keys.separator & ~keys.special).numpy(),
        key_specials=keys.special.numpy(),
        scaling=scaling_keys(batch, causal, settings).numpy(),
        viewers=seen_by.clamp_min(1).contiguous().numpy(),
    )


def empty_layer(
    vectors: Float[Tensor, "batch head token d_head"],
    mass: Float[Tensor, "batch head key"],
    settings: Settings,
) -> Layer:
    """What a pass is told of a layer; what that says of tokens is not filled in yet."""
    kind = vectors.dtype
    each_position = settings.window_tokens == position_bins(settings.window_tokens)
    return Layer(
        scales=vectors.new_empty(vectors.shape[:3]).numpy(),
        # Raw and cosine similarity differ by the lengths of both vectors.
        scale_by_length=settings.similarity == "cosine",
        sum_scaled=each_position and not settings.minimal and settings.similarity != "centred",
        sum_own=each_position,
        profiles=settings.profiles,
        scaled_mass=mass.new_empty(mass.shape, dtype=kind).numpy(),
        thresholds=_array(settings.attention_thresholds, kind),
        rule_values=_array([rule.value for rule in settings.rules], kind),
    )


def _array(values: list[float], kind: torch.dtype) -> NDArray[np.floating]:
    return torch.tensor(values, dtype=kind).numpy()


def _numbers_taken(
    counted: Bool[Tensor, "batch token"], rules: list[PairRule]
) -> NDArray[np.int64]:
    tokens = counted.sum(-1).tolist()
    taken = {n: [rule.number_taken(n * (n - 1) // 2) for rule in rules] for n in set(tokens)}
    return np.array([taken[n] for n in tokens], dtype=np.int64)


def empty_outputs(texts: Texts, heads: int, kind: torch.dtype, settings: Settings) -> Outputs:
    """Where the passes over a layer write to, for vectors of that type."""
    n_windows = len(texts.counted)
    window, thresholds = settings.window_tokens, len(settings.attention_thresholds)
    return Outputs(
        lengths=np.zeros((n_windows, heads, 2)),
        attention=np.zeros((n_windows, heads, 4)),
        high=np.zeros((n_windows, heads, thresholds)),
        rules=np.zeros((n_windows, heads, len(settings.rules), RULE_COLUMNS)),
        groups=np.zeros((n_windows, heads, 2, 2)),
        touched=np.zeros((n_windows, heads, thresholds)),
        half_distance=np.full((n_windows, heads), np.nan),
        block_contrast=np.full((n_windows, heads), np.nan),
        own_sums=_array([], kind).reshape(0, 0, 0),
        scaled_sums=_array([], kind).reshape(0, 0, 0),
        aligned_sums=np.zeros((heads, 2 * ALIGNED_TOKENS, 2 * ALIGNED_TOKENS)),
        by_distance=np.zeros((heads, window)),
        within_by_distance=np.zeros((heads, window)),
        distances=np.zeros((heads, window)),
        element_kinds=np.zeros((heads, KINDS)),
        permuted_sentences=np.zeros((heads, texts.permuted_sentences.shape[-1]), np.int32),
        permuted_tokens=np.zeros((heads, texts.permuted_tokens.shape[-1]), np.int32),
    )


def with_position_sums(outputs: Outputs, layer: Layer) -> Outputs:
    """The same, with sums by position where they are made on the way: they are not kept."""
    _, heads, n = layer.scales.shape
    shape, none, kind = (heads, n, padded(n)), (heads, 0, 0), layer.scales.dtype
    return outputs._replace(
        own_sums=np.zeros(shape if layer.sum_own else none, kind),
        scaled_sums=np.zeros(shape if layer.sum_scaled else none, kind),
    )
