"""The minimal analysis as a skilled user writes it without headscope, in two ways.

Minimal: raw similarity, column-sum mask, top 1 % pairs, their distances, same sentence, repetition,
focal token, and the sum of C over windows (one sum for all layers: the same work in less memory).
Both get z and the attention maps from whatever reads the model: hooks (here), nnsight or
TransformerLens (`peers.py`). Neither has nulls, sweeps, intervals, checks or files.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel

from common.plain_batches import PlainBatch

OnLayer = Callable[[Tensor, Tensor], None]
Reader = Callable[[PlainBatch, OnLayer], None]
"""Runs a model over a batch; `OnLayer` gets z (batch head token d_head) and A of every layer."""


class LastAttentionDone(Exception):
    """Raised to end a forward pass: what comes after the last attention is not needed."""


def hooks(model: PreTrainedModel) -> Reader:
    """A reader of an eager model, by hooks that stay on it."""
    heads, layers = model.config.num_attention_heads, model.config.num_hidden_layers
    # No key is needed again: a cache of them would only slow this down.
    uncached = {"use_cache": False} if not is_bert(model) else {}
    joined: list[Tensor] = []
    receiver: list[OnLayer] = []
    done = 0

    def on_projection(module: torch.nn.Module, given: tuple[Tensor, ...]) -> None:
        joined.append(given[0])

    def on_attention(module: torch.nn.Module, given: object, got: tuple[Tensor, ...]) -> None:
        nonlocal done
        # BERT's attention gives what its heads wrote; others project it before they give it.
        z = joined.pop() if joined else got[0]
        receiver[0](by_head(z, heads), got[1])
        done += 1
        if done == layers:
            raise LastAttentionDone

    for name, module in model.named_modules():
        if name.endswith("self_attn.o_proj"):
            module.register_forward_pre_hook(on_projection)
        elif name.endswith(("attention.self", "self_attn")):
            module.register_forward_hook(on_attention)

    def read(batch: PlainBatch, on_layer: OnLayer) -> None:
        nonlocal done
        done, receiver[:] = 0, [on_layer]
        with torch.inference_mode():
            try:
                model(**batch.inputs, **uncached)
            except LastAttentionDone:
                return
        raise LookupError(f"attention of {layers} layers was expected, {done} came")

    return read


def is_bert(model: PreTrainedModel) -> bool:
    return hasattr(model, "encoder")


def by_head(joined: Tensor, heads: int) -> Tensor:
    """(batch token d_model) as (batch head token d_head)."""
    return joined.reshape(*joined.shape[:2], heads, -1).transpose(1, 2)


@lru_cache(maxsize=2)
def pairs_of(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs of n tokens."""
    return np.triu_indices(n, 1)


def numpy_per_head(read: Reader, batch: PlainBatch) -> None:
    """Careful NumPy, a head at a time; products of vectors by torch, for all heads at once."""
    counted = batch.counted.numpy()
    sentence, token = batch.sentence_ids.numpy(), batch.token_ids.numpy()
    n = counted.shape[1]
    total: Tensor | None = None
    known = []
    for window in range(len(counted)):
        i, j = pairs_of(n)
        possible = counted[window, i] & counted[window, j]
        i, j = i[possible], j[possible]
        name = np.unique(token[window], return_inverse=True)[1]
        same_sentence = sentence[window, i] == sentence[window, j]
        known.append((i, j, i * n + j, same_sentence, name[i] == name[j], name))

    def on_layer(z: Tensor, attention: Tensor) -> None:
        nonlocal total
        similarity = z @ z.mT
        total = similarity.sum(0) if total is None else total.add_(similarity.sum(0))
        masses, flat_similarity = attention.sum(-2).numpy(), similarity.flatten(2).numpy()
        for window, (i, j, flat, same_sentence, same_token, name) in enumerate(known):
            take = max(1, round(0.01 * len(flat)))
            for head in range(z.shape[1]):
                mass = masses[window, head]
                high = mass >= 0.3 * mass[counted[window]].max()
                values = flat_similarity[window, head].take(flat)
                chosen = np.flatnonzero(values >= np.partition(values, -take)[-take])
                one, other = i[chosen], j[chosen]
                _ = (
                    (other - one).mean(),
                    same_sentence[chosen].mean(),
                    same_token[chosen].mean(),
                    (high[one] | high[other]).mean(),
                    np.bincount(name[np.concatenate([one, other])]).argmax(),
                )

    read(batch, on_layer)


def torch_per_layer(read: Reader, batch: PlainBatch) -> None:
    """Vectorised torch, a layer at a time."""
    counted, sentence, token = batch.counted, batch.sentence_ids, batch.token_ids
    n = counted.shape[1]
    i, j = (torch.from_numpy(side) for side in pairs_of(n))
    # Only pairs that some window has; those that other windows lack are masked below.
    wanted = (counted[:, i] & counted[:, j]).any(0)
    i, j = i[wanted], j[wanted]
    flat = i * n + j
    impossible = ~(counted[:, i] & counted[:, j])[:, None]
    some_impossible = bool(impossible.any())
    same_sentence = (sentence[:, i] == sentence[:, j])[:, None]
    same_token = (token[:, i] == token[:, j])[:, None]
    take = max(1, round(0.01 * int((~impossible[0]).sum())))
    total: Tensor | None = None

    def on_layer(z: Tensor, attention: Tensor) -> None:
        nonlocal total
        similarity = z @ z.mT
        total = similarity.sum(0) if total is None else total.add_(similarity.sum(0))
        mass = attention.sum(-2)
        high = mass >= 0.3 * mass.masked_fill(~counted[:, None], 0).amax(-1, keepdim=True)
        values = similarity.flatten(2)[..., flat]
        if some_impossible:
            values.masked_fill_(impossible, -torch.inf)
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

    read(batch, on_layer)
