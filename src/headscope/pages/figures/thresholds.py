"""How the findings move with the thresholds: the paper's choice of threshold, tested."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.findings.depth import three_depths
from headscope.measures.measure import ratio
from headscope.pages.figures.figure import RunFigure, from_results
from headscope.pages.figures.layout import NothingToDraw, framed_figure
from headscope.pages.figures.source import Source
from headscope.pages.figures.style import DEPTHS, EXPECTED, style
from headscope.settings import PairRule

_Values = NDArray[np.float64]


def thresholds_figure(results: xr.Dataset, source: Source) -> Figure:
    """Rows: pair rules `top` and `max`, attention threshold. Columns: measures. Lines: depths.

    The attention threshold changes only what is about attention. A vertical line marks the run's
    own setting.
    """
    if not results.sizes["pair_rule"]:
        raise NothingToDraw("the run was measured at its own thresholds alone")
    layers = three_depths(results["layer"].to_numpy().tolist())
    chosen = results.sel(layer=layers)
    rules = [PairRule.parse(rule) for rule in results["pair_rule"].to_numpy().tolist()]
    with style():
        figure = framed_figure(
            "How the findings move with the thresholds",
            source.line,
            f"{source.similarity} similarity; heads of a layer pooled; expected: all pairs of "
            "the same window (for sentence and repetition: at equal distance)",
            "first row: the most similar pairs of a window; second row: pairs that reach a share "
            "of the largest similarity; third row: attention threshold; dotted: this run's own",
            height=5.2,
        )
        panels = figure.subplots(3, len(_PAIR_MEASURES), sharex="row")
        for row, kind in enumerate(("top", "max")):
            at = [number for number, rule in enumerate(rules) if rule.kind == kind]
            values = np.array([rules[number].value for number in at])
            own = source.pairs.value if source.pairs.kind == kind else None
            for panel, measure in zip(panels[row], _PAIR_MEASURES, strict=True):
                lines = measure.of(chosen.isel(pair_rule=at), "pair_rule")
                _draw(panel, values, lines, layers, own)
                panel.set_xlabel(_RULE_LABELS[kind])
                if kind == "top":
                    panel.set_xscale("log")
                    panel.set_xticks(
                        values[[0, 2, 4]], [f"{100 * v:g} %" for v in values[[0, 2, 4]]]
                    )
                    panel.minorticks_off()
        for panel, measure in zip(panels[0], _PAIR_MEASURES, strict=True):
            panel.set_title(f"{measure.title}\n({measure.unit})")
        thresholds = results["attention_threshold"].to_numpy()
        for panel, measure in zip(panels[2], _ATTENTION_MEASURES, strict=False):
            lines = measure.of(chosen, "attention_threshold")
            _draw(panel, thresholds, lines, layers, source.attention_threshold)
            panel.set_xlabel("attention threshold")
            panel.set_title(f"{measure.title}\n({measure.unit})")
        for panel in panels[2, len(_ATTENTION_MEASURES) :]:
            panel.set_axis_off()
        handles, labels = panels[0, 0].get_legend_handles_labels()
        panels[2, -2].legend(handles, labels, loc="center", fontsize=8)
        return figure


_RULE_LABELS = {"top": "share of pairs taken", "max": "share of maximum"}


@dataclass(frozen=True, slots=True)
class _Swept:
    """A finding at every threshold."""

    title: str
    unit: str
    of: Callable[[xr.Dataset, str], _Values]
    """Of shape (layer, threshold)."""


def _sums(results: xr.Dataset, column: str, axis: str) -> _Values:
    return np.asarray(results[f"{column}_by_{axis}"].sum("head", skipna=False))


def _mean_distance(results: xr.Dataset, axis: str) -> _Values:
    return ratio(_sums(results, "distance_sum", axis), _sums(results, "pairs", axis))


def _excess(name: str) -> Callable[[xr.Dataset, str], _Values]:
    """The share of pairs of a kind, minus the expected share."""

    def of(results: xr.Dataset, axis: str) -> _Values:
        found = _sums(results, f"{name}_pairs", axis)
        return ratio(found - _sums(results, f"{name}_expected", axis), _pairs(results, axis))

    return of


def _pairs(results: xr.Dataset, axis: str) -> _Values:
    if axis == "pair_rule":
        return _sums(results, "pairs", axis)
    # The attention threshold does not change the pairs.
    return np.asarray(results["total_pairs"].sum("head"))[:, None]


def _distinct(results: xr.Dataset, axis: str) -> _Values:
    heads = (results["total_texts"] > 0).sum("head").to_numpy()[:, None]
    exclusiveness = _sums(results, "focal_exclusiveness", axis)
    return heads * ratio(exclusiveness, _sums(results, "focal_texts", axis))


def _high_attention(results: xr.Dataset, axis: str) -> _Values:
    windows = np.asarray(results["total_texts"].sum("head"))[:, None]
    return ratio(_sums(results, "high_attention_tokens", axis), windows)


_MASK = _Swept("attention mask", "minus expected", _excess("mask"))
_PAIR_MEASURES = (
    _Swept("mean distance", "tokens", _mean_distance),
    _Swept("same sentence", "minus expected", _excess("same_sentence")),
    _Swept("repeated token", "minus expected", _excess("repetition")),
    _Swept("distinct focal tokens", "per window", _distinct),
    _MASK,
)
_ATTENTION_MEASURES = (
    _MASK,
    _Swept("high-attention tokens", "per window", _high_attention),
)


def _draw(
    panel: Axes, thresholds: _Values, lines: _Values, layers: list[int], own: float | None
) -> None:
    for number, (layer, line) in enumerate(zip(layers, lines, strict=True)):
        panel.plot(
            thresholds,
            line,
            color=DEPTHS[number],
            marker="os^"[number],
            markersize=3,
            label=f"layer {layer}",
        )
    if not np.isfinite(lines).any():
        # Cross attention has no mask over C.
        panel.text(0.5, 0.5, "not defined", ha="center", color=EXPECTED, transform=panel.transAxes)
        panel.set_yticks([])
    if own is not None:
        panel.axvline(own, color=EXPECTED, linewidth=0.8, linestyle=":")
    panel.set_ylim(*_with_zero(lines))


def _with_zero(lines: _Values) -> tuple[float, float]:
    """Limits that include all lines and zero, with a margin."""
    finite = np.append(lines[np.isfinite(lines)], 0.0)
    low, high = float(finite.min()), float(finite.max())
    margin = 0.08 * ((high - low) or 1.0)
    return (low - margin if low < 0 else 0.0), high + margin


THRESHOLDS = RunFigure(
    name="thresholds",
    draw=from_results(thresholds_figure),
    caption="How every finding moves with the thresholds that the paper leaves open.",
    section="Sensitivity to thresholds",
)
