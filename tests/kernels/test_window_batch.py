import torch

from headscope.kernels.window_batch import first_occurrence


def test_every_token_is_given_the_place_where_it_first_occurs():
    ids = torch.randint(0, 9, (5, 23), generator=torch.Generator().manual_seed(0))
    expected = [[row.index(token) for token in row] for row in ids.tolist()]
    assert first_occurrence(ids).tolist() == expected


def test_one_token_occurs_first_where_it_is():
    assert first_occurrence(torch.tensor([[7], [3]])).tolist() == [[0], [0]]
