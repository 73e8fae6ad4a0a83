"""Learning from plain texts, for any model; keeping what was learned."""

import json

import pytest

from headscope.errors import CorpusError, ModelError
from headscope.segment.segmenter import Segmenter
from headscope.segment.sentences.weights import load_weights
from headscope.segment.training.fit_boundary_net import TrainingSettings
from headscope.text.demo import read_demo
from tests.segment.planted import planted_documents


@pytest.fixture(scope="module")
def learned(demo_model):
    texts = [document.text[:2000] for document in list(read_demo())[:8]]
    return Segmenter.fit(texts, demo_model, layers=[1, 2], settings=TrainingSettings(epochs=2))


def test_what_was_learned_survives_the_disk(learned, demo_model, tmp_path):
    learned.save(tmp_path / "folder")
    again = Segmenter(demo_model, weights=tmp_path / "folder")
    text = "It was late. Nobody came! So we went home. And the train left without us"
    before, after = learned.boundary_scores(text), again.boundary_scores(text)
    # Half precision on disk.
    assert after.probabilities == pytest.approx(before.probabilities, abs=0.02)
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == [
        "segmenter.json",
        "segmenter.safetensors",
    ]


def test_gold_sentences_are_learned(demo_model):
    """Here a sentence is what ends with a word that only sentence ends have."""
    train, test = planted_documents(24, seed=0), planted_documents(4, seed=1)
    segmenter = Segmenter.fit(
        train,
        demo_model,
        layers=[1, 2],
        modes=["unpunctuated"],
        settings=TrainingSettings(epochs=12, batch=2),
    )
    hits = found = wanted = 0
    for document in test:
        starts = {start for start, _ in segmenter.spans(document.text)[1:]}
        gold = {start for start, _ in document.sentences[1:]}
        hits, found, wanted = hits + len(starts & gold), found + len(starts), wanted + len(gold)
    assert 2 * hits / (found + wanted) > 0.9


def test_learning_twice_gives_the_same(demo_model):
    texts = planted_documents(20, seed=2)
    options = {"layers": [1], "modes": ["unpunctuated"], "settings": TrainingSettings(epochs=1)}
    first, second = (Segmenter.fit(texts, demo_model, **options) for _ in range(2))
    text = planted_documents(1, seed=9)[0].text
    assert first.boundary_scores(text).probabilities == pytest.approx(
        second.boundary_scores(text).probabilities, abs=1e-6
    )


def test_too_little_to_learn_from_is_refused(demo_model):
    with pytest.raises(CorpusError, match="three sentences"):
        Segmenter.fit(["word"], demo_model, layers=[1])


def test_a_damaged_folder_is_refused(learned, tmp_path):
    with pytest.raises(ModelError, match=r"segmenter\.json is missing"):
        load_weights(tmp_path)
    learned.save(tmp_path)
    facts = json.loads((tmp_path / "segmenter.json").read_text())
    for damage in ({**facts, "format": 99}, {k: facts[k] for k in facts if k != "modes"}):
        (tmp_path / "segmenter.json").write_text(json.dumps(damage))
        with pytest.raises(ModelError, match="fit it again"):
            load_weights(tmp_path)
    (tmp_path / "segmenter.json").write_text(json.dumps(facts))
    (tmp_path / "segmenter.safetensors").write_bytes(b"\0" * 64)
    with pytest.raises(ModelError, match="cannot be read"):
        load_weights(tmp_path)
