"""Ridge regression from sums against a plain solution over all rows."""

import pytest
import torch

from headscope.lens.ridge import PENALTIES, RidgeSums


def rows(n, noise, seed=0, width=12):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n, width, generator=generator) * torch.linspace(0.1, 3, width) + 2
    y = x[:, :3] * 1.5 - 4 + noise * torch.randn(n, 3, generator=generator)
    return x, y, torch.rand(n, generator=generator) + 0.1


def test_streamed_sums_give_the_weighted_solution_of_all_rows():
    x, y, w = rows(200, 0.5)
    sums = RidgeSums(12, 3)
    for some in torch.arange(200).split(37):
        sums.add(x[some], y[some], w[some])
    found = sums.fit()
    x, y, w = x.double(), y.double(), w.double()[:, None]
    mean_x, mean_y = (w * x).sum(0) / w.sum(), (w * y).sum(0) / w.sum()
    centred = x - mean_x
    scatter = (w * centred).T @ centred
    ridge = found.penalty * scatter.trace() / 12 * torch.eye(12, dtype=torch.float64)
    weight = torch.linalg.solve(scatter + ridge, (w * centred).T @ (y - mean_y))
    torch.testing.assert_close(found.weight.double(), weight, rtol=1e-4, atol=1e-5)
    expected = centred @ weight + mean_y
    torch.testing.assert_close(found(x.float()).double(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("n", "noise"), [(40, 3.0), (400, 0.1), (9, 1.0)])
def test_the_penalty_is_about_as_good_as_the_best_on_other_rows(n, noise):
    x, y, _ = rows(n, noise)
    other_x, other_y, _ = rows(4000, noise, seed=1)
    sums = RidgeSums(12, 3)
    sums.add(x, y)
    error = float((sums.fit()(other_x) - other_y).square().mean())
    centred, mean_x, mean_y = (x - x.mean(0)).double(), x.mean(0).double(), y.mean(0).double()
    scatter = centred.T @ centred
    errors = []
    for penalty in PENALTIES:
        ridge = penalty * scatter.trace() / 12 * torch.eye(12, dtype=torch.float64)
        weight = torch.linalg.solve(scatter + ridge, centred.T @ (y.double() - mean_y))
        guess = (other_x.double() - mean_x) @ weight + mean_y
        errors.append(float((guess - other_y).square().mean()))
    assert error < 1.6 * min(errors)
    assert error < max(errors)


def test_too_few_rows_give_no_map():
    sums = RidgeSums(4, 2)
    sums.add(torch.randn(2, 4), torch.randn(2, 2))
    assert sums.fit() is None
