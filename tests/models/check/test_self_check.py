"""Planted errors: each one must make the self-check fail."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from torch import nn
from transformers import AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from headscope.errors import TapError
from headscope.models import LoadedModel, load_model
from headscope.models.check.probe import probe_of
from headscope.models.check.self_check import check_tap
from headscope.models.taps import AttentionCall, OnCall, Tap
from headscope.models.taps.interface import IMPLEMENTATION
from tests.models.custom_direct import DirectModel
from tests.models.custom_interface import CustomConfig, CustomModel
from tests.models.families import FAMILIES, Family, build

Plant = Callable[[AttentionCall], AttentionCall]
SWAP = [1, 0, 2, 3]


def family(title: str) -> Family:
    return next(family for family in FAMILIES if family.title == title)


class PlantedTap(Tap):
    """A tap that hands on something else than it heard."""

    tier = "interface"

    def __init__(self, tap: Tap, plant: Plant) -> None:
        self._tap, self._plant = tap, plant

    @contextmanager
    def listen(self, on_call: OnCall) -> Iterator[None]:
        with self._tap.listen(lambda call: on_call(self._plant(call))):
            yield

    def let_gates_act(self, modules: Collection[nn.Module]) -> Callable[[], None]:
        return self._tap.let_gates_act(modules)


def recheck(loaded: LoadedModel, plant: Plant) -> None:
    tap = PlantedTap(loaded._tap, plant)
    check_tap(loaded.model, tap, loaded.sites, probe_of(loaded.model), loaded._run)


@pytest.fixture(scope="module", params=["BERT", "MPNet", "Llama", "T5"])
def loaded(request: pytest.FixtureRequest) -> LoadedModel:
    return load_model(build(family(request.param)))


def test_an_honest_tap_passes(loaded: LoadedModel) -> None:
    recheck(loaded, lambda call: call)


def test_swapped_heads_are_caught(loaded: LoadedModel) -> None:
    with pytest.raises(TapError, match=r"layer 1 .*swapped heads"):
        recheck(loaded, lambda call: replace(call, head_output=call.head_output[:, SWAP]))


def test_swapped_attention_maps_are_caught(loaded: LoadedModel) -> None:
    with pytest.raises(TapError, match=r"layer 1 .*swapped heads"):
        recheck(loaded, lambda call: replace(call, attention=call.attention[:, SWAP]))


def test_heads_swapped_consistently_are_caught_at_the_projection(loaded: LoadedModel) -> None:
    def swap_all(call: AttentionCall) -> AttentionCall:
        value = call.value.repeat_interleave(4 // call.value.shape[1], dim=1)
        return replace(
            call,
            head_output=call.head_output[:, SWAP],
            attention=call.attention[:, SWAP],
            value=value[:, SWAP],
        )

    with pytest.raises(TapError, match="heads in another order"):
        recheck(loaded, swap_all)


def test_a_tensor_from_behind_the_projection_is_caught(loaded: LoadedModel) -> None:
    weight = torch.randn(1000, 1000, generator=torch.Generator().manual_seed(0))

    def project(call: AttentionCall) -> AttentionCall:
        joined = call.head_output.transpose(1, 2).flatten(2)
        width = joined.shape[-1]
        projected = joined @ weight[:width, :width]
        by_head = projected.unflatten(-1, (call.head_output.shape[1], -1)).transpose(1, 2)
        return replace(call, head_output=by_head)

    with pytest.raises(TapError, match="the wrong tensor"):
        recheck(loaded, project)


def test_scores_instead_of_attention_are_caught(loaded: LoadedModel) -> None:
    def unnormalised(call: AttentionCall) -> AttentionCall:
        return replace(call, attention=2 * call.attention, head_output=2 * call.head_output)

    with pytest.raises(TapError, match="do not sum to 1"):
        recheck(loaded, unnormalised)


@pytest.mark.parametrize(
    "mask", [sdpa_mask, lambda *_, **__: None], ids=["the mask of sdpa", "no mask"]
)
@pytest.mark.parametrize("title", ["BERT", "BART", "Llama"])
def test_a_wrong_mask_is_caught(title: str, mask: object, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(family(title))
    mapping = AttentionMaskInterface._global_mapping
    monkeypatch.setitem(mapping, IMPLEMENTATION, mask)
    with pytest.raises(TapError, match=r"self-check of \w+ failed"):
        load_model(model)


def test_a_gate_before_the_projection_is_flagged_where_z_is_known() -> None:
    check = load_model(CustomModel(CustomConfig(gated=True))).check
    assert check.projection is None
    assert "2 of 2 output projections" in check.flags[0]


def test_a_gate_before_a_named_projection_is_refused() -> None:
    model = DirectModel(CustomConfig(gated=True))
    with pytest.raises(TapError, match="not attention times values"):
        load_model(model, projection="layers.*.out_proj")


def test_weights_that_are_not_numbers_fail() -> None:
    model = build(family("BERT"))
    with torch.no_grad():
        model.encoder.layer[1].attention.self.value.weight[0, 0] = float("nan")
    with pytest.raises(TapError, match="encoder layer 2"):
        load_model(model)


def test_audio_models_that_feel_padding_are_flagged() -> None:
    audio = family("wav2vec2")
    settings = {**audio.settings, "feat_extract_norm": "group"}
    check = load_model(build(replace(audio, settings=settings))).check
    assert check.padding is not None
    assert check.padding > check.tolerance
    assert "equal lengths" in check.flags[0]
