"""A layer under every analysis choice: plain loops, torch and compiled code agree."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch

from headscope.kernels.choices import choice_rows, high_attention_rows
from headscope.kernels.cpu.choices import ChoiceCounter
from headscope.kernels.token_rows import column_mass
from headscope.settings import SIMILARITY_VARIANTS, SWEEP_PAIRS, PairRule, Settings
from tests.kernels.random_layers import HEADS, padded_batch, random_layer, random_text
from tests.naive import NaiveText

RULES = [*SWEEP_PAIRS, PairRule.parse("top:0.3"), PairRule.parse("max:0.9")]


def compiled(z, attention, batch, rules):
    return ChoiceCounter(batch, rules).rows(z, attention)


def naive_similarity(vectors: list[np.ndarray], variant: str, counted: list[int], i: int, j: int):
    one, other = vectors[i], vectors[j]
    if variant == "centred":
        mean = sum(vectors[k] for k in counted) / len(counted)
        one, other = one - mean, other - mean
    if variant == "cosine":
        one, other = one / np.linalg.norm(one), other / np.linalg.norm(other)
    return float(one @ other)


def naive_pairs(values: dict[tuple[int, int], float], rule: PairRule) -> set[tuple[int, int]]:
    if not values:
        return set()
    largest = max(values.values())
    if rule.kind == "max":
        threshold = largest * rule.value if largest > 0 else math.inf
    else:
        taken = math.ceil(rule.value * len(values) - 1e-9)
        threshold = sorted(values.values(), reverse=True)[taken - 1]
    return {pair for pair, value in values.items() if value >= threshold}


def naive_choice(text: NaiveText, z: np.ndarray, a: np.ndarray, variant: str, rule: PairRule):
    """The columns of one head, window and choice, as the docs say it."""
    counted = [k for k in range(text.n) if not text.special[k]]
    every = list(combinations(counted, 2))

    def chosen(similarity) -> set[tuple[int, int]]:
        return naive_pairs({(i, j): similarity(i, j) for i, j in every}, rule)

    ours = chosen(lambda i, j: naive_similarity(list(z), variant, counted, i, j))
    rows = chosen(lambda i, j: naive_similarity(list(a), variant, counted, i, j))
    shown = chosen(lambda i, j: (a[i, j] + a[j, i]) / 2)

    def same(ids, i, j) -> bool:
        return ids[i] == ids[j] and ids[i] >= 0

    def expected(ids, distance) -> float:
        at = [(i, j) for i, j in every if j - i == distance]
        return sum(same(ids, i, j) for i, j in at) / len(at)

    def excess(ids, pairs) -> float:
        return sum(same(ids, i, j) - expected(ids, j - i) for i, j in pairs)

    token, sentence = text.token_ids, text.sentence_ids
    distinct = [(i, j) for i, j in ours if token[i] != token[j]]
    in_pairs = Counter(t for i, j in distinct for t in (token[i], token[j]))
    elements = Counter(t for pair in ours for t in (token[pair[0]], token[pair[1]]))
    first = {t: token.index(t) for t in token}
    common = max(in_pairs, key=lambda t: (in_pairs[t], -first[t]), default=None)
    m = [token[k] for k in counted].count(common)
    different = sum(token[i] != token[j] for i, j in every)
    return {
        "pairs": len(ours),
        "distance_sum": sum(j - i for i, j in ours),
        "distance_expected": len(ours) * float(np.mean([j - i for i, j in every])),
        "same_sentence_pairs": sum(same(sentence, i, j) for i, j in ours),
        "same_sentence_expected": sum(expected(sentence, j - i) for i, j in ours),
        "repetition_pairs": sum(same(token, i, j) for i, j in ours),
        "repetition_expected": sum(expected(token, j - i) for i, j in ours),
        "focal_token": max(elements, key=lambda t: (elements[t], -first[t]), default=-1),
        "distinct_pairs": len(distinct),
        "common_pairs": in_pairs[common],
        "common_expected": len(distinct) * m * (len(counted) - m) / max(different, 1),
        "map_pairs": len(shown),
        "row_pairs": len(rows),
        "map_shared": len(ours & shown),
        "row_shared": len(ours & rows),
        "sentence_beyond_attention": excess(sentence, ours - shown - rows),
        "repetition_beyond_attention": excess(token, ours - shown - rows),
        "sentence_of_map": excess(sentence, shown - ours),
        "repetition_of_map": excess(token, shown - ours),
        "sentence_of_rows": excess(sentence, rows - ours),
        "repetition_of_rows": excess(token, rows - ours),
    }


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("kernel", [choice_rows, compiled])
def test_every_choice_equals_plain_loops(kernel, causal):
    rng = np.random.default_rng(3)
    texts = [random_text(rng, n) for n in (14, 9)]
    z, attention = random_layer(rng, texts, causal)
    batch = padded_batch(texts, Settings(window_tokens=16))
    found = kernel(z, attention, batch, RULES)
    for window, text in enumerate(texts):
        for head in range(HEADS):
            vectors, seen = z[window, head].numpy(), attention[window, head].numpy()
            for v, variant in enumerate(SIMILARITY_VARIANTS):
                for r, rule in enumerate(RULES):
                    for name, value in naive_choice(text, vectors, seen, variant, rule).items():
                        ours = float(found[name][window, head, v, r])
                        assert ours == pytest.approx(value, abs=1e-9), (name, variant, str(rule))


def test_compiled_code_gives_what_the_definition_gives_for_uneven_windows_and_cross_attention():
    rng = np.random.default_rng(4)
    texts = [random_text(rng, n) for n in (40, 25, 3)]
    z, attention = random_layer(rng, texts)
    batch = padded_batch(texts, Settings(window_tokens=40))
    for of_batch in (batch, _as_cross(batch)):
        defined = choice_rows(z, attention, of_batch, RULES)
        counted = compiled(z, attention, of_batch, RULES)
        assert defined.keys() == counted.keys()
        for name, values in defined.items():
            torch.testing.assert_close(counted[name], values, rtol=1e-9, atol=1e-9, msg=name)
    for kernel in (choice_rows, compiled):
        across = kernel(z, attention, _as_cross(batch), RULES)
        assert not across["map_pairs"].any()
        assert not across["map_shared"].any()
        assert across["row_pairs"].any()


def test_high_attention_tokens_are_told_apart_by_kind():
    rng = np.random.default_rng(5)
    texts = [random_text(rng, n) for n in (12, 7)]
    _, attention = random_layer(rng, texts)
    batch = padded_batch(texts, Settings(window_tokens=16))
    mass = column_mass(attention, batch.queries.real)
    found = high_attention_rows(mass, batch, [0.1, 0.5])
    for window, text in enumerate(texts):
        for head in range(HEADS):
            received = attention[window, head, : text.n, : text.n].sum(0).numpy()
            for place, threshold in enumerate((0.1, 0.5)):
                high = [k for k in range(text.n) if received[k] >= threshold * received.max()]
                marks = [k for k in high if text.separator[k] and not text.special[k]]
                special = [k for k in high if text.special_separator[k]]
                at = (window, head, place)
                assert found["high_tokens"][at] == len(high)
                assert found["high_separators"][at] == len(marks)
                assert found["high_special_separators"][at] == len(special)


def _as_cross(batch):
    from dataclasses import replace

    return replace(batch, keys=replace(batch.keys))
