"""What is measured of every window when each head is switched off in turn.

Exact: the intact pass is recorded, and for each head the model runs again from the head's layer on,
several heads at once where windows are few. Approximate: one pass, by what heads write or by the
gradient of the loss.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from headscope.errors import SettingsError
from headscope.intervene.head_scores import Head, OnWindows, gradient_scores
from headscope.measuring.batch import batches
from headscope.measuring.outcome import Outcome
from headscope.measuring.study import Advance, Cells, Setting
from headscope.measuring.writes import measure_writes
from headscope.models.continuation import Continuation
from headscope.models.site import AttentionSite
from headscope.settings import Settings
from headscope.text.windows import Window

Approximation = Literal["write", "gradient"]
APPROXIMATIONS: tuple[Approximation, ...] = get_args(Approximation)


def approximation(name: str) -> Approximation:
    """The approximation of that name; any other name is refused.

    Args:
        name: `write` or `gradient`.
    """
    for known in APPROXIMATIONS:
        if name == known:
            return known
    raise SettingsError(f"approximate: {name!r} is unknown; choose {' or '.join(APPROXIMATIONS)}")


def ablated_sites(outcome: Outcome, settings: Settings) -> tuple[AttentionSite, ...]:
    """The layers whose heads are switched off: those that run.

    Args:
        outcome: How the model is read; of an encoder-decoder without a head, the encoder alone.
        settings: Which layers are asked for.
    """
    sites = outcome.model.sites_of(settings.layers)
    if outcome.has_loss or not outcome.model.config.is_encoder_decoder:
        return sites
    return tuple(site for site in sites if site.stack == "encoder")


class AblationStudy:
    """Each head of a model, switched off in turn."""

    name = "ablate"

    def __init__(self, outcome: Outcome, settings: Settings) -> None:
        """Say what is measured.

        Args:
            outcome: How the model is read.
            settings: Which layers, and how many tokens go through the model at once.
        """
        self.outcome = outcome
        self.sites = ablated_sites(outcome, settings)
        self._batch_tokens = settings.batch_tokens
        self._continuation: Continuation | None = None

    @property
    def settings(self) -> Mapping[str, Setting]:
        """What identifies it."""
        return {"outcome": self.outcome.kind, "replace": "zero", "approximate": None}

    @property
    def steps(self) -> int:
        """A step is a layer of a window."""
        return len(self.sites)

    @property
    def cells(self) -> Mapping[str, tuple[int, ...]]:
        """Numbers of each window, for all heads, layer after layer."""
        heads = (sum(site.heads for site in self.sites),)
        if self.outcome.has_loss:
            return {"scored": (), "loss": (), "loss_without": heads, "kl": heads}
        return {"scored": (), "pooled": heads, "drift": heads}

    def measure(self, windows: Sequence[Window], advance: Advance) -> Cells:
        """What the model puts out for some windows without each head, against the intact model.

        Args:
            windows: A batch.
            advance: Is told of every layer.
        """
        outcome = self.outcome
        batch = outcome.prepare(windows)
        going_on = self._prepared(list(batch.inputs))
        recording = going_on.record(batch.inputs)
        intact = outcome.reading(recording.output, batch)
        together = max(1, self._batch_tokens // batch.scored.numel())
        found: dict[str, list[NDArray[np.float64]]] = {}
        for site in self.sites:
            for first in range(0, site.heads, together):
                heads = range(first, min(first + together, site.heads))
                repeated = batch.repeated(len(heads))
                gates = [
                    {(site.stack, site.layer, head + 1): 0.0} for head in heads for _ in windows
                ]
                with outcome.model.gates(gates):
                    output = going_on.run(site, repeated.inputs, recording)
                compared = outcome.compare(outcome.reading(output, repeated), intact)
                for name, values in compared.items():
                    found.setdefault(name, []).append(values.reshape(len(heads), len(windows)))
            advance(len(windows))
        by_window = {name: np.concatenate(values).T for name, values in found.items()}
        scored = batch.scored.sum(1).double().cpu().numpy()
        if not outcome.has_loss:
            return {"scored": scored, **by_window}
        loss = outcome.compare(intact, intact)["loss"]
        return {
            "scored": scored,
            "loss": loss,
            "loss_without": by_window["loss"],
            "kl": by_window["kl"],
        }

    def _prepared(self, names: Sequence[str]) -> Continuation:
        if self._continuation is None:
            self._continuation = Continuation(self.outcome.model, self.outcome.network)
            self._continuation.prove(names)
        return self._continuation


def ablation_scores(
    outcome: Outcome, windows: Sequence[Window], settings: Settings, on_layers: OnWindows
) -> dict[Head, float]:
    """Scores of heads by what the model puts out without them, each head by itself.

    The divergence of its answers from the intact ones, per scored token: it repeats better than the
    loss. Without answers, 1 - cosine of pooled states, per window.

    Args:
        outcome: How the model is read.
        windows: What the model reads.
        settings: How many tokens go through the model at once.
        on_layers: Called with the number of windows each time a layer is done.
    """
    study = AblationStudy(outcome, settings)
    heads = [(site.stack, site.layer, h) for site in study.sites for h in range(1, site.heads + 1)]
    total, weight = np.zeros(len(heads)), 0.0
    for places in batches(windows, max_tokens=settings.batch_tokens):
        cells = study.measure([windows[place] for place in places], on_layers)
        changes, weights = (
            (cells["kl"], cells["scored"])
            if outcome.has_loss
            else (cells["pooled"], np.ones(len(places)))
        )
        total += (changes * weights[:, None]).sum(0)
        weight += float(weights.sum())
    return dict(zip(heads, (total / max(1.0, weight)).tolist(), strict=True))


class ApproximateStudy:
    """How much each head matters, from one pass."""

    name = "ablate"

    def __init__(self, outcome: Outcome, settings: Settings, by: Approximation) -> None:
        """Say what is measured.

        Args:
            outcome: How the model is read.
            settings: Which layers.
            by: `write`, the length of what a head writes relative to the residual stream; or
                `gradient`, how fast the loss changes as the head is taken away.
        """
        if by == "gradient" and not outcome.has_loss:
            raise SettingsError(
                f"approximate: {outcome.model.name} has no loss and so no gradient; choose write"
            )
        self.outcome, self.by = outcome, by
        self.sites = ablated_sites(outcome, settings)

    @property
    def settings(self) -> Mapping[str, Setting]:
        """What identifies it."""
        return {"outcome": self.outcome.kind, "replace": None, "approximate": self.by}

    @property
    def steps(self) -> int:
        """A step is a window."""
        return 1

    @property
    def cells(self) -> Mapping[str, tuple[int, ...]]:
        """A numerator and a denominator of each head."""
        heads = (sum(site.heads for site in self.sites),)
        return {"score": heads, "scored": heads}

    def measure(self, windows: Sequence[Window], advance: Advance) -> Cells:
        """The scores of all heads, a window at a time.

        Args:
            windows: A batch.
            advance: Is told of every window.
        """
        scores, scored = [], []
        for window in windows:
            one, other = self._by_gradient(window) if self.by == "gradient" else self._write(window)
            scores.append(one)
            scored.append(other)
            advance(1)
        return {"score": np.stack(scores), "scored": np.stack(scored)}

    def _by_gradient(self, window: Window) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        found = gradient_scores(self.outcome, [window])
        values = [
            found[site.stack, site.layer, head + 1]
            for site in self.sites
            for head in range(site.heads)
        ]
        return np.array(values), np.ones(len(values))

    def _write(self, window: Window) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lengths of what heads write, and of the residual stream; NaN where W_O is not known."""
        sums = measure_writes(self.outcome.model, [window], sites=self.sites, outer=False).sums
        lengths = [
            sums[site].lengths if site in sums else np.full(site.heads, np.nan)
            for site in self.sites
        ]
        streams = [
            np.full(site.heads, sums[site].stream if site in sums else np.nan)
            for site in self.sites
        ]
        return np.concatenate(lengths), np.concatenate(streams)
