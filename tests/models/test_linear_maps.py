"""Linear maps by oneDNN: the same numbers, and only where they are wanted."""

import threading

import pytest
import torch
from torch import Tensor, nn

from headscope.models import LoadedModel, linear_maps, load_model
from headscope.models.linear_maps import (
    QuickLinear,
    make_quick,
    quick_linear_maps,
    rough_linear_maps,
)
from tests.models.families import FAMILIES, build

pytestmark = pytest.mark.skipif(
    not linear_maps._has_onednn(), reason="torch has no oneDNN beside MKL here"
)

VECTORS = torch.randn(4, 64, 24, generator=torch.Generator().manual_seed(0))


class Scaled(nn.Linear):
    """Not what torch calls linear."""

    def forward(self, input: Tensor) -> Tensor:
        return 2 * super().forward(input)


def two_maps(first: nn.Module) -> nn.Sequential:
    return nn.Sequential(first, nn.GELU(), nn.Linear(16, 8, bias=False))


@pytest.fixture
def by_onednn(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of what was mapped by oneDNN."""
    seen: list[tuple[int, ...]] = []
    real = linear_maps._by_onednn

    def watched(vectors: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        seen.append(tuple(weight.shape))
        return real(vectors, weight, bias)

    monkeypatch.setattr(linear_maps, "_by_onednn", watched)
    return seen


@pytest.fixture
def maps(by_onednn: list[tuple[int, ...]]) -> nn.Sequential:
    torch.manual_seed(0)
    maps = two_maps(nn.Linear(24, 16))
    with torch.no_grad():
        make_quick(maps, lambda: maps(VECTORS), 1e-4)
    by_onednn.clear()
    return maps


def test_both_libraries_give_the_same(
    maps: nn.Sequential, by_onednn: list[tuple[int, ...]]
) -> None:
    with torch.inference_mode():
        expected = maps(VECTORS)
        assert not by_onednn
        with quick_linear_maps():
            found = maps(VECTORS)
    assert by_onednn == [(16, 24), (8, 16)]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("vectors", [VECTORS[0], VECTORS[0, 0], VECTORS[:0], VECTORS.double()])
def test_what_does_not_suit_is_left_to_torch(
    maps: nn.Sequential, by_onednn: list[tuple[int, ...]], vectors: Tensor
) -> None:
    maps.to(vectors.dtype)
    with torch.inference_mode(), quick_linear_maps():
        assert maps(vectors).shape == (*vectors.shape[:-1], 8)
    assert not by_onednn


def test_gradients_flow(maps: nn.Sequential, by_onednn: list[tuple[int, ...]]) -> None:
    with quick_linear_maps():
        maps(VECTORS).sum().backward()
    assert not by_onednn
    assert maps[0].weight.grad is not None


def test_other_threads_are_not_concerned(
    maps: nn.Sequential, by_onednn: list[tuple[int, ...]]
) -> None:
    def run() -> None:
        with torch.inference_mode():
            maps(VECTORS)

    with quick_linear_maps():
        other = threading.Thread(target=run)
        other.start()
        other.join()
    assert not by_onednn


def test_maps_of_another_class_are_left_alone() -> None:
    maps = two_maps(Scaled(24, 16))
    with torch.no_grad():
        make_quick(maps, lambda: maps(VECTORS), 1e-4)
    assert [type(one) for one in maps] == [Scaled, nn.GELU, QuickLinear]


@pytest.mark.parametrize("fault", ["wrong", "nan", "raises"])
def test_a_model_that_would_change_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    def faulty(vectors: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if fault == "raises":
            raise RuntimeError("could not create a primitive")
        return vectors.new_full(
            (*vectors.shape[:-1], len(weight)), 1 if fault == "wrong" else torch.nan
        )

    maps = two_maps(nn.Linear(24, 16))
    monkeypatch.setattr(linear_maps, "_by_onednn", faulty)
    with torch.no_grad():
        make_quick(maps, lambda: maps(VECTORS), 1e-4)
    assert [type(one) for one in maps] == [nn.Linear, nn.GELU, nn.Linear]


@pytest.fixture(scope="module")
def bert() -> LoadedModel:
    family = next(family for family in FAMILIES if family.title == "BERT")
    return load_model(build(family))


def test_a_model_is_measured_with_them_and_read_without(
    bert: LoadedModel, by_onednn: list[tuple[int, ...]]
) -> None:
    ids = 3 + torch.arange(128).view(16, 8) % 29
    plain: list[Tensor] = []
    quick: list[Tensor] = []
    bert.forward(ids, torch.ones_like(ids), lambda capture: plain.append(capture.head_output))
    assert not by_onednn
    bert.forward_mass(ids, torch.ones_like(ids), lambda capture: quick.append(capture.head_output))
    assert by_onednn
    torch.testing.assert_close(quick, plain, rtol=1e-4, atol=1e-6)


def test_a_model_may_be_loaded_again(bert: LoadedModel) -> None:
    again = load_model(bert.model)
    assert again.check.projection is not None
    assert any(type(module) is QuickLinear for module in again.model.modules())


@pytest.fixture
def rough_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """bfloat16 is used whatever the processor: torch computes it everywhere."""
    monkeypatch.setattr(linear_maps, "can_be_rough", lambda: True)


def in_bfloat16(vectors: Tensor, one: nn.Linear) -> Tensor:
    """The map of rounded numbers, in double precision."""
    rounded = [part.detach().bfloat16().double() for part in (vectors, one.weight, one.bias)]
    return rounded[0] @ rounded[1].T + rounded[2]


@pytest.mark.usefixtures("rough_here")
def test_rough_maps_round_their_numbers_and_sum_them_in_full(maps: nn.Sequential) -> None:
    first = maps[0]
    with torch.inference_mode():
        exact = first(VECTORS)
        with rough_linear_maps():
            found = first(VECTORS)
        assert torch.equal(first(VECTORS), exact), "once it is closed, all is as before"
    assert found.dtype == torch.float32
    expected = in_bfloat16(VECTORS, first)
    torch.testing.assert_close(found.double(), expected, rtol=2**-7, atol=2**-9)
    assert 1e-4 < (found - exact).abs().max() < 0.05


@pytest.mark.usefixtures("rough_here")
def test_a_weight_that_was_changed_is_rounded_anew(maps: nn.Sequential) -> None:
    first = maps[0]
    with torch.inference_mode(), rough_linear_maps():
        before = first(VECTORS)
    with torch.no_grad():
        first.weight.mul_(2)
        first.bias.mul_(2)
    with torch.inference_mode(), rough_linear_maps():
        twice = first(VECTORS)
        torch.testing.assert_close(twice, 2 * before, rtol=2**-7, atol=2**-9)
    first.weight = nn.Parameter(torch.zeros_like(first.weight))
    with torch.inference_mode(), rough_linear_maps():
        assert first(VECTORS).std(dim=(0, 1)).max() == 0, "the bias alone is left"


def test_a_processor_that_does_not_multiply_bfloat16_stays_exact(
    maps: nn.Sequential, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True}, raising=False)
    with torch.inference_mode():
        expected = maps(VECTORS)
        with rough_linear_maps():
            assert torch.equal(maps(VECTORS), expected)
