"""The whole of `lens`: sampled positions, whole words, resumed, refused, printed."""

import json
import shutil
import sys

import numpy as np
import pytest

import headscope as hs
from headscope.cli import main
from headscope.errors import ModelError, RunError, SettingsError
from headscope.measuring.outcome import Outcome
from tests.intervene.small_models import some_windows, write_model
from tests.lens.texts import OPTIONS, TEXTS, write_texts


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_texts(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {
        name: write_model(name, tmp_path_factory.mktemp(name))
        for name in ("gpt2", "bert", "bert-masked", "bert-names")
    }


def test_a_resumed_study_equals_an_uninterrupted_one(folders, corpus, tmp_path):
    options = {**OPTIONS, "positions": 4, "shard_windows": 3}
    whole = hs.lens(folders["gpt2"], corpus, out=tmp_path / "whole", **options)
    part = shutil.copytree(tmp_path / "whole", tmp_path / "part")
    for path in (part / "shards").glob("00001.*"):
        path.unlink()
    resumed = hs.lens(folders["gpt2"], corpus, out=part, **options)
    assert resumed.to_json() == whole.to_json()
    assert json.loads((part / "study.json").read_text()) == whole.to_json()
    with pytest.raises(RunError, match=r"holds another run.*study"):
        hs.lens(folders["gpt2"], corpus, out=part, **{**options, "positions": 5})


def test_sampled_positions_do_not_depend_on_the_batch(folders, corpus, tmp_path):
    options = {**OPTIONS, "positions": 3}
    one = hs.lens(folders["bert-masked"], corpus, out=tmp_path / "one", **options)
    options["batch_tokens"] = 12
    other = hs.lens(folders["bert-masked"], corpus, out=tmp_path / "other", **options)
    assert one.table.shape == other.table.shape == (6, 21)
    numbers = [each.table.select_dtypes("number").to_numpy() for each in (one, other)]
    np.testing.assert_allclose(*numbers, rtol=1e-5, atol=1e-5)
    options["seed"] = 1
    again = hs.lens(folders["bert-masked"], corpus, out=tmp_path / "again", **options)
    assert again.table["cross_entropy"][0] != one.table["cross_entropy"][0]


def test_layers_that_are_asked_for_are_those_of_the_whole(folders, corpus, tmp_path):
    options = {**OPTIONS, "positions": None}
    whole = hs.lens(folders["gpt2"], corpus, out=tmp_path / "whole", **options)
    part = hs.lens(folders["gpt2"], corpus, out=tmp_path / "part", layers=[1], **options)
    assert [layer.layer for layer in part.layers] == [1]
    assert part.layers[0].to_json() == whole.layers[1].to_json()


def test_whole_words_are_hidden_whole(folders):
    model = hs.load_model(folders["bert-masked"], head=True)
    (window,) = some_windows((42,))
    words = window.word_ids.copy()
    words[1:-1] = np.arange(40) // 4  # ten words of four tokens
    object.__setattr__(window, "word_ids", words)
    hidden = Outcome(model, whole_words=True).prepare([window]).scored[0].numpy()
    by_word = hidden[1:-1].reshape(10, 4)
    assert (by_word.all(1) | ~by_word.any(1)).all()
    assert hidden.sum() == 8  # 15 % of 40 are 6 tokens: two words
    tokens = Outcome(model).prepare([window]).scored[0].numpy()
    assert tokens.sum() == 6


def test_models_without_a_head_that_predicts_tokens_are_refused(folders, corpus, tmp_path):
    for name in ("bert", "bert-names"):
        with pytest.raises(ModelError, match=r"no head that predicts tokens.*language model"):
            hs.lens(folders[name], corpus, out=tmp_path / name, **OPTIONS)
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"positions": 0}, "positions: 0 is too few"),
        ({"texts": 0}, "texts: 0 is too few"),
        ({"layers": [9]}, "layers 1 to 2, not 9"),
    ],
)
def test_bad_options_are_refused_in_a_line(options, words, folders, corpus, tmp_path):
    with pytest.raises(SettingsError, match=words):
        hs.lens(folders["gpt2"], corpus, out=tmp_path / "study", **{**OPTIONS, **options})
    assert not (tmp_path / "study").exists()


def test_one_document_has_values_and_no_intervals(folders, tmp_path):
    text = tmp_path / "one.txt"
    text.write_text(TEXTS[0])
    result = hs.lens(folders["gpt2"], text, out=tmp_path / "study", **OPTIONS)
    assert result.documents == 1
    scores = result.layers[0].to_json()
    for name in ("entropy", "cross_entropy", "accuracy", "token_type_accuracy"):
        assert scores[name]["value"] is not None
        assert scores[name]["low"] is None


@pytest.fixture
def command(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["headscope", "lens", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_the_command_prints_a_table_and_json(folders, corpus, tmp_path, command):
    given = ("-m", folders["bert-masked"], "-c", corpus, "-o", tmp_path / "study", "--window", 12)
    given += ("--min-tokens", 6, "--texts", 12)
    code, out, err = command(*given, "--json", "-q")
    assert code == 0, err
    values = json.loads(out)
    assert values["documents"] == len(TEXTS)
    assert [layer["layer"] for layer in values["layers"]] == [0, 1, 2]
    for layer in values["layers"]:
        assert layer["stack"] == "encoder"
        for scores in (layer, layer["unmasked"]):
            for name in ("entropy", "cross_entropy", "accuracy", "token_type_accuracy"):
                assert set(scores[name]) == {"value", "low", "high"}
                assert scores[name]["low"] <= scores[name]["value"] <= scores[name]["high"]
    code, out, err = command(*given)
    assert code == 0, err
    for words in ("entropy", "masked", "unmasked", "accuracy", "by type in the last layer"):
        assert words in out
    code, _, err = command(*given, "--positions", "many")
    assert code == 2
    assert "neither a number nor all" in err
