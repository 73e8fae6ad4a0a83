"""The evidence of a run: what claims are judged on, for each stack and each analysis choice."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr

from headscope.findings.claims.claim import Axis
from headscope.findings.claims.evidence import Evidence
from headscope.findings.claims.focal_tokens import INDEPENDENT
from headscope.findings.claims.independent_choice import (
    WindowTokens,
    choice_stability,
    independent_distinct,
)
from headscope.findings.claims.verdict import Choice
from headscope.findings.resampling.bootstrap import Draws
from headscope.findings.resampling.resampled_run import ResampledRun, sum_by_document
from headscope.runs.choice_files import Cells, ChoiceTables

FOCAL = "focal_token"

Grid = NDArray[np.int64]
"""Layer and head, counted from 0, of every head in the order of the cells."""


RESAMPLES_OF_CHOICE = 400
"""Bootstrap samples per interval of a choice: there are many choices."""


@dataclass(frozen=True, eq=False)
class SampledRun:
    """The sample of a run, or of one of its untrained models, under every choice."""

    tables: ChoiceTables
    document: NDArray[np.int64]
    """The number of each window's document, among all documents of the run."""

    @cached_property
    def documents(self) -> NDArray[np.int64]:
        """The documents that the sample has windows of."""
        return np.unique(self.document)

    @cached_property
    def windows(self) -> NDArray[np.int64]:
        """Number of windows of each of them."""
        return np.unique(self.document, return_counts=True)[1]

    def by_document(self, cells: Cells) -> Cells:
        """Columns with the windows of each document added up; NaN counts as 0.

        Args:
            cells: A number for each window, and so on.
        """
        place = np.searchsorted(self.documents, self.document)
        return {
            name: sum_by_document(np.nan_to_num(values), place, len(self.documents))
            for name, values in cells.items()
        }


@dataclass(frozen=True, eq=False)
class StackEvidence:
    """One stack of a run: the evidence by the run's own choice, and under every other."""

    own: Evidence
    own_choice: Choice
    draws: Draws
    """Of all documents of the run."""
    grid: Grid
    trained: SampledRun | None
    """None where the run has no sample."""
    untrained: Sequence[SampledRun]
    tokens: WindowTokens | None
    """Of the windows of the sample."""

    @property
    def stack(self) -> str:
        """The name of the stack."""
        return self.own.stack

    def choices(self, axis: Axis) -> list[Choice]:
        """The choices under which claims of an axis are judged; none without a sample."""
        if self.trained is None:
            return []
        tables = self.trained.tables
        if axis == "attention_threshold":
            return [Choice(attention_threshold=value) for value in tables.thresholds]
        return [
            Choice(pairs=rule, similarity=similarity)
            for similarity in tables.similarities
            for rule in tables.rules
        ]

    def under(self, choice: Choice) -> Evidence:
        """The evidence of the sample under a choice.

        Made anew each time: what is summed for one choice is not kept for the next.
        """
        return self._evidence(choice)

    @cached_property
    def judged(self) -> Evidence:
        """The run by its own choice, with its sample where that has more to say."""
        if self.trained is None or self.own_choice not in self.choices("pairs"):
            return self.own
        return self.own.with_sample(self.under(self.own_choice))

    def stability_of_focal_tokens(self) -> tuple[float, float] | None:
        """How alike a head's focal tokens are on two halves of the documents; those of two heads.

        The mean over layers, by the run's own choice; None without a sample.
        """
        if self.trained is None or self.tokens is None:
            return None
        focal = self._focal_tokens(*self._place(self.own_choice))
        found = [choice_stability(focal[:, layer], self.tokens) for layer in range(focal.shape[1])]
        own, others = np.mean(found, axis=0)
        return float(own), float(others)

    @cached_property
    def _sampled(self) -> "list[_StackColumns]":
        """The run and its untrained models, by document."""
        assert self.trained is not None, "choices are those of a sample"
        return [_StackColumns(of, self.stack, self.grid) for of in (self.trained, *self.untrained)]

    def _evidence(self, choice: Choice) -> Evidence:
        assert self.trained is not None, "choices are those of a sample"
        draws = self.draws.first(RESAMPLES_OF_CHOICE)
        runs = []
        for of in self._sampled:
            if choice.attention_threshold is not None:
                place = of.tables.thresholds.index(choice.attention_threshold)
                columns = of.by_threshold(place)
            else:
                columns = of.by_choice(*self._place(choice))
                if of.of is self.trained and self.tokens is not None:
                    columns[INDEPENDENT] = self._independent(choice, self.tokens)
            runs.append(
                ResampledRun(
                    columns,
                    draws.of(of.of.documents),
                    self.own.layers,
                    of.of.windows,
                )
            )
        return Evidence(
            stack=self.stack,
            run=runs[0],
            untrained=tuple(runs[1:]),
            deepest=self.own.deepest,
            is_sample=True,
        )

    def _place(self, choice: Choice) -> tuple[int, int]:
        assert self.trained is not None
        assert choice.similarity is not None
        assert choice.pairs is not None
        tables = self.trained.tables
        return tables.similarities.index(choice.similarity), tables.rules.index(choice.pairs)

    def _focal_tokens(self, similarity: int, rule: int) -> NDArray[np.float64]:
        """The focal token of each window, layer and head; NaN where a layer has no such head."""
        assert self.trained is not None
        tokens = self.trained.tables.heads[self.stack][FOCAL][..., similarity, rule]
        return on_grid(tokens, self.grid, np.nan).astype(np.float64)

    def _independent(self, choice: Choice, tokens: WindowTokens) -> NDArray[np.float64]:
        """What `independent_distinct` gives for each document and layer; heads are added up."""
        assert self.trained is not None
        focal = self._focal_tokens(*self._place(choice))
        per_layer = [
            independent_distinct(focal[:, layer], tokens) for layer in range(focal.shape[1])
        ]
        distinct = np.stack(per_layer, axis=1)[..., None]
        place = np.searchsorted(self.trained.documents, self.trained.document)
        return sum_by_document(distinct, place, len(self.trained.documents))


