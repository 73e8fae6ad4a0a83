"""Planted structure is found, and every measure has the value that can be worked out by hand."""

import numpy as np
import pandas as pd
import pytest
import torch

from headscope.findings.roles import assign_roles
from headscope.kernels.cpu.fused import fused_statistics
from headscope.kernels.vectorised import vectorised_statistics
from headscope.measures.tables import add_measures, head_table
from headscope.measuring.reduce import reduce_shards
from headscope.measuring.shard_builder import ShardBuilder
from headscope.runs.manifest import CorpusRecord, Manifest, ModelRecord, SiteRecord
from headscope.settings import PairRule, Settings
from tests.kernels.random_layers import padded_batch
from tests.measures.planted import HUB, SENTENCES, planted_heads, planted_text

TEXTS = 30
SETTINGS = Settings(window_tokens=64, pairs=PairRule.parse("top:0.01"), permutations=20)
HEADS = ("repetition", "sentence", "twins", "hub", "noise")
INNER = sum(SENTENCES)
PAIRS = INNER * (INNER - 1) / 2


@pytest.fixture(scope="module", params=[vectorised_statistics, fused_statistics])
def heads(request) -> pd.DataFrame:
    """The measures of five planted heads in one layer over thirty texts, by their names."""
    texts = [planted_text(seed).text for seed in range(TEXTS)]
    vectors = [planted_heads(text, seed) for seed, text in enumerate(texts)]
    z = torch.stack([torch.stack([planted[name] for name in HEADS]) for planted in vectors])
    n = texts[0].n
    even = torch.full((n, n), 1 / n, dtype=torch.float64)
    on_stops = torch.tensor([text.separator for text in texts], dtype=torch.float64)
    on_stops = (on_stops / on_stops.sum(-1, keepdim=True))[:, None].expand(-1, n, -1)
    on_hub = torch.zeros(n, n, dtype=torch.float64)
    on_hub[:, HUB] = 1
    attention = torch.stack([torch.stack([even, stops, even, on_hub, even]) for stops in on_stops])
    z[:, HEADS.index("twins")] *= 3
    batch = padded_batch(texts, SETTINGS)
    statistics = request.param(z, attention.sum(-2), batch, causal=False, settings=SETTINGS)
    builder = ShardBuilder(windows=TEXTS, first_window=0, sites=[("encoder", 1, len(HEADS))])
    rows = {name: values.numpy() for name, values in statistics.rows.items()}
    builder.add_rows("encoder", np.arange(TEXTS), rows)
    builder.add_array("encoder", "aligned_count", np.zeros((48, 48)))
    manifest = Manifest(
        model=ModelRecord(
            "planted", "None", None, "", "", "float64", "cpu", 0,
            (SiteRecord("encoder", 1, "", len(HEADS), 0, False, ""),), {}, (),
        ),
        corpus=CorpusRecord((), {}, TEXTS, "", TEXTS, ("",), (TEXTS,), None),
        settings=SETTINGS,
        packages={},
        created="",
        threads=1,
    )  # fmt: skip
    results = add_measures(reduce_shards(manifest, [builder.shard()])["encoder"])
    table = head_table(results).assign(stack="encoder")
    table.index = pd.Index(HEADS)
    return table


def test_the_repetition_head_binds_repetitions_alone(heads):
    # 6 tokens three times and 4 stops: 6 * 3 + 6 pairs of one token, and all of them tie.
    assert heads.loc["repetition", "repetition"] == 1
    assert heads.loc["repetition", "word_repetition"] == 1
    assert heads.loc["repetition", "pairs"] <= TEXTS * 24
    assert heads.loc["noise", "repetition"] < 0.15


def test_the_sentence_head_stays_in_its_sentence(heads):
    inside = sum(size * (size - 1) / 2 for size in SENTENCES)
    share = inside / PAIRS
    assert heads.loc["sentence", "same_sentence"] == 1
    assert heads.loc["sentence", "pairs"] == TEXTS * inside
    # C is 1 inside and 0 across: the contrast is 1 over the deviation of so many ones.
    deviation = np.sqrt(share * (1 - share) * PAIRS / (PAIRS - 1))
    assert heads.loc["sentence", "block_contrast"] == pytest.approx(1 / deviation, rel=1e-6)
    assert abs(heads.loc["noise", "block_contrast"]) < 0.1


def test_pairs_lie_at_the_distance_they_were_planted_at(heads):
    assert heads.loc["twins", "mean_distance"] == 5
    assert heads.loc["twins", "half_distance"] == 5
    assert heads.loc["twins", "mean_distance_expected"] == pytest.approx((INNER + 1) / 3)


