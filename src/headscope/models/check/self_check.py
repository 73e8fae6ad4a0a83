"""The self-check: what the tap reads, compared with the model's own arithmetic on every load.

Residuals are relative (Frobenius norm of the difference over that of the reference), the largest
over all sites. What must hold at every site:

- **product**: Z_h = A_h V_g for each head h and its value group g. Swapped heads break it.
- **projection**: the output projection takes exactly Z, heads in order, and the contributions of
  the heads through it add up to its output. A tensor from after the projection breaks it.
- **rows**: attention rows of real queries sum to 1 (to at most 1 with sinks).
- **padding**: the shorter input gives the same Z and A alone and padded. A wrong mask breaks it.
- **output**: the model computes the same with the tap as without it.

Product and projection together fix the order of heads: A_h belongs to Z_h, and Z_h is the h-th
slice of what the model itself projects.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from jaxtyping import Float
from torch import Tensor
from transformers import PreTrainedModel

from headscope.errors import TapError
from headscope.models.check.probe import Inputs, Probe
from headscope.models.check.projection_watch import Projection, ProjectionWatch
from headscope.models.check.prove_pieces import prove_pieces
from headscope.models.site import AttentionSite
from headscope.models.taps import AttentionCall, Tap

TOLERANCE = {
    torch.float64: 1e-10,
    torch.float32: 1e-4,
    torch.float16: 1e-2,
    torch.bfloat16: 5e-2,
}
"""Largest residual that passes, by the dtype of the weights. A wrong head gives more than 0.05."""

Run = Callable[[Inputs], Any]


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """Residuals of a tap that passed: all within `tolerance`, except as `flags` says."""

    product: float
    projection: float | None
    """None when no site's projection takes Z unchanged: see `flags`."""
    rows: float
    padding: float | None
    """None where inputs have one size (images, spectrograms)."""
    output: float
    tolerance: float
    flags: tuple[str, ...]
    """What users of this model must know, as sentences. Empty for most families."""

    @property
    def residuals(self) -> dict[str, float | None]:
        """The residuals by their names."""
        names = ("product", "projection", "rows", "padding", "output")
        return {name: getattr(self, name) for name in names}


def check_tap(
    model: PreTrainedModel, tap: Tap, sites: tuple[AttentionSite, ...], probe: Probe, run: Run
) -> SelfCheck:
    """The residuals of a tap that passes.

    Args:
        model: The model.
        tap: How its attention is read.
        sites: Its attention sites.
        probe: The inputs of the check.
        run: Runs the model.

    Raises:
        TapError: A site is out of tolerance; the message names the first.
    """
    tolerance = TOLERANCE[model.dtype]
    watch = ProjectionWatch(tolerance)
    calls: list[AttentionCall] = []

    def on_call(call: AttentionCall) -> None:
        calls.append(call)
        watch.announce(call.head_output)

    # The watch is entered first, so that a tap in function mode sees each function before it.
    with watch, tap.listen(on_call):
        output = run(probe.padded)
    alone: list[AttentionCall] = []
    if probe.alone is not None:
        with tap.listen(alone.append):
            run(probe.alone)

    prove_pieces(tap, lambda: run(probe.padded), calls, tolerance)
    worst = _Worst(type(model).__name__, sites, tolerance)
    product = worst(
        "head outputs are not attention times values (swapped heads, or the wrong tensor)",
        [_difference(call.head_output, _attention_times_value(call)) for call in calls],
    )
    rows = worst("attention rows do not sum to 1", [_row_residual(call) for call in calls])
    flags = []
    padding = None
    if alone:
        residuals = [_padding_residual(*pair) for pair in zip(calls, alone, strict=True)]
        if model.main_input_name == "input_values" and not max(residuals) <= tolerance:
            # That is how the model works: its convolutions normalise over the whole recording.
            padding = max(residuals)
            flags.append("padding changes what this model computes: batch equal lengths only")
        else:
            padding = worst("padding changes the result (wrong attention mask)", residuals)
    if watch.reordered:
        worst.fail(watch.reordered[0], "the model projects the heads in another order")
    projections = list(zip(sites, watch.found, strict=True))
    if unprojected := [site for site, found in projections if not found]:
        flags.append(
            f"{len(unprojected)} of {len(sites)} output projections do not take the head output as "
            f"it is but gated or normalised ({unprojected[0].name}): the head outputs "
            "are right, but do not add up through the projection"
        )
    projection = None
    if len(unprojected) < len(sites):
        sums = [_sum_residual(found, site) if found else 0.0 for site, found in projections]
        projection = worst("contributions of the heads do not add up", sums)
    eager_output = _eager_output(model, probe, run)
    difference = _difference(_hidden_states(output), _hidden_states(eager_output))
    return SelfCheck(
        product=product,
        projection=projection,
        rows=rows,
        padding=padding,
        output=worst("the model's output changes when it is tapped", [difference]),
        tolerance=tolerance,
        flags=tuple(flags),
    )


