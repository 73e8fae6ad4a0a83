"""What a model loses without each of its heads: the verb, and its result."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.findings.resampling.bootstrap import Interval
from headscope.findings.resampling.window_cells import (
    WindowRatios,
    documents_of,
    resample_windows,
)
from headscope.intervene.ablation_study import (
    AblationStudy,
    ApproximateStudy,
    Approximation,
    approximation,
)
from headscope.measuring.outcome import Outcome
from headscope.measuring.run_windows import default_folder, stage
from headscope.measuring.study import StudyTable, run_study
from headscope.measuring.study_request import (
    StudyOptions,
    load_with_head,
    study_request,
    study_settings,
)
from headscope.models.loaded import LoadedModel
from headscope.settings import ABLATION_SHARD, ABLATION_WINDOWS, Settings, refuse_unknown_options
from headscope.system.progress import Progress, ProgressBars
from headscope.text.in_memory import CorpusLike


@dataclass(frozen=True, slots=True)
class HeadEffect:
    """What the model loses without one head."""

    stack: str
    layer: int
    head: int
    effects: Mapping[str, Interval]
    """By name, with the intervals over documents: see `Ablation`."""
    matters: bool
    """Whether the first effect is above zero; at most 5 % of such heads wrongly."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "stack": self.stack,
            "layer": self.layer,
            "head": self.head,
            **{name: effect.to_json() for name, effect in self.effects.items()},
            "matters": self.matters,
        }


@dataclass(frozen=True, slots=True)
class Ablation:
    """What a model loses without each of its heads.

    Models with a loss have `loss_increase` (nats that the loss rises by) and `kl` (divergence of
    their answers from the intact ones); those without a head of their own `pooled` (1 - cosine of
    the mean state) and `drift` (squared change of states, as a share of their squared length);
    approximate ones `score`.
    """

    model: str
    corpus: str
    outcome: str
    """What the loss is of: causal, masked, seq2seq, classes; or states."""
    unit: str
    """Of the loss, or of the first effect of a model without one."""
    approximate: Approximation | None
    loss: Interval | None
    """Of the intact model; None if it has none."""
    windows: int
    documents: int
    reliability: Mapping[str, float]
    """By effect: how well the ranking of the heads would repeat on as many other documents, 1 is
    perfectly. NaN with fewer than four documents."""
    heads: tuple[HeadEffect, ...]
    folder: Path

    @property
    def table(self) -> pd.DataFrame:
        """A row per head, the effects as columns with `_low` and `_high`."""
        rows = []
        for head in self.heads:
            row: dict[str, Any] = {"stack": head.stack, "layer": head.layer, "head": head.head}
            for name, effect in head.effects.items():
                row |= {name: effect.value, f"{name}_low": effect.low, f"{name}_high": effect.high}
            rows.append({**row, "matters": head.matters})
        return pd.DataFrame(rows)

    def to_json(self) -> dict[str, Any]:
        """Plain values, as `headscope ablate --json` prints them."""
        first, *others = self.reliability
        return {
            "model": self.model,
            "corpus": self.corpus,
            "outcome": self.outcome,
            "unit": self.unit,
            "approximate": self.approximate,
            "loss": None if self.loss is None else _plain(self.loss.value),
            "loss_interval": None if self.loss is None else self.loss.to_json(),
            "windows": self.windows,
            "documents": self.documents,
            "reliability": _plain(self.reliability[first]),
            **{f"reliability_{name}": _plain(self.reliability[name]) for name in others},
            "heads": [head.to_json() for head in self.heads],
        }