def test_the_hub_head_gathers_around_its_token(heads):
    # One element of every pair is the hub: half of all elements.
    assert heads.loc["hub", "focal_concentration"] == 0.5
    assert heads.loc["hub", "focal_concentration_expected"] == pytest.approx(1 / INNER)


def test_the_hub_is_the_common_token_of_its_head(heads):
    texts = [planted_text(seed).text for seed in range(TEXTS)]
    counts = [np.unique(text.token_ids[1:-1], return_counts=True)[1] for text in texts]
    different = [PAIRS - (count * (count - 1) / 2).sum() for count in counts]
    assert heads.loc["hub", "common_token"] == 1
    assert heads.loc["hub", "common_token_expected"] == pytest.approx(
        np.mean([(INNER - 1) / pairs for pairs in different])
    )
    # All others are bound to it, those in its context (places 1 to 10) as well as the rest.
    assert heads.loc["hub", "common_token_context"] == pytest.approx(9 / (INNER - 1))
    assert heads.loc["hub", "common_token_context_expected"] == pytest.approx(9 / (INNER - 1))
    # It occurs once: every token that is repeated is more frequent.
    assert heads.loc["hub", "common_token_rank"] == pytest.approx(
        np.mean([1 + (count > 1).sum() for count in counts])
    )
    assert heads.loc["noise", "common_token"] < 0.6


def test_pairs_of_one_token_with_itself_have_no_common_token(heads):
    assert np.isnan(heads.loc["repetition", "common_token"])
    assert np.isnan(heads.loc["repetition", "common_token_rank"])


def test_the_diagonal_is_as_large_as_the_vectors_are_apart(heads):
    inside = sum(size**2 for size in SENTENCES)
    assert heads.loc["sentence", "diagonal_share"] == pytest.approx(INNER / inside)
    # 24 random dimensions: the square of an off-diagonal entry is 24, of a diagonal one 24 * 26.
    assert heads.loc["noise", "diagonal_share"] == pytest.approx(26 / (26 + INNER - 1), rel=0.1)


def test_attention_shares_are_those_that_were_planted(heads):
    n = INNER + 2
    assert heads.loc["noise", "separator_attention"] == pytest.approx(4 / n)
    assert heads.loc["noise", "special_attention"] == pytest.approx(2 / n)
    assert heads.loc["noise", "special_separator_attention"] == pytest.approx(1 / n)
    assert heads.loc["noise", "start_attention"] == pytest.approx(1 / n)
    assert heads.loc["noise", "first_attention"] == pytest.approx(1 / n)
    assert heads.loc["sentence", "separator_attention"] == pytest.approx(1)
    assert heads.loc["sentence", "special_attention"] == pytest.approx(0)


def test_the_mask_is_where_attention_was_planted(heads):
    assert heads.loc["hub", "high_attention_tokens"] == 1
    assert heads.loc["hub", "mask_agreement"] == 1
    assert heads.loc["hub", "mask_agreement_expected"] == pytest.approx(2 / INNER)
    assert heads.loc["noise", "high_attention_tokens"] == INNER
    assert heads.loc["sentence", "high_attention_tokens"] == 4


def test_lengths_are_those_of_the_planted_vectors(heads):
    assert heads.loc["sentence", "norm"] == pytest.approx(1)
    assert heads.loc["twins", "norm"] == pytest.approx(3)
    assert heads.loc["sentence", "separator_norm"] == pytest.approx(1)


def test_lemmas_are_absent_and_not_zero(heads):
    assert heads["lemma_repetition"].isna().all()


def test_roles_come_out_as_planted(heads):
    # The sentence head's attention was planted on stops; as a role of its own that is another head.
    heads = heads.assign(separator_attention=[0.07, 0.07, 0.07, 0.07, 0.07])
    roles = assign_roles(heads)["role"].tolist()
    assert roles == ["repetition", "sentence-block", "local", "common-token", "broad"]


def test_a_head_with_two_traits_is_named_after_the_stronger_and_lists_the_other(heads):
    # Both are planted at their maximum, so the attention is weakened: (0.6 - 0.25) / 0.75 < 1.
    table = assign_roles(heads.loc[["sentence"]].assign(separator_attention=0.6))
    assert table[["role", "others"]].to_numpy().tolist() == [["sentence-block", "separator"]]
    assert "sentence-block" in table["evidence"][0]
    assert "separator 0.60 (bar 0.25)" in table["evidence"][0]


def test_a_trait_that_the_untrained_model_has_too_names_no_head(heads):
    heads = heads.assign(separator_attention=0.07)
    untrained = heads.loc[["repetition"]]
    roles = assign_roles(heads, [untrained]).set_index(heads.index)["role"]
    assert roles["repetition"] != "repetition"
    assert roles["sentence"] == "sentence-block"
