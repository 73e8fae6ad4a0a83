"""Families that headscope has never seen: taken if they can be checked, refused if not."""

import pytest
import torch

from headscope.errors import TapError
from headscope.models import LayerCapture, load_model
from tests.models.custom_direct import DirectModel
from tests.models.custom_interface import CustomConfig, CustomModel

IDS = torch.tensor([[3, 4, 5, 6], [7, 8, 9, 0]])
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])


def test_a_family_that_uses_the_interface_works_as_it_is() -> None:
    model = load_model(CustomModel(CustomConfig()))
    assert [(site.tier, site.layer, site.heads, site.d_head) for site in model.sites] == [
        ("interface", 1, 3, 8),
        ("interface", 2, 3, 8),
    ]
    assert model.check.flags == ()


def test_a_family_that_bypasses_everything_is_told_how_to_name_its_projection() -> None:
    with pytest.raises(TapError, match=r"projection='layers\.\*\.out_proj'") as refusal:
        load_model(DirectModel(CustomConfig()))
    assert "\n" not in str(refusal.value)
    assert "DirectModel" in str(refusal.value)


def test_a_named_projection_gives_head_outputs_and_attention() -> None:
    network = DirectModel(CustomConfig())
    model = load_model(network, projection="layers.*.out_proj")
    seen: list[LayerCapture] = []
    model.forward(IDS, MASK, seen.append)
    assert [capture.site.name for capture in seen] == ["layers.0.out_proj", "layers.1.out_proj"]
    assert {capture.site.tier for capture in seen} == {"projection"}

    states = network.embed(IDS)
    query, key, value = network.layers[0].qkv(states).chunk(3, dim=-1)
    for head in range(3):
        columns = slice(8 * head, 8 * head + 8)
        scores = query[..., columns] @ key[..., columns].mT / 8**0.5
        expected = scores.masked_fill(MASK[:, None] == 0, -torch.inf).softmax(dim=-1)
        torch.testing.assert_close(seen[0].attention[:, head], expected)
        torch.testing.assert_close(seen[0].head_output[:, head], expected @ value[..., columns])


def test_a_projection_that_is_not_there_is_refused_with_the_layers_that_are() -> None:
    with pytest.raises(TapError, match=r"layers\.\*\.qkv"):
        load_model(DirectModel(CustomConfig()), projection="blocks.*.wo")


def test_a_projection_that_takes_no_heads_is_refused() -> None:
    with pytest.raises(TapError, match="no scaled_dot_product_attention ran"):
        load_model(DirectModel(CustomConfig()), projection="layers.*.qkv")
