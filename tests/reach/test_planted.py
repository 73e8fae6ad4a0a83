"""Reach where it is known: phrases planted at a distance, models built to look back or not to."""

import zlib

import numpy as np
import pytest
import torch

from headscope.reach.texts import intact_texts, plant_echoes
from tests.reach.built_models import (
    copying_and_reading_model,
    copying_model,
    random_model,
    random_windows,
    reach_of,
    short_sighted_model,
)

SKIP = ("shuffled", "repeats", "untrained")


@pytest.mark.parametrize(("distance", "expected"), [(20, 16), (40, 32), (70, 64)])
def test_a_model_built_to_copy_reaches_as_far_as_phrases_come_back(distance, expected):
    windows = random_windows(24, 128, distance=distance)
    result = reach_of(copying_model(), windows, skip=SKIP)
    head = result.heads.iloc[0]
    assert head.reach_all == expected
    # Only occurrences of one word are alike: without them there is nothing.
    assert np.isnan(head.reach)
    curve = result.head_curves.query(
        "head == 1 and comparison == 'excess' and variant == 'centred_cosine' and group == 'all'"
    )
    above = curve[curve.low > 0].distance.tolist()
    assert above == [expected]


def test_independent_texts_spliced_together_have_no_reach():
    # Both halves of each window are independent draws: an intact one is itself two texts spliced.
    result = reach_of(copying_model(), random_windows(24, 128, seed=1), skip=SKIP)
    assert result.heads[["reach", "reach_all", "reach_raw"]].isna().all(axis=None)
    assert not result.heads.reaches.any()


def test_the_positional_pattern_of_an_untrained_model_is_taken_away():
    result = reach_of(random_model(), random_windows(24, 128, seed=2, distance=40), skip=SKIP)
    intact = result.evidence.arrays["intact/sums"][:, 0, 1].sum(0)
    counts = result.evidence.arrays["intact/counts"][:, 1].sum(0)
    by_distance = (intact / counts).mean(0)
    # The two-point curve itself is far from flat: near positions are alike.
    assert by_distance[-1] < by_distance[2] - 0.1
    assert not result.heads.reaches.any()
    assert result.layers.reach.isna().all()


def test_heads_that_look_back_are_named_and_others_are_not():
    result = reach_of(copying_model(), random_windows(24, 256, seed=3), skip=SKIP[::2])
    heads = result.heads
    assert heads.looks_back.tolist()[0] == 64
    assert np.isnan(heads.looks_back.tolist()[1])
    answers = result.retrieval.query("head == 1")
    assert answers.distance.tolist() == [16, 64]
    # Half of what is written after an earlier occurrence is its place: all of that changes.
    assert answers.answer_low.min() > 0.5


def test_heads_that_attend_to_the_earlier_phrase_are_told_from_heads_that_read_what_those_found():
    windows = random_windows(24, 256, seed=6)
    result = reach_of(copying_and_reading_model(), windows, skip=SKIP[::2])
    roles = result.roles.set_index(["layer", "head"])
    assert roles["role"].to_dict() == {(1, 1): "retrieval", (2, 1): "follows"}
    assert roles["strength"][1, 1] > 0.3
    assert roles["strength"][2, 1] < 0.1
    assert roles["evidence"][1, 1].startswith("a phrase 64 tokens back decides 0.")
    # What heads are called is in their table, too.
    named = result.heads.set_index(["layer", "head"])["role"]
    assert named[1, 1] == "retrieval"
    assert named.isna().sum() == 4


def test_attention_to_the_earlier_phrase_is_that_of_whole_maps():
    model, windows = random_model(), random_windows(2, 256, seed=7)
    result = reach_of(model, windows, skip=SKIP[::2])
    texts = intact_texts(windows)
    expected = {"first": np.zeros((12, 2)), "control": np.zeros((12, 2))}
    for own, other in (texts, texts[::-1]):
        seed = zlib.crc32(own.token_ids.tobytes())
        echo = plant_echoes(own, other, (16, 64), np.random.default_rng([0, seed]))
        for name, text in (("first", echo.text), ("control", echo.control)):
            maps = []
            ids = torch.tensor(text.token_ids)[None]
            model.forward(ids, torch.ones_like(ids), lambda one, to=maps: to.append(one.attention))
            attention = torch.cat(maps, dim=1)[0].double().numpy()
            for number, (distance, again) in enumerate(zip((16, 64), echo.again, strict=True)):
                for key in {a - distance + more for a in again.tolist() for more in (0, 1)}:
                    for query in echo.again.flatten():
                        expected[name][:, number] += attention[:, query, key]
    for name, values in expected.items():
        found = result.evidence.arrays[f"repeats_attention/{name}"].sum(0)
        np.testing.assert_allclose(found, values, rtol=1e-4)


def test_a_model_that_sees_eight_tokens_uses_no_context_beyond_them():
    windows = random_windows(20, 64, seed=4)
    result = reach_of(short_sighted_model(8), windows, skip=("shuffled", "repeats", "untrained"))
    use = result.head_use
    assert use[use.distance >= 8].changed.max() == pytest.approx(0, abs=1e-10)
    assert use[use.distance_to < 7].changed.min() > 0.01


def test_use_of_context_is_what_two_plain_passes_show():
    model, (own, other) = random_model(), random_windows(2, 64, seed=5)
    result = reach_of(model, [own, other], skip=SKIP)

    def written(ids):
        found = []
        tokens = torch.tensor(np.asarray(ids))[None].long()
        model.forward(tokens, torch.ones_like(tokens), lambda one: found.append(one.head_output[0]))
        return torch.cat(found).double().numpy()

    change, size = np.zeros(12), np.zeros(12)
    for first, second in ((own, other), (other, own)):
        spliced = np.concatenate([second.token_ids[:32], first.token_ids[32:]])
        before, after = written(first.token_ids), written(spliced)
        for place in range(32 + 8, 32 + 12):
            change += ((before - after)[:, place] ** 2).sum(-1)
            size += (before[:, place] ** 2).sum(-1)
    got = result.head_use.query("distance == 8").changed.to_numpy()
    np.testing.assert_allclose(got, change / size, rtol=1e-5)
