"""What every head writes for a sample of windows, held in memory: for matching heads only.

The two models run one after the other, so the vectors of the first are kept until the second has
run. Each model takes tokens * layers * heads * d_head * 4 bytes: 0.3 GB for 64 windows of 128
tokens and BERT-base. Use it for small samples only.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.kernels.window_batch import TokenLabels
from headscope.measuring.batch import batches
from headscope.measuring.labels import label_tokens, shifted_right
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite, LayerCapture
from headscope.text.windows import Window

_BATCH_TOKENS = 2048


@dataclass(frozen=True, eq=False)
class StackFeatures:
    """The head outputs of one stack, special tokens left out."""

    vectors: dict[int, Float[Tensor, "token head d_head"]]
    """By layer; the tokens of all windows one after the other."""
    window_tokens: tuple[int, ...]
    """Number of tokens of each window."""


def head_features(
    model: LoadedModel, windows: Sequence[Window], stacks: Collection[str]
) -> dict[str, StackFeatures]:
    """The head outputs of some stacks, for every token of the windows that is not special.

    Args:
        model: The model.
        windows: The sample.
        stacks: The names of the stacks.
    """
    sites = [site for site in model.sites if site.stack in stacks]
    pieces: dict[AttentionSite, list[Tensor]] = {
        site: [torch.empty(0)] * len(windows) for site in sites
    }
    for places in batches(windows, max_tokens=_BATCH_TOKENS):
        labels = label_tokens([windows[place] for place in places], model.device)
        counted = {stack: _queries(model, stack, labels).counted(False) for stack in stacks}

        def on_layer(capture: LayerCapture) -> None:
            outputs = capture.head_output.transpose(1, 2)  # batch, token, head, d_head
            of_stack = counted[capture.site.stack]  # noqa: B023  # called within this iteration
            for row, place in enumerate(places):  # noqa: B023
                pieces[capture.site][place] = outputs[row, of_stack[row]].float().cpu()

        model.forward(labels.token_ids, labels.real, on_layer, sites=sites)
    features = {}
    for stack in stacks:
        of_stack = [site for site in sites if site.stack == stack]
        lengths = tuple(len(piece) for piece in pieces[of_stack[0]])
        # The pieces of a site are released once they are joined, so that nothing is held twice.
        vectors = {site.layer: torch.cat(pieces.pop(site)) for site in of_stack}
        features[stack] = StackFeatures(vectors, lengths)
    return features


def _queries(model: LoadedModel, stack: str, labels: TokenLabels) -> TokenLabels:
    if not model.reads_shifted(stack):
        return labels
    return shifted_right(labels, model.start_token_id)
