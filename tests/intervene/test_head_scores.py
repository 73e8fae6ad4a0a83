"""Scores of heads against plain hooks."""

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import SettingsError
from headscope.intervene.ablation_study import ablation_scores
from headscope.intervene.head_scores import gradient_scores, random_scores, written_scores
from headscope.measuring.outcome import Outcome
from headscope.measuring.writes import measure_writes
from headscope.settings import Settings
from tests.intervene.small_models import some_windows, write_model


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return hs.load_model(write_model("gpt2", tmp_path_factory.mktemp("gpt2")), head=True)


def test_gradient_scores_equal_those_of_plain_hooks(gpt2):
    windows = some_windows()
    found = gradient_scores(Outcome(gpt2), windows)
    network, heads = gpt2.model, 4
    expected = np.zeros((2, heads))
    for window in windows:
        joined = []

        def keep(module, arguments, joined=joined):
            arguments[0].retain_grad()
            joined.append(arguments[0])

        handles = [
            block.attn.c_proj.register_forward_pre_hook(keep) for block in network.transformer.h
        ]
        ids = torch.from_numpy(window.token_ids).long()[None]
        network(input_ids=ids, labels=ids).loss.backward()
        for handle in handles:
            handle.remove()
        for layer, z in enumerate(joined):
            by_head = (z * z.grad).unflatten(-1, (heads, -1)).sum((0, 1, 3))
            expected[layer] += by_head.detach().abs().numpy() / len(windows)
    network.zero_grad()
    for (_, layer, head), score in found.items():
        assert score == pytest.approx(expected[layer - 1, head - 1], rel=1e-4, abs=1e-8)


def test_gradients_leave_the_model_as_it_was(gpt2):
    before = {name: p.clone() for name, p in gpt2.model.named_parameters()}
    gradient_scores(Outcome(gpt2), some_windows())
    for name, parameter in gpt2.model.named_parameters():
        assert parameter.requires_grad
        assert parameter.grad is None
        assert torch.equal(parameter, before[name])


def test_a_model_without_a_loss_has_no_gradient_scores(tmp_path):
    model = hs.load_model(write_model("bert", tmp_path), head=True)
    with pytest.raises(SettingsError, match="has no loss"):
        gradient_scores(Outcome(model), some_windows())


def test_written_scores_are_those_of_the_writes(gpt2):
    measured = measure_writes(gpt2, some_windows(), outer=False)
    scores = written_scores(measured, "written_deviation")
    site = gpt2.sites[1]
    assert [scores[site.stack, 2, head] for head in (1, 2, 3, 4)] == pytest.approx(
        measured.sums[site].deviation.tolist()
    )
    assert written_scores(measured, "write_strength") != scores


def test_random_scores_depend_on_the_seed_alone(gpt2):
    assert random_scores(gpt2.sites, 1) == random_scores(gpt2.sites, 1)
    assert random_scores(gpt2.sites, 1) != random_scores(gpt2.sites, 2)


def test_ablation_scores_equal_whole_passes_with_zeroed_weights(gpt2):
    """KL per predicted token, with torch's own divergence and the head's rows of W_O zero."""
    windows = some_windows()
    done = []
    found = ablation_scores(Outcome(gpt2), windows, Settings(), done.append)
    assert sum(done) == len(windows) * len(gpt2.sites)
    assert len(found) == 8

    def answers():
        with torch.no_grad():
            return [
                gpt2.model(torch.from_numpy(window.token_ids).long()[None]).logits[0, :-1]
                for window in windows
            ]

    intact = torch.cat(answers()).double().log_softmax(-1)
    for (_, layer, head), score in found.items():
        weight = gpt2.model.transformer.h[layer - 1].attn.c_proj.weight
        before = weight.detach().clone()
        with torch.no_grad():
            weight[4 * head - 4 : 4 * head] = 0  # d_head is 4
        without = torch.cat(answers()).double().log_softmax(-1)
        with torch.no_grad():
            weight.copy_(before)
        expected = torch.nn.functional.kl_div(
            without, intact, log_target=True, reduction="batchmean"
        )
        assert score == pytest.approx(float(expected), rel=1e-3, abs=1e-6)


def test_ablation_scores_of_a_model_without_answers_are_those_of_its_states(tmp_path):
    model = hs.load_model(write_model("bert", tmp_path), head=True)
    windows = some_windows()
    found = ablation_scores(Outcome(model), windows, Settings(), lambda windows: None)
    outcome, heads = Outcome(model), [("encoder", 1, 2), ("encoder", 2, 4)]
    for head in heads:
        changed = []
        for window in windows:
            batch = outcome.prepare([window])
            text = slice(1, -1)  # without special tokens
            with torch.no_grad():
                old = model.model(**batch.inputs).last_hidden_state[0, text].mean(0)
                with model.gates({head: 0.0}):
                    new = model.model(**batch.inputs).last_hidden_state[0, text].mean(0)
            changed.append(1 - float(torch.cosine_similarity(old, new, dim=0)))
        assert found[head] == pytest.approx(float(np.mean(changed)), rel=1e-3, abs=1e-6)
