"""Work space for the compiled passes over a layer, made once for many texts."""

import numpy as np

from headscope.compiled.layout import BLOCK, Layer, Scratch, Texts

_SHORT = 256
"""Up to so many tokens, all similarities of a text are kept at once."""
_PAIRS_AT_ONCE = 2048


def padded(n: int) -> int:
    """The width of a row of `n` numbers in whole blocks."""
    return (n + BLOCK - 1) // BLOCK * BLOCK


def new_scratch(heads: int, texts: Texts, layer: Layer) -> Scratch:
    """Work space for several heads: every array with a head axis in front.

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
        profile=np.zeros((heads, 3, width + BLOCK)),
        part_of_profile=np.zeros((heads, 3, width + BLOCK), kind),
        squares=np.zeros((heads, 1)),
        line=np.zeros((heads, width), kind),
        scaled=np.zeros((heads, width), kind),
        scales=np.zeros((heads, width), kind),
        sentences=np.zeros((heads, width), np.int32),
        tokens=np.zeros((heads, width), np.int32),
        high=np.zeros((heads, width), np.bool_),
        candidates=np.empty((heads, candidates), kind),
        candidate_places=np.empty((heads, candidates if with_places else 0), np.int64),
        best=np.empty((heads, candidates), kind),
        filled=np.zeros((heads, 1), np.int64),
        floor=np.zeros((heads, 1), kind),
        rule_thresholds=np.zeros((heads, rules), kind),
        lowest_first=np.zeros((heads, rules), np.int64),
        pair_values=np.empty((heads, pairs), kind),
        pair_rows=np.empty((heads, pairs), np.uint32),
        pair_columns=np.empty((heads, pairs), np.uint32),
        pair_classes=np.empty((heads, pairs), np.uint32),
        class_distances=np.zeros((heads, rules, n), np.int32),
        class_elements=np.zeros((heads, rules, n), np.int32),
        class_labels=np.zeros((heads, rules), np.int64),
        class_counts=np.zeros((heads, rules, 3), np.int64),
    )
