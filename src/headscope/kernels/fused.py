"""All statistics of one layer over one batch of texts, by compiled code on the CPU.

Short texts: the products of a few texts at a time, each matrix measured while it is in cache. Long
texts: head by head in tiles of rows, twice where need be, so that no whole matrix is ever held.
"""

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.compiled import measure_heads as compiled
from headscope.compiled.layout import (
    DISTANCE_SUM,
    FOCAL_ELEMENTS,
    FOCAL_PLACE,
    MASK_PAIRS,
    PAIRS,
    RULE_COLUMNS,
    SENTENCE_EXPECTED,
    SENTENCE_PAIRS,
    TOKEN_EXPECTED,
    TOKEN_PAIRS,
    Layer,
    Outputs,
    Task,
    Texts,
)
from headscope.compiled.scratch import new_scratch, padded
from headscope.kernels.aligned_sums import sentence_starts
from headscope.kernels.focal import exclusiveness
from headscope.kernels.labels import GROUPS, LEMMA, TOKEN
from headscope.kernels.position_sums import (
    into_bins,
    mean_part_by_position,
    position_bins,
    sum_products_by_position,
)
from headscope.kernels.similarity import comparable
from headscope.kernels.statistics import ALIGNED_TOKENS, KINDS, LayerStatistics
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
from headscope.settings import PairRule, Settings, SimilarityVariant
from headscope.threads import in_threads

TILE_NUMBERS = 1 << 20
"""Products of texts held at once: 4 MB in float32, which caches of common machines take."""
BAND_NUMBERS = 1 << 18
"""Products of rows of a head held at once, by each thread: for the cache of a core."""

_SAMPLE_TOKENS = 128
_SAMPLE_MARGIN = 3
"""Times as many pairs of a sample are taken as rules take of the text: few texts have fewer."""


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
    norms: Float[Tensor, "batch head token"] = torch.linalg.vector_norm(vectors, dim=-1)
    texts = _texts(batch, settings)
    layer = _layer(norms, scaled, settings)
    outputs = _empty_outputs(texts, layer, settings)
    compared = comparable(vectors, settings.similarity, batch.counted)

    def sum_by_position(heads: slice) -> Float[Tensor, "some_heads variant position position"]:
        return _position_sums(vectors, heads, outputs, layer, batch, settings)

    if _fits(vectors):
        _measure_texts(compared, Task(texts, layer, outputs, new_scratch(texts, layer)))
        position_sums = sum_by_position(slice(None))
    else:
        position_sums = _measure_heads(compared, texts, layer, outputs, sum_by_position)

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


