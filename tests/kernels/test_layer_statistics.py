"""Every statistic of a layer against plain loops, on random inputs with uneven lengths."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.kernels.layer_statistics import layer_statistics
from headscope.kernels.text_batch import TokenLabels, pair_baseline
from headscope.settings import PairRule, Settings
from tests.naive import NaiveText, naive_head

HEADS, D_HEAD = 3, 4


def random_text(rng: np.random.Generator, n: int) -> NaiveText:
    separator = rng.random(n) < 0.15
    special = np.zeros(n, dtype=bool)
    special[0] = special[-1] = True
    sentences = np.cumsum(np.concatenate([[0], separator[:-1]]))
    sentences[special] = -1
    return NaiveText(
        token_ids=rng.integers(1, 9, n).tolist(),
        sentence_ids=sentences.tolist(),
        special=special.tolist(),
        separator=separator.tolist(),
    )


def padded_labels(texts: list[NaiveText]) -> TokenLabels:
    longest = max(text.n for text in texts)

    def pad(values: list[list], fill):
        return torch.tensor([list(row) + [fill] * (longest - len(row)) for row in values])

    return TokenLabels(
        real=pad([[True] * text.n for text in texts], False),
        special=pad([text.special for text in texts], False),
        separator=pad([text.separator for text in texts], False),
        token_ids=pad([text.token_ids for text in texts], 0),
        sentence_ids=pad([text.sentence_ids for text in texts], -1),
    )


def random_layer(rng: np.random.Generator, texts: list[NaiveText], causal: bool):
    longest = max(text.n for text in texts)
    z = torch.tensor(rng.normal(0.3, 1, (len(texts), HEADS, longest, D_HEAD)))
    scores = torch.tensor(rng.normal(0, 2, (len(texts), HEADS, longest, longest)))
    for row, text in enumerate(texts):
        scores[row, :, :, text.n :] = -torch.inf
    if causal:
        scores += torch.full((longest, longest), -torch.inf, dtype=scores.dtype).triu(1)
    return z, scores.softmax(-1)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    lengths=st.lists(st.integers(3, 14), min_size=1, max_size=4),
    variant=st.sampled_from(["raw", "centred", "cosine"]),
    rule=st.sampled_from(["top:0.01", "top:0.2", "top:1", "max:0.3", "max:0.9"]),
    causal=st.booleans(),
    special_tokens=st.booleans(),
)
def test_statistics_equal_plain_loops(seed, lengths, variant, rule, causal, special_tokens):
    rng = np.random.default_rng(seed)
    texts = [random_text(rng, n) for n in lengths]
    labels = padded_labels(texts)
    z, attention = random_layer(rng, texts, causal)
    chosen = Settings(
        window_tokens=16,
        similarity=variant,
        pairs=PairRule.parse(rule),
        special_tokens=special_tokens,
    )
    ours = layer_statistics(
        z,
        attention,
        queries=labels,
        keys=labels,
        baseline=pair_baseline(labels, special_tokens=special_tokens),
        causal=causal,
        settings=chosen,
    )
    summed = np.zeros((HEADS, 16, 16))
    histogram = np.zeros((HEADS, 16))
    for row, text in enumerate(texts):
        for head in range(HEADS):
            theirs = naive_head(
                z[row, head, : text.n].numpy(),
                attention[row, head, : text.n, : text.n].numpy(),
                text,
                variant=variant,
                rule=rule,
                causal=causal,
                special_tokens=special_tokens,
            )
            for column, value in theirs.items():
                if column in ours.rows:
                    assert ours.rows[column][row, head].item() == pytest.approx(value), column
            summed[head, : text.n, : text.n] += theirs["similarity_sum"]
            for distance, count in theirs["distances"].items():
                histogram[head, distance] += count
    np.testing.assert_allclose(ours.sums["similarity_sum"].numpy(), summed, atol=1e-9)
    np.testing.assert_array_equal(ours.sums["distance_histogram"].numpy(), histogram)


def test_exclusiveness_adds_up_to_the_number_of_distinct_focal_tokens():
    rng = np.random.default_rng(1)
    texts = [random_text(rng, 12) for _ in range(5)]
    labels = padded_labels(texts)
    z, attention = random_layer(rng, texts, causal=False)
    rows = layer_statistics(
        z,
        attention,
        queries=labels,
        keys=labels,
        baseline=pair_baseline(labels),
        causal=False,
        settings=Settings(window_tokens=16),
    ).rows
    for text in range(5):
        distinct = len(set(rows["focal_token"][text].tolist()))
        assert rows["focal_exclusiveness"][text].sum().item() == pytest.approx(distinct)


def test_texts_with_too_few_tokens_for_a_pair_have_none():
    text = NaiveText([5, 6, 7], [-1, 0, -1], [True, False, True], [False] * 3)
    labels = padded_labels([text])
    z, attention = random_layer(np.random.default_rng(0), [text], causal=False)
    for rule in ("top:0.5", "max:0.5"):
        rows = layer_statistics(
            z,
            attention,
            queries=labels,
            keys=labels,
            baseline=pair_baseline(labels),
            causal=False,
            settings=Settings(window_tokens=16, pairs=PairRule.parse(rule)),
        ).rows
        assert rows["pairs"].sum() == 0
        assert (rows["focal_token"] == -1).all()


def test_cross_attention_has_no_mask_over_its_pairs():
    rng = np.random.default_rng(2)
    texts = [random_text(rng, 10)]
    queries, keys = padded_labels(texts), padded_labels(texts)
    z, attention = random_layer(rng, texts, causal=False)
    rows = layer_statistics(
        z,
        attention,
        queries=queries,
        keys=keys,
        baseline=pair_baseline(queries),
        causal=False,
        settings=Settings(window_tokens=16),
    ).rows
    assert rows["mask_pairs"].isnan().all()
    assert rows["separator_attention"].isfinite().all()


def test_windows_longer_than_the_bins_keep_the_whole_sum():
    rng = np.random.default_rng(3)
    texts = [random_text(rng, 300), random_text(rng, 190)]
    labels = padded_labels(texts)
    z, attention = random_layer(rng, texts, causal=False)
    baseline = pair_baseline(labels)
    sums = layer_statistics(
        z,
        attention,
        queries=labels,
        keys=labels,
        baseline=baseline,
        causal=False,
        settings=Settings(window_tokens=512),
    ).sums
    counted = baseline.counted.double()
    whole = torch.einsum("bhid,bhjd,bi,bj->h", z, z, counted, counted) - torch.einsum(
        "bhid,bhid,bi->h", z, z, counted
    )
    assert sums["similarity_sum"].shape == (HEADS, 128, 128)
    torch.testing.assert_close(sums["similarity_sum"].sum((-2, -1)), whole)
