"""Plain attention against the definition, and which families' functions are found to be it."""

import pytest
import torch
from torch import nn
from transformers.models.bert import modeling_bert
from transformers.models.gemma2 import modeling_gemma2
from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.llama import modeling_llama

from headscope.models.taps.plain_attention import is_plain, lay_out

HEADS, GROUPS, QUERIES, KEYS, WIDTH = 6, 2, 4, 9, 8


def layer(kind=torch.float64, groups=GROUPS):
    numbers = torch.Generator().manual_seed(1)
    return [
        torch.randn(3, heads, tokens, WIDTH, generator=numbers, dtype=torch.float64).to(kind)
        for heads, tokens in ((HEADS, QUERIES), (groups, KEYS), (groups, KEYS))
    ]


def attention_module(groups=GROUPS, **attributes):
    module = nn.Module().eval()
    module.num_key_value_groups = HEADS // groups
    for name, value in attributes.items():
        setattr(module, name, value)
    return module


@pytest.mark.parametrize("masked", [0, 3, KEYS])
@pytest.mark.parametrize("texts", [1, 3])
@pytest.mark.parametrize("groups", [1, GROUPS, HEADS])
def test_it_is_the_softmax_of_scaled_products_times_values(masked, texts, groups):
    query, key, value = (part[:texts] for part in layer(groups=groups))
    mask = torch.randn(texts, 1, QUERIES, masked, dtype=query.dtype) if masked else None
    room = torch.full((3 * HEADS * QUERIES * KEYS + 5,), torch.nan, dtype=query.dtype)
    joined = torch.full((texts, QUERIES, HEADS, WIDTH), torch.nan, dtype=query.dtype)
    counts = torch.ones(texts, QUERIES, dtype=query.dtype)
    counts[0, 1] = 0
    mass = torch.ones(texts, HEADS, KEYS + 2, dtype=query.dtype)
    heads_first = joined.transpose(1, 2)
    lay_out(query, key, value, mask, counts, mass[..., :KEYS], heads_first, 0.3, room).compute()
    for head in range(HEADS):
        group = head // (HEADS // groups)
        scores = 0.3 * torch.einsum("bid,bjd->bij", query[:, head], key[:, group])
        if mask is not None:
            scores[..., KEYS - masked :] += mask[:, 0]
        weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
        torch.testing.assert_close(joined[:, :, head], weights @ value[:, group])
        received = (weights * counts[:, :, None]).sum(1)
        torch.testing.assert_close(mass[:, head, :KEYS], 1 + received)
    assert torch.equal(mass[..., KEYS:], torch.ones_like(mass[..., KEYS:]))


def test_functions_of_bert_and_llama_are_plain():
    for family, groups in ((modeling_bert, HEADS), (modeling_llama, GROUPS)):
        given = layer(torch.float32, groups)
        options = {"scaling": 0.2, "dropout": 0.0}
        module = attention_module(groups)
        assert is_plain(family.eager_attention_forward, module, *given, options), family.__name__


def test_a_cap_on_scores_is_not_plain():
    given, eager = layer(torch.float32), modeling_gemma2.eager_attention_forward
    options = {"scaling": 0.2, "dropout": 0.0}
    assert not is_plain(eager, attention_module(), *given, {**options, "softcap": 50.0})
    assert is_plain(eager, attention_module(), *given, {**options, "softcap": None})


def test_sinks_are_not_plain():
    given, eager = layer(torch.float32), modeling_gpt_oss.eager_attention_forward
    module = attention_module(sinks=torch.zeros(HEADS))
    assert not is_plain(eager, module, *given, {"scaling": 0.2, "dropout": 0.0})


def test_half_precision_is_left_to_the_family():
    given, eager = layer(torch.bfloat16), modeling_llama.eager_attention_forward
    assert not is_plain(eager, attention_module(), *given, {"scaling": 0.2, "dropout": 0.0})


def test_a_function_that_fails_on_other_shapes_is_not_plain():
    given = layer(torch.float32)

    def eager(module, query, key, value, mask, bias):
        return modeling_llama.eager_attention_forward(module, query, key, value, mask + bias, 0.2)

    bias = torch.zeros(3, 1, QUERIES, KEYS)
    assert not is_plain(eager, attention_module(), *given, {"bias": bias})