def ablate(
    model: str | Path | LoadedModel = "demo",
    corpus: CorpusLike = "demo",
    *,
    texts: int | None = ABLATION_WINDOWS,
    first: bool = False,
    out: str | Path | None = None,
    approximate: str | None = None,
    progress: bool | Progress = True,
    log: str | Path | None = None,
    **options: Unpack[StudyOptions],
) -> Ablation:
    """What a model loses without each of its heads, over a corpus.

    Exact: every head is switched off in turn, and the model runs from its layer on. The same call
    resumes an interrupted one.

    Args:
        model: `demo`, a hub id or a local folder, which are loaded with their head; or a model from
            `hs.load_model` (with `head=True` if its loss is to be measured).
        corpus: One or more of `demo`, a file, a folder, `-` for standard input, `hf:NAME`; a list
            of texts; or a table with a `text_column`, as for `hs.analyze`.
        texts: Number of windows, drawn at random over the corpus; None for all.
        first: Whether to take the first windows instead.
        out: The folder of the study (default: one in `runs/`).
        approximate: None, or one pass that ranks heads by what they `write` or by the `gradient`
            of the loss.
        progress: Whether to show progress on standard error, or an object that receives it.
        log: A file to which every event is appended as a line of JSON.
        **options: `window`, `min_tokens`, `layers`, `seed`, `keep_duplicates`, `shard_windows`,
            `batch_tokens` (see `headscope.settings.Settings`); how the model is loaded (`dtype`,
            `device`, `allow_pickle`, `trust_remote_code`); which columns of tables are read.
    """
    refuse_unknown_options("ablate", options, StudyOptions)
    by = None if approximate is None else approximation(approximate)
    settings = study_settings(options, shard_windows=ABLATION_SHARD)
    request = study_request(corpus, texts, options, first=first)
    with ExitStack() as stack:
        reported = ProgressBars() if progress is True else progress or Progress()
        stack.enter_context(reported)
        loaded = load_with_head(model, options, reported)
        outcome = Outcome(loaded, settings.seed)
        study = (
            AblationStudy(outcome, settings)
            if by is None
            else ApproximateStudy(outcome, settings, by)
        )
        folder = Path(out) if out is not None else default_folder(loaded.name, request, "ablate")
        table = run_study(study, loaded, request, settings, folder, progress=reported, log=log)
        with stage("resampling", reported):
            result = _result(study, table, settings, str(request), by)
            table.write_result(result.to_json())
        return result


def _result(
    study: AblationStudy | ApproximateStudy,
    table: StudyTable,
    settings: Settings,
    corpus: str,
    approximate: Approximation | None,
) -> Ablation:
    documents = documents_of(table.run, table.windows)

    def ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> WindowRatios:
        return resample_windows(above, below, documents, settings.seed)

    cells, outcome = table.cells, study.outcome
    scored = cells["scored"].reshape(len(documents), -1)
    loss: Interval | None = None
    if approximate is not None:
        ratios = {"score": ratio(cells["score"], scored)}
    elif outcome.has_loss:
        intact = cells["loss"][:, None]
        (loss,) = ratio(intact * scored, scored).intervals()
        ratios = {
            "loss_increase": ratio((cells["loss_without"] - intact) * scored, scored),
            "kl": ratio(cells["kl"] * scored, scored),
        }
    else:
        every = np.ones_like(scored)
        ratios = {name: ratio(cells[name], every) for name in ("pooled", "drift")}
    first = next(iter(ratios.values()))
    intervals = {name: each.intervals() for name, each in ratios.items()}
    matters = first.above_zero()
    heads = [(site.stack, site.layer, h) for site in study.sites for h in range(1, site.heads + 1)]
    return Ablation(
        model=outcome.model.name,
        corpus=corpus,
        outcome=outcome.kind,
        unit=outcome.unit if approximate is None else _UNITS[approximate],
        approximate=approximate,
        loss=loss,
        windows=len(table.windows),
        documents=first.documents,
        reliability={name: each.reliability(settings.seed) for name, each in ratios.items()},
        heads=tuple(
            HeadEffect(
                *head,
                {name: of_heads[place] for name, of_heads in intervals.items()},
                bool(matters[place]),
            )
            for place, head in enumerate(heads)
        ),
        folder=table.run.path,
    )


_UNITS = {
    "write": "length of what the head writes / length of the residual stream",
    "gradient": "nats per share of the head",
}


def _plain(value: float) -> float | None:
    """JSON has no NaN."""
    return float(value) if np.isfinite(value) else None
