"""The network sees so far and no farther, and learns what it is shown."""

import pytest
import torch

from headscope.segment.sentences.boundary_net import BoundaryNet, NetInput, NetShape


@pytest.fixture(scope="module")
def net():
    torch.manual_seed(0)
    return BoundaryNet(NetShape(outputs=12, signals=6, surface=False, depth=3)).eval()


def stretch(tokens: int) -> NetInput:
    rng = torch.Generator().manual_seed(1)
    return NetInput(
        torch.randn(1, tokens, 32, generator=rng),
        torch.randn(1, tokens, 6, generator=rng),
        torch.ones(1, tokens),
    )


def test_nothing_beyond_its_reach_changes_the_odds(net):
    seen, reach = stretch(60), net.shape.reach
    odds = net(seen)[0]
    for far in (30 - reach - 1, 30 + reach):
        tokens = seen.tokens.clone()
        tokens[0, far] += 9
        moved = (net(NetInput(tokens, seen.gaps, seen.inside))[0] - odds).abs()
        assert moved[30] == 0
        assert moved.max() > 0.01


def test_a_text_alone_equals_a_text_between_empty_places(net):
    seen = stretch(20)
    empty = NetInput(
        torch.nn.functional.pad(seen.tokens, (0, 0, 9, 9), value=5.0),
        torch.nn.functional.pad(seen.gaps, (0, 0, 9, 9)),
        torch.nn.functional.pad(seen.inside, (9, 9)),
    )
    torch.testing.assert_close(net(empty)[:, 9:-9], net(seen))
