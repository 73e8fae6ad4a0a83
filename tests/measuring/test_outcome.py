"""Outcomes of models against transformers' own losses, window by window."""

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import ModelError
from headscope.measuring.outcome import MASKED_SHARE, Outcome
from tests.intervene.small_models import some_windows, write_model


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {
        name: write_model(name, tmp_path_factory.mktemp(name))
        for name in ("bert", "bert-masked", "bert-names", "gpt2", "t5")
    }


def loaded(folders, name):
    return hs.load_model(folders[name], head=True)


def plain_loss(model, **inputs) -> float:
    with torch.inference_mode():
        return float(model.model(**inputs).loss)


def test_a_causal_models_loss_is_that_of_transformers(folders):
    model = loaded(folders, "gpt2")
    windows = some_windows()
    outcome = Outcome(model)
    intact = outcome.read(outcome.prepare(windows))
    losses = outcome.compare(intact, intact)["loss"]
    for window, loss in zip(windows, losses, strict=True):
        ids = torch.from_numpy(window.token_ids).long()[None]
        assert loss == pytest.approx(plain_loss(model, input_ids=ids, labels=ids), abs=1e-5)


def test_a_masked_models_loss_is_that_of_transformers_at_the_hidden_tokens(folders):
    model = loaded(folders, "bert-masked")
    windows = some_windows((40, 30))
    outcome = Outcome(model)
    batch = outcome.prepare(windows)
    intact = outcome.read(batch)
    losses = outcome.compare(intact, intact)["loss"]
    for row, (window, loss) in enumerate(zip(windows, losses, strict=True)):
        ids = torch.from_numpy(window.token_ids).long()[None]
        hidden = batch.scored[row, : window.n_tokens]
        assert int(hidden.sum()) == round(MASKED_SHARE * (window.n_tokens - 2))
        assert not hidden[[0, -1]].any()
        expected = plain_loss(
            model,
            input_ids=ids.masked_fill(hidden, 103),
            labels=ids.masked_fill(~hidden, -100),
        )
        assert loss == pytest.approx(expected, abs=1e-5)


def test_hidden_tokens_depend_on_the_window_and_the_seed_alone(folders):
    model = loaded(folders, "bert-masked")
    windows = some_windows((40, 30))
    alone = Outcome(model).prepare(windows[1:]).scored[0]
    together = Outcome(model).prepare(windows).scored[1, : len(alone)]
    assert torch.equal(alone, together)
    assert not torch.equal(Outcome(model, seed=1).prepare(windows[1:]).scored[0], alone)


def test_a_seq2seq_models_loss_is_that_of_its_own_greedy_output(folders):
    model = loaded(folders, "t5")
    windows = some_windows((12, 9))
    outcome = Outcome(model)
    batch = outcome.prepare(windows)
    intact = outcome.read(batch)
    losses = outcome.compare(intact, intact)["loss"]
    for row, (window, loss) in enumerate(zip(windows, losses, strict=True)):
        ids = torch.from_numpy(window.token_ids).long()[None]
        written = model.model.generate(ids, max_new_tokens=64, do_sample=False)[0, 1:]
        assert torch.equal(batch.targets[row][batch.scored[row]], written)
        expected = plain_loss(model, input_ids=ids, labels=written[None])
        assert loss == pytest.approx(expected, abs=1e-5)


def test_classes_of_tokens_are_compared_with_those_of_the_intact_model(folders):
    model = loaded(folders, "bert-names")
    assert model.model.config.num_labels == 5
    outcome = Outcome(model)
    intact = outcome.read(outcome.prepare(some_windows()))
    losses = outcome.compare(intact, intact)["loss"]
    first = intact.answers[intact.rows == 0].exp()
    assert losses[0] == pytest.approx(float(-first.amax(-1).log().mean()), abs=1e-6)


@pytest.mark.parametrize("name", ["gpt2", "bert-masked", "t5", "bert-names"])
def test_a_model_diverges_from_itself_by_nothing_and_from_a_changed_one_by_kl(folders, name):
    model = loaded(folders, name)
    outcome = Outcome(model)
    batch = outcome.prepare(some_windows())
    intact = outcome.read(batch)
    assert np.abs(outcome.compare(intact, intact)["kl"]).max() < 1e-7
    with torch.no_grad():
        next(p for p in model.model.parameters() if p.ndim == 2).mul_(1.05)
    changed = outcome.read(batch)
    divergence = torch.nn.functional.kl_div(
        changed.answers, intact.answers, log_target=True, reduction="none"
    ).sum(-1)
    expected = [float(divergence[intact.rows == row].mean()) for row in range(3)]
    found = outcome.compare(changed, intact)["kl"]
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-7)
    assert found.min() > 1e-6


def test_a_model_without_a_head_is_compared_by_its_states(folders):
    model = loaded(folders, "bert")
    outcome = Outcome(model)
    assert not outcome.has_loss
    windows = some_windows()
    batch = outcome.prepare(windows)
    intact = outcome.read(batch)
    ids = torch.from_numpy(windows[1].token_ids).long()[None]
    with torch.no_grad():
        before = model.model(input_ids=ids).last_hidden_state[0, 1:-1].double()
        model.model.encoder.layer[0].output.dense.weight.mul_(1.3)
        after = model.model(input_ids=ids).last_hidden_state[0, 1:-1].double()
    found = outcome.compare(outcome.read(batch), intact)
    cosine = torch.nn.functional.cosine_similarity(before.mean(0), after.mean(0), dim=0)
    assert found["pooled"][1] == pytest.approx(float(1 - cosine), abs=1e-6)
    drift = (after - before).square().sum() / before.square().sum()
    assert found["drift"][1] == pytest.approx(float(drift), rel=1e-4)


def test_a_batch_that_is_repeated_gives_each_window_again(folders):
    model = loaded(folders, "gpt2")
    outcome = Outcome(model)
    batch = outcome.prepare(some_windows())
    intact = outcome.read(batch)
    once = outcome.compare(intact, intact)["loss"]
    thrice = outcome.compare(outcome.read(batch.repeated(3)), intact)["loss"]
    assert thrice == pytest.approx(np.tile(once, 3), abs=1e-6)


def test_a_masked_model_without_a_mask_token_is_refused(folders):
    model = loaded(folders, "bert-masked")
    model.tokenizer.mask_id = None
    with pytest.raises(ModelError, match="no mask token"):
        Outcome(model)


def test_a_head_that_the_files_lack_is_not_made_up(folders, tmp_path):
    import json
    import shutil

    folder = shutil.copytree(folders["bert"], tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps({**config, "architectures": ["BertForMaskedLM"]})
    )
    assert not Outcome(hs.load_model(folder, head=True)).has_loss
