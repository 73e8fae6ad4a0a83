"""Every family against its own eager code: z, attention, output, padding, names and numbers."""

import copy
from functools import cache

import pytest
import torch
import transformers
from packaging.version import parse

from headscope.errors import TapError
from headscope.models import LayerCapture, LoadedModel, load_model
from headscope.models.taps import pieces
from headscope.models.taps.interface import InterfaceTap
from tests.models.families import FAMILIES, HEADS, Family, build, inputs_of
from tests.models.oracle import EagerRun, eager_run

NEW_ENOUGH = parse(transformers.__version__) >= parse("5.22")
"""Families move from function mode to the interface with time: tiers are those of this version."""
TAPPED = [family for family in FAMILIES if family.refused is None]
TEXT = [family for family in TAPPED if family.modality == "text"]
HEADS_TOGETHER = {"gpt-oss"}
"""Families whose attention function takes a number of each head from its module."""
WHOLE_ONLY = {"T5"}
"""Families whose attention function is given tensors that would have to be cut too."""
each_tapped_family = pytest.mark.parametrize("family", TAPPED, ids=lambda family: family.title)


@cache
def loaded(family: Family) -> LoadedModel:
    return load_model(build(family))


@cache
def untouched_run(family: Family) -> EagerRun:
    model = build(family)
    model = getattr(model, "text_model", model)
    inputs = inputs_of(family)
    if family.modality == "text" and model.config.is_encoder_decoder:
        start = torch.full((3, 1), model.config.decoder_start_token_id)
        inputs["decoder_input_ids"] = torch.cat([start, inputs["input_ids"][:, :-1]], dim=1)
        inputs["decoder_attention_mask"] = inputs["attention_mask"]
    return eager_run(family, model, inputs)


@cache
def captures(family: Family) -> list[LayerCapture]:
    model, inputs, seen = loaded(family), inputs_of(family), []
    if family.modality == "text":
        model.forward(inputs["input_ids"], inputs["attention_mask"], seen.append)
    else:
        model.forward_inputs(inputs, seen.append)
    return seen


def real(family: Family, tensor: torch.Tensor) -> list[torch.Tensor]:
    """The rows of each text of a [batch, head, query, ...] tensor that are not padding."""
    if family.modality != "text":
        return list(tensor)
    lengths = inputs_of(family)["attention_mask"].sum(dim=1).tolist()
    return [text[:, :length] for text, length in zip(tensor, lengths, strict=True)]


def assert_close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=2e-5)


def test_forty_families_are_listed() -> None:
    assert len({family.title for family in FAMILIES}) == len(FAMILIES) == 40


@each_tapped_family
def test_head_output_is_what_the_eager_model_projects(family: Family) -> None:
    expected = untouched_run(family).joined_heads
    assert len(expected) == len(captures(family))
    for capture, joined in zip(captures(family), expected, strict=True):
        batch, _, queries, _ = capture.head_output.shape
        by_head = joined.reshape(batch, queries, capture.site.heads, capture.site.d_head)
        by_head = by_head.transpose(1, 2)
        for ours, theirs in zip(
            real(family, capture.head_output), real(family, by_head), strict=True
        ):
            assert_close(ours, theirs)


@each_tapped_family
def test_attention_is_the_eager_models_output_attentions(family: Family) -> None:
    for stack, expected in untouched_run(family).attentions.items():
        ours = [capture for capture in captures(family) if capture.site.stack == stack]
        assert len(ours) == len(expected) == family.stacks[stack]
        for capture, attention in zip(ours, expected, strict=True):
            for mine, theirs in zip(
                real(family, capture.attention), real(family, attention), strict=True
            ):
                assert_close(mine, theirs)


@each_tapped_family
def test_output_with_the_tap_is_the_output_without(family: Family) -> None:
    inputs = inputs_of(family)
    model = loaded(family)
    if model.config.is_encoder_decoder and family.modality == "text":
        inputs |= model.decoder_inputs(inputs["input_ids"], inputs["attention_mask"])
    calls = []
    with torch.no_grad(), model._tap.listen(calls.append):
        tapped = model.model(**inputs).last_hidden_state
    assert len(calls) == len(model.sites)
    expected = untouched_run(family).last_hidden_state
    if family.modality == "text":
        mask = inputs["attention_mask"].bool()
        tapped, expected = tapped[mask], expected[mask]
    assert_close(tapped, expected)