@dataclass(frozen=True, slots=True)
class _Worst:
    """The largest of some residuals, one per site, if it is within tolerance."""

    model: str
    sites: tuple[AttentionSite, ...]
    tolerance: float

    def __call__(self, failure: str, residuals: list[float]) -> float:
        for index, residual in enumerate(residuals):
            if not residual <= self.tolerance:  # NaN fails too
                allowed = f"{residual:.2g}, allowed {self.tolerance:.0e}"
                self.fail(index if len(residuals) > 1 else None, f"{failure}; residual {allowed}")
        return max(residuals)

    def fail(self, index: int | None, failure: str) -> NoReturn:
        where = ""
        if index is not None:
            site = self.sites[index]
            where = f" at {site.stack} layer {site.layer} ({site.name})"
        raise TapError(
            f"self-check of {self.model} failed{where}: {failure}; please report this model"
        )


def _difference(tensor: Float[Tensor, "..."], reference: Float[Tensor, "..."]) -> float:
    """Norm of the difference relative to the reference, in float64."""
    reference = reference.double()
    norm = torch.linalg.vector_norm(tensor.double() - reference)
    return float(norm / torch.linalg.vector_norm(reference).clamp_min(1e-30))


def _attention_times_value(call: AttentionCall) -> Float[Tensor, "batch head query d_head"]:
    heads, groups = call.attention.shape[1], call.value.shape[1]
    value = call.value.repeat_interleave(heads // groups, dim=1)
    return call.attention.double() @ value.double()


def _row_residual(call: AttentionCall) -> float:
    """How far the row sums of the first input are from 1; with sinks, how far above 1."""
    excess = call.attention[0].double().sum(dim=-1) - 1
    return float((excess.clamp_min(0) if call.has_sinks else excess.abs()).max())


def _padding_residual(padded: AttentionCall, alone: AttentionCall) -> float:
    """How much the second input differs from itself alone, attention on padding included."""
    queries, keys = alone.attention.shape[-2:]
    attention = torch.zeros_like(padded.attention[1, :, :queries])
    attention[..., :keys] = alone.attention[0]
    return max(
        _difference(padded.attention[1, :, :queries], attention),
        _difference(padded.head_output[1, :, :queries], alone.head_output[0]),
    )


def _sum_residual(projection: Projection, site: AttentionSite) -> float:
    contributions, without_heads = projection.contributions(site.heads)
    total = torch.stack([part.double() for part in contributions]).sum(dim=0)
    return _difference(total + without_heads, projection.output)


def _eager_output(model: PreTrainedModel, probe: Probe, run: Run) -> Any:
    """What the model computes with its own eager attention, untapped."""
    implementation = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        return run(probe.padded)
    finally:
        model.set_attn_implementation(implementation)


def _hidden_states(output: Any) -> Tensor:
    return output[0]  # type: ignore[no-any-return]
