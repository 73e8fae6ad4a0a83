"""What every head writes for a sample of texts, held in memory: for matching heads alone.

Two models are not run in step, so the vectors of one have to wait for those of the other. Each
model takes tokens * layers * heads * d_head * 4 bytes: 64 windows of 128 tokens of BERT-base are
0.3 GB. Nothing larger than a sample should be given.
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
    """By layer; the tokens of all texts one after the other."""
    text_tokens: tuple[int, ...]
    """Tokens of each text."""


def head_features(
    model: LoadedModel, windows: Sequence[Window], stacks: Collection[str]
) -> dict[str, StackFeatures]:
    """The head outputs of some stacks, for every token of the windows that is not special."""
    sites = [site for site in model.sites if site.stack in stacks]
    pieces: dict[AttentionSite, list[Tensor]] = {
        site: [torch.empty(0)] * len(windows) for site in sites
    }
    for places in batches(windows, max_tokens=_BATCH_TOKENS):
        labels = label_tokens([windows[place] for place in places], model.device)
        counted = {stack: _queries(model, stack, labels).counted(False) for stack in stacks}

        def on_layer(capture: LayerCapture) -> None:
            outputs = capture.head_output.transpose(1, 2)  # batch, token, head, d_head
            of_stack = counted[capture.site.stack]  # noqa: B023  # called before the loop goes on
            for row, place in enumerate(places):  # noqa: B023
                pieces[capture.site][place] = outputs[row, of_stack[row]].float().cpu()

        model.forward(labels.token_ids, labels.real, on_layer, sites=sites)
    features = {}
    for stack in stacks:
        of_stack = [site for site in sites if site.stack == stack]
        lengths = tuple(len(piece) for piece in pieces[of_stack[0]])
        # Each site's pieces go as they are joined, so that nothing is held twice.
        vectors = {site.layer: torch.cat(pieces.pop(site)) for site in of_stack}
        features[stack] = StackFeatures(vectors, lengths)
    return features


def _queries(model: LoadedModel, stack: str, labels: TokenLabels) -> TokenLabels:
    if not model.reads_shifted(stack):
        return labels
    return shifted_right(labels, model.start_token_id)
