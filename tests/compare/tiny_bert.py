"""A tiny random BERT with a tokenizer, and copies of it with its heads in another order."""

import copy
from functools import cache

import torch
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

import headscope as hs
from headscope.models.loaded import LoadedModel
from tests.text.tiny_tokenizers import wordpiece

LAYERS, HEADS, D_HEAD = 2, 4, 6
TEXTS = [
    "The cat sat on the mat. The dog, however, did not sit on it!",
    "Words repeat, words return, and the same words end a sentence.",
    "He said the same words to the dog. Did the dog sit? It did not sit on the mat.",
    "A sentence, and a sentence, and the end of a sentence.",
    "Cups, mats, cats and dogs in cafés: don't they sit there a day?",
    "Yes, he said. The naive dog sat on the cup, however.",
]


def tiny_bert(seed: int = 0) -> BertModel:
    """Weights large enough that heads differ clearly."""
    torch.manual_seed(seed)
    model = BertModel(
        BertConfig(
            vocab_size=200,
            hidden_size=HEADS * D_HEAD,
            intermediate_size=32,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            max_position_embeddings=128,
        )
    )
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(0.3 / parameter.std())
    return model.eval()


def with_heads_permuted(model: BertModel, orders: list[list[int]]) -> BertModel:
    """The same function, whose head i of a layer is head `orders[layer][i]` of `model`."""
    permuted = copy.deepcopy(model)
    with torch.no_grad():
        for layer, order in zip(permuted.encoder.layer, orders, strict=True):
            rows = torch.cat([torch.arange(head * D_HEAD, (head + 1) * D_HEAD) for head in order])
            attention = layer.attention
            for projection in (attention.self.query, attention.self.key, attention.self.value):
                projection.weight.copy_(projection.weight[rows].clone())
                projection.bias.copy_(projection.bias[rows].clone())
            output = attention.output.dense.weight
            output.copy_(output[:, rows].clone())
    return permuted


@cache
def tokenizer_of_all() -> PreTrainedTokenizerFast:
    """Made once: training breaks ties by chance."""
    return wordpiece()


def loaded(model: BertModel, tokenizer: PreTrainedTokenizerFast | None = None) -> LoadedModel:
    return hs.load_model(copy.deepcopy(model), tokenizer=tokenizer or tokenizer_of_all())
