"""What guesses lose without a head, against eager models whose output projections were cut."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

import headscope as hs
from headscope.errors import ModelError, SettingsError
from headscope.measuring.outcome import Outcome
from tests.intervene.small_models import write_model
from tests.lens.test_exact import FAMILIES, plain_logits, plain_scores, windows_of
from tests.lens.test_planted import DAY, NIGHT
from tests.lens.texts import OPTIONS, write_texts


def bert_projection(name):
    return lambda m, stack, layer: m.get_submodule(
        f"{name}.encoder.layer.{layer - 1}.attention.output.dense"
    )


def t5_projection(model, stack, layer):
    parts = model.decoder.block[layer - 1].layer
    return parts[0].SelfAttention.o if stack == "decoder" else parts[1].EncDecAttention.o


PROJECTIONS = {
    # The linear map that joins the heads of a layer.
    "bert-masked": bert_projection("bert"),
    "roberta": bert_projection("roberta"),
    "modernbert": lambda m, stack, layer: m.model.layers[layer - 1].attn.Wo,
    "gpt2": lambda m, stack, layer: m.transformer.h[layer - 1].attn.c_proj,
    "llama": lambda m, stack, layer: m.model.layers[layer - 1].self_attn.o_proj,
    "t5": t5_projection,
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_texts(tmp_path_factory.mktemp("corpus"))


def cut(projection, head, heads):
    """Let a projection read nothing of one head; gives back the weights that it had."""
    weight = projection.weight
    before = weight.detach().clone()
    inputs = 0 if type(projection).__name__ == "Conv1D" else 1
    width = weight.shape[inputs] // heads
    with torch.no_grad():
        weight.narrow(inputs, (head - 1) * width, width).zero_()
    return before


def scores_of(plain, family, layer, inputs, targets, places):
    """The scores of a layer's guess at some positions, and the guess."""
    logits = plain_logits(plain, *FAMILIES[family][1:], inputs)[layer, places]
    return logits, [
        plain_scores(one, one, int(target)) for one, target in zip(logits, targets, strict=True)
    ]


@pytest.mark.parametrize("family", PROJECTIONS)
def test_effects_of_heads_equal_those_of_cut_projections(family, corpus, tmp_path):
    folder = write_model(family, tmp_path / "model")
    model = hs.load_model(folder, head=True)
    options = {**OPTIONS, "texts": 2, "first": True, "positions": None}
    found = hs.lens(model, corpus, out=tmp_path / "study", heads=True, **options)
    plain = FAMILIES[family][0].from_pretrained(folder, attn_implementation="eager").eval()
    outcome = Outcome(model)
    windows = [outcome.prepare([window]) for window in windows_of(found)]
    table = found.heads.set_index(["stack", "layer", "head"])
    stacks = {"decoder", "cross"} if family == "t5" else {found.layers[0].stack}
    assert {stack for stack, _, _ in table.index} == stacks
    assert len(table) == sum(s.heads for s in model.sites if s.stack in stacks)
    for stack, layer, head in [key for key in table.index if key[2] == 1 + key[1]]:
        effects = {"entropy_increase": [], "loss_increase": [], "kl": []}
        for batch in windows:
            places = batch.scored[0].nonzero()[:, 0]
            targets = batch.targets[0, places]
            inputs = dict(batch.inputs)
            with_it, before = scores_of(plain, family, layer, inputs, targets, places)
            projection = PROJECTIONS[family](plain, stack, layer)
            weights = cut(projection, head, 4)
            without, after = scores_of(plain, family, layer, inputs, targets, places)
            with torch.no_grad():
                projection.weight.copy_(weights)
            kl = with_it.softmax(-1) * (with_it.log_softmax(-1) - without.log_softmax(-1))
            effects["kl"] += kl.sum(-1).tolist()
            for one, other in zip(after, before, strict=True):
                effects["entropy_increase"].append(one["entropy"] - other["entropy"])
                effects["loss_increase"].append(one["cross_entropy"] - other["cross_entropy"])
        for name, values in effects.items():
            value = table.loc[(stack, layer, head), f"lens_{name}"]
            assert value == pytest.approx(np.mean(values), abs=2e-5), (stack, layer, head, name)
    assert table["lens_kl"].to_numpy().min() > 1e-8, "too small to tell heads apart"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heads")
    model = hs.load_model(write_model("gpt2-deep", folder / "model"), head=True)
    options = {**OPTIONS, "positions": 4, "probe": "tokens", "heads": True, "shard_windows": 3}
    corpus = write_texts(folder)
    return model, corpus, options, hs.lens(model, corpus, out=folder / "study", **options)


