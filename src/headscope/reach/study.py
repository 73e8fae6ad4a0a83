"""`reach` as a study: what is measured of each pair of windows, and the evidence of all of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headscope.findings.reach.evidence import ReachEvidence
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.reach.measure import cell_shapes, measure_window, texts_of_window
from headscope.reach.plan import ReachPlan
from headscope.reach.texts import intact_texts
from headscope.text.windows import Window


@dataclass(frozen=True, eq=False)
class ReachStudy:
    """Measures windows two by two; each is the foreign document of the other."""

    model: LoadedModel
    sites: tuple[AttentionSite, ...]
    plan: ReachPlan
    name: str = field(default="reach", init=False)
    together: int = field(default=2, init=False)

    @property
    def settings(self) -> Mapping[str, str | int | float | bool | None]:
        """What changes numbers besides the settings that every run has."""
        return self.plan.identity

    @cached_property
    def cells(self) -> dict[str, tuple[int, ...]]:
        """The shape of what is measured of one window, by name."""
        return cell_shapes(self.model, self.sites, self.plan)

    @property
    def steps(self) -> int:
        """Number of texts that are read for each window."""
        return texts_of_window(self.sites, self.plan) + 2 * self.plan.seeds

    def measure(
        self, windows: Sequence[Window], advance: Callable[[int], None]
    ) -> dict[str, NDArray[np.float64]]:
        """The cells of a pair of windows; those of a window without a partner are all NaN.

        Args:
            windows: Two of one length, from different documents.
            advance: Called with 1 after each text.
        """
        cells = {
            name: np.full((len(windows), *shape), np.nan) for name, shape in self.cells.items()
        }
        if len(windows) != 2:
            return cells
        first, second = intact_texts(windows)
        for place, texts in enumerate(((first, second), (second, first))):
            found = measure_window(
                self.model, self.sites, texts, self.plan, on_text=lambda: advance(1)
            )
            for seed, (untrained, sites) in enumerate(self._untrained):
                control = measure_window(
                    untrained,
                    sites,
                    texts,
                    self.plan,
                    control_only=True,
                    on_text=lambda: advance(1),
                )
                found |= {f"untrained_{seed}/{name}": values for name, values in control.items()}
            for name, values in found.items():
                cells[name][place] = values
        return cells

    @cached_property
    def _untrained(self) -> list[tuple[LoadedModel, list[AttentionSite]]]:
        """The models with random weights, each with its sites that are measured."""
        asked = {(site.stack, site.layer) for site in self.sites}
        models = [self.model.untrained(seed) for seed in range(self.plan.seeds)]
        return [
            (one, [site for site in one.sites if (site.stack, site.layer) in asked])
            for one in models
        ]

    def evidence(
        self, windows: NDArray[np.int64], cells: Mapping[str, NDArray[np.float64]]
    ) -> ReachEvidence:
        """What the pairs show of which both windows were measured.

        Args:
            windows: The numbers of the windows that were measured.
            cells: Of those windows.
        """
        heads = [(s.stack, s.layer, head) for s in self.sites for head in range(1, s.heads + 1)]
        return ReachEvidence.of_windows(
            heads, self.plan.edges, self.plan.window_tokens, windows, cells
        )
