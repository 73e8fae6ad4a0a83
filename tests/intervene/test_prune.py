"""Pruning as a whole: tiny models, real files."""

import json

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.cli import main
from headscope.errors import CorpusError, ModelError, RunError, SettingsError
from headscope.intervene.document_halves import document_halves
from headscope.measuring.windows import CorpusRequest
from headscope.settings import Settings
from headscope.system.progress import Progress
from headscope.text.in_memory import corpus_sources
from tests.intervene.small_models import write_model

TEXT = "The committee met in the old town hall and talked about the bridge over the river"


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return write_model("llama", tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "texts.jsonl"
    words = TEXT.split()
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.permutation(words)) + f" number {number}." for number in range(24)]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


@pytest.fixture(scope="module")
def pruning(llama, corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "pruned"
    return hs.prune(llama, corpus, heads=3, out=out, window=32, progress=False)


def test_the_folder_that_is_written_has_the_loss_that_was_judged(pruning, llama, corpus):
    """The same study on the written folder: its intact loss is the pruned model's loss."""
    again = hs.prune(pruning.path, corpus, heads=0, window=32, progress=False)
    assert again.loss == pytest.approx(pruning.loss + pruning.increase.value, abs=1e-5)
    assert again.documents == pruning.documents == 12


def test_heads_json_says_what_was_done(pruning):
    notes = json.loads((pruning.path / "heads.json").read_text())
    assert [tuple(head.values()) for head in notes["heads"]] == list(pruning.heads)
    assert notes["replace"] == "mean"
    assert notes["loss_increase"]["value"] == pytest.approx(pruning.increase.value)
    assert {point["by"] for point in notes["curve"]} == {"written_deviation", "gradient", "random"}


def test_the_heads_that_write_least_go_first(pruning, llama, corpus):
    more = hs.prune(llama, corpus, heads=5, window=32, progress=False)
    assert set(pruning.heads) < set(more.heads)
    assert more.of_heads == 12


def test_heads_chosen_by_ablation_are_those_that_ablate_ranks_lowest(llama, corpus, tmp_path):
    """The choosing half is found again by what pruning leaves out of its judgement."""
    pruned = hs.prune(llama, corpus, heads=4, by="ablation", window=32, progress=False)
    model = hs.load_model(llama, head=True)
    request = CorpusRequest(corpus_sources(corpus), 200)
    settings = Settings.of(window=32)
    choosing, judging = document_halves(model, request, settings, Progress())
    texts = [
        json.loads(line)["text"]
        for number, line in enumerate(corpus.read_text().splitlines(), start=1)
        if f"texts.jsonl:{number}" in {window.document for window in choosing.windows}
    ]
    assert len(texts) == len(choosing.windows) == len(judging.windows) == 12
    assert not {w.document for w in choosing.windows} & {w.document for w in judging.windows}
    table = hs.ablate(
        model, texts, texts=None, window=32, out=tmp_path / "study", progress=False
    ).table
    lowest = table.sort_values("kl").head(4)
    assert pruned.heads == tuple(
        sorted(zip(lowest["stack"], lowest["layer"], lowest["head"], strict=True))
    )
    assert {point.by for point in pruned.curve} == {"ablation", "gradient", "random"}


def test_as_many_heads_go_as_the_loss_allows(tmp_path, corpus):
    model = hs.load_model(write_model("bert", tmp_path / "bert"), head=True)

    def pruned(**asked):
        return hs.prune(model, corpus, window=32, progress=False, **asked)

    every = pruned(heads=8).increase.value
    assert len(pruned(loss=0.0).heads) == 0
    assert 0 < len(pruned(loss=every / 2).heads) < 8
    assert len(pruned(loss=2 * every).heads) == 8


def test_nothing_is_lost_without_no_head(llama, corpus):
    nothing = hs.prune(llama, corpus, heads=0, window=32, progress=False)
    assert nothing.increase.value == 0
    assert nothing.heads == ()


def test_an_encoder_without_a_loss_is_judged_by_its_states(tmp_path, corpus):
    model = write_model("bert", tmp_path / "bert")
    pruning = hs.prune(model, corpus, share=0.25, window=32, progress=False)
    assert np.isnan(pruning.loss)
    assert 0 < pruning.increase.value < 1
    assert {point.by for point in pruning.curve} == {"written_deviation", "random"}
    assert json.dumps(pruning.as_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "give one of heads"),
        ({"heads": 1, "share": 0.5}, "give one of heads"),
        ({"share": 1.5}, "not between 0 and 1"),
        ({"heads": 13}, "13 of 12"),
        ({"heads": -1}, "negative"),
        ({"loss": "much"}, "no share"),
        ({"heads": 1, "by": "guess"}, "not one of"),
        ({"heads": 1, "replace": "nothing"}, "not one of"),
    ],
)
def test_what_cannot_be_meant_is_refused(llama, corpus, options, said):
    with pytest.raises(SettingsError, match=said):
        hs.prune(llama, corpus, window=32, progress=False, **options)


def test_too_few_documents_are_refused(llama, tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": f"{TEXT} {word}"}) + "\n" for word in "abc"))
    with pytest.raises(CorpusError, match=r"at least 4.*: 3$"):
        hs.prune(llama, path, heads=1, window=32, progress=False)


def test_a_full_folder_is_refused_before_the_model_is_loaded(tmp_path, corpus):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match="is there already"):
        hs.prune("no/such-model", corpus, heads=1, out=tmp_path)


def test_the_command_prints_the_curve_and_writes_the_model(
    llama, corpus, tmp_path, capsys, monkeypatch
):
    def run(*words):
        monkeypatch.setattr("sys.argv", ["headscope", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        return capsys.readouterr().out

    out = tmp_path / "pruned"
    words = ["prune", "-q", "--model", str(llama), "-c", str(corpus), "--share", "0.25"]
    printed = run(*words, "--window", "32", "--out", str(out))
    assert "3 of 12 heads removed by written deviation (mean)" in printed
    assert torch.is_tensor(next(hs.load_model(out).model.parameters()))
    assert json.loads(run(*words, "--window", "32", "--json"))["of_heads"] == 12


def test_the_figure_has_a_line_for_each_way_to_choose(pruning):
    (panel,) = pruning.figure().axes
    assert [line.get_label() for line in panel.lines] == ["written_deviation", "gradient", "random"]


@pytest.mark.parametrize(
    ("name", "options", "error", "said"),
    [
        ("t5", {"replace": "mean", "out": "new"}, ModelError, "--replace zero"),
        ("bert", {"by": "gradient"}, SettingsError, "has no loss"),
    ],
)
def test_what_a_model_cannot_do_is_refused_before_texts_are_read(
    name, options, error, said, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    folder = write_model(name, tmp_path / name)
    with pytest.raises(error, match=said):
        hs.prune(folder, "missing.txt", heads=1, progress=False, **options)
