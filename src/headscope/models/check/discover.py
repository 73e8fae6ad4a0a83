"""Which attention sites a model has: found by one forward pass, not by names."""

from collections import Counter

from jaxtyping import Float
from torch import Tensor
from transformers import PreTrainedModel

from headscope.models.site import AttentionSite, Tier
from headscope.models.taps import AttentionCall


def discover_sites(
    model: PreTrainedModel, tier: Tier, calls: list[AttentionCall]
) -> tuple[AttentionSite, ...]:
    """The sites of all attention calls of one forward pass, in their order.

    `layer_idx` is missing in some families, collides between stacks in others, and layers may share
    one module: only the order of calls numbers all of them.

    Args:
        model: Which made the calls, on a probe.
        tier: How head outputs are read.
        calls: What one forward pass computed.
    """
    first_tokens = calls[0].attention.shape[-2]
    causal = [_is_causal(call.attention) for call in calls]
    layers: Counter[str] = Counter()
    sites = []
    for call, call_is_causal in zip(calls, causal, strict=True):
        queries, keys = call.attention.shape[-2:]
        if not model.config.is_encoder_decoder:
            stack = "decoder" if all(causal) else "encoder"
        elif queries == first_tokens:
            stack = "encoder"
        else:
            stack = "cross" if keys == first_tokens else "decoder"
        layers[stack] += 1
        sites.append(
            AttentionSite(
                stack=stack,
                layer=layers[stack],
                name=call.name,
                heads=call.head_output.shape[1],
                d_head=call.head_output.shape[-1],
                causal=call_is_causal,
                tier=tier,
            )
        )
    return tuple(sites)


def _is_causal(attention: Float[Tensor, "batch head query key"]) -> bool:
    """Whether no query of the first input, which has no padding, attends to a later key."""
    queries, keys = attention.shape[-2:]
    return queries == keys and bool((attention[0].triu(diagonal=1) == 0).all())