def _measure_heads(
    vectors: Float[Tensor, "batch head token d_head"],
    texts: Texts,
    layer: Layer,
    outputs: Outputs,
    sum_by_position: Callable[[slice], Tensor],
) -> Float[Tensor, "head variant position position"]:
    """Run the compiled passes head by head, on threads; the sums by position come with them."""
    heads = vectors.shape[1]
    threads = min(torch.get_num_threads(), heads)

    def measure(some: Iterable[int]) -> list[Tensor]:
        task = Task(texts, layer, outputs, new_scratch(texts, layer))
        room = vectors.new_empty(max(BAND_NUMBERS, vectors.shape[2]))
        sums = []
        for head in some:
            _measure_in_tiles(vectors[:, head], head, task, room)
            sums.append(sum_by_position(slice(head, head + 1)))
        return sums

    found = in_threads(measure, [range(heads)[first::threads] for first in range(threads)])
    return torch.cat([found[head % threads][head // threads] for head in range(heads)])


def _fits(vectors: Float[Tensor, "batch head token d_head"]) -> bool:
    """Whether all products of a text may be held at once."""
    _, heads, n, _ = vectors.shape
    return heads * n * n <= TILE_NUMBERS


def _measure_in_tiles(
    vectors: Float[Tensor, "batch token d_head"],
    head: int,
    task: Task,
    room: Float[Tensor, " number"],
) -> None:
    for text in range(len(vectors)):
        written = vectors[text, : int(task.texts.end_counted[text])]
        most = int(task.texts.taken[text, task.texts.is_top].max(initial=0))
        guess = _likely_taken(written, most)
        right = True
        for row, tile in _tiles(written, room):
            right &= compiled.sum_tile(tile, row, guess, text, head, task)
        if not right:
            for row, tile in _tiles(written, room):
                compiled.sift_tile(tile, row, text, head, task)
        if task.scratch.loose[0] or task.scratch.own_is_below[0]:
            for row, tile in _tiles(written, room):
                compiled.count_tile(tile, row, text, head, task)


def _likely_taken(vectors: Float[Tensor, "token d_head"], taken: int) -> float:
    """A similarity that probably `taken` pairs reach, and not many more; from a few tokens.

    Without it, the first rows would all be kept until it is known how large the largest are.
    """
    n, sample = len(vectors), min(len(vectors), _SAMPLE_TOKENS)
    chosen = vectors[torch.arange(sample) * n // max(1, sample)]
    above, across = torch.triu_indices(sample, sample, 1)
    similarities = (chosen @ chosen.mT)[above, across]
    wanted = math.ceil(_SAMPLE_MARGIN * taken / max(1, n * (n - 1) // 2) * len(similarities))
    if wanted >= len(similarities) // 2:
        return -math.inf
    return float(similarities.topk(max(1, wanted)).values[-1])


def _tiles(
    vectors: Float[Tensor, "token d_head"], room: Float[Tensor, " number"]
) -> Iterator[tuple[int, NDArray[np.floating]]]:
    """Bands of the upper triangle of the products: the first row, and (row, column).

    Each is overwritten by the next. There is one at least, if an empty one.
    """
    row, end = 0, len(vectors)
    while row == 0 or row < end:
        rows = min(max(1, BAND_NUMBERS // max(1, end - row)), end - row)
        tile = room[: rows * (end - row)].view(rows, end - row)
        torch.mm(vectors[row : row + rows], vectors[row:].mT, out=tile)
        yield row, tile.numpy()
        row += max(1, rows)


def _texts(batch: TextBatch, settings: Settings) -> Texts:
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


def _layer(
    norms: Float[Tensor, "batch head token"],
    scaled: Float[Tensor, "batch head key"],
    settings: Settings,
) -> Layer:
    kind = norms.dtype
    # Raw and cosine similarity differ by the lengths of both vectors.
    scales = norms if settings.similarity == "cosine" else 1 / norms.clamp_min(1e-12)
    each_position = settings.window_tokens == position_bins(settings.window_tokens)
    return Layer(
        scales=scales.numpy(),
        sum_scaled=each_position and not settings.minimal and settings.similarity != "centred",
        sum_own=each_position,
        profiles=settings.profiles,
        scaled_mass=scaled.to(kind).numpy(),
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


def _empty_outputs(texts: Texts, layer: Layer, settings: Settings) -> Outputs:
    n_texts, heads, n = layer.scales.shape
    window, width, kind = settings.window_tokens, padded(n), layer.scales.dtype
    return Outputs(
        rules=np.zeros((n_texts, heads, len(settings.rules), RULE_COLUMNS)),
        groups=np.zeros((n_texts, heads, 2, 2)),
        touched=np.zeros((n_texts, heads, len(layer.thresholds))),
        half_distance=np.full((n_texts, heads), np.nan),
        block_contrast=np.full((n_texts, heads), np.nan),
        own_sums=np.zeros((heads, n, width) if layer.sum_own else (heads, 0, 0), kind),
        scaled_sums=np.zeros((heads, n, width) if layer.sum_scaled else (heads, 0, 0), kind),
        aligned_sums=np.zeros((heads, 2 * ALIGNED_TOKENS, 2 * ALIGNED_TOKENS)),
        by_distance=np.zeros((heads, window)),
        within_by_distance=np.zeros((heads, window)),
        distances=np.zeros((heads, window)),
        element_kinds=np.zeros((heads, KINDS)),
        permuted_sentences=np.zeros((heads, texts.permuted_sentences.shape[-1]), np.int32),
        permuted_tokens=np.zeros((heads, texts.permuted_tokens.shape[-1]), np.int32),
    )


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
