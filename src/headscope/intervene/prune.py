"""Which heads of a model can go, and the model without them.

Heads are chosen on one half of the documents and judged on the other: what the model loses with
more and more of them gone, beside heads that were chosen by the gradient of the loss, and by
chance.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, Unpack

import numpy as np

from headscope.errors import SettingsError
from headscope.intervene.ablation_study import ablated_sites, ablation_scores
from headscope.intervene.document_halves import DocumentHalf, document_halves
from headscope.intervene.head_scores import (
    CRITERIA,
    Criterion,
    Head,
    gradient_scores,
    random_scores,
    refuse_without_loss,
    written_scores,
)
from headscope.intervene.projection_edit import (
    REPLACEMENTS,
    ProjectionEdit,
    Replacement,
    edits_without,
    refuse_unknown_projections,
)
from headscope.intervene.prune_curve import SHARES, Judge, curve_points
from headscope.intervene.pruned_folder import (
    SMALLER_FOLDER,
    holds_bias,
    refuse_full_folder,
    refuse_without_biases,
    write_pruned,
)
from headscope.intervene.pruning import Pruning
from headscope.measuring.outcome import Outcome
from headscope.measuring.run_windows import stage
from headscope.measuring.windows import CorpusRequest
from headscope.measuring.writes import MeasuredWrites, measure_writes
from headscope.models.load import LoadOptions, load_model
from headscope.models.loaded import LoadedModel
from headscope.settings import Settings, refuse_unknown_options, take_options
from headscope.system.progress import Progress, ProgressBars
from headscope.text.in_memory import CorpusLike, corpus_sources
from headscope.text.readers.columns import ColumnOptions, Columns

PRUNE_WINDOWS = 200
"""Number of windows that `prune` reads, half of them to choose and half to judge."""
_STEPS = 8
"""Of the search for a number of heads: it is found to within a 256th of all heads."""


_WITH_BIAS = ("mean", "least-squares")
"""Replacements that are written as a bias."""


class PruneOptions(LoadOptions, ColumnOptions, total=False):
    """The keywords of `prune` that its signature does not list."""

    window: int
    seed: int


def prune(
    model: str | Path | LoadedModel = "demo",
    corpus: CorpusLike = "demo",
    *,
    heads: int | None = None,
    share: float | None = None,
    loss: float | str | None = None,
    by: str = "written_deviation",
    replace: str | None = None,
    out: str | Path | None = None,
    texts: int | None = PRUNE_WINDOWS,
    progress: bool | Progress = True,
    **options: Unpack[PruneOptions],
) -> Pruning:
    """A model without the heads that matter least, and what it loses by that.

    Exactly one of `heads`, `share` and `loss` says how many go.

    Args:
        model: `demo`, a hub id, a local folder, or a model from `hs.load_model(..., head=True)`.
        corpus: One or more of `demo`, a file, a folder, `hf:NAME`.
        heads: Number of heads.
        share: Share of all heads, between 0 and 1.
        loss: The most that may be lost on the documents that choose, as a share of the loss of the
            intact model (0.01 or "1%"); for models without a loss, 1 - cosine of pooled states.
        by: What heads are chosen by: `written_deviation`, `write_strength`, `gradient`, `ablation`
            (every head is switched off in turn, which takes longest), `random`.
        replace: What takes the place of what a head writes: `mean` (a bias), `zero`, or
            `least-squares` (the other heads of the layer, as far as they know it). Default: `mean`
            where the family can hold a bias there, otherwise `zero`.
        out: The folder to write (default: none is written).
        texts: Maximum number of windows (None: all), drawn at random over the corpus.
        progress: Whether to show progress on standard error, or an object that receives it.
        **options: `window` (tokens), `seed`; how the model is loaded (`dtype`, `device`,
            `allow_pickle`, `trust_remote_code`); which columns of tables are read (`text_column`,
            `id_column`, `label_column`).
    """
    refuse_unknown_options("prune", options, PruneOptions)
    _refuse_unfit(heads, share, loss)
    criterion = _one_of(CRITERIA, "by", by)
    replacement = None if replace is None else _one_of(REPLACEMENTS, "replace", replace)
    limit = None if loss is None else _as_share(loss)
    if out is not None:
        refuse_full_folder(Path(out))
    settings = Settings.of(
        window=options.get("window", Settings().window_tokens), seed=options.get("seed", 0)
    )
    request = CorpusRequest(
        corpus_sources(corpus), texts, Columns.of(**take_options(options, ColumnOptions))
    )
    shown = ProgressBars() if progress is True else progress or Progress()
    with shown:
        with stage("loading the model", shown):
            loaded = (
                model
                if isinstance(model, LoadedModel)
                else load_model(model, head=True, **take_options(options, LoadOptions))
            )
        outcome = Outcome(loaded, settings.seed)
        if criterion == "gradient":
            refuse_without_loss(outcome)
        if out is not None and replacement in _WITH_BIAS:
            refuse_without_biases(loaded)
        choosing, judging = document_halves(loaded, request, settings, shown)
        study = _Study(outcome, choosing, judging, criterion, replacement, settings, shown)
        if limit is not None:
            number = study.number_for(limit)
        else:
            number = (
                heads if heads is not None else round((share or 0) * len(study.order(criterion)))
            )
        return study.prune(number, None if out is None else Path(out))


class _Study:
    """The steps of one pruning: scores once, then curves and searches with them."""

    def __init__(
        self,
        outcome: Outcome,
        choosing: DocumentHalf,
        judging: DocumentHalf,
        by: Criterion,
        replacement: Replacement | None,
        settings: Settings,
        progress: Progress,
    ) -> None:
        model = outcome.model
        self._outcome, self._model, self._by, self._progress = outcome, model, by, progress
        self._settings, self._seed = settings, settings.seed
        self._choosing, self._judging = choosing, judging
        progress.stage("what heads write", total=len(choosing.windows))
        self._measured: MeasuredWrites = measure_writes(
            model,
            choosing.windows,
            outer=replacement == "least-squares",
            on_windows=progress.advance,
        )
        refuse_unknown_projections(model, model.sites, self._measured)
        writes = self._measured.writes.found.values()
        bias = all(holds_bias(model, each) for each in writes)
        self._replacement: Replacement = replacement or ("mean" if bias else "zero")
        self._orders: dict[str, list[Head]] = {}

    def order(self, by: Criterion) -> list[Head]:
        """All heads, those that matter least in front."""
        if by not in self._orders:
            windows = self._choosing.windows
            match by:
                case "random":
                    scores = random_scores(self._model.sites, self._seed)
                case "gradient":
                    self._progress.stage("gradients", total=len(windows))
                    scores = gradient_scores(self._outcome, windows, self._progress.advance)
                case "ablation":
                    layers = len(ablated_sites(self._outcome, self._settings))
                    self._progress.stage("switching heads off", total=len(windows) * layers)
                    scores = ablation_scores(
                        self._outcome, windows, self._settings, self._progress.advance
                    )
                case _:
                    scores = written_scores(self._measured, by)
            self._orders[by] = sorted(scores, key=lambda head: (scores[head], head))
        return self._orders[by]

    def edits(self, by: str, heads: Sequence[Head]) -> Collection[ProjectionEdit]:
        """What is changed in the model without some heads: what others would do is not bettered."""
        replacement = self._replacement if by == self._by else "zero"
        return edits_without(self._model, heads, self._measured, replacement)

    def number_for(self, limit: float) -> int:
        """The largest number of heads with at most this loss on the documents that choose."""
        judge = Judge(self._outcome, self._choosing.windows, self._choosing.documents, self._seed)
        order = self.order(self._by)
        low, high = 0, len(order)
        self._progress.stage("searching", total=_STEPS)
        for _ in range(_STEPS):
            middle = (low + high + 1) // 2
            if high > low:
                lost = judge.losses([self.edits(self._by, order[:middle])])
                increase, intact = (float(np.nanmean(lost[key])) for key in ("increase", "intact"))
                allowed = limit * intact if self._outcome.has_loss else limit
                low, high = (middle, high) if increase <= allowed else (low, middle - 1)
            self._progress.advance()
        return low

    def prune(self, number: int, out: Path | None) -> Pruning:
        """The pruning, judged on the other documents, and written if asked for."""
        order = self.order(self._by)
        if not 0 <= number <= len(order):
            raise SettingsError(f"heads: {number} of {len(order)}; ask for 0 to {len(order)}")
        others: list[Criterion] = ["gradient", "random"] if self._outcome.has_loss else ["random"]
        orders: dict[str, list[Head]] = {
            by: self.order(by) for by in dict.fromkeys([self._by, *others])
        }
        counts = sorted({number, *(round(share * len(order)) for share in SHARES)})
        judge = Judge(self._outcome, self._judging.windows, self._judging.documents, self._seed)
        passes = 1 + len(counts) * len(orders)
        self._progress.stage("judging", total=len(self._judging.windows) * passes)
        points, increases, intact = curve_points(
            judge, orders, dict.fromkeys(orders, counts), self.edits, self._progress.advance
        )
        chosen = next(point for point in points if (point.by, point.heads) == (self._by, number))
        pruning = Pruning(
            model=self._model.name,
            heads=tuple(sorted(order[:number])),
            of_heads=len(order),
            by=self._by,
            replacement=self._replacement,
            unit=self._outcome.unit,
            loss=intact if self._outcome.has_loss else float("nan"),
            increase=chosen.increase,
            ahead={
                by: judge.interval(increases[by, number] - increases[self._by, number])
                for by in orders
                if by != self._by
            },
            curve=tuple(points),
            documents=len(np.unique(self._judging.documents)),
            path=out,
            smaller="no folder was asked for",
        )
        return pruning if out is None else self._write(pruning, out)

    def _write(self, pruning: Pruning, out: Path) -> Pruning:
        edits = edits_without(self._model, pruning.heads, self._measured, self._replacement)
        with stage("writing the model", self._progress):
            reason = write_pruned(self._model, edits, out, pruning.as_dict())
        where = str(out / SMALLER_FOLDER) if reason is None else f"none: {reason}"
        return replace(pruning, smaller=where)


def _refuse_unfit(heads: int | None, share: float | None, loss: float | str | None) -> None:
    if sum(value is not None for value in (heads, share, loss)) != 1:
        raise SettingsError(
            "how many heads: give one of heads (--heads 20), share (--share 0.2), loss (--loss 1%)"
        )
    if share is not None and not 0 <= share <= 1:
        raise SettingsError(f"share: {share} is not between 0 and 1")
    if heads is not None and heads < 0:
        raise SettingsError(f"heads: {heads} is negative; 0 removes none")


_Word = TypeVar("_Word", bound=str)


def _one_of(words: tuple[_Word, ...], option: str, word: str) -> _Word:
    """The word, if it is one of these."""
    for each in words:
        if each == word:
            return each
    raise SettingsError(f"{option}: {word!r} is not one of {', '.join(words)}")


def _as_share(loss: float | str) -> float:
    """0.01 of 0.01, "0.01" or "1%"."""
    text = str(loss).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not (math.isfinite(share) and share >= 0):
        raise SettingsError(f"loss: {text[:40]!r} is no share; give 0.01 or 1%")
    return share
