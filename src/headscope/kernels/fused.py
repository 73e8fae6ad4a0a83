"""All statistics of one layer over one batch of texts, by compiled code on the CPU.

Short texts: the products of a few texts at a time, each matrix measured while it is in cache. Long
texts: head by head in tiles of rows, twice where need be, so that no whole matrix is ever held.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.compiled import measure_heads as compiled
from headscope.compiled.layout import (
    DISTANCE_SUM,
    FOCAL_ELEMENTS,
    FOCAL_PLACE,
    MASK_PAIRS,
    PAIRS,
    SENTENCE_EXPECTED,
    SENTENCE_PAIRS,
    TOKEN_EXPECTED,
    TOKEN_PAIRS,
    Layer,
    Outputs,
    Task,
)
from headscope.compiled.scratch import new_scratch
from headscope.kernels.aligned_sums import sum_products_around_boundaries
from headscope.kernels.focal import exclusiveness
from headscope.kernels.head_tiles import measure_heads
from headscope.kernels.labels import GROUPS, LEMMA, TOKEN
from headscope.kernels.pass_inputs import empty_outputs, layer_of, texts_of
from headscope.kernels.position_sums import (
    into_bins,
    mean_part_by_position,
    sum_products_by_position,
)
from headscope.kernels.similarity import comparable, vector_lengths
from headscope.kernels.statistics import LayerStatistics
from headscope.kernels.text_batch import TextBatch
from headscope.kernels.token_rows import (
    Rows,
    attention_rows,
    count_kinds,
    defined,
    focal_rows,
    mask_rows,
    norm_rows,
    scaled_mass,
)
from headscope.settings import Settings, SimilarityVariant

TILE_NUMBERS = 1 << 20
"""Products of texts held at once: 4 MB in float32, which caches of common machines take."""


def fused_statistics(
    head_output: Float[Tensor, "batch head token d_head"],
    mass: Float[Tensor, "batch head key"],
    batch: TextBatch,
    *,
    causal: bool,
    settings: Settings,
) -> LayerStatistics:
    """What `vectorised_statistics` gives, in one pass over each matrix of similarities."""
    scaled = scaled_mass(mass, batch, causal, settings)
    vectors = head_output.float() if head_output.dtype != torch.float64 else head_output
    norms = vector_lengths(vectors)
    texts = texts_of(batch, settings)
    layer = layer_of(norms, scaled, settings)
    outputs = empty_outputs(texts, layer, settings)
    compared = comparable(vectors, settings.similarity, batch.counted)

    def sum_by_position(heads: slice) -> Float[Tensor, "some_heads variant position position"]:
        return _position_sums(vectors, heads, outputs, layer, batch, settings)

    def sum_without_products(
        heads: slice,
    ) -> Float[Tensor, "some_heads variant position position"]:
        around = sum_products_around_boundaries(compared[:, heads], batch)
        outputs.aligned_sums[heads] = around.numpy()
        return sum_by_position(heads)

    if _fits(vectors):
        _measure_texts(compared, Task(texts, layer, outputs, new_scratch(texts, layer)))
        position_sums = sum_by_position(slice(None))
    else:
        position_sums = measure_heads(compared, texts, layer, outputs, sum_without_products)

    thresholds = torch.from_numpy(layer.thresholds)
    high = (scaled[..., None] >= thresholds).sum(-2).double()
    by_rule = _rule_rows(outputs, high[..., :1].expand(-1, -1, len(settings.rules)), batch)
    by_threshold = _threshold_rows(outputs, high, batch)

    rows = {column: values[..., 0] for column, values in by_rule.items()}
    rows["high_attention_tokens"] = by_threshold["high_attention_tokens"][..., 0]
    rows |= _group_rows(outputs, batch)
    rows |= _focal_rows(outputs, batch)
    rows |= attention_rows(mass, batch)
    rows |= norm_rows(norms, batch)
    rows |= defined("half_distance", torch.from_numpy(outputs.half_distance))
    rows |= defined("block_contrast", torch.from_numpy(outputs.block_contrast))

    sweep: Rows = {}
    if not settings.minimal:
        sweep |= {f"pair_rule/{name}": values[..., 1:] for name, values in by_rule.items()}
        sweep |= {
            f"attention_threshold/{name}": values[..., 1:] for name, values in by_threshold.items()
        }
    sums = _sums(outputs, rows, settings) | {"similarity_sum": position_sums}
    return LayerStatistics(rows, sums, sweep)


def _measure_texts(vectors: Float[Tensor, "batch head token d_head"], task: Task) -> None:
    """Run the compiled pass over the products of a few texts at a time."""
    n_texts, heads, n, _ = vectors.shape
    together = min(n_texts, TILE_NUMBERS // (heads * n * n))
    products = vectors.new_empty(together, heads, n, n)
    for first in range(0, n_texts, together):
        some = vectors[first : first + together]
        # One text at a time: then no operand has to be copied first.
        for text, product in zip(some, products, strict=False):
            torch.bmm(text, text.mT, out=product)
        compiled.measure_texts(products[: len(some)].numpy(), first, task)


def _fits(vectors: Float[Tensor, "batch head token d_head"]) -> bool:
    """Whether all products of a text may be held at once."""
    _, heads, n, _ = vectors.shape
    return heads * n * n <= TILE_NUMBERS


def _rule_rows(
    outputs: Outputs, high: Float[Tensor, "batch head rule"], batch: TextBatch
) -> dict[str, Float[Tensor, "batch head rule"]]:
    """The columns that depend on the pair rule, at each rule."""
    table = torch.from_numpy(outputs.rules)
    place = table[..., FOCAL_PLACE].long()
    pairs = table[..., PAIRS]
    return {
        "pairs": pairs,
        "distance_sum": table[..., DISTANCE_SUM],
        "distance_expected": pairs * batch.baseline.mean_distance[:, None, None],
        "same_sentence_pairs": table[..., SENTENCE_PAIRS],
        "same_sentence_expected": table[..., SENTENCE_EXPECTED],
        "repetition_pairs": table[..., TOKEN_PAIRS],
        "repetition_expected": table[..., TOKEN_EXPECTED],
        "focal_elements": table[..., FOCAL_ELEMENTS],
        "focal_exclusiveness": exclusiveness(place.mT).mT,
        "focal_texts": (place >= 0).double(),
    } | mask_rows(pairs, table[..., MASK_PAIRS], high, _n_counted(batch, pairs), cross=batch.cross)


def _threshold_rows(
    outputs: Outputs, high: Float[Tensor, "batch head threshold"], batch: TextBatch
) -> dict[str, Float[Tensor, "batch head threshold"]]:
    """The columns that depend on the attention threshold, at each threshold."""
    pairs = torch.from_numpy(outputs.rules)[..., :1, PAIRS].expand_as(high)
    touched = torch.from_numpy(outputs.touched)
    return {"high_attention_tokens": high} | mask_rows(
        pairs, touched, high, _n_counted(batch, high), cross=batch.cross
    )


def _n_counted(
    batch: TextBatch, like: Float[Tensor, "batch head value"]
) -> Float[Tensor, "batch head value"]:
    return batch.counted.sum(-1).double()[:, None, None].expand_as(like)


def _group_rows(outputs: Outputs, batch: TextBatch) -> Rows:
    table = torch.from_numpy(outputs.groups)
    rows: Rows = {}
    for index, group in enumerate(GROUPS[TOKEN + 1 :]):
        rows[f"{group}_repetition_pairs"] = table[:, :, index, 0]
        rows[f"{group}_repetition_expected"] = table[:, :, index, 1]
    has_lemmas = (batch.queries.groups[LEMMA] >= 0).any(-1, keepdim=True)
    rows["lemma_pairs"] = torch.from_numpy(outputs.rules)[:, :, 0, PAIRS] * has_lemmas
    return rows


def _focal_rows(outputs: Outputs, batch: TextBatch) -> Rows:
    own = torch.from_numpy(outputs.rules)[:, :, 0]
    return focal_rows(own[..., FOCAL_PLACE].long(), own[..., PAIRS], batch)


def _sums(outputs: Outputs, rows: Rows, settings: Settings) -> dict[str, Tensor]:
    sums = {
        "aligned_sum": outputs.aligned_sums,
        "distance_histogram": outputs.distances,
        "element_kinds": outputs.element_kinds,
        "same_sentence_permuted": outputs.permuted_sentences,
        "repetition_permuted": outputs.permuted_tokens,
    }
    if settings.profiles:
        sums["similarity_by_distance"] = outputs.by_distance
        sums["within_by_distance"] = outputs.within_by_distance
    return {name: torch.from_numpy(values).double() for name, values in sums.items()} | {
        "focal_kinds": count_kinds(rows["focal_kind"])
    }


def _position_sums(
    vectors: Float[Tensor, "batch head token d_head"],
    heads: slice,
    outputs: Outputs,
    layer: Layer,
    batch: TextBatch,
    settings: Settings,
) -> Float[Tensor, "some_heads variant position position"]:
    """The sums by position of some heads: what the pass made on its way, the rest by products."""
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
