"""Probes of parts of speech, on planted treebanks."""

import numpy as np
import pytest

import headscope as hs
from headscope.errors import CorpusError, ModelError, SettingsError
from tests.intervene.small_models import write_model
from tests.lens.texts import write_texts

OPTIONS = {"window": 30, "min_tokens": 6, "texts": None, "progress": False, "probe": "words"}
WORDS = {
    "DET": ["the", "a", "this", "every"],
    "NOUN": ["cat", "dog", "house", "river", "book"],
    "VERB": ["sees", "takes", "finds", "likes"],
}


def treebank(path, *, tagged=True, seed=0, documents=24):
    """Sentences of determiner, noun, verb, determiner, noun; with tags of their words, or random.

    Args:
        path: The file.
        tagged: Whether tags are those of the words.
        seed: Of everything.
        documents: How many.
    """
    rng = np.random.default_rng(seed)
    kinds = list(WORDS)
    lines = []
    for number in range(documents):
        lines.append(f"# newdoc id = d{number}")
        for _ in range(4):
            pattern = ["DET", "NOUN", "VERB", "DET", "NOUN"]
            forms = [str(rng.choice(WORDS[kind])) for kind in pattern]
            lines.append("# text = " + " ".join(forms))
            for place, (kind, form) in enumerate(zip(pattern, forms, strict=True), start=1):
                tag = kind if tagged else str(rng.choice(kinds))
                lines.append(f"{place}\t{form}\t{form}\t{tag}\t_\t_\t{place - 1}\tdep\t_\t_")
            lines.append("")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {
        name: write_model(name, tmp_path_factory.mktemp(name)) for name in ("bert", "gpt2", "t5")
    }


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_parts_of_speech_are_told_where_words_tell_them_and_not_where_they_are_random(
    name, folders, tmp_path
):
    """With a head or without one."""
    real = hs.lens(folders[name], treebank(tmp_path / "r.conllu"), out=tmp_path / "r", **OPTIONS)
    assert real.positions == 24 * 4 * 5
    assert real.usual_part.value == pytest.approx(0.4)  # DET and NOUN are 2 of 5 words each
    # What the first layer reads of BERT is the word itself; thirteen forms are easily told apart.
    found = real.layers[0].readings["probe"]["part_of_speech"]
    assert found.value > 0.85
    assert found.low <= found.value <= found.high
    random = treebank(tmp_path / "n.conllu", tagged=False)
    noise = hs.lens(folders[name], random, out=tmp_path / "n", **OPTIONS)
    for layer in noise.layers:
        assert layer.readings["probe"]["part_of_speech"].value < 0.45
    values = real.to_json()
    assert [layer["layer"] for layer in values["layers"]] == [0, 1, 2]
    assert values["layers"][1]["probe"]["part_of_speech"]["value"] is not None
    assert len(real.write_figures()) >= 3


def test_what_cannot_be_probed_is_refused(folders, tmp_path):
    with pytest.raises(CorpusError, match="marks no parts of speech"):
        hs.lens(folders["bert"], write_texts(tmp_path), out=tmp_path / "a", **OPTIONS)
    corpus = treebank(tmp_path / "t.conllu", documents=2)
    with pytest.raises(ModelError, match="encoder-decoder"):
        hs.lens(folders["t5"], corpus, out=tmp_path / "b", **OPTIONS)
    with pytest.raises(SettingsError, match="choose tokens, words or distances"):
        hs.lens(folders["bert"], corpus, out=tmp_path / "c", **{**OPTIONS, "probe": "all"})
    with pytest.raises(ModelError, match="no head that predicts tokens"):
        hs.lens(folders["bert"], corpus, out=tmp_path / "d", **{**OPTIONS, "probe": "tokens"})
