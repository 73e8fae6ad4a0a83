from itertools import product

import numpy as np
import pytest
import torch

from headscope.kernels import common_token, window_batch
from headscope.kernels.cpu.jit import common_token as compiled
from headscope.kernels.window_batch import GROUPS, first_occurrence


def test_every_token_is_given_the_place_where_it_first_occurs():
    ids = torch.randint(0, 9, (5, 23), generator=torch.Generator().manual_seed(0))
    expected = [[row.index(token) for token in row] for row in ids.tolist()]
    assert first_occurrence(ids).tolist() == expected


def test_one_token_occurs_first_where_it_is():
    assert first_occurrence(torch.tensor([[7], [3]])).tolist() == [[0], [0]]


@pytest.mark.parametrize("few", [0, 1024], ids=["compiled", "plain"])
@pytest.mark.parametrize("tokens", [1, 2, 37])
def test_pairs_are_counted_by_distance(monkeypatch, few, tokens):
    monkeypatch.setattr(window_batch, "_FEW_TOKENS", few)
    rng = np.random.default_rng(0)
    ids = rng.integers(-1, 4, (len(GROUPS), 3, tokens))
    counted = rng.random((3, tokens)) < 0.8
    pairs, together = np.zeros(counted.shape), np.zeros(ids.shape)
    window_batch._count_by_distance(counted, ids, pairs, together)
    for window, i, j in product(range(3), range(tokens), range(tokens)):
        if i < j and counted[window, i] and counted[window, j]:
            pairs[window, j - i] -= 1
            together[:, window, j - i] -= (ids[:, window, i] == ids[:, window, j]) & (
                ids[:, window, i] >= 0
            )
    assert not pairs.any()
    assert not together.any()


def test_compiled_code_has_the_same_context_of_a_token():
    assert common_token.CONTEXT_TOKENS == compiled.CONTEXT_TOKENS
