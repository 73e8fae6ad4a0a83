"""Work space for the compiled passes over a layer, made once for many texts."""

import numpy as np

from headscope.compiled.layout import BLOCK, LOOSE_AT_ONCE, SAMPLE, Layer, Scratch, Texts

_SHORT = 256
"""Up to so many tokens, all similarities of a text are kept at once."""


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
    return Scratch(
        profile=np.zeros((3, width + BLOCK)),
        part_of_profile=np.zeros((3, width + BLOCK), kind),
        squares=np.zeros(1),
        centre=np.zeros(1, kind),
        line=np.zeros(width, kind),
        scales=np.zeros(width, kind),
        sentences=np.zeros(width, np.int32),
        tokens=np.zeros(width, np.int32),
        high=np.zeros(width, np.int32),
        candidates=np.empty(candidates, kind),
        candidate_rows=np.empty(candidates, np.uint32),
        candidate_columns=np.empty(candidates, np.uint32),
        candidate_classes=np.empty(candidates, np.uint32),
        best=np.empty(candidates, kind),
        filled=np.zeros(1, np.int64),
        floor=np.zeros(1, kind),
        sample=np.empty(2 * SAMPLE + n, kind),
        rule_thresholds=np.zeros(rules, kind),
        lowest_first=np.zeros(rules, np.int64),
        loose=np.zeros(1, np.int64),
        own_is_below=np.zeros(1, np.bool_),
        loose_thresholds=np.zeros(LOOSE_AT_ONCE, kind),
        loose_distances=np.zeros(width + BLOCK, np.uint32),
        loose_elements=np.zeros(width, np.uint32),
        class_distances=np.zeros((rules, n), np.int32),
        class_elements=np.zeros((rules, n), np.int32),
        class_labels=np.zeros(rules, np.int64),
        class_counts=np.zeros((rules, 3), np.int64),
    )
