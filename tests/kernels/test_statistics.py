"""Every statistic of a layer against plain loops, by both kernels, on uneven random texts."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.kernels.cpu import fused, head_tiles, norm_pruning
from headscope.kernels.cpu.fused import fused_statistics
from headscope.kernels.cpu.jit import layout
from headscope.kernels.similarity import sum_by_position, sum_products_by_position
from headscope.kernels.token_rows import column_mass
from headscope.kernels.vectorised import vectorised_statistics
from headscope.settings import SWEEP_ATTENTION, SWEEP_PAIRS, PairRule, Settings
from tests.kernels.random_layers import HEADS, padded_batch, random_layer, random_text
from tests.naive import naive_common_token, naive_head, naive_pairs, naive_similarity

KERNELS = pytest.mark.parametrize("kernel", [vectorised_statistics, fused_statistics])


def measured(kernel, z, attention, batch, **options):
    return kernel(z, column_mass(attention, batch.queries.real), batch, **options)


layers = given(
    seed=st.integers(0, 10**6),
    lengths=st.lists(st.integers(4, 14), min_size=1, max_size=4),
    variant=st.sampled_from(["raw", "centred", "cosine"]),
    rule=st.sampled_from(["top:0.01", "top:0.2", "top:1", "max:0.3", "max:0.9"]),
    causal=st.booleans(),
    special_tokens=st.booleans(),
    lemmas=st.booleans(),
    column_mass=st.sampled_from(["counted", "paper"]),
)


@KERNELS
@settings(max_examples=25, deadline=None)
@layers
def test_statistics_equal_plain_loops(
    kernel, seed, lengths, variant, rule, causal, special_tokens, lemmas, column_mass
):
    rng = np.random.default_rng(seed)
    texts = [random_text(rng, n, lemmas) for n in lengths]
    z, attention = random_layer(rng, texts, causal)
    chosen = Settings(
        window_tokens=16,
        similarity=variant,
        pairs=PairRule.parse(rule),
        special_tokens=special_tokens,
        column_mass=column_mass,
        permutations=3,
    )
    ours = measured(
        kernel, z, attention, padded_batch(texts, chosen), causal=causal, settings=chosen
    )
    summed = np.zeros((HEADS, 16, 16))
    histogram = np.zeros((HEADS, 16))
    kinds = np.zeros((HEADS, 8))
    compared = set()
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
                column_mass=column_mass,
            )
            for column, value in theirs.items():
                if column in ours.rows:
                    compared.add(column)
                    assert ours.rows[column][row, head].item() == pytest.approx(value), column
            summed[head, : text.n, : text.n] += np.triu(theirs["similarity_sum"])
            for distance, count in theirs["distances"].items():
                histogram[head, distance] += count
            for kind, count in theirs["kinds"].items():
                kinds[head, kind] += count
    assert set(ours.rows) - compared == {"focal_exclusiveness"}
    own = ["raw", "centred", "cosine"].index(variant)
    np.testing.assert_allclose(ours.sums["similarity_sum"][:, own].numpy(), summed, atol=1e-9)
    np.testing.assert_array_equal(ours.sums["distance_histogram"].numpy(), histogram)
    np.testing.assert_array_equal(ours.sums["element_kinds"].numpy(), kinds)


@settings(max_examples=25, deadline=None)
@layers
def test_the_two_kernels_agree_in_everything(
    seed, lengths, variant, rule, causal, special_tokens, lemmas, column_mass
):
    rng = np.random.default_rng(seed)
    texts = [random_text(rng, n, lemmas) for n in lengths]
    z, attention = random_layer(rng, texts, causal)
    chosen = Settings(
        window_tokens=16,
        similarity=variant,
        pairs=PairRule.parse(rule),
        special_tokens=special_tokens,
        column_mass=column_mass,
        permutations=4,
    )
    batch = padded_batch(texts, chosen)
    one = measured(vectorised_statistics, z, attention, batch, causal=causal, settings=chosen)
    other = measured(fused_statistics, z, attention, batch, causal=causal, settings=chosen)
    for part in ("rows", "sums", "sweep"):
        ours, theirs = getattr(one, part), getattr(other, part)
        assert set(ours) == set(theirs)
        for name in ours:
            torch.testing.assert_close(
                theirs[name], ours[name], rtol=1e-9, atol=1e-9, equal_nan=True, msg=name
            )


@KERNELS
@pytest.mark.parametrize("rule", ["top:0.01", "top:0.2", "max:0.4"])
def test_common_tokens_of_longer_texts_equal_plain_loops(kernel, rule):
    """Of texts in which few tokens lie in the context of another one."""
    rng = np.random.default_rng(21)
    texts = [random_text(rng, n) for n in (60, 45)]
    for text in texts:
        text.token_ids = np.minimum(rng.geometric(0.06, text.n), 30).tolist()
    texts[0].special[17] = True  # a token in the middle that is not counted
    z, attention = random_layer(rng, texts)
    chosen = Settings(window_tokens=64, pairs=PairRule.parse(rule), permutations=0)
    rows = measured(
        kernel, z, attention, padded_batch(texts, chosen), causal=False, settings=chosen
    ).rows
    for row, text in enumerate(texts):
        counted = [not special for special in text.special]
        every = naive_pairs([[0.0] * text.n] * text.n, counted, "top:1")
        for head in range(HEADS):
            c = naive_similarity(z[row, head, : text.n].numpy(), "raw", counted)
            theirs = naive_common_token(
                naive_pairs(c, counted, rule), every, text.token_ids, counted
            )
            assert 0 < theirs["common_context_pairs"] < theirs["common_pairs"] or rule == "top:0.01"
            for column, value in theirs.items():
                assert rows[column][row, head].item() == pytest.approx(value), column


@KERNELS
def test_the_sweep_is_what_each_threshold_gives_by_itself(kernel):
    rng = np.random.default_rng(4)
    texts = [random_text(rng, n) for n in (14, 9, 12)]
    z, attention = random_layer(rng, texts)
    base = Settings(window_tokens=16, permutations=0, pairs=PairRule.parse("top:0.1"))
    batch = padded_batch(texts, base)

    def at(chosen):
        return measured(kernel, z, attention, batch, causal=False, settings=chosen)

    sweep = at(base).sweep
    for place, rule in enumerate(SWEEP_PAIRS):
        alone = at(replace(base, pairs=rule)).rows
        for name in [key for key in sweep if key.startswith("pair_rule/")]:
            assert torch.equal(sweep[name][..., place], alone[name.split("/")[1]]), (rule, name)
    for place, threshold in enumerate(SWEEP_ATTENTION):
        alone = at(replace(base, attention_threshold=threshold)).rows
        for name in [key for key in sweep if key.startswith("attention_threshold/")]:
            assert torch.equal(sweep[name][..., place], alone[name.split("/")[1]]), name


@KERNELS
def test_exclusiveness_adds_up_to_the_number_of_distinct_focal_tokens(kernel):
    rng = np.random.default_rng(1)
    texts = [random_text(rng, 12) for _ in range(5)]
    z, attention = random_layer(rng, texts)
    chosen = Settings(window_tokens=16)
    rows = measured(
        kernel, z, attention, padded_batch(texts, chosen), causal=False, settings=chosen
    ).rows
    for text in range(5):
        distinct = len(set(rows["focal_token"][text].tolist()))
        assert rows["focal_exclusiveness"][text].sum().item() == pytest.approx(distinct)


@KERNELS
@pytest.mark.parametrize("rule", ["top:0.5", "max:0.5"])
def test_texts_with_too_few_tokens_for_a_pair_have_none(kernel, rule):
    texts = [random_text(np.random.default_rng(0), 3)]
    z, attention = random_layer(np.random.default_rng(0), texts)
    chosen = Settings(window_tokens=16, pairs=PairRule.parse(rule))
    rows = measured(
        kernel, z, attention, padded_batch(texts, chosen), causal=False, settings=chosen
    ).rows
    assert rows["pairs"].sum() == 0
    assert (rows["focal_token"] == -1).all()
    assert rows["block_contrast_texts"].sum() == 0


@KERNELS
def test_cross_attention_has_no_mask_over_its_pairs(kernel):
    rng = np.random.default_rng(2)
    texts = [random_text(rng, 10)]
    chosen = Settings(window_tokens=16)
    batch = padded_batch(texts, chosen)
    batch = replace(batch, keys=replace(batch.keys))
    z, attention = random_layer(rng, texts)
    result = measured(kernel, z, attention, batch, causal=False, settings=chosen)
    assert result.rows["mask_pairs"].isnan().all()
    assert result.sweep["pair_rule/mask_pairs"].isnan().all()
    assert result.rows["separator_attention"].isfinite().all()


@KERNELS
def test_windows_longer_than_the_bins_keep_the_whole_sum(kernel):
    rng = np.random.default_rng(3)
    texts = [random_text(rng, 300), random_text(rng, 190)]
    z, attention = random_layer(rng, texts)
    chosen = Settings(window_tokens=512, permutations=0)
    batch = padded_batch(texts, chosen)
    sums = measured(kernel, z, attention, batch, causal=False, settings=chosen).sums
    counted = batch.counted.double()
    twice = torch.einsum("bhid,bhjd,bi,bj->h", z, z, counted, counted) - torch.einsum(
        "bhid,bhid,bi->h", z, z, counted
    )
    assert sums["similarity_sum"].shape == (HEADS, 3, 128, 128)
    torch.testing.assert_close(sums["similarity_sum"][:, 0].sum((-2, -1)), twice / 2)


@pytest.mark.parametrize("variant", ["raw", "centred", "cosine"])
@pytest.mark.parametrize("window", [70, 300])
@pytest.mark.parametrize("minimal", [False, True], ids=["all rules", "one rule, in one pass"])
@pytest.mark.parametrize("guessed", [True, False], ids=["right guess", "wrong guess"])
def test_tiles_give_what_whole_matrices_give(variant, window, minimal, guessed, monkeypatch):
    rng = np.random.default_rng(8)
    texts = [random_text(rng, n) for n in (68, 21)]
    texts[0].special[17] = True  # a token in the middle that is not counted
    z, attention = random_layer(rng, texts)
    chosen = Settings(window_tokens=window, similarity=variant, permutations=2, minimal=minimal)
    batch = padded_batch(texts, chosen)
    whole = measured(vectorised_statistics, z, attention, batch, causal=False, settings=chosen)
    monkeypatch.setattr(fused, "TILE_NUMBERS", 0)
    monkeypatch.setattr(head_tiles, "BAND_NUMBERS", 68 * 5)
    monkeypatch.setattr(layout, "_SHORT", 16)
    if not guessed:
        monkeypatch.setattr(head_tiles, "_likely_taken", lambda vectors, taken: math.inf)
    tiled = measured(fused_statistics, z, attention, batch, causal=False, settings=chosen)
    for ours, theirs in ((tiled.rows, whole.rows), (tiled.sums, whole.sums)):
        assert set(ours) == set(theirs)
        for name, values in theirs.items():
            np.testing.assert_allclose(ours[name], values, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("rule", ["top:0.01", "top:0.6", "max:0.05", "max:0.9"])
@pytest.mark.parametrize("tiled", [False, True], ids=["whole", "in tiles"])
@pytest.mark.parametrize("lengths", [(330, 300), (120, 90)], ids=str)
def test_loose_and_strict_rules_are_counted_alike(rule, tiled, lengths, monkeypatch):
    """Some rules take a few pairs and others most: of texts with more than fit into a byte."""
    rng = np.random.default_rng(11)
    texts = [random_text(rng, n) for n in lengths]
    texts[0].special[17] = True  # a token in the middle that is not counted
    z, attention = random_layer(rng, texts)
    z = (z / 3).exp()  # similarities are positive and alike: a fraction of the largest is common
    chosen = Settings(window_tokens=512, pairs=PairRule.parse(rule), permutations=2)
    batch = padded_batch(texts, chosen)
    whole = measured(vectorised_statistics, z, attention, batch, causal=False, settings=chosen)
    if tiled:
        monkeypatch.setattr(fused, "TILE_NUMBERS", 0)
        monkeypatch.setattr(head_tiles, "BAND_NUMBERS", lengths[0] * 100)
    ours = measured(fused_statistics, z, attention, batch, causal=False, settings=chosen)
    taken = whole.sweep["pair_rule/pairs"].amax((0, 1)) / (lengths[0] * (lengths[0] - 1) / 2)
    assert taken.min() < 0.01 < 0.3 < taken.max()
    for part in ("rows", "sums", "sweep"):
        expected = getattr(whole, part)
        for name, values in getattr(ours, part).items():
            torch.testing.assert_close(
                values, expected[name], rtol=1e-9, atol=1e-9, equal_nan=True, msg=name
            )


@pytest.mark.parametrize("values", [1, 2, 3], ids=["one value", "two values", "three values"])
@pytest.mark.parametrize("minimal", [False, True], ids=["all rules", "one rule"])
def test_more_pairs_tie_than_there_is_room_for(values, minimal):
    """A head whose attention sticks to one token writes the same everywhere in a long text."""
    rng = np.random.default_rng(5)
    text = random_text(rng, 700)
    z = torch.tensor(1.0 + rng.integers(0, values, (1, HEADS, text.n, 1)), dtype=torch.float32)
    chosen = Settings(window_tokens=1024, permutations=2, minimal=minimal)
    batch = padded_batch([text], chosen)
    mass = torch.ones(1, HEADS, text.n, dtype=z.dtype)
    whole = vectorised_statistics(z, mass, batch, causal=False, settings=chosen)
    ours = fused_statistics(z, mass, batch, causal=False, settings=chosen)
    for part in ("rows", "sums", "sweep"):
        for name, expected in getattr(whole, part).items():
            found = getattr(ours, part)[name].to(expected.dtype)
            torch.testing.assert_close(
                found, expected, rtol=1e-4, atol=1e-4, equal_nan=True, msg=name
            )


@pytest.mark.parametrize("variant", ["raw", "centred", "cosine"])
@pytest.mark.parametrize("rule", ["top:0.01", "top:0.3", "max:0.5"])
def test_pairs_of_short_vectors_are_left_out_where_the_largest_alone_are_wanted(
    variant, rule, monkeypatch
):
    """Lengths differ, some vectors are zero, tokens are not counted, texts are of uneven length."""
    rng = np.random.default_rng(6)
    texts = [random_text(rng, n) for n in (500, 410, 3)]
    texts[0].special[17] = texts[0].special[250] = True
    z, attention = random_layer(rng, texts)
    z *= torch.tensor(rng.lognormal(0, 1, (3, HEADS, 500, 1)))
    z[:, :, 40:60] = 0
    chosen = Settings(
        window_tokens=512, similarity=variant, pairs=PairRule.parse(rule), minimal=True
    )
    batch = padded_batch(texts, chosen)
    whole = measured(vectorised_statistics, z, attention, batch, causal=False, settings=chosen)
    products = 0

    def count(tile, *others):
        nonlocal products
        products += tile.size
        return sift(tile, *others)

    sift = norm_pruning.compiled.sift_ordered
    monkeypatch.setattr(norm_pruning.compiled, "sift_ordered", count)
    monkeypatch.setattr(fused, "TILE_NUMBERS", 0)
    ours = measured(fused_statistics, z, attention, batch, causal=False, settings=chosen)
    for part in ("rows", "sums"):
        for name, expected in getattr(whole, part).items():
            torch.testing.assert_close(
                getattr(ours, part)[name], expected, rtol=1e-9, atol=1e-9, equal_nan=True, msg=name
            )
    assert (products > 0) == (rule != "max:0.5")
    if variant == "raw" and rule == "top:0.01":
        assert products < 0.5 * HEADS * (500**2 + 410**2) / 2


def test_millions_of_pairs_of_one_rule_are_counted():
    rng = np.random.default_rng(13)
    text = random_text(rng, 2100)
    z = torch.tensor(rng.normal(0.3, 1, (1, 1, text.n, 4)))
    chosen = Settings(window_tokens=4096, pairs=PairRule.parse("top:1"), minimal=True)
    batch = padded_batch([text], chosen)
    mass = torch.ones(1, 1, text.n, dtype=z.dtype)
    rows = fused_statistics(z, mass, batch, causal=False, settings=chosen).rows
    baseline = batch.baseline
    assert rows["pairs"].item() == baseline.pairs.sum().item() > 2**21
    for column, group in (("same_sentence_pairs", 0), ("repetition_pairs", 1)):
        expected = (baseline.rates[group] * baseline.pairs).sum().item()
        assert rows[column].item() == pytest.approx(expected)
    assert rows["mask_pairs"].item() == rows["pairs"].item()


def test_centred_sums_are_exact_where_the_mean_is_much_longer_than_what_is_left():
    rng = np.random.default_rng(12)
    texts = [random_text(rng, n) for n in (14, 9, 12)]
    z, attention = random_layer(rng, texts)
    z += 20 * torch.tensor(rng.normal(size=(1, HEADS, 1, z.shape[-1])))
    chosen = Settings(window_tokens=16, permutations=0)
    batch = padded_batch(texts, chosen)
    exact = measured(vectorised_statistics, z, attention, batch, causal=False, settings=chosen)
    ours = measured(
        fused_statistics, z.float(), attention.float(), batch, causal=False, settings=chosen
    )
    expected = exact.sums["similarity_sum"][:, 1]
    difference = (ours.sums["similarity_sum"][:, 1] - expected).norm() / expected.norm()
    assert difference < 1e-4


@KERNELS
@pytest.mark.parametrize("variant", ["raw", "centred", "cosine"])
def test_a_minimal_pass_gives_what_a_full_one_gives(kernel, variant):
    rng = np.random.default_rng(9)
    texts = [random_text(rng, n) for n in (14, 11)]
    z, attention = random_layer(rng, texts)
    full = Settings(window_tokens=16, similarity=variant)
    minimal = replace(full, minimal=True)
    whole, less = (
        measured(kernel, z, attention, padded_batch(texts, one), causal=False, settings=one)
        for one in (full, minimal)
    )
    assert less.sweep == {}
    assert set(less.rows) == set(whole.rows)
    profiles = {"half_distance", "block_contrast"}
    for name, values in less.rows.items():
        if name.removesuffix("_texts") in profiles:
            assert not values.any(), name
            assert whole.rows[name].any(), name
        else:
            assert torch.equal(values, whole.rows[name]), name
    assert {*whole.sums} - {*less.sums} == {"similarity_by_distance", "within_by_distance"}
    own = full.variants.index(variant)
    assert torch.equal(less.sums["similarity_sum"][:, 0], whole.sums["similarity_sum"][:, own])
    assert less.sums["same_sentence_permuted"].shape == (HEADS, 0)


@pytest.mark.parametrize("window", [16, 200])
def test_sums_of_products_by_position_need_no_products(window):
    rng = np.random.default_rng(10)
    texts = [random_text(rng, n) for n in (14, 9)]
    z, _ = random_layer(rng, texts)
    counted = padded_batch(texts, Settings(window_tokens=window)).counted
    expected = sum_by_position(z @ z.mT, counted, window)
    ours = sum_products_by_position(z, counted, window)
    np.testing.assert_allclose(ours, expected, atol=1e-9)
