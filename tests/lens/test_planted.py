"""A model in which one layer writes the answer: the lens must find that layer."""

import numpy as np
import pytest
import torch

import headscope as hs
from tests.intervene.small_models import write_model
from tests.lens.texts import OPTIONS

DAY, NIGHT = 2154, 2305
"""Tokens of the two words that take turns in the corpus."""


def plant(model, layer):
    """Let one layer write, after each of the two words, the other; all other layers write nothing.

    Args:
        model: A GPT-2 with its head.
        layer: From 1.
    """
    body = model.transformer
    read, write = torch.zeros(2, 16), torch.zeros(2, 16)
    read[0, 0:4] = read[1, 4:8] = write[0, 8:12] = write[1, 12:16] = torch.tensor([2.0, -2, 2, -2])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        generator = torch.Generator().manual_seed(1)
        for table, rows in ((body.wte.weight, read), (model.lm_head.weight, write)):
            table.copy_(0.1 * torch.randn(table.shape, generator=generator))
            table[[DAY, NIGHT]] = rows
        body.ln_f.weight.fill_(1.0)
        block = body.h[layer - 1]
        block.ln_2.weight.fill_(1.0)
        for unit in (0, 1):
            block.mlp.c_fc.weight[:, unit] = read[unit]
            block.mlp.c_fc.bias[unit] = -12.0  # of 16 for the token itself
            block.mlp.c_proj.weight[unit] = 5 * write[1 - unit]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model("gpt2-deep", tmp_path_factory.mktemp("planted"))


@pytest.mark.parametrize("layer", [1, 3])
def test_entropy_falls_at_the_layer_that_writes_the_answer(layer, folder, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("day night " * 30)
    model = hs.load_model(folder, head=True)
    plant(model.model, layer)
    options = {**OPTIONS, "window": 40}
    result = hs.lens(model, texts, positions=None, out=tmp_path / "study", **options)
    lens = [one.readings["lens"] for one in result.layers]
    entropy = np.array([one["entropy"].value for one in lens])
    accuracy = np.array([one["accuracy"].value for one in lens])
    assert accuracy[:layer].max() < 0.1
    assert accuracy[layer:].min() > 0.9
    falls = entropy[:-1] - entropy[1:]
    assert falls.argmax() == layer - 1
    assert falls[layer - 1] > 5
    assert np.abs(np.delete(falls, layer - 1)).max() < 1e-5
