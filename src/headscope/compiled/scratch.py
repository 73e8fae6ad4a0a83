"""Work space for the compiled passes over a layer, made once for many texts."""

import numpy as np

from headscope.compiled.layout import BLOCK, Layer, Scratch, Texts

_SHORT = 256
"""Up to so many tokens, all similarities of a text are kept at once."""
_PAIRS_AT_ONCE = 2048


def padded(n: int) -> int:
    """The width of a row of `n` numbers in whole blocks."""
    return (n + BLOCK - 1) // BLOCK * BLOCK


def new_scratch(texts: Texts, layer: Layer) -> Scratch:
    """Work space for one head after the other.

    Made by NumPy: numba would take seconds to compile it.
    """
    n, kind, rules = texts.counted.shape[1], layer.scales.dtype, len(layer.rule_values)
    width, all_pairs = padded(n), n * (n - 1) // 2
    most = int(texts.taken[:, texts.is_top].max(initial=1))
    # All similarities, or a few times those that rules may take; and room for one more row.
    candidates = (all_pairs if n <= _SHORT else min(all_pairs, max(1024, 4 * most))) + width
    # Where every rule takes the largest, knowing where those are spares another pass.
    with_places = n > _SHORT and bool(texts.is_top.all())
    pairs = min(_PAIRS_AT_ONCE, all_pairs) + width
    return Scratch(
        profile=np.zeros((3, width + BLOCK)),
        part_of_profile=np.zeros((3, width + BLOCK), kind),
        squares=np.zeros(1),
        line=np.zeros(width, kind),
        scaled=np.zeros(width, kind),
        scales=np.zeros(width, kind),
        sentences=np.zeros(width, np.int32),
        tokens=np.zeros(width, np.int32),
        high=np.zeros(width, np.bool_),
        candidates=np.empty(candidates, kind),
        candidate_places=np.empty(candidates if with_places else 0, np.int64),
        best=np.empty(candidates, kind),
        filled=np.zeros(1, np.int64),
        floor=np.zeros(1, kind),
        rule_thresholds=np.zeros(rules, kind),
        lowest_first=np.zeros(rules, np.int64),
        pair_values=np.empty(pairs, kind),
        pair_rows=np.empty(pairs, np.uint32),
        pair_columns=np.empty(pairs, np.uint32),
        pair_classes=np.empty(pairs, np.uint32),
        class_distances=np.zeros((rules, n), np.int32),
        class_elements=np.zeros((rules, n), np.int32),
        class_labels=np.zeros(rules, np.int64),
        class_counts=np.zeros((rules, 3), np.int64),
    )
