"""The whole of `reach` on the demo model: resumed, refused, printed."""

import json

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import headscope as hs
from headscope.errors import CorpusError, RunError, SettingsError
from headscope.models.load import load_model
from headscope.reach.next_token import has_loss, next_token_losses
from headscope.reach.study import ReachStudy


@pytest.fixture(scope="module")
def demo():
    """The demo model; nothing here needs compiled kernels."""
    return load_model("demo")


OPTIONS = {"window": 32, "windows": 4, "layers": [1, 2], "skip": ("untrained",), "progress": False}


def test_resumed_equals_uninterrupted(demo, tmp_path, monkeypatch):
    whole = hs.reach(demo, "demo", out=tmp_path / "whole", **OPTIONS)
    measure, calls = ReachStudy.measure, []

    def interrupted(self, windows, advance):
        calls.append(len(windows))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return measure(self, windows, advance)

    with monkeypatch.context() as patch:
        patch.setattr(ReachStudy, "measure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            hs.reach(demo, "demo", out=tmp_path / "part", **OPTIONS)
    resumed = hs.reach(demo, "demo", out=tmp_path / "part", **OPTIONS)
    assert calls == [2, 2]
    for name, values in whole.evidence.arrays.items():
        np.testing.assert_array_equal(resumed.evidence.arrays[name], values)
    assert resumed.evidence.units == 2
    said = json.loads((tmp_path / "part" / "study.json").read_text())
    assert said["documents"] == 4
    # Other choices are another study.
    with pytest.raises(RunError, match="holds another run"):
        hs.reach(demo, "demo", out=tmp_path / "part", **OPTIONS | {"skip": ("use",)})


def test_each_pair_is_of_two_documents(demo, tmp_path):
    result = hs.reach(demo, "demo", out=tmp_path / "run", **OPTIONS)
    from headscope.runs.folder import RunFolder
    from headscope.runs.manifest import Manifest

    folder = RunFolder(tmp_path / "run", Manifest.read(tmp_path / "run"))
    documents = [window.document for number in range(2) for window in folder.read_windows(number)]
    assert len(set(documents)) == 4
    assert result.about["documents"] == 4


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"window": 16}, "at least 32"),
        ({"windows": 1}, "2 or more"),
        ({"skip": ("everything",)}, "choose from shuffled"),
        ({"distances": "1,x"}, "not a list of numbers"),
        ({"distances": [1, 64]}, "longer --window"),
        ({"window": 100_000}, "too long"),
        ({"layers": [77]}, "has layers 1 to 6"),
    ],
)
def test_bad_options_are_refused_in_a_line(demo, tmp_path, changed, words):
    with pytest.raises(SettingsError, match=words):
        hs.reach(demo, "demo", out=tmp_path / "run", **OPTIONS | changed)
    assert not (tmp_path / "run").exists()


def test_a_corpus_of_short_documents_is_refused(demo, tmp_path):
    (tmp_path / "short.txt").write_text("Too short.\n\nThis one, too.\n")
    with pytest.raises(CorpusError, match="ask for a shorter --window"):
        hs.reach(demo, tmp_path / "short.txt", out=tmp_path / "run", **OPTIONS)


def test_losses_are_those_of_the_model_itself():
    torch.manual_seed(0)
    own = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2))
    model = load_model(own)
    assert has_loss(model)
    ids = torch.randint(0, 50, (12,))
    states = model.forward_states(ids[None], torch.ones_like(ids)[None], lambda capture: None)
    losses = next_token_losses(model, states[0], ids, torch.tensor([0, 3, 10, 11]))
    with torch.no_grad():
        expected = torch.log_softmax(own(ids[None]).logits[0], -1)
    for place, loss in zip([0, 3, 10], losses, strict=False):
        assert loss == pytest.approx(-expected[place, ids[place + 1]].item(), rel=1e-5)
    assert np.isnan(losses[3])
