"""Gates against the same model with columns of its output projection zeroed, in every family."""

import threading
from functools import cache

import pytest
import torch
from torch import nn
from transformers import AutoModelForCausalLM

from headscope.errors import SettingsError, TapError
from headscope.models import LoadedModel, load_model
from headscope.models.taps import pieces
from tests.models.custom_direct import DirectModel
from tests.models.custom_interface import CustomConfig
from tests.models.families import FAMILIES, HEADS, Family, build, inputs_of

TAPPED = [family for family in FAMILIES if family.refused is None]
TEXT = [family for family in TAPPED if family.modality == "text"]
FAMILY = {family.title: family for family in FAMILIES}
ONE_OF_EACH_TIER = ["BERT", "MPNet", "XLNet", "ALBERT", "T5", "Llama"]
each_family = pytest.mark.parametrize("family", TAPPED, ids=lambda family: family.title)


@cache
def loaded(family: Family) -> LoadedModel:
    return load_model(build(family))


def whole_inputs(family: Family, model: LoadedModel) -> dict[str, torch.Tensor]:
    inputs = inputs_of(family)
    if family.modality == "text" and model.config.is_encoder_decoder:
        inputs |= model.decoder_inputs(inputs["input_ids"], inputs["attention_mask"])
    return inputs


def states(model: nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    with torch.no_grad():
        return model(**inputs)[0]


def without_columns(family: Family, model: nn.Module, gated) -> nn.Module:
    """The columns of W_O that take the gated heads' outputs, set to zero. Knows no headscope.

    `gated`: numbers of projections in the order in which they run, and heads, from 0.
    """
    model = getattr(model, "text_model", model)
    if family.title == "XLNet":
        weights = [layer.rel_attn.o for layer in model.layer]  # d_model, head, d_head
        with torch.no_grad():
            for place, head in gated:
                weights[place][:, head] = 0
        return model
    order: list[nn.Module] = []
    hooks = [
        module.register_forward_pre_hook(lambda one, _: order.append(one))
        for name, module in model.named_modules()
        if name.endswith(family.projection)
    ]
    states(model, whole_inputs(family, loaded(family)))
    for hook in hooks:
        hook.remove()
    with torch.no_grad():
        for place, head in gated:
            weight = order[place].weight
            columns = weight if isinstance(order[place], nn.Linear) else weight.T  # Conv1D
            heads = loaded(family).sites[place].heads
            columns.unflatten(1, (heads, -1))[:, head] = 0
    return model


@each_family
def test_a_gated_head_contributes_nothing(family: Family) -> None:
    """One head of the first layer of each stack, one of the last, all at once."""
    model = loaded(family)
    gated, gates = [], {}
    for stack in model.stacks:
        layers = [place for place, site in enumerate(model.sites) if site.stack == stack]
        for place, head in ((layers[0], 1), (layers[-1], 0)):
            gated.append((place, head))
            gates[stack, model.sites[place].layer, head + 1] = 0.0
    if family.title == "ALBERT":  # its layers share one projection
        gated, gates = [(0, 1)], {(layer, 2): 0.0 for layer in (1, 2, 3)}
    inputs = whole_inputs(family, model)
    expected = states(without_columns(family, build(family), gated), inputs)
    intact = states(model.model, inputs)
    with model.gates(gates):
        ours = states(model.model, inputs)
    torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-5)
    assert (ours - intact).abs().max() > 0.01
    assert torch.equal(states(model.model, inputs), intact)


@each_family
def test_gate_one_changes_no_bit(family: Family) -> None:
    model = loaded(family)
    inputs = whole_inputs(family, model)
    intact = states(model.model, inputs)
    gates = {(site.stack, site.layer): 1.0 for site in model.sites}
    with model.gates(gates):
        assert torch.equal(states(model.model, inputs), intact)
    # Also where the gate acts: there another head of the layer is gated.
    site = model.sites[0]
    with model.gates({(site.stack, site.layer, 1): 1.0, (site.stack, site.layer, 2): 1 - 1e-7}):
        close = states(model.model, inputs)
    torch.testing.assert_close(close, intact, rtol=1e-3, atol=1e-4)


