"""The loss of a causal model on single tokens, from its last hidden states."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.models.loaded import LoadedModel
from headscope.models.output_head import output_head_of

_AT_ONCE = 128
"""Tokens whose scores over the vocabulary are held at once."""


def has_loss(model: LoadedModel) -> bool:
    """Whether the next token can be scored: the model is causal and was loaded with its head.

    Heads that change scores further (Gemma's soft caps, Granite's and Cohere's scales) are not
    followed: such a model has no loss here.

    Args:
        model: What reads the texts.
    """
    own: Any = model.model
    further = ("final_logit_softcapping", "logits_scaling", "logit_scale")
    return (
        output_head_of(own) == "causal"
        and own.get_output_embeddings() is not None
        and all(getattr(model.config, name, None) is None for name in further)
    )


def next_token_losses(
    model: LoadedModel,
    states: Float[Tensor, "token d_model"],
    token_ids: Int[Tensor, " token"],
    places: Int[Tensor, " score"],
) -> NDArray[np.float64]:
    """The loss of the token after each place, in nats; NaN after the last token.

    Args:
        model: That gave the states.
        states: Its last hidden states.
        token_ids: Of the text.
        places: After which tokens are scored.
    """
    own: Any = model.model
    head = own.get_output_embeddings()
    losses = np.full(len(places), np.nan)
    inside = torch.nonzero(places < len(token_ids) - 1).flatten()
    with torch.inference_mode():
        for some in torch.split(inside, _AT_ONCE):
            at = places[some]
            scores = head(states[at]).float()
            targets = token_ids[at + 1].to(scores.device)
            losses[some.numpy()] = torch.nn.functional.cross_entropy(
                scores, targets, reduction="none"
            ).cpu()
    return losses