class _StackColumns:
    """The columns of one stack of a sample by document, ready to be looked at by choice."""

    def __init__(self, of: SampledRun, stack: str, grid: Grid) -> None:
        self.of, self.tables = of, of.tables
        heads = {name: cells for name, cells in of.tables.heads[stack].items() if name != FOCAL}
        self._heads = {
            name: on_grid(cells, grid, 0.0) for name, cells in of.by_document(heads).items()
        }
        self._layers = of.by_document(of.tables.layers[stack])
        self._attention = of.by_document(of.tables.attention[stack])

    def by_choice(self, similarity: int, rule: int) -> dict[str, NDArray[np.floating]]:
        """Columns of shape (document, layer, head), heads added up where that is enough."""
        layers = {name: cells[..., similarity, rule, None] for name, cells in self._layers.items()}
        return layers | {name: cells[..., similarity, rule] for name, cells in self._heads.items()}

    def by_threshold(self, place: int) -> dict[str, NDArray[np.floating]]:
        """Columns of shape (document, layer, 1)."""
        return {name: cells[..., place, None] for name, cells in self._attention.items()}


def on_grid(cells: NDArray[np.floating], grid: Grid, missing: float) -> NDArray[np.floating]:
    """Cells of shape (window, head of any layer, ...) as (window, layer, head, ...).

    Args:
        cells: The heads one after the other.
        grid: Where each head belongs.
        missing: What a layer with fewer heads gets.
    """
    layers, heads = grid.max(axis=0) + 1
    if len(grid) == layers * heads:
        return cells.reshape(len(cells), layers, heads, *cells.shape[2:])
    whole = np.full((len(cells), layers, heads, *cells.shape[2:]), missing, cells.dtype)
    whole[:, grid[:, 0], grid[:, 1]] = cells
    return whole


def permutation_p(results: xr.Dataset, layers: Sequence[int]) -> float | None:
    """How likely at least as many same-sentence pairs are when sentences are permuted.

    Args:
        results: The reduced arrays of a stack.
        layers: The layers whose pairs are counted.
    """
    if "permutation" not in results.sizes or not results.sizes["permutation"]:
        return None
    chosen = results.sel(layer=list(layers))
    permuted = chosen["same_sentence_permuted"].sum(["layer", "head"]).to_numpy()
    observed = float(chosen["total_same_sentence_pairs"].sum())
    spread = permuted.std(ddof=1)
    return float(ndtr((permuted.mean() - observed) / spread)) if np.any(spread > 0) else None