@pytest.mark.parametrize("family", TEXT, ids=lambda family: family.title)
def test_mass_in_small_pieces_is_that_of_whole_maps(family: Family, monkeypatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_NUMBERS", 0)
    monkeypatch.setattr(pieces, "ROWS_NUMBERS", 3 * HEADS * 8)
    model, inputs = loaded(family), inputs_of(family)
    seen = []
    model.forward_mass(inputs["input_ids"], inputs["attention_mask"], seen.append)
    assert [one.site for one in seen] == [one.site for one in captures(family)]
    for ours, whole in zip(seen, captures(family), strict=True):
        mass = torch.stack([text.sum(1) for text in real(family, whole.attention)])
        assert_close(ours.mass, mass)
        for mine, theirs in zip(
            real(family, ours.head_output), real(family, whole.head_output), strict=True
        ):
            assert_close(mine, theirs)


def test_most_families_of_the_interface_are_proved_to_work_in_pieces() -> None:
    taps = {family.title: loaded(family)._tap for family in TAPPED}
    cuts = {title: tap.cut for title, tap in taps.items() if isinstance(tap, InterfaceTap)}
    assert {title for title, cut in cuts.items() if cut is None} <= WHOLE_ONLY
    assert {title for title, cut in cuts.items() if cut and not cut.by_head} <= HEADS_TOGETHER


@pytest.mark.parametrize("title", ["BERT", "GPT-2", "Llama", "Mistral", "ModernBERT", "ViT"])
def test_output_with_the_tap_is_what_users_get_by_default(title: str) -> None:
    (family,) = [family for family in FAMILIES if family.title == title]
    inputs, model = inputs_of(family), build(family)
    model.set_attn_implementation("sdpa")
    with torch.no_grad():
        default = model(**inputs).last_hidden_state
        tapped = loaded(family).model(**inputs).last_hidden_state
    mask = inputs.get("attention_mask", torch.ones(default.shape[:2])).bool()
    assert_close(tapped[mask], default[mask])


@pytest.mark.parametrize("family", TEXT, ids=lambda family: family.title)
def test_a_text_alone_gives_what_it_gives_padded(family: Family) -> None:
    inputs, padded = inputs_of(family), captures(family)
    for index, length in enumerate(inputs["attention_mask"].sum(dim=1).tolist()):
        alone: list[LayerCapture] = []
        ids = inputs["input_ids"][index : index + 1, :length]
        loaded(family).forward(ids, torch.ones_like(ids), alone.append)
        for single, batch in zip(alone, padded, strict=True):
            assert_close(single.head_output[0], batch.head_output[index, :, :length])
            keys = batch.attention[index, :, :length]
            assert_close(single.attention[0], keys[..., :length])
            assert keys[..., length:].abs().sum() == 0


@each_tapped_family
def test_sites_are_named_and_numbered(family: Family) -> None:
    model = loaded(family)
    assert model.modality == family.modality
    if NEW_ENOUGH:
        assert {site.tier for site in model.sites} == {family.tier}
    assert set(model.stacks) == set(family.stacks)
    for stack, layers in family.stacks.items():
        sites = [site for site in model.sites if site.stack == stack]
        assert [site.layer for site in sites] == list(range(1, layers + 1))
        assert {site.causal for site in sites} == {family.causal or stack == "decoder"}
        assert {site.d_head for site in sites} == {family.d_head}
        if family.title == "Swin":
            assert [site.heads for site in sites] == [2, 4, 4]
        else:
            assert {site.heads for site in sites} == {HEADS}
        unique = {site.name for site in sites}
        assert len(unique) == (1 if family.title == "ALBERT" else layers)
    modules = dict(model.model.named_modules())
    assert all(site.name in modules for site in model.sites)


@each_tapped_family
def test_self_check_passes_without_flags(family: Family) -> None:
    check = loaded(family).check
    assert check.flags == ()
    assert check.projection is not None
    assert max(check.product, check.projection, check.rows, check.output) < 1e-5


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.refused], ids=lambda f: f.title)
def test_refused_families_are_told_why(family: Family) -> None:
    with pytest.raises(TapError, match=family.refused):
        load_model(build(family))


def test_sinks_take_their_share_of_the_attention() -> None:
    (family,) = [family for family in FAMILIES if family.title == "gpt-oss"]
    for capture in captures(family):
        rows = capture.attention[0].sum(dim=-1)
        assert rows.max() < 1 + 1e-6
        assert rows[:, 0].max() < 0.999  # one key, and still some of the attention goes elsewhere


def test_image_tower_of_clip_is_read_as_patches() -> None:
    (family,) = [family for family in FAMILIES if family.title == "CLIP"]
    from transformers import CLIPVisionModel

    config = build(family).config.vision_config
    model = load_model(CLIPVisionModel._from_config(copy.deepcopy(config)))
    seen: list[LayerCapture] = []
    model.forward_inputs({"pixel_values": torch.randn(1, 3, 16, 16)}, seen.append)
    assert model.modality == "vision"
    assert [capture.attention.shape for capture in seen] == [(1, HEADS, 17, 17)] * 2
