"""Signal and noise of a tiny model: equal to plain loops over hooks, mergeable, the same twice."""

import numpy as np
import pytest
import torch

from headscope.kernels.redundancy import head_cka, reconstruction
from headscope.measures.signal import GROUPS, RELATIONS, SUMS, signal_columns
from headscope.measuring.batch import batches
from headscope.measuring.labels import label_tokens
from headscope.measuring.repeats import second_half
from headscope.measuring.sample_pairs import groups_of, partners_of
from headscope.measuring.signal import SignalCollector
from headscope.models import load_model
from headscope.settings import Settings
from headscope.text.kinds import TokenKind
from headscope.text.windows import Window
from tests.models.families import FAMILIES, build
from tests.naive_signal import naive_snr

SETTINGS = Settings.of(window=40, min_tokens=4)


def windows_of(number, length=40, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for place in range(number):
        kinds = np.full(length, TokenKind.CONTENT, dtype=np.int32)
        kinds[[0, -1]] = TokenKind.SPECIAL
        words = np.unique(np.sort(rng.integers(0, 30, length)), return_inverse=True)[1]
        governor = np.clip(words + rng.integers(-3, 4, words.max() + 1)[words], 0, words.max())
        arrays = {
            "token_ids": rng.integers(3, 50, length),
            "starts": np.arange(length),
            "ends": np.arange(length) + 1,
            "sentence_ids": words // 8,
            "word_ids": words,
            "form_ids": rng.integers(0, 25, words.max() + 1)[words],
            "lemma_ids": rng.integers(-1, 12, words.max() + 1)[words],
            "head_ids": governor,
        }
        for name, values in arrays.items():
            arrays[name] = values.astype(np.int32)
            if name != "token_ids":
                arrays[name][[0, -1]] = -1
        made.append(
            Window(
                document=f"d{place // 2}",
                label=None,
                tokens=("x",) * length,
                kinds=kinds,
                **arrays,
            )
        )
    return made


def collected(model, windows, parts, whole=False):
    """A collector that has read windows in some parts, each by a partner, as threads do."""
    collector = SignalCollector(model, windows, model.sites, SETTINGS, whole=whole)
    with collector.reading(), torch.inference_mode():
        for places in parts:
            partner = collector.partner()
            for some in batches([windows[place] for place in places], max_tokens=100):
                chosen = [places[place] for place in some]
                labels = label_tokens([windows[place] for place in chosen])
                batch = partner.reader(chosen)
                model.forward_mass(
                    labels.token_ids,
                    labels.real,
                    lambda c, p=partner, b=batch: p.add(c.site, c.head_output, b),
                )
                partner.keep(batch)
            collector.merge(partner)
    return collector


@pytest.fixture(scope="module")
def model():
    return load_model(build(next(family for family in FAMILIES if family.title == "BERT")))


@pytest.fixture(scope="module")
def windows():
    return windows_of(24)


@pytest.fixture(scope="module")
def whole(model, windows):
    return collected(model, windows, [range(24)], whole=True)


NAMES = {"token": "token_ids", "word": "word_ids", "form": "form_ids", "lemma": "lemma_ids"}
NAMES |= {"sentence": "sentence_ids", "governor": "head_ids"}


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_ratio_of_each_head_equals_plain_loops(model, windows, whole, relation):
    def labels(window):
        kept = {name: getattr(window, column).copy() for name, column in NAMES.items()}
        for values in kept.values():
            values[[0, -1]] = -1
        return kept

    partners = partners_of(windows)
    groups = groups_of([window.document for window in windows]).tolist()
    outputs = {}
    for place, window in enumerate(windows):
        ids = torch.from_numpy(window.token_ids[None].astype(np.int64))
        model.forward(
            ids,
            torch.ones_like(ids),
            lambda c, place=place: outputs.setdefault((c.site.layer, place), c.head_output[0]),
        )
    counted = ~windows[0].special
    ours = signal_columns(whole.sums["encoder"])[f"{relation}_snr"]
    for layer, head in ((1, 0), (2, 3)):
        texts = [
            (outputs[layer, place][head].double().numpy(), labels(window), labels(partner), counted)
            for place, (window, partner) in enumerate(zip(windows, partners, strict=True))
        ]
        expected = naive_snr(texts, relation, groups)
        assert np.isfinite(expected)
        assert ours[(layer - 1) * 4 + head] == pytest.approx(expected, abs=1e-4)


def test_parts_add_up_in_any_order(model, windows, whole):
    for parts in ([range(9), range(9, 24)], [range(9, 24), range(9)]):
        merged = collected(model, windows, parts, whole=True)
        for name in SUMS:
            np.testing.assert_allclose(
                merged.sums["encoder"][name], whole.sums["encoder"][name], rtol=1e-4, atol=1e-4
            )
        both = (merged.redundancy.of_stack(model.sites), whole.redundancy.of_stack(model.sites))
        for name in ("cka", "reconstruction"):
            np.testing.assert_allclose(both[0][name], both[1][name], atol=1e-4)


def test_nothing_is_the_identity(model, windows, whole):
    empty = whole.partner()
    assert all(not values.any() for values in empty.sums["encoder"].values())
    columns = signal_columns(empty.sums["encoder"])
    assert all(np.isnan(values).all() for values in columns.values())
    before = {name: values.copy() for name, values in whole.sums["encoder"].items()}
    whole.merge(empty)
    for name, values in before.items():
        np.testing.assert_array_equal(whole.sums["encoder"][name], values)


def test_repeatability_compares_the_same_tokens(model, windows):
    window = windows[0]
    half, moved = second_half(window)
    again = np.flatnonzero(~half.special)
    assert half.token_ids[again].tolist() == window.token_ids[again + moved].tolist()
    assert half.special[[0, -1]].all()
    assert moved == 19
    collector = SignalCollector(model, windows, model.sites, SETTINGS)
    sums = collector.finish(np.arange(len(windows)))
    columns = signal_columns({name: sums.stacks["encoder"][name] for name in SUMS})
    # By hand for one window and head: correlation of centred vectors of the two readings.
    readings = []
    for one in (window, half):
        ids = torch.from_numpy(one.token_ids[None].astype(np.int64))
        seen = []
        model.forward(ids, torch.ones_like(ids), lambda c, seen=seen: seen.append(c.head_output[0]))
        readings.append(seen[1][2].double().numpy())
    first, second = readings[0][again + moved], readings[1][again]
    first, second = first - first.mean(0), second - second.mean(0)
    expected = (first * second).sum() / np.sqrt((first**2).sum() * (second**2).sum())
    group = {
        name: sums.stacks["encoder"][name][0, 4 + 2]
        for name in ("repeat_product", "repeat_first", "repeat_second")
    }
    # Group 0 has window 0 alone of those that were read twice, or also its document's second one.
    assert -1 <= expected <= 1
    assert np.isfinite(columns["repeatability"]).all()
    assert (np.abs(columns["repeatability"]) <= 1 + 1e-9).all()
    alone = group["repeat_product"] / np.sqrt(group["repeat_first"] * group["repeat_second"])
    assert alone == pytest.approx(expected, abs=1e-4)


def test_documents_stay_in_one_group_and_partners_are_others(windows):
    groups = groups_of([window.document for window in windows])
    assert groups[0] == groups[1] != groups[2]
    assert groups.max() < GROUPS
    for window, partner in zip(windows, partners_of(windows), strict=True):
        assert partner.document != window.document
    assert partners_of(windows[:2]) == [None, None]


def test_cka_equals_that_of_compare_and_reconstruction_a_regression():
    from headscope.kernels.debiased_cka import CentredHeads, debiased_cka

    torch.manual_seed(0)
    shared = torch.randn(300, 3)
    heads = [shared @ torch.randn(3, 6) + 0.5 * torch.randn(300, 6) + 5 for _ in range(4)]
    vectors = torch.stack(heads)
    centred = CentredHeads.of(vectors.transpose(0, 1).contiguous())
    torch.testing.assert_close(
        head_cka(vectors), debiased_cka(centred, centred), atol=1e-4, rtol=1e-4
    )
    joined = vectors.transpose(0, 1).flatten(1).double()
    fit, judge = joined[:150], joined[150:]
    roots = torch.eye(6).double().repeat(4, 1, 1)
    ours = reconstruction(torch.cov(fit.T, correction=0), torch.cov(judge.T, correction=0), roots)
    for head in range(4):
        own = slice(6 * head, 6 * head + 6)
        rest = [k for k in range(24) if not own.start <= k < own.stop]
        x, y = fit - fit.mean(0), judge - judge.mean(0)
        ridge = 1e-2 * x.square().mean() * len(x) * torch.eye(18).double()
        weights = torch.linalg.solve(x[:, rest].T @ x[:, rest] + ridge, x[:, rest].T @ x[:, own])
        error = (y[:, own] - y[:, rest] @ weights).square().sum()
        assert float(ours[head]) == pytest.approx(
            float(1 - error / y[:, own].square().sum()), abs=0.02
        )


def test_an_untrained_head_has_no_signal_within_its_interval(model):
    """Random weights and random labels: nearly all intervals contain zero."""
    found = collected(model, windows_of(80, seed=3), [range(80)])
    columns = signal_columns(found.sums["encoder"])
    inside = []
    for relation in RELATIONS:
        low, high = columns[f"{relation}_snr_low"], columns[f"{relation}_snr_high"]
        assert np.isfinite(low).all()
        inside += ((low <= 0) & (high >= 0)).tolist()
    assert np.mean(inside) >= 0.75


def test_distances_do_not_come_and_go_as_groups_are_left_out():
    """A bin with just enough pairs counts for the whole sample, so also without a group."""
    rng = np.random.default_rng(0)
    groups = {
        name: np.zeros([{"group": GROUPS, "head": 1, "d_head": 1}.get(axis, 2) for axis in axes])
        for name, axes in SUMS.items()
        if name not in ("pairs", "cosine", "cosine_square")
    }
    shape = (GROUPS, len(RELATIONS), 2, 2, 2)
    groups["pairs"] = np.full(shape, 1000.0)
    groups["pairs"][::2, ..., 1] = 1
    groups["pairs"][1::2, ..., 1] = 9.2  # 102 in all: without one of these, fewer than 100
    mean = np.where(np.arange(2) == 0, 0.02, 0.3)[None, None, None, None]
    mean = np.where(np.arange(2)[:, None, None] == 0, mean, 0)  # under the own labels alone
    mean = np.where(np.arange(2)[:, None] == 0, mean, 0) + rng.normal(0, 1e-3, shape)
    groups["cosine"] = (groups["pairs"] * mean)[:, None]
    groups["cosine_square"] = (groups["pairs"] * (mean**2 + 0.01))[:, None]
    columns = signal_columns(groups)
    value, low, high = (columns[f"sentence_snr{end}"] for end in ("", "_low", "_high"))
    assert value == pytest.approx(0.5 * (0.3**2 + 0.02**2) / 0.01, rel=0.05)
    assert high - low < 0.2 * value
