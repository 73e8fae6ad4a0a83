"""Scores of predictions against their definitions, in double precision."""

import pytest
import torch

from headscope.kernels.prediction_scores import Reference, prediction_scores


@pytest.mark.parametrize("n", [0, 1, 31, 70])
def test_scores_are_those_of_the_definitions(n):
    generator = torch.Generator().manual_seed(n)
    logits = 8 * torch.randn(n, 5000, generator=generator)
    other = 8 * torch.randn(n, 5000, generator=generator)
    targets = torch.randint(0, 5000, (n,), generator=generator)
    found = prediction_scores(logits, targets, Reference.of(other))
    p, q = logits.double().log_softmax(-1), other.double().log_softmax(-1)
    expected = {
        "entropy": -(p.exp() * p).sum(-1),
        "cross_entropy": torch.nn.functional.nll_loss(p, targets, reduction="none"),
        "kl": (q.exp() * (q - p)).sum(-1),
        "rank": 1 + (p > p.gather(1, targets[:, None])).sum(-1).double(),
    }
    for name, values in expected.items():
        torch.testing.assert_close(getattr(found, name).double(), values, rtol=1e-5, atol=2e-5)
    assert torch.equal(found.predicted, p.argmax(-1))


def test_tokens_that_are_ruled_out_leave_numbers_finite():
    logits = torch.randn(3, 50)
    logits[:, 7] = float("-inf")
    found = prediction_scores(logits, torch.tensor([0, 1, 2]), Reference.of(logits))
    expected = torch.distributions.Categorical(
        logits=torch.cat([logits[:, :7], logits[:, 8:]], dim=1)
    ).entropy()
    torch.testing.assert_close(found.entropy, expected)
    torch.testing.assert_close(found.kl, torch.zeros(3), atol=1e-6, rtol=0)
