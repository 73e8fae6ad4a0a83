"""The measures as a reader of the paper would first write them: plain loops, one head at a time.

The oracle of the kernels. It shares no code with them, and is as slow as it looks.
"""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np


@dataclass
class NaiveText:
    """One text without padding; everything a plain Python list."""

    token_ids: list[int]
    sentence_ids: list[int]
    special: list[bool]
    special_separator: list[bool]
    separator: list[bool]
    form_ids: list[int]
    lemma_ids: list[int]
    kinds: list[int]

    @property
    def n(self) -> int:
        return len(self.token_ids)


def naive_similarity(z: np.ndarray, variant: str, counted: list[bool]) -> list[list[float]]:
    n = len(z)
    vectors = [[float(x) for x in row] for row in z]
    if variant == "centred":
        inside = [vectors[i] for i in range(n) if counted[i]]
        mean = [sum(column) / len(inside) for column in zip(*inside, strict=True)]
        vectors = [[x - m for x, m in zip(row, mean, strict=True)] for row in vectors]
    if variant == "cosine":
        lengths = [math.sqrt(sum(x * x for x in row)) for row in vectors]
        vectors = [[x / length for x in row] for row, length in zip(vectors, lengths, strict=True)]
    return [
        [
            0.0 if i == j else sum(a * b for a, b in zip(vectors[i], vectors[j], strict=True))
            for j in range(n)
        ]
        for i in range(n)
    ]


