"""Edited projections against gates, which switch heads off while a model runs."""

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.intervene.projection_edit import edited, edits_without
from headscope.measuring.outcome import Outcome
from headscope.measuring.writes import measure_writes
from tests.intervene.small_models import some_windows, write_model

GONE = [("decoder", 1, 2), ("decoder", 1, 4), ("decoder", 2, 1)]


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return hs.load_model(write_model("gpt2", tmp_path_factory.mktemp("gpt2")), head=True)


@pytest.fixture(scope="module")
def measured(gpt2):
    return measure_writes(gpt2, some_windows((20, 18, 25, 30)), outer=True)


def answers(model, edits):
    outcome = Outcome(model)
    batch = outcome.prepare(some_windows(seed=4))
    with edited(model, edits):
        return outcome.read(batch).answers


def test_heads_with_zero_weights_are_heads_behind_a_closed_gate(gpt2, measured):
    found = answers(gpt2, edits_without(gpt2, GONE, measured, "zero"))
    with gpt2.gates(dict.fromkeys(GONE, 0.0)):
        expected = answers(gpt2, [])
    assert torch.allclose(found, expected, atol=1e-5)


def test_heads_that_leave_their_mean_are_heads_that_write_their_mean(gpt2, measured):
    found = answers(gpt2, edits_without(gpt2, GONE, measured, "mean"))
    means = {}
    for stack, layer, head in GONE:
        site = next(site for site in gpt2.sites if site.layer == layer)
        means[stack, layer, head] = torch.from_numpy(measured.sums[site].mean[head - 1]).float()
    with gpt2.gates(means):
        expected = answers(gpt2, [])
    assert torch.allclose(found, expected, atol=1e-5)


def test_least_squares_is_the_ridge_regression_of_what_heads_write(gpt2, measured):
    """In layer 1, whose input does not change, on the tokens that were measured."""
    edit = edits_without(gpt2, GONE, measured, "least-squares")[0]
    windows = some_windows((20, 18, 25, 30))
    joined = []
    handle = gpt2.model.transformer.h[0].attn.c_proj.register_forward_pre_hook(
        lambda module, arguments: joined.append(arguments[0][0, 1:-1])
    )
    with torch.no_grad():
        for window in windows:
            gpt2.model(torch.from_numpy(window.token_ids).long()[None])
    handle.remove()
    z = torch.cat(joined).double().numpy()
    weight = gpt2.model.transformer.h[0].attn.c_proj.weight.detach().double().numpy()
    gone = np.repeat([False, True, False, True], 4)
    target = z[:, gone] @ weight[gone]
    kept = z[:, ~gone] - z[:, ~gone].mean(0)
    ridge = 0.01 * np.mean(kept.var(0)) * len(z)
    more = np.linalg.solve(kept.T @ kept + ridge * np.eye(8), kept.T @ (target - target.mean(0)))
    bias = target.mean(0) - z[:, ~gone].mean(0) @ more
    found = edit.weight.reshape(16, 16).double().numpy()
    assert found[gone] == pytest.approx(0)
    assert found[~gone] == pytest.approx(weight[~gone] + more, abs=1e-4)
    assert edit.bias.numpy() == pytest.approx(bias, abs=1e-4)


def test_an_exception_leaves_the_model_intact(gpt2, measured):
    before = answers(gpt2, [])
    with (
        pytest.raises(RuntimeError, match="stop"),
        edited(gpt2, edits_without(gpt2, GONE, measured, "mean")),
    ):
        raise RuntimeError("stop")
    assert torch.equal(answers(gpt2, []), before)
