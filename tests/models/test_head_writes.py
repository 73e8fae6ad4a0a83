"""W_O and the residual stream of every family, against the family's own modules and states."""

import copy

import pytest
import torch

from headscope.models.head_writes import find_writes, reading_residuals
from tests.models.families import build
from tests.models.test_families import (
    TAPPED,
    TEXT,
    captures,
    each_tapped_family,
    inputs_of,
    loaded,
)

OTHER_TOKENS = {"Swin": 1}
"""Sites whose block takes other tokens than its attention: Swin attends within patches."""


@each_tapped_family
def test_a_heads_write_is_what_its_projection_adds_for_it(family):
    if not family.projection:
        pytest.skip("XLNet projects by an einsum: the self-check holds that one")
    model = loaded(family)
    writes = find_writes(model)
    assert len(writes.missing) == OTHER_TOKENS.get(family.title, 0)
    projections = [
        module
        for name, module in model.model.named_modules()
        if name.endswith(family.projection) and ".text_model" not in name
    ]
    for capture in captures(family):
        if capture.site not in writes.found:
            continue
        found = writes.found[capture.site]
        assert found.weight_name is not None
        module = model.model.get_submodule(found.weight_name.removesuffix(".weight"))
        assert module in projections
        z = capture.head_output
        for head in range(capture.site.heads):
            alone = torch.zeros_like(z)
            alone[:, head] = z[:, head]
            joined = alone.transpose(1, 2).flatten(2)
            with torch.no_grad():
                expected = module(joined) - module(torch.zeros_like(joined))
            torch.testing.assert_close(z[:, head] @ found.weight[head], expected, rtol=0, atol=1e-4)


@each_tapped_family
def test_zeroing_the_named_part_of_the_parameter_takes_a_head_away(family):
    model = loaded(family)
    for found in find_writes(model).found.values():
        if found.weight_name is None:
            assert family.title == "XLNet"
            continue
        weight = model.model.get_parameter(found.weight_name).detach()
        matrix = weight.T if found.by_columns else weight
        _, d_head, _ = found.weight.shape
        assert torch.equal(matrix[d_head : 2 * d_head], found.weight[1])


@pytest.mark.parametrize(
    "family",
    [family for family in TEXT if len(family.stacks) == 1],
    ids=lambda family: family.title,
)
def test_the_stream_is_the_hidden_state_that_enters_the_block(family):
    model, inputs = loaded(family), inputs_of(family)
    writes = find_writes(model).found
    entered = {}
    with reading_residuals(model, writes.values()) as residuals, torch.no_grad():
        model.forward(
            inputs["input_ids"],
            inputs["attention_mask"],
            lambda capture: entered.setdefault(
                capture.site, residuals.entering(writes[capture.site]).clone()
            ),
        )
    whole = copy.deepcopy(model.model)
    with torch.no_grad():
        states = whole(**inputs, output_hidden_states=True).hidden_states
    real = inputs["attention_mask"].bool()
    for site, stream in entered.items():
        state = states[site.layer - 1]
        torch.testing.assert_close(stream[real], state[real], rtol=1e-4, atol=1e-5)


def test_a_gated_projection_is_missing_with_its_reason():
    family = next(family for family in TAPPED if family.title == "Llama")
    model = build(family)
    from headscope.models import load_model

    for layer in model.layers:
        layer.self_attn.o_proj.register_forward_pre_hook(lambda _, given: (given[0] * 0.5,))
    writes = find_writes(load_model(model))
    assert not writes.found
    assert all("gated or normalised" in reason for reason in writes.missing.values())