def _scalar_product(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def naive_pairs(c: list[list[float]], counted: list[bool], rule: str) -> list[tuple[int, int]]:
    n = len(c)
    every = [(i, j) for i in range(n) for j in range(i + 1, n) if counted[i] and counted[j]]
    if not every:
        return []
    kind, value = rule.split(":")
    ranked = sorted((c[i][j] for i, j in every), reverse=True)
    if kind == "top":
        threshold = ranked[math.ceil(float(value) * len(every) - 1e-9) - 1]
    elif ranked[0] > 0:
        threshold = float(value) * ranked[0]
    else:
        return []
    return [(i, j) for i, j in every if c[i][j] >= threshold]


def naive_head(
    z: np.ndarray,
    a: np.ndarray,
    text: NaiveText,
    *,
    variant: str = "raw",
    rule: str = "top:0.01",
    attention_threshold: float = 0.3,
    causal: bool = False,
    special_tokens: bool = False,
    column_mass: str = "counted",
) -> dict[str, object]:
    """Every column of a row, and the summed arrays, of one head and one text."""
    n = text.n
    counted = [special_tokens or not special for special in text.special]
    c = naive_similarity(z, variant, counted)
    pairs = naive_pairs(c, counted, rule)
    every = [(i, j) for i in range(n) for j in range(i + 1, n) if counted[i] and counted[j]]

    def one_sentence(i: int, j: int) -> bool:
        return text.sentence_ids[i] == text.sentence_ids[j] and text.sentence_ids[i] >= 0

    def one_token(i: int, j: int) -> bool:
        return text.token_ids[i] == text.token_ids[j]

    def one_word(i: int, j: int) -> bool:
        return text.form_ids[i] == text.form_ids[j] >= 0

    def one_lemma(i: int, j: int) -> bool:
        return text.lemma_ids[i] == text.lemma_ids[j] >= 0

    def expected(label) -> float:
        total = 0.0
        for i, j in pairs:
            alike = [pair for pair in every if pair[1] - pair[0] == j - i]
            total += sum(label(*pair) for pair in alike) / len(alike)
        return total

    elements = Counter()
    for i, j in pairs:
        elements[text.token_ids[i]] += 1
        elements[text.token_ids[j]] += 1
    focal, focal_count = -1, 0
    for token in text.token_ids:  # the first in the text wins among equals
        if elements[token] > focal_count:
            focal, focal_count = token, elements[token]

    mass = [sum(float(a[i][j]) for i in range(n)) for j in range(n)]
    if column_mass == "paper":
        high = [counted[j] and mass[j] / max(mass) >= attention_threshold for j in range(n)]
    else:
        seen = [mass[j] / (n - j if causal else n) for j in range(n)]
        sink = causal and not special_tokens
        may = [counted[j] and not (sink and j == 0) for j in range(n)]
        largest = max((seen[j] for j in range(n) if may[j]), default=0.0)
        high = [
            may[j] and largest > 0 and seen[j] / largest >= attention_threshold for j in range(n)
        ]
    touched = [pair for pair in every if high[pair[0]] or high[pair[1]]]
    total_mass = sum(mass)
    lengths = [math.sqrt(sum(float(x) ** 2 for x in row)) for row in z]
    inside = [lengths[i] for i in range(n) if counted[i]]
    norm = sum(inside) / len(inside)
    at_separators = [lengths[i] for i in range(n) if counted[i] and text.separator[i]]
    half = naive_half_distance(c, every, n)
    contrast = naive_block_contrast(c, every, one_sentence, n)
    kinds = Counter()
    for i, j in pairs:
        kinds[text.kinds[i]] += 1
        kinds[text.kinds[j]] += 1
    return {
        **naive_common_token(pairs, every, text.token_ids, counted),
        "diagonal_share": naive_diagonal_share(z, variant, counted),
        "diagonal_share_texts": 1,
        "special_separator_attention": sum(mass[j] for j in range(n) if text.special_separator[j])
        / total_mass,
        "start_attention": sum(
            mass[j] for j in range(n) if text.special[j] and not text.special_separator[j]
        )
        / total_mass,
        "word_repetition_pairs": sum(one_word(i, j) for i, j in pairs),
        "word_repetition_expected": expected(one_word),
        "lemma_repetition_pairs": sum(one_lemma(i, j) for i, j in pairs),
        "lemma_repetition_expected": expected(one_lemma),
        "lemma_pairs": len(pairs) if any(lemma >= 0 for lemma in text.lemma_ids) else 0,
        "focal_kind": text.kinds[text.token_ids.index(focal)] if pairs else -1,
        "focal_expected": 2
        * len(pairs)
        * sum(text.token_ids[i] == focal for i in range(n) if counted[i])
        / sum(counted),
        "norm": norm,
        "norm_texts": 1,
        "separator_norm": sum(at_separators) / len(at_separators) / norm if at_separators else 0,
        "separator_norm_texts": int(bool(at_separators)),
        "half_distance": half or 0,
        "half_distance_texts": int(half is not None),
        "block_contrast": contrast or 0,
        "block_contrast_texts": int(contrast is not None),
        "kinds": kinds,
        "high": high,
        "pairs": len(pairs),
        "distance_sum": sum(j - i for i, j in pairs),
        "distance_expected": len(pairs) * sum(j - i for i, j in every) / len(every) if every else 0,
        "same_sentence_pairs": sum(one_sentence(i, j) for i, j in pairs),
        "same_sentence_expected": expected(one_sentence),
        "repetition_pairs": sum(one_token(i, j) for i, j in pairs),
        "repetition_expected": expected(one_token),
        "focal_token": focal,
        "focal_elements": focal_count,
        "focal_texts": int(bool(pairs)),
        "high_attention_tokens": sum(high),
        "mask_pairs": sum(high[i] or high[j] for i, j in pairs),
        "mask_expected": len(pairs) * len(touched) / len(every) if every else 0.0,
        "separator_attention": sum(
            mass[j] for j in range(n) if text.separator[j] and not text.special[j]
        )
        / total_mass,
        "special_attention": sum(mass[j] for j in range(n) if text.special[j]) / total_mass,
        "first_attention": mass[0] / total_mass,
        "similarity_sum": [
            [c[i][j] if counted[i] and counted[j] else 0.0 for j in range(n)] for i in range(n)
        ],
        "distances": Counter(j - i for i, j in pairs),
        "pair_list": pairs,
    }


def naive_common_token(pairs, every, token_ids, counted) -> dict[str, float]:
    """The token that most pairs of different tokens contain, and the pairs within its context."""
    distinct = [(i, j) for i, j in pairs if token_ids[i] != token_ids[j]]
    common, most = -1, 0
    for token in token_ids:  # the first in the text wins among equals
        containing = sum(token in (token_ids[i], token_ids[j]) for i, j in distinct)
        if containing > most:
            common, most = token, containing
    if common == -1:
        columns = ("texts", "rank", "pairs", "expected", "context_pairs", "context_expected")
        nothing = {f"common_{column}": 0 for column in columns}
        return {"distinct_pairs": 0, "common_token": -1} | nothing
    inside = [place for place in range(len(token_ids)) if counted[place]]
    occurrences = [place for place in inside if token_ids[place] == common]
    others = [place for place in inside if token_ids[place] != common]

    def in_context(place: int) -> bool:
        return any(abs(place - occurrence) <= 5 for occurrence in occurrences)

    frequencies = Counter(token_ids[place] for place in inside)
    different = [(i, j) for i, j in every if token_ids[i] != token_ids[j]]
    with_common = [pair for pair in different if common in (token_ids[pair[0]], token_ids[pair[1]])]
    context_pairs = 0
    for i, j in distinct:
        if token_ids[i] == common:
            context_pairs += in_context(j)
        elif token_ids[j] == common:
            context_pairs += in_context(i)
    return {
        "distinct_pairs": len(distinct),
        "common_token": common,
        "common_texts": 1,
        "common_rank": 1 + sum(count > frequencies[common] for count in frequencies.values()),
        "common_pairs": most,
        "common_expected": len(distinct) * len(with_common) / len(different),
        "common_context_pairs": context_pairs,
        "common_context_expected": most * sum(map(in_context, others)) / len(others),
    }


def naive_diagonal_share(z: np.ndarray, variant: str, counted: list[bool]) -> float:
    """Squares of the diagonal of Z Z' over squares of all its entries."""
    n = len(z)
    vectors = [[float(x) for x in row] for row in z]
    if variant == "centred":
        inside = [vectors[i] for i in range(n) if counted[i]]
        mean = [sum(column) / len(inside) for column in zip(*inside, strict=True)]
        vectors = [[x - m for x, m in zip(row, mean, strict=True)] for row in vectors]
    c = naive_similarity(z, variant, counted)
    diagonal = everything = 0.0
    for i in range(n):
        own = 1.0 if variant == "cosine" else _scalar_product(vectors[i], vectors[i])
        diagonal += own**2 if counted[i] else 0.0
        everything += own**2 if counted[i] else 0.0
        for j in range(n):
            everything += c[i][j] ** 2 if counted[i] and counted[j] else 0.0
    return diagonal / everything


def naive_half_distance(c, every, n: int) -> int | None:
    """The distance within which half of the positive similarity lies."""
    total = sum(max(c[i][j], 0) for i, j in every)
    if total <= 0:
        return None
    for reach in range(1, n):
        if sum(max(c[i][j], 0) for i, j in every if j - i <= reach) >= total / 2:
            return reach
    raise AssertionError("half of something positive must lie somewhere")


def naive_block_contrast(c, every, one_sentence, n: int) -> float | None:
    """Within minus across sentences at equal distance, in standard deviations of C."""
    values = [c[i][j] for i, j in every]
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))
    top = bottom = 0.0
    for distance in range(1, n):
        within = [c[i][j] for i, j in every if j - i == distance and one_sentence(i, j)]
        across = [c[i][j] for i, j in every if j - i == distance and not one_sentence(i, j)]
        if within and across:
            weight = len(within) * len(across) / (len(within) + len(across))
            top += weight * (sum(within) / len(within) - sum(across) / len(across))
            bottom += weight
    return top / bottom / deviation if bottom and deviation else None
