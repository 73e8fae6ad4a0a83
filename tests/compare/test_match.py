"""Heads matched between models."""

import sys

import numpy as np
import pytest

import headscope as hs
from headscope.compare.match import _mismatched_tokens, match_runs
from headscope.errors import ModelError, SettingsError
from tests.compare.tiny_bert import HEADS, LAYERS, TEXTS, loaded, tiny_bert, with_heads_permuted
from tests.text.tiny_tokenizers import byte_level, wordpiece

HERE = ["layer", "head"]
THERE = ["other_layer", "other_head"]


def test_a_model_is_matched_with_itself_head_by_head():
    model = loaded(tiny_bert())
    match = hs.match_heads(model, model, TEXTS)
    assert len(match) == LAYERS * HEADS
    assert match[THERE].to_numpy().tolist() == match[HERE].to_numpy().tolist()
    np.testing.assert_allclose(match["cka"], 1, rtol=1e-4)
    assert match["mutual"].all()
    assert (match["runner_up_cka"] < 0.99).all()
    assert (match["null"] < match["cka"] - 0.2).all()


def test_permuted_heads_are_found_again():
    model = tiny_bert()
    orders = [[2, 0, 3, 1], [1, 3, 2, 0]]
    match = hs.match_heads(loaded(model), loaded(with_heads_permuted(model, orders)), TEXTS)
    found = match.set_index(HERE)
    for layer, order in enumerate(orders, 1):
        for place, head in enumerate(order):
            row = found.loc[(layer, head + 1)]
            assert (row["other_layer"], row["other_head"]) == (layer, place + 1)
            assert row["cka"] == pytest.approx(1, rel=1e-4)


def test_matching_depends_on_no_padding():
    """Each text by itself has no padding; together they are padded to the longest."""
    one, two = loaded(tiny_bert(0)), loaded(tiny_bert(1))
    whole = hs.match_heads(one, two, TEXTS)
    reversed_order = hs.match_heads(one, two, TEXTS[::-1])
    np.testing.assert_allclose(whole["cka"], reversed_order["cka"], rtol=1e-4)


def test_the_null_pairs_every_text_with_another():
    lengths = [5, 3, 5, 4]
    starts = np.cumsum([0, *lengths])
    here, there = _mismatched_tokens(lengths, np.random.default_rng(0))
    text = np.searchsorted(starts, here, side="right") - 1
    other = np.searchsorted(starts, there, side="right") - 1
    assert set(text) == set(other) == {0, 1, 2, 3}
    assert (text != other).all()
    assert (here - starts[text] == there - starts[other]).all()


def test_different_tokenizers_are_refused_with_the_reason():
    other = tiny_bert()
    other.resize_token_embeddings(400)
    with pytest.raises(SettingsError, match="different tokenizers"):
        hs.match_heads(loaded(tiny_bert()), loaded(other, byte_level()), TEXTS)


def test_one_text_is_refused():
    model = loaded(tiny_bert())
    with pytest.raises(SettingsError, match="two windows"):
        hs.match_heads(model, model, TEXTS[:1])


def analysed(folder, tmp_path):
    corpus = tmp_path / "corpus.txt"
    tiny_bert().save_pretrained(folder)
    wordpiece().save_pretrained(folder)
    corpus.write_text("\n\n".join(TEXTS))
    return hs.analyze(
        folder,
        corpus,
        window=32,
        nulls=0,
        permutations=0,
        out=tmp_path / "run",
        report=False,
        progress=False,
    )


def test_models_of_runs_are_passed_and_must_be_those_of_the_runs(tmp_path):
    folder = tmp_path / "model"
    run = analysed(folder, tmp_path)
    match = match_runs(run, run, models=[folder, hs.load_model(folder)], texts=2)
    assert match[THERE].to_numpy().tolist() == match[HERE].to_numpy().tolist()
    with pytest.raises(SettingsError, match="1 given"):
        match_runs(run, run, models=[folder])
    tiny_bert(1).save_pretrained(folder)
    with pytest.raises(ModelError, match="other weights"):
        match_runs(run, run, models=[folder, folder])


def test_what_a_manifest_says_of_its_model_is_never_loaded(tmp_path, monkeypatch):
    run = analysed(tmp_path / "model", tmp_path)
    loads = []
    load = sys.modules[hs.load_model.__module__]
    monkeypatch.setattr(load, "load_model", lambda *args, **_: loads.append(args))
    with pytest.raises(SettingsError, match="one model for each run"):
        match_runs(run, run)
    assert loads == []
