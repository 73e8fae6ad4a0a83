"""The Python of the page on segmentation runs as it stands, and gives what the page says."""

import gzip
from pathlib import Path

import pytest

import headscope as hs
from headscope.segment import segmenter
from headscope.segment.training.fit_boundary_net import TrainingSettings
from tests.segment.page_code import python_of

GERMAN = Path(__file__).parents[3] / "shared/corpora/de-gsd-dev.conllu.gz"
TEXT = "The cat sat on the mat. The dog saw the cat! Nobody else was there."


def test_the_first_examples_run(demo_model):
    (first,) = python_of("")
    sentences = ["The cat sat.", "The dog ran.", "It was late."]
    names = {"text": TEXT, "sentences": sentences}
    exec(first, names)
    assert "".join(names["segmenter"].split(TEXT)) == TEXT


def test_a_language_is_taught_as_the_page_says(demo_model, tmp_path, monkeypatch):
    if not GERMAN.exists():
        pytest.skip(f"{GERMAN.name} is not beside the repository")
    (recipe,) = python_of("Languages")
    sentences = gzip.decompress(GERMAN.read_bytes()).decode().split("\n\n")[:80]
    with gzip.open(tmp_path / GERMAN.name, "wt") as file:
        file.write("\n\n".join(sentences) + "\n\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(segmenter, "TrainingSettings", lambda: TrainingSettings(epochs=1))
    assert "range(0, 600, 20)" in recipe
    names = {"hs": hs}
    exec(recipe.replace("600", "80"), names)
    assert len(names["texts"]) == 4
    german = hs.Segmenter("demo", weights=tmp_path / "german-segmenter")
    assert not german.boundary_scores(names["texts"][0]).by_rules
    assert hs.Segmenter("demo").boundary_scores(names["texts"][0]).by_rules
