"""What claims are judged on: a stack of a run and its untrained models, resampled together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float64

from headscope.findings.depth import PARTS, layers_in
from headscope.findings.resampling.bootstrap import Interval, expansion
from headscope.findings.resampling.resampled_run import (
    ResampledRun,
    Samples,
    interval_of,
    mean_over_seeds,
)
from headscope.measures.measure import Measure


@dataclass(frozen=True, eq=False)
class Evidence:
    """One stack of a run, with its nulls, under one analysis choice."""

    stack: str
    run: ResampledRun
    untrained: tuple[ResampledRun, ...]
    """The same model with random weights, one for each seed; empty where none was run. Documents
    are drawn along with those of the run."""
    deepest: int
    """Number of layers that the stack of the model has, measured or not."""
    permutation_p: Callable[[Sequence[int]], float | None] = lambda layers: None
    """How likely as many same-sentence pairs in some layers are if sentences are permuted; None
    where none were."""
    is_sample: bool = False
    """Whether this is the sample of the run, where attention maps are whole."""
    _sample: "Evidence | None" = None

    @property
    def sample(self) -> "Evidence | None":
        """The sample of the run by the same choice; None where the run has none."""
        return self if self.is_sample else self._sample

    def with_sample(self, sample: "Evidence") -> "Evidence":
        """The same, with the sample of the run.

        Args:
            sample: By the same choice.
        """
        return replace(self, _sample=sample)

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that were measured."""
        return self.run.layers

    @property
    def heads(self) -> int:
        """Heads of the widest layer."""
        return self.run.heads

    @property
    def documents(self) -> int:
        """Number of documents that were drawn from."""
        return self.run.documents

    def part(self, name: str) -> tuple[int, ...]:
        """The measured layers of the `first`, `middle` or `last` third of the stack."""
        return layers_in(name, self.layers, self.deepest)

    def missing_parts(self, *names: str) -> str | None:
        """Why layers of some thirds cannot be judged; None if each has one that was measured."""
        missing = [name for name in names if not self.part(name)]
        if not missing:
            return None
        if self.deepest < len(PARTS):
            return f"{self.deepest} layers have no {missing[0]} third"
        return (
            f"no layer of the {missing[0]} third of {self.deepest} was measured; leave out --layers"
        )

    def null(self, of: Callable[[ResampledRun], Samples]) -> Samples:
        """A number of the untrained model: the mean over its seeds."""
        return mean_over_seeds(
            [of(run) for run in self.untrained],
            [of(run) for run in self.beside],
            expanded=expansion(self.run.effective_documents),
        )

    @cached_property
    def beside(self) -> tuple[ResampledRun, ...]:
        """The run on the documents of each untrained model."""
        return tuple(self.run.beside(seed) for seed in self.untrained)

    def interval(self, samples: Samples, *, questions: int = 1, groups: int = 1) -> Interval:
        """A number with its interval over documents.

        Args:
            samples: The number and its bootstrap samples.
            questions: Number of intervals that are looked at together.
            groups: Number of parts of the documents that the number is a mean over.
        """
        documents = self.run.effective_documents
        return interval_of(samples, documents, questions=questions, groups=groups)

    def name_head(self, index: int) -> str:
        """`layer 3 head 7` for a place in a per-head array."""
        return f"layer {self.layers[index // self.heads]} head {index % self.heads + 1}"

    def span(self, layers: Sequence[int]) -> str:
        """Layers in words: `layers 5 to 8`, and what of their third was not measured."""
        if len(layers) == 1:
            return f"layer {layers[0]}"
        if list(layers) == list(range(layers[0], layers[-1] + 1)):
            return f"layers {layers[0]} to {layers[-1]}"
        return f"layers {', '.join(map(str, layers))}"

    def some_layers(self) -> str:
        """What to add to a summary if only some layers were measured."""
        if len(self.layers) == self.deepest:
            return ""
        return f" (measured: {len(self.layers)} of {self.deepest} layers)"


def relative_excess(
    run: ResampledRun, measure: Measure
) -> Float64[np.ndarray, "sample head_of_any_layer"]:
    """(value - expected) / (maximum - expected) of a measure, per sample and head."""
    return measure.relative_excess(run.per_head(measure), run.per_head_expected(measure))
