"""The loss of a causal model on single tokens, from its last hidden states."""

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.models.loaded import LoadedModel

_AT_ONCE = 128
"""Tokens whose scores over the vocabulary are held at once."""


def has_loss(model: LoadedModel) -> bool:
    """Whether the next token can be scored: causal, with output embeddings that were loaded.

    Models are loaded without a head of their own. Where input and output embeddings are the same
    (SmolLM2, GPT-2), the former score; where they differ, there is no loss.

    Args:
        model: What reads the texts.
    """
    config = model.config
    embeddings = model.model.get_input_embeddings()
    return bool(
        all(site.causal for site in model.sites)
        and not config.is_encoder_decoder
        and getattr(config, "tie_word_embeddings", False)
        and getattr(config, "final_logit_softcapping", None) is None
        and getattr(config, "logits_scaling", None) is None
        and getattr(config, "logit_scale", None) is None
        and isinstance(embeddings, torch.nn.Embedding)
        and embeddings.embedding_dim == config.hidden_size
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
    embeddings = model.model.get_input_embeddings()
    assert isinstance(embeddings, torch.nn.Embedding)
    losses = np.full(len(places), np.nan)
    inside = torch.nonzero(places < len(token_ids) - 1).flatten()
    with torch.inference_mode():
        for some in torch.split(inside, _AT_ONCE):
            at = places[some]
            scores = (states[at] @ embeddings.weight.T).float()
            targets = token_ids[at + 1].to(scores.device)
            losses[some.numpy()] = torch.nn.functional.cross_entropy(
                scores, targets, reduction="none"
            ).cpu()
    return losses
