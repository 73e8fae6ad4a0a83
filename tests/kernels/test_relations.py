"""Sums over related and unrelated pairs against plain loops; the ratio on planted relations."""

import numpy as np
import pytest
import torch

from headscope.kernels.relations import (
    PairLabels,
    cell_shape,
    centred_directions,
    pair_cells,
    relation_sums,
)
from headscope.measures.signal import RELATIONS, counting_bins, signal_to_noise
from tests.naive_signal import naive_snr


def random_labels(rng, tokens, *, arcs=True):
    """Labels as windows have them: words of one to three tokens, sentences of some words."""
    word = np.sort(rng.integers(0, max(tokens * 2 // 3, 2), tokens))
    word = np.unique(word, return_inverse=True)[1]
    sentence = word // 9
    words = word.max() + 1
    lemma_of, form_of = rng.integers(-1, 25, words), rng.integers(0, 40, words)
    governor_of = np.clip(np.arange(words) + rng.integers(-4, 5, words), 0, words - 1)
    labels = {
        "token": rng.integers(0, 60, tokens),
        "word": word,
        "form": form_of[word],
        "lemma": lemma_of[word],
        "sentence": sentence,
        "governor": governor_of[word] if arcs else np.full(tokens, -1),
    }
    for values in labels.values():
        values[-1] = -1  # a special token
    return labels


def tensors(labels):
    return PairLabels(
        **{name: torch.from_numpy(np.asarray(v, dtype=np.int64)) for name, v in labels.items()}
    )


def groups_of(windows, tokens):
    """Sums of one head, each window a group."""
    shape = cell_shape(tokens)
    groups = {name: np.zeros((len(windows), 1, *shape)) for name in ("cosine", "cosine_square")}
    groups["pairs"] = np.zeros((len(windows), *shape))
    for group, (z, own, swapped, counted) in enumerate(windows):
        mask = torch.from_numpy(counted)
        directions = centred_directions(torch.from_numpy(z)[None, None], mask[None])[0]
        cells = pair_cells(tensors(own), tensors(swapped), mask, shape[-1])
        cosine, square = relation_sums(directions, cells)
        groups["cosine"][group] = cosine.numpy().reshape(1, *shape)
        groups["cosine_square"][group] = square.numpy().reshape(1, *shape)
        groups["pairs"][group] = cells.counts.numpy().reshape(shape)
    return groups


def sums_of(windows, tokens):
    """Sums of one head over windows, as the measures take them."""
    groups = groups_of(windows, tokens)
    groups["pairs"] *= counting_bins(groups["pairs"])
    return {name: values.sum(0) for name, values in groups.items()}


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_ratio_equals_plain_loops(relation):
    rng = np.random.default_rng(0)
    windows = []
    for _ in range(12):
        counted = np.ones(60, dtype=bool)
        counted[[0, -1]] = False
        z = rng.normal(size=(60, 5)) + 3
        windows.append((z, random_labels(rng, 60), random_labels(rng, 60), counted))
    ours = signal_to_noise(relation)(sums_of(windows, 64))
    assert ours[0] == pytest.approx(naive_snr(windows, relation, range(12)), abs=1e-4, nan_ok=False)
    assert np.isfinite(ours[0])


def planted_windows(rng, relation, strength, number, tokens=128, width=64):
    """Vectors whose related tokens share a direction: sentence mates have a common part."""
    windows = []
    for _ in range(number):
        own, other = random_labels(rng, tokens), random_labels(rng, tokens)
        counted = np.ones(tokens, dtype=bool)
        counted[[0, -1]] = False
        group = own[relation]
        parts = rng.normal(size=(group.max() + 2, width))
        z = rng.normal(size=(tokens, width)) + strength * parts[group]
        windows.append((z, own, other, counted))
    return windows


@pytest.mark.parametrize(
    ("relation", "strength"), [("sentence", 0.7), ("sentence", 0.35), ("lemma", 0.8)]
)
def test_a_planted_ratio_is_recovered(relation, strength):
    """The known ratio: means and variances of cosines of such vectors, drawn without any window."""
    rng = np.random.default_rng(1)
    width, draws = 64, 100_000
    noise = rng.standard_normal((2, draws, width), dtype=np.float32)
    part = strength * rng.standard_normal((2, draws, width), dtype=np.float32)

    def cosine(a, b):
        return (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)

    related = cosine(part[0] + noise[0], part[0] + noise[1])
    unrelated = cosine(part[0] + noise[0], part[1] + noise[1])
    known = (related.mean() - unrelated.mean()) ** 2 / (0.5 * (related.var() + unrelated.var()))
    windows = planted_windows(np.random.default_rng(0), relation, strength, 150)
    found = signal_to_noise(relation)(sums_of(windows, 128))[0]
    assert found == pytest.approx(known, rel=0.05)


def test_nothing_is_found_where_nothing_is_planted():
    rng = np.random.default_rng(2)
    windows = planted_windows(rng, "sentence", 0.0, 60)
    for relation in RELATIONS:
        assert abs(signal_to_noise(relation)(sums_of(windows, 128))[0]) < 0.01


def test_position_alone_gives_no_signal():
    """Vectors that turn with position: near pairs are alike, and nearer ones more often related."""
    rng = np.random.default_rng(3)
    windows = planted_windows(rng, "sentence", 0.0, 60)
    angle = np.arange(128)[:, None] / 20
    turning = np.concatenate([np.cos(angle), np.sin(angle)], axis=1) * 4
    for z, *_ in windows:
        z[:, :2] += turning
    sums = sums_of(windows, 128)
    corrected = signal_to_noise("sentence")(sums)[0]
    own_twice = {**sums}
    for name in ("cosine", "cosine_square"):
        own_twice[name] = sums[name].copy()
        own_twice[name][..., 1, :, :] = 0  # the correction taken away
    uncorrected = signal_to_noise("sentence")(own_twice)[0]
    assert uncorrected > 0.02 > abs(corrected)


def test_too_few_pairs_give_nan():
    rng = np.random.default_rng(4)
    windows = planted_windows(rng, "sentence", 1.0, 1, tokens=20)
    assert np.isnan(signal_to_noise("dependency")(sums_of(windows, 128))[0])
    without_arcs = [(z, random_labels(rng, 20, arcs=False), o, c) for z, _, o, c in windows]
    assert groups_of(without_arcs, 128)["pairs"][:, 0, 0].sum() == 0


def test_a_distance_that_rests_on_few_documents_does_not_count():
    """Ten windows of short sentences, and one that is a single long sentence."""
    rng = np.random.default_rng(5)
    windows = planted_windows(rng, "sentence", 0.5, 11)
    for labels in windows[-1][1:3]:
        labels["sentence"][:-1] = 0
    pairs = groups_of(windows, 128)["pairs"]
    sentence = RELATIONS.index("sentence")
    pairs[..., 1, :] += 200  # the long sentence has no unrelated pairs
    assert pairs[-1, sentence, 0, 0, 5] >= 100
    assert pairs[:-1, sentence, 0, 0, 5].sum() == 0
    assert counting_bins(pairs)[sentence, 0, 0].tolist() == [True] * 4 + [False] * 3
