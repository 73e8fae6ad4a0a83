"""A loaded model: what forward hands over, when it stops, and what stays the same."""

import pytest
import torch
from transformers import AutoModel

from headscope.errors import TapError
from headscope.models import AttentionSite, LayerCapture, LoadedModel, load_model
from tests.models.families import FAMILIES, build

FAMILY = {family.title: family for family in FAMILIES}
IDS = torch.tensor([[5, 6, 7, 8, 9], [10, 11, 12, 3, 3]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


@pytest.fixture(scope="module", params=["BERT", "MPNet"])
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return load_model(build(FAMILY[request.param]))


def test_wanted_sites_are_captured_once_and_in_order() -> None:
    model = load_model(build(FAMILY["BART"]))
    wanted = [site for site in reversed(model.sites) if site.layer == 2]
    seen: list[AttentionSite] = []
    model.forward(IDS, MASK, lambda capture: seen.append(capture.site), sites=wanted)
    assert [(site.stack, site.layer) for site in seen] == [
        ("encoder", 2),
        ("decoder", 2),
        ("cross", 2),
    ]


def test_nothing_behind_the_last_wanted_attention_is_computed(model: LoadedModel) -> None:
    ran: list[str] = []
    for name, module in model.model.named_modules():
        module.register_forward_hook(lambda *_, name=name: ran.append(name))
    model.forward(IDS, MASK, lambda capture: None, sites=model.sites[:1])
    assert "encoder.layer.0.intermediate" not in ran
    assert not any(name.startswith("encoder.layer.1") for name in ran)
    ran.clear()
    model.forward(IDS, MASK, lambda capture: None)
    assert "encoder.layer.0.intermediate" in ran
    assert "encoder.layer.1.intermediate" not in ran
    assert "pooler" not in ran


def test_no_gradients_are_kept(model: LoadedModel) -> None:
    captures: list[LayerCapture] = []
    model.forward(IDS, MASK, captures.append)
    assert not any(capture.head_output.requires_grad for capture in captures)


def test_ids_under_the_padding_do_not_matter_even_for_roberta() -> None:
    model = load_model(build(FAMILY["RoBERTa"]))
    outputs: list[torch.Tensor] = []
    for padding in (1, 30):
        ids = IDS.masked_fill(MASK == 0, padding)
        model.forward(ids, MASK.bool(), lambda capture: outputs.append(capture.head_output))
    torch.testing.assert_close(outputs[0], outputs[2])
    torch.testing.assert_close(outputs[1], outputs[3])


def test_the_decoder_reads_the_text_shifted_by_one() -> None:
    model = load_model(build(FAMILY["BART"]))
    inputs = model.decoder_inputs(IDS, MASK)
    assert inputs["decoder_input_ids"].tolist() == [[2, 5, 6, 7, 8], [2, 10, 11, 1, 1]]
    assert inputs["decoder_attention_mask"].equal(MASK)


def test_errors_of_the_listener_reach_the_caller_and_leave_no_trace(model: LoadedModel) -> None:
    def fail(capture: LayerCapture) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        model.forward(IDS, MASK, fail)
    seen: list[LayerCapture] = []
    model.forward(IDS, MASK, seen.append)
    assert len(seen) == len(model.sites)


@pytest.mark.parametrize("inner_title", ["BERT", "MPNet"])
def test_a_forward_inside_a_forward_disturbs_neither(model: LoadedModel, inner_title: str) -> None:
    inner = load_model(build(FAMILY[inner_title], seed=2))

    def outputs(of: LoadedModel, nested: bool) -> list[torch.Tensor]:
        seen: list[torch.Tensor] = []

        def on_layer(capture: LayerCapture) -> None:
            seen.append(capture.head_output)
            if nested:
                inside.append(outputs(inner, nested=False))

        of.forward(IDS, MASK, on_layer)
        return seen

    inside: list[list[torch.Tensor]] = []
    plain, expected = outputs(model, nested=False), outputs(inner, nested=False)
    assert all(map(torch.equal, outputs(model, nested=True), plain))
    assert len(inside) == len(model.sites)
    assert all(all(map(torch.equal, got, expected)) for got in inside)


def test_a_site_of_another_model_is_refused(model: LoadedModel) -> None:
    other = load_model(build(FAMILY["Llama"]))
    with pytest.raises(TapError, match="no such attention site"):
        model.forward(IDS, MASK, lambda capture: None, sites=other.sites)


def test_untrained_models_repeat_by_seed_and_share_the_sites(model: LoadedModel) -> None:
    first, again, other = (model.untrained(seed) for seed in (1, 1, 2))
    assert first.weights_hash == again.weights_hash
    assert len({model.weights_hash, first.weights_hash, other.weights_hash}) == 3
    assert first.sites == model.sites
    state = torch.random.get_rng_state()
    model.untrained(3)
    assert torch.random.get_rng_state().equal(state)


def test_untrained_weights_are_the_familys_own_initialisation() -> None:
    model = load_model(build(FAMILY["GPT-2"]))
    torch.manual_seed(11)
    expected = AutoModel.from_config(model.config)
    for name, weight in model.untrained(11).model.state_dict().items():
        assert weight.equal(expected.state_dict()[name]), name


def test_one_changed_weight_changes_the_hash() -> None:
    network = build(FAMILY["BERT"])
    before = load_model(network).weights_hash
    assert load_model(build(FAMILY["BERT"])).weights_hash == before
    with torch.no_grad():
        network.embeddings.word_embeddings.weight[0, 0] += 1
    assert load_model(network).weights_hash != before