def test_layers_that_share_a_module_are_gated_one_by_one() -> None:
    family = FAMILY["ALBERT"]
    model, inputs = loaded(family), inputs_of(family)
    for layer in (1, 2, 3):
        oracle, calls = build(family), []

        def drop(module, given, layer=layer, calls=calls):
            calls.append(None)
            if len(calls) != layer:
                return None
            joined = given[0].clone()
            joined.unflatten(-1, (HEADS, -1))[:, :, 2] = 0
            return (joined,)

        for name, module in oracle.named_modules():
            if name.endswith(family.projection):
                module.register_forward_pre_hook(drop)
        with model.gates({(layer, 3): 0.0}):
            # A pass that stops early must not shift the count of the next one.
            model.forward(inputs["input_ids"], inputs["attention_mask"], print, sites=[])
            model.forward(
                inputs["input_ids"], inputs["attention_mask"], lambda _: None, sites=model.sites[:1]
            )
            ours = states(model.model, inputs)
        torch.testing.assert_close(ours, states(oracle, inputs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("family", TEXT, ids=lambda family: family.title)
def test_every_road_through_the_model_sees_the_gates(family: Family, monkeypatch) -> None:
    """Head outputs as captured, whole and in pieces, and last states."""
    model, inputs = loaded(family), inputs_of(family)
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    stack = model.stacks[0]
    whole, pieced = [], []
    with model.gates({(stack, 1, 2): 0.0, (stack, 1, 3): 0.5}):
        model.forward(ids, mask, whole.append)
        monkeypatch.setattr(pieces, "PIECE_NUMBERS", 0)
        monkeypatch.setattr(pieces, "ROWS_NUMBERS", 3 * HEADS * 8)
        model.forward_mass(ids, mask, pieced.append)
        last = model.last_states(ids, mask)
    intact = []
    model.forward(ids, mask, intact.append)
    assert whole[0].head_output[:, 1].abs().max() == 0
    torch.testing.assert_close(whole[0].head_output[:, 2], intact[0].head_output[:, 2] / 2)
    assert torch.equal(whole[0].head_output[:, 0], intact[0].head_output[:, 0])
    for one, other in zip(whole, pieced, strict=True):
        for text, length in enumerate(mask.sum(1).tolist()):
            torch.testing.assert_close(
                one.head_output[text, :, :length],
                other.head_output[text, :, :length],
                rtol=1e-4,
                atol=2e-5,
            )
    assert (last - model.last_states(ids, mask)).abs().max() > 0.01


@pytest.mark.parametrize("title", ONE_OF_EACH_TIER)
def test_a_row_of_gates_for_each_text_equals_one_text_at_a_time(title: str) -> None:
    family = FAMILY[title]
    model = loaded(family)
    stack = model.stacks[0]
    inputs = whole_inputs(family, model)
    rows = [{(stack, 1, 1): 0.0}, {}, {(stack, 2): 0.0, (stack, 1, 4): 2.0}]
    with model.gates(rows):
        together = states(model.model, inputs)
    for place, row in enumerate(rows):
        with model.gates(row):
            alone = states(model.model, {name: one[place:][:1] for name, one in inputs.items()})
        torch.testing.assert_close(together[place], alone[0], rtol=1e-5, atol=1e-5)
    with model.gates(rows[:2]), pytest.raises(TapError, match=r"2 texts.*batch of 3"):
        states(model.model, inputs)


@pytest.mark.parametrize("title", ONE_OF_EACH_TIER)
def test_replaced_heads_write_the_mean_or_another_text(title: str) -> None:
    """Against an eager model whose projection input is overwritten."""
    family = FAMILY[title]
    model, inputs = loaded(family), inputs_of(family)
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    stack = model.stacks[0]
    means = model.replacements(ids, mask, mean=True)
    other = model.replacements(ids[:1], mask[:1], mean=False)
    seen = []
    model.forward(ids, mask, seen.append, sites=model.sites[:1])
    z = seen[0].head_output.transpose(1, 2)[mask.bool()][:, 1]
    torch.testing.assert_close(means[stack, 1, 2], z.mean(0), rtol=1e-5, atol=1e-5)
    for vectors, tokens in ((means[stack, 1, 2], None), (other[stack, 1, 2], 8)):
        with model.gates({(stack, 1, 2): vectors}):
            seen = []
            model.forward(ids, mask, seen.append, sites=model.sites[:1])
        written = seen[0].head_output[:, 1]
        expected = vectors.expand(8, -1) if tokens is None else vectors
        torch.testing.assert_close(written, expected.expand(3, -1, -1))


@pytest.mark.parametrize("title", ["BERT", "MPNet"])
def test_inner_gates_win_and_closing_brings_the_outer_ones_back(title: str) -> None:
    family = FAMILY[title]
    model, inputs = loaded(family), inputs_of(family)

    def under(gates):
        with model.gates(gates):
            return states(model.model, inputs)

    with model.gates({(1, 1): 0.0}):
        outer = states(model.model, inputs)
        with model.gates({(1, 2): 0.0}):
            assert torch.equal(states(model.model, inputs), under({(1, 1): 0.0, (1, 2): 0.0}))
        with model.gates({1: 1.0}):
            assert model.open_gates == ({},)
            inner = states(model.model, inputs)
        assert torch.equal(states(model.model, inputs), outer)
    assert torch.equal(inner, states(model.model, inputs))
    assert not torch.equal(inner, outer)


@pytest.mark.parametrize("title", ["BERT", "MPNet", "ALBERT"])
def test_threads_have_gates_of_their_own(title: str) -> None:
    family = FAMILY[title]
    model, inputs = loaded(family), inputs_of(family)
    gates = [{(1, 1): 0.0}, {}, {(2, 3): 0.0}, {1: 0.0}]
    alone = []
    for row in gates:
        with model.gates(row):
            alone.append(states(model.model, inputs))
    wrong, ready = [], threading.Barrier(len(gates))

    def work(number: int) -> None:
        ready.wait()
        for _ in range(10):
            with model.gates(gates[number]):
                if not torch.equal(states(model.model, inputs), alone[number]):
                    wrong.append(number)

    with model.gates({(1, 2): 0.0}):  # which other threads do not see
        threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


@pytest.mark.parametrize("title", ["BERT", "MPNet", "ALBERT"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_inside_leaves_the_model_as_it_was(title: str, error) -> None:
    family = FAMILY[title]
    model, inputs = loaded(family), inputs_of(family)
    intact = states(model.model, inputs)

    def break_off(*_):
        raise error

    last = model.model.get_submodule(model.sites[-1].name)
    hook = last.register_forward_pre_hook(break_off)
    with pytest.raises(error), model.gates({(1, 1): 0.0}):
        states(model.model, inputs)
    hook.remove()
    assert torch.equal(states(model.model, inputs), intact)
    for module in model.model.modules():
        assert "forward" not in vars(module)
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
    assert model.open_gates == ({},)


def test_a_head_that_writes_infinity_is_off_all_the_same() -> None:
    model, inputs = load_model(build(FAMILY["BERT"])), inputs_of(FAMILY["BERT"])
    with torch.no_grad():
        model.model.encoder.layer[0].attention.self.value.bias[:8] = torch.inf
    with model.gates({(1, 1): 0.0}):
        assert torch.isfinite(states(model.model, inputs)).all()


def test_gates_act_at_a_projection_that_the_user_names() -> None:
    torch.manual_seed(0)
    config = CustomConfig()
    model = load_model(DirectModel(config), projection="layers.*.out_proj")
    ids = torch.randint(3, 20, (2, 6), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    inputs = {"input_ids": ids, "attention_mask": mask}
    seen = []
    with model.gates({(1, 2): 0.0}):
        ours = states(model.model, inputs)
        model.forward(ids, mask, seen.append)
    assert seen[0].head_output[:, 1].abs().max() == 0
    with torch.no_grad():
        weight = model.model.layers[0].out_proj.weight
        weight.unflatten(1, (config.heads, -1))[:, 1] = 0
    torch.testing.assert_close(ours, states(model.model, inputs), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("title", ["Llama", "GPT-Neo", "GPT-2"])
def test_a_model_generates_under_gates(title: str) -> None:
    family = FAMILY[title]
    body = build(family)

    def language_model(body: nn.Module) -> nn.Module:
        torch.manual_seed(3)
        model = AutoModelForCausalLM.from_config(body.config, attn_implementation="eager").eval()
        model.base_model.load_state_dict(body.state_dict())
        return model

    options = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    ids = torch.tensor([[5, 6, 7, 8]])
    mask = torch.ones_like(ids)
    model = load_model(language_model(body))
    intact = model.model.generate(ids, attention_mask=mask, **options)
    with model.gates({1: 0.0}):
        ours = model.model.generate(ids, attention_mask=mask, **options)
    gated = [(0, head) for head in range(HEADS)]
    oracle = language_model(without_columns(family, body, gated))
    assert ours.tolist() == oracle.generate(ids, attention_mask=mask, **options).tolist()
    assert ours.tolist() != intact.tolist()


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        ({(3, 1): 0.0}, "layers 1 to 2, not 3"),
        ({(0, 1): 0.0}, "layers 1 to 2, not 0"),
        ({(1, 5): 0.0}, "heads 1 to 4, not 5"),
        ({(1, 0): 0.0}, "heads 1 to 4, not 0"),
        ({("cross", 1, 1): 0.0}, "has encoder, not 'cross'"),
        ({(1, 2, 3): 0.0}, "names no head"),
        ({(1, 2.5): 0.0}, "names no head"),
        ({(): 0.0}, "names no head"),
        ({(1, 1): float("nan")}, "finite"),
        ({(1, 1): torch.zeros(5)}, "vectors of 8"),
        ({(1, 1): torch.full((8,), torch.inf)}, "not finite"),
        ([], "empty list"),
    ],
)
def test_gates_that_make_no_sense_are_refused(gates, said: str) -> None:
    with pytest.raises(SettingsError, match=said), loaded(FAMILY["BERT"]).gates(gates):
        pass


def test_several_stacks_must_be_told_apart() -> None:
    model = loaded(FAMILY["BART"])
    with pytest.raises(SettingsError, match="encoder, decoder, cross"), model.gates({(1, 1): 0.0}):
        pass
    with model.gates({(1, 1): 0.0}, stack="cross"):
        assert model.open_gates == ({("cross", 1, 1): 0.0},)


def test_a_model_switched_to_other_attention_is_refused() -> None:
    model = load_model(build(FAMILY["BERT"]))
    model.model.set_attn_implementation("sdpa")
    with pytest.raises(TapError, match="switched to 'sdpa'"), model.gates({(1, 1): 0.0}):
        pass
    assert model.open_gates == ({},)