def test_the_table_is_kept_and_a_resumed_study_has_the_same(study):
    model, corpus, options, found = study
    kept = pd.read_parquet(found.folder / "lens.parquet")
    pd.testing.assert_frame_equal(kept, found.heads, check_dtype=False)
    assert len(kept) == 16
    for path in (found.folder / "shards").glob("00001.*"):
        path.unlink()
    again = hs.lens(model, corpus, out=found.folder, **options)
    assert again.to_json() == found.to_json()
    plain = hs.lens(model, corpus, out=found.folder.parent / "plain", **{**options, "heads": False})
    assert plain.heads is None
    assert plain.layers == found.layers


def test_json_has_lens_and_probe_of_every_head(study):
    found = study[-1]
    values = json.loads((found.folder / "study.json").read_text())
    assert values == json.loads(json.dumps(found.to_json(), allow_nan=False))
    table = found.heads
    for row, head in zip(table.to_dict("records"), values["heads"], strict=True):
        for reading, scores in (("lens", head), ("probe", head["probe"])):
            assert scores["matters"] is row[f"{reading}_matters"]
            for effect in ("entropy_increase", "loss_increase", "kl"):
                assert set(scores[effect]) == {"value", "low", "high"}
                assert scores[effect]["value"] == row[f"{reading}_{effect}"]
    last = table[table["layer"] == 4]
    np.testing.assert_array_equal(last["probe_kl"], last["lens_kl"])
    assert (table["probe_kl"] != table["lens_kl"])[table["layer"] < 4].all()
    names = {"entropy_increase", "loss_increase", "kl"}
    assert set(values["heads_reliability"]) == {*names, "probe"}


def test_a_head_that_writes_the_answer_is_the_one_that_matters(tmp_path):
    """Head 3 of layer 2 copies what it attends to, itself, into where the unembedding reads."""
    model = hs.load_model(write_model("gpt2-deep", tmp_path / "model"), head=True)
    body, d_head = model.model.transformer, 4
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.model.parameters():
            parameter.zero_()
        words = 0.1 * torch.randn(body.wte.weight.shape, generator=generator)
        words[:, d_head:] = 0
        words[DAY, :d_head] = torch.tensor([2.0, -2, 2, -2])
        words[NIGHT, :d_head] = torch.tensor([2.0, 2, -2, -2])
        body.wte.weight.copy_(words)
        body.ln_f.weight.fill_(1.0)
        block = body.h[1]
        block.ln_1.weight.fill_(1.0)
        inner = slice(2 * 16 + 2 * d_head, 2 * 16 + 3 * d_head)  # the values of head 3
        block.attn.c_attn.weight[:d_head, inner] = torch.eye(d_head)
        block.attn.c_proj.weight[2 * d_head : 3 * d_head, 4:8] = 4 * torch.eye(d_head)
        model.model.lm_head.weight[:, 4:8] = words[:, :d_head]
    options = {**OPTIONS, "window": 40, "positions": None, "heads": True}
    texts = [f"{word} " * times for word in ("day", "night") for times in (8, 12, 16)]
    found = hs.lens(model, texts, out=tmp_path / "study", **options)
    table = found.heads.set_index(["layer", "head"])
    assert table.index[table["lens_matters"]].tolist() == [(2, 3)]
    assert table.loc[(2, 3), "lens_loss_increase"] > 1
    assert table["lens_kl"].drop((2, 3)).abs().max() < 1e-5


def test_heads_without_guesses_are_refused(corpus, tmp_path):
    sentences = write_model("bert", tmp_path / "model")
    with pytest.raises(ModelError, match=r"no head that predicts tokens.*headscope ablate"):
        hs.lens(sentences, corpus, out=tmp_path / "study", heads=True, **OPTIONS)
    with pytest.raises(SettingsError, match="a probe of words has no guesses to lose"):
        hs.lens(sentences, corpus, out=tmp_path / "study", heads=True, probe="words", **OPTIONS)
    assert not (tmp_path / "study").exists()
