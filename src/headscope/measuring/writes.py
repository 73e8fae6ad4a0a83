"""What every head writes into the residual stream over some windows: strength, deviation, Σzz'.

Given a model and windows; gives sums that add up over windows. Tokens of the text count, those at
position 0 and special tokens do not: models park large vectors there that say nothing of the text.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from headscope.kernels.head_writes import WriteSums, write_sums
from headscope.kernels.window_batch import TokenLabels
from headscope.measuring.batch import batches
from headscope.measuring.labels import label_tokens, shifted_right
from headscope.measuring.write_roots import write_roots
from headscope.models.head_writes import FoundWrites, find_writes, reading_residuals
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite, MassCapture
from headscope.settings import Settings
from headscope.text.windows import Window


@dataclass(frozen=True, eq=False, slots=True)
class MeasuredWrites:
    """What the heads of a model write over some windows."""

    sums: Mapping[AttentionSite, WriteSums]
    """Of each layer whose output projection is known."""
    writes: FoundWrites
    """W_O of these layers, and why other layers are missing."""


def measure_writes(
    model: LoadedModel,
    windows: Sequence[Window],
    *,
    sites: Collection[AttentionSite] | None = None,
    outer: bool = True,
    batch_tokens: int | None = None,
    on_windows: Callable[[int], None] = lambda windows: None,
) -> MeasuredWrites:
    """What the heads of a model write over some windows.

    Args:
        model: Of text.
        windows: What it reads; at least one.
        sites: Which attention layers; all for None.
        outer: Whether Σzz' of all heads of a layer together is kept: (heads x d_head)^2 numbers.
        batch_tokens: Number of tokens in a batch (default: that of `Settings`).
        on_windows: Called with the number of windows of each batch that is done.
    """
    writes = find_writes(model, sites)
    roots = write_roots(writes)
    sums: dict[AttentionSite, WriteSums] = {}
    with reading_residuals(model, writes.found.values()) as residuals:
        for places in batches(windows, max_tokens=batch_tokens or Settings().batch_tokens):
            labels = label_tokens([windows[place] for place in places], model.device)

            def on_layer(capture: MassCapture, labels: TokenLabels = labels) -> None:
                site = capture.site
                more = write_sums(
                    capture.head_output,
                    residuals.entering(writes.found[site]),
                    text_tokens(model, site.stack, labels),
                    roots[site],
                    outer=outer,
                )
                sums[site] = sums[site] + more if site in sums else more

            with torch.inference_mode():
                model.forward_mass(labels.token_ids, labels.real, on_layer, sites=writes.found)
            on_windows(len(places))
    return MeasuredWrites(sums, writes)


def text_tokens(model: LoadedModel, stack: str, labels: TokenLabels) -> Bool[Tensor, "batch token"]:
    """The tokens that heads of a stack write for, without special tokens and position 0.

    Args:
        model: What reads the windows.
        stack: One of its stacks.
        labels: Of the windows.
    """
    read = shifted_right(labels, model.start_token_id) if model.reads_shifted(stack) else labels
    counted = read.counted(special_tokens=False)
    counted[:, 0] = False
    return counted
