"""Head signals equal plain loops over the attention map and the head outputs."""

import numpy as np
import pytest
import torch

from headscope.segment.reading.head_signals import CONTRAST_TOKENS, SIGNALS, head_signals


@pytest.fixture(scope="module")
def layer():
    rng = torch.Generator().manual_seed(0)
    head_output = torch.randn(2, 3, 24, 5, generator=rng)
    attention = torch.rand(2, 3, 24, 24, generator=rng).softmax(-1)
    counted = torch.ones(2, 24, dtype=torch.bool)
    counted[:, 0] = False
    counted[0, 20:] = False
    return head_output, attention, counted


def naive(z, a, counted, gap):
    """The signals of one head at the gap before a token, by the definitions."""
    tokens = [t for t in range(len(a)) if counted[t]]
    cut = sum(a[i, j] + a[j, i] for i in tokens for j in tokens if i < gap <= j)

    def received(token):
        return sum(a[i, token] for i in tokens) if token in tokens else 0.0

    before = sum((z[t] for t in tokens if gap - CONTRAST_TOKENS <= t < gap), np.zeros(z.shape[1]))
    after = sum((z[t] for t in tokens if gap <= t < gap + CONTRAST_TOKENS), np.zeros(z.shape[1]))
    lengths = np.linalg.norm(before) * np.linalg.norm(after)
    contrast = before @ after / lengths if lengths > 0 else 0.0
    return [contrast, cut, received(gap - 1) if gap else 0.0, received(gap)]


def test_signals_equal_plain_loops(layer):
    head_output, attention, counted = layer
    found = head_signals(*layer)
    assert found.shape == (2, 24, 3, len(SIGNALS))
    for text in range(2):
        for head in range(3):
            for gap in range(24):
                expected = naive(
                    head_output[text, head].double().numpy(),
                    attention[text, head].double().numpy(),
                    counted[text].numpy(),
                    gap,
                )
                np.testing.assert_allclose(found[text, gap, head], expected, atol=1e-5)


def test_padding_changes_nothing(layer):
    head_output, attention, counted = layer
    found = head_signals(head_output[:1, :, :20], attention[:1, :, :20, :20], counted[:1, :20])
    np.testing.assert_allclose(head_signals(*layer)[0, :20], found[0], atol=1e-5)
