"""How much each head of a model matters, by several roads: what pruning goes by.

- **written_deviation**: how much what a head writes varies, relative to the residual stream; what
  it writes on average can stay as a bias. No labels, no gradients, one pass.
- **write_strength**: how long what it writes is, relative to the residual stream.
- **gradient**: how much the loss would change per share of the head that is taken away, to first
  order: the mean over windows of |sum over tokens of z . dL/dz| (Michel et al. 2019).
- **ablation**: how far the model's answers move without the head, exactly, every head switched off
  in turn (`headscope.intervene.ablation_study.ablation_scores`). A pass from its layer on per head.
- **random**: by chance, to compare with.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import torch

from headscope.errors import SettingsError
from headscope.measuring.batch import batches
from headscope.measuring.outcome import Outcome
from headscope.measuring.writes import MeasuredWrites
from headscope.models.site import AttentionSite
from headscope.settings import Settings
from headscope.text.windows import Window

Criterion = Literal["written_deviation", "write_strength", "gradient", "ablation", "random"]
CRITERIA: tuple[Criterion, ...] = get_args(Criterion)
Head = tuple[str, int, int]
"""Stack, layer and head, from 1."""
OnWindows = Callable[[int], None]


def written_scores(
    measured: MeasuredWrites, criterion: Literal["written_deviation", "write_strength"]
) -> dict[Head, float]:
    """Scores by what heads write.

    Args:
        measured: What they write over some windows.
        criterion: The variation of it, or its length.
    """
    by_site = {
        site: sums.deviation if criterion == "written_deviation" else sums.strength
        for site, sums in measured.sums.items()
    }
    return _by_head(by_site)


def random_scores(sites: Sequence[AttentionSite], seed: int) -> dict[Head, float]:
    """Scores by chance.

    Args:
        sites: The layers of the model.
        seed: Of the numbers.
    """
    generator = np.random.default_rng(seed)
    return _by_head({site: generator.random(site.heads) for site in sites})


def gradient_scores(
    outcome: Outcome, windows: Sequence[Window], on_windows: OnWindows = lambda number: None
) -> dict[Head, float]:
    """Scores by the gradient of the loss.

    Args:
        outcome: Of a model with a loss.
        windows: What the model reads.
        on_windows: Called with the number of windows of each batch that is done.
    """
    model = outcome.model
    refuse_without_loss(outcome)
    totals = {site: np.zeros(site.heads) for site in model.sites}
    for places in batches(windows, max_tokens=Settings().batch_tokens):
        group = [windows[place] for place in places]
        for site, gradients in _gradients(outcome, group).items():
            totals[site] += gradients
        on_windows(len(places))
    return _by_head({site: total / max(1, len(windows)) for site, total in totals.items()})


def refuse_without_loss(outcome: Outcome) -> None:
    """Refuse gradients of a model that has no loss.

    Args:
        outcome: How the model is read.
    """
    if not outcome.has_loss:
        raise SettingsError(
            f"by: {outcome.model.name} has no loss, so there is no gradient to prune by; choose "
            "written_deviation"
        )


def _gradients(outcome: Outcome, windows: Sequence[Window]) -> dict[AttentionSite, np.ndarray]:
    """For each head, |sum over tokens of z . dL/dz|, added up over windows."""
    model, batch = outcome.model, outcome.prepare(windows)
    factors = {
        site: torch.ones(len(windows), site.heads, device=model.device, requires_grad=True)
        for site in model.sites
    }
    frozen = [parameter for parameter in model.model.parameters() if parameter.requires_grad]
    try:
        for parameter in frozen:  # gradients of weights would cost as much again
            parameter.requires_grad_(False)
        with torch.enable_grad(), model.scaled(factors):
            reading = outcome.reading(model.model(**batch.inputs, **model.call_options), batch)
            outcome.losses(reading, reading).sum().backward()  # type: ignore[no-untyped-call]
    finally:
        for parameter in frozen:
            parameter.requires_grad_(True)
    found = {}
    for site, factor in factors.items():
        assert factor.grad is not None
        found[site] = factor.grad.double().abs().sum(0).cpu().numpy()
    return found


def _by_head(values: Mapping[AttentionSite, np.ndarray]) -> dict[Head, float]:
    return {
        (site.stack, site.layer, head): float(value)
        for site, each in values.items()
        for head, value in enumerate(each, start=1)
    }
