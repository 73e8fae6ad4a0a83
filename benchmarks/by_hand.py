"""The minimal analysis as a skilled user writes it without headscope, in two ways.

Minimal: raw similarity, column-sum mask, top 1 % pairs, their distances, same sentence, repetition,
focal token, and the sum of C over texts. Both are given z and the attention maps by whatever reads
the model: hooks (here), nnsight or TransformerLens (`peers.py`). Neither has nulls, sweeps,
intervals, checks or files.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from headscope.kernels.labels import SENTENCE, TOKEN, TokenLabels

OnLayer = Callable[[Tensor, Tensor], None]
Reader = Callable[[TokenLabels, OnLayer], None]
"""Runs a model over a batch; `OnLayer` gets z (batch head token d_head) and A of every layer."""


def hooks(model: PreTrainedModel) -> Reader:
    """Reads an eager model with hooks."""
    return lambda labels, on_layer: _read_with_hooks(model, labels, on_layer)


def _read_with_hooks(model: PreTrainedModel, labels: TokenLabels, on_layer: OnLayer) -> None:
    heads = model.config.num_attention_heads
    waiting: list[Tensor] = []

    def on_projection(module: torch.nn.Module, given: tuple[Tensor, ...]) -> None:
        waiting.append(given[0])

    def on_attention(module: torch.nn.Module, given: object, got: tuple[Tensor, ...]) -> None:
        joined = waiting.pop()
        z = joined.unflatten(-1, (heads, -1)).transpose(1, 2)
        on_layer(z, got[1])

    registered = []
    for name, module in model.named_modules():
        if name.endswith(("attention.output.dense", "self_attn.o_proj")):
            registered.append(module.register_forward_pre_hook(on_projection))
        elif name.endswith(("layer.attention", "self_attn")) or name.split(".")[-1] == "attention":
            registered.append(module.register_forward_hook(on_attention))
    try:
        with torch.inference_mode():
            model(
                input_ids=labels.token_ids,
                attention_mask=labels.real.long(),
                output_attentions=True,
            )
    finally:
        for hook in registered:
            hook.remove()


def numpy_per_head(read: Reader, labels: TokenLabels) -> None:
    """Careful NumPy, a head at a time."""
    counted = labels.counted(False).numpy()
    sentence, token = labels.groups[SENTENCE].numpy(), labels.groups[TOKEN].numpy()
    n = counted.shape[1]
    total: dict[int, NDArray[np.float32]] = {}
    known = []
    for text in range(len(counted)):
        i, j = np.triu_indices(n, 1)
        possible = counted[text, i] & counted[text, j]
        i, j = i[possible], j[possible]
        name = np.unique(token[text], return_inverse=True)[1]
        same_sentence = sentence[text, i] == sentence[text, j]
        known.append((i, j, i * n + j, same_sentence, name[i] == name[j], name))

    def on_layer(z: Tensor, attention: Tensor) -> None:
        for text, (i, j, flat, same_sentence, same_token, name) in enumerate(known):
            for head in range(z.shape[1]):
                vectors = z[text, head].numpy()
                similarity = vectors @ vectors.T
                total[head] = total.get(head, 0) + similarity
                mass = attention[text, head].sum(0).numpy()
                high = mass >= 0.3 * mass[counted[text]].max()
                values = similarity.ravel().take(flat)
                take = max(1, round(0.01 * len(values)))
                chosen = np.argpartition(values, -take)[-take:]
                one, other = i[chosen], j[chosen]
                _ = (
                    (other - one).mean(),
                    same_sentence[chosen].mean(),
                    same_token[chosen].mean(),
                    (high[one] | high[other]).mean(),
                    np.bincount(name[np.concatenate([one, other])]).argmax(),
                )

    read(labels, on_layer)


def torch_per_layer(read: Reader, labels: TokenLabels) -> None:
    """Vectorised torch, a layer at a time."""
    counted = labels.counted(False)
    n = counted.shape[1]
    i, j = torch.triu_indices(n, n, 1)
    possible = (counted[:, i] & counted[:, j])[:, None]
    sentence, token = labels.groups[SENTENCE], labels.groups[TOKEN]
    same_sentence = (sentence[:, i] == sentence[:, j])[:, None]
    same_token = (token[:, i] == token[:, j])[:, None]
    take = max(1, round(0.01 * int(possible[0].sum())))
    total = torch.zeros(1)

    def on_layer(z: Tensor, attention: Tensor) -> None:
        nonlocal total
        similarity = z @ z.mT
        total = total + similarity.sum(0)
        mass = attention.sum(-2)
        high = mass >= 0.3 * mass.amax(-1, keepdim=True)
        values = similarity[:, :, i, j].masked_fill(~possible, -torch.inf)
        chosen = values.topk(take, sorted=False).indices
        one, other = i[chosen], j[chosen]
        elements = torch.cat([one, other], -1)
        names = token[:, None].expand(-1, z.shape[1], -1).gather(-1, elements)
        _ = (
            (other - one).float().mean(-1),
            same_sentence.expand(-1, z.shape[1], -1).gather(-1, chosen).float().mean(-1),
            same_token.expand(-1, z.shape[1], -1).gather(-1, chosen).float().mean(-1),
            (high.gather(-1, one) | high.gather(-1, other)).float().mean(-1),
            names.mode(-1).values,
        )

    read(labels, on_layer)
