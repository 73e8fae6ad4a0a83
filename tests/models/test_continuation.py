"""Going on from a block gives what a whole pass gives, in every family that is recognised."""

import threading
from functools import cache

import pytest
import torch

from headscope.errors import TapError
from headscope.models import LoadedModel, load_model
from headscope.models.continuation import Continuation
from tests.models.families import FAMILIES, Family, build, inputs_of

TEXT = [family for family in FAMILIES if family.refused is None and family.modality == "text"]
WHOLE_PASSES = {"ALBERT", "XLNet"}
"""Families of which no block is skipped: layers share a module; texts are on the second axis."""


@cache
def proven(family: Family) -> tuple[LoadedModel, Continuation, dict[str, torch.Tensor]]:
    model, inputs = load_model(build(family)), inputs_of(family)
    if model.config.is_encoder_decoder:
        inputs |= model.decoder_inputs(inputs["input_ids"], inputs["attention_mask"])
    going_on = Continuation(model, model.model)
    going_on.prove(list(inputs))
    return model, going_on, inputs


@pytest.mark.parametrize("family", TEXT, ids=lambda family: family.title)
def test_going_on_from_a_block_is_a_whole_pass(family: Family) -> None:
    model, going_on, inputs = proven(family)
    recording = going_on.record(inputs)
    twice = {name: tensor.repeat(2, 1) for name, tensor in inputs.items()}
    for site in model.sites:
        gates = [{(site.stack, site.layer, 1): 0.0}] * 3 + [{(site.stack, site.layer, 4): 0.0}] * 3
        with model.gates(gates):
            ours = going_on.run(site, twice, recording)[0]
            with torch.no_grad():
                whole = model.model(**twice)[0]
        torch.testing.assert_close(ours, whole, rtol=1e-5, atol=1e-5)
        assert (ours[:3] - ours[3:]).abs().max() > 1e-3
    for module in model.model.modules():
        assert "forward" not in vars(module)


def test_blocks_are_skipped_in_nearly_every_family() -> None:
    whole = {
        family.title
        for family in TEXT
        if not all(proven(family)[1].skips(site) for site in proven(family)[0].sites)
    }
    assert whole == WHOLE_PASSES


def test_earlier_blocks_do_not_run() -> None:
    (family,) = [family for family in TEXT if family.title == "BERT"]
    model, going_on, inputs = proven(family)
    recording, ran = going_on.record(inputs), []
    hook = model.model.encoder.layer[0].attention.register_forward_hook(lambda *_: ran.append(0))
    with model.gates({(2, 1): 0.0}):
        going_on.run(model.sites[1], inputs, recording)
    assert not ran
    with model.gates({(1, 1): 0.0}):
        going_on.run(model.sites[0], inputs, recording)
    hook.remove()
    assert ran


def test_a_block_whose_texts_see_each_other_is_not_skipped() -> None:
    """The trial has the texts twice: what they make of each other differs then."""
    (family,) = [family for family in TEXT if family.title == "BERT"]
    network = build(family)
    _, second = network.encoder.layer
    forward = second.forward
    second.forward = mixing = lambda states, *rest, **options: forward(
        states + states.sum(0), *rest, **options
    )
    with pytest.raises(TapError, match="self-check"):
        load_model(network)
    second.forward = forward
    model, inputs = load_model(network), inputs_of(family)
    second.forward = mixing
    going_on = Continuation(model, model.model)
    going_on.prove(list(inputs))
    assert not going_on.skips(model.sites[1])
    assert second.forward is mixing


def test_threads_go_on_from_their_own_recordings() -> None:
    (family,) = [family for family in TEXT if family.title == "Llama"]
    model, going_on, inputs = proven(family)
    site = model.sites[-1]
    texts = [{name: tensor[row:][:1] for name, tensor in inputs.items()} for row in range(3)]
    with model.gates({(site.stack, site.layer, 2): 0.0}):
        alone = [going_on.run(site, one, going_on.record(one))[0] for one in texts]
    wrong = []

    def work(number: int) -> None:
        for _ in range(5):
            recording = going_on.record(texts[number])
            with model.gates({(site.stack, site.layer, 2): 0.0}):
                found = going_on.run(site, texts[number], recording)[0]
            if not torch.equal(found, alone[number]):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
