"""A view of one text: every matrix of every head, and the tables that follow from them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import SettingsError
from headscope.kernels.pairs import Pairs, choose_pairs
from headscope.kernels.similarity import similarity
from headscope.kernels.window_batch import SENTENCE
from headscope.look.arrays import as_array, labelled_arrays, stacked
from headscope.look.head_measures import head_measures
from headscope.look.head_view import HeadView, redundancy
from headscope.look.stack_view import LayerView, StackView
from headscope.look.tables import focal_table, pair_table
from headscope.pages.notebook import MimeBundle, notebook_bundle
from headscope.pages.viewer.head_packing import is_long
from headscope.pages.viewer.matrices import LayerMatrices, StackMatrices, TextMatrices
from headscope.pages.viewer.page import viewer_page, viewer_payload
from headscope.runs.files import write_whole
from headscope.settings import (
    SIMILARITY_VARIANTS,
    Settings,
    SimilarityVariant,
    similarity_variant,
)

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, repr=False, eq=False)
class View:
    """One text in one attention stack of a model. Array axes: layer, head, token, ...

    Layers and heads are numbered from 1 in tables; in arrays, as everywhere in Python, the first is
    at index 0: `attention[5, 0]` is layer 6, head 1 of a view of all layers (see `layers`).
    """

    text: str
    model: str
    settings: Settings
    """How similarity, pairs and high-attention tokens are chosen."""
    stack_name: str
    """Which attention stack this is a view of."""
    _stacks: Mapping[str, StackView]

    @property
    def stacks(self) -> tuple[str, ...]:
        """The attention stacks of the model; a view starts with the first."""
        return tuple(self._stacks)

    def stack(self, name: str) -> "View":
        """The view of another attention stack.

        Args:
            name: One of `stacks`, such as encoder, decoder or cross.
        """
        if name not in self._stacks:
            raise SettingsError(f"stack: {self.model} has {', '.join(self.stacks)}, not {name!r}")
        return replace(self, stack_name=name)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens that heads write for. A decoder's start with its start token."""
        return self.here.tokens

    @property
    def key_tokens(self) -> tuple[str, ...]:
        """The tokens that heads read; they differ from `tokens` in cross attention only."""
        return self.here.key_tokens

    @property
    def sentences(self) -> NDArray[np.int64]:
        """The sentence of each token, from 0; -1 for special tokens."""
        return as_array(self.here.batch.queries.groups[SENTENCE, 0])

    @property
    def layers(self) -> tuple[int, ...]:
        """The number of each layer, in the order of the first axis of the arrays."""
        return tuple(layer.site.layer for layer in self.here.layers)

    @cached_property
    def head_output(self) -> NDArray[np.floating]:
        """Z, what each head writes: layer, head, token, d_head."""
        return stacked([layer.head_output for layer in self.here.layers])

    @cached_property
    def attention(self) -> NDArray[np.floating]:
        """A, the attention maps: layer, head, query token, key token."""
        return stacked([layer.attention for layer in self.here.layers])

    @cached_property
    def similarity(self) -> NDArray[np.floating]:
        """C, the context similarity matrices, in the view's variant: layer, head, token, token."""
        return self.similarity_of(self.settings.similarity)

    def similarity_of(self, variant: SimilarityVariant) -> NDArray[np.floating]:
        """C in any variant.

        Args:
            variant: `raw`, `centred` or `cosine`.
        """
        chosen = similarity_variant(variant)
        return stacked([self._matrices(layer, chosen) for layer in self.here.layers])

    @cached_property
    def column_mass(self) -> NDArray[np.floating]:
        """The attention that each token receives, scaled to a maximum of 1: layer, head, key token.

        It is averaged over the queries that can see the token. Special tokens, and the first token
        of causal models, are set to 0: otherwise they would push all others below any threshold.
        With `column_mass="paper"` it is the column sums of A relative to the largest one.
        """
        return stacked([layer.column_mass for layer in self.here.layers])

    @property
    def high_attention(self) -> NDArray[np.bool_]:
        """Whether a token's column mass reaches the attention threshold: layer, head, key token.

        Special tokens are no high-attention tokens, unless they may form pairs.
        """
        may_be_high = self.here.batch.keys.counted(self.settings.special_tokens)[0]
        # Compared in the dtype of the mass, like the kernels do: 0.3 is another number in float32.
        high: NDArray[np.bool_] = self.column_mass >= self.settings.attention_threshold
        high &= as_array(may_be_high)
        return high

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The high-similarity pairs, a row each, the most similar of a head first.

        `score` is C[i, j]; scores of different heads have no common scale. `same_token` is
        repetition; `high_attention` says whether i or j is a high-attention token (absent in cross
        attention, which reads other tokens).
        """
        tables = [pair_table(self, place) for place in range(len(self.layers))]
        return pd.concat(tables, ignore_index=True)

    @cached_property
    def focal(self) -> pd.DataFrame:
        """The focal token of each head: a row per layer and head.

        `count` is how many of the elements of the head's `pairs` (two a pair) are this token, and
        `place` where it first occurs. A head without pairs has no row.
        """
        tables = [focal_table(self, place) for place in range(len(self.layers))]
        return pd.concat(tables, ignore_index=True)

    @cached_property
    def heads(self) -> pd.DataFrame:
        """The measures of each head on this text: a row per layer and head, like `Run.heads`.

        Measures that take profiles by distance (half distance, block contrast) are NaN. One text is
        little evidence: what a head does in general, a run over many texts tells.
        """
        here = self.here
        return head_measures(here.layers, here.batch, self.settings, self.stack_name)

    def head(self, layer: int, head: int) -> HeadView:
        """One head: `view.head(3, 10)`, or `view[3, 10]`, is head 10 of layer 3.

        Args:
            layer: Numbered from 1, like everywhere that people see them.
            head: Numbered from 1.
        """
        return HeadView.of(self, layer, head)

    def __getitem__(self, place: tuple[int, int]) -> HeadView:
        if not isinstance(place, tuple) or len(place) != 2:
            raise SettingsError(f"a head has a layer and a number: view[3, 10], not [{place!r}]")
        return self.head(*place)

    def to_xarray(self) -> "xr.Dataset":
        """All arrays with their axes labelled: layer, head (from 1), token, key_token, d_head."""
        return labelled_arrays(self)

    def redundancy(self, by: Literal["cka", "pairs"] = "cka") -> pd.DataFrame:
        """How alike the heads are on this text: a matrix with a row and a column per head.

        Args:
            by: `cka`, debiased CKA of what they write (1: the same up to rotation and scale, about
                0: unrelated; a short text says little); or `pairs`, the overlap of their pairs:
                those that two heads share, among those that either has.
        """
        return redundancy(self, by)

    def save(self, path: str | Path) -> Path:
        """The path of the interactive page of the text, which is written: one file, works offline.

        Args:
            path: Where to write it, such as `view.html`.
        """
        target = Path(path)
        write_whole(target, viewer_page(self.matrices()).encode())
        return target

    def matrices(self) -> TextMatrices:
        """Everything a page shows: all stacks, layer by layer."""
        return TextMatrices(
            self.text,
            self.model,
            self.settings,
            [self._stack_matrices(name) for name in self.stacks],
        )

    def _repr_mimebundle_(self, **_: Any) -> MimeBundle:
        return notebook_bundle(repr(self), "widget_viewer", lambda: viewer_payload(self.matrices()))

    def __repr__(self) -> str:
        heads = max(layer.site.heads for layer in self.here.layers)
        others = [name for name in self.stacks if name != self.stack_name]
        more = f" (also: {', '.join(others)})" if others else ""
        start = self.text if len(self.text) <= 60 else f"{self.text[:57]}..."
        sentences = len(set(self.sentences.tolist()) - {-1})
        return (
            f"View of {start!r}\n"
            f"  {len(self.tokens)} tokens, {sentences} sentences\n"
            f"  {self.model}, {self.stack_name}: {len(self.layers)} layers x {heads} heads{more}\n"
            f"  {self.settings.similarity} similarity, pairs {self.settings.pairs}, "
            f"attention threshold {self.settings.attention_threshold:g}"
        )

    @property
    def here(self) -> StackView:
        """What the kernels left of this stack."""
        return self._stacks[self.stack_name]

    def _stack_matrices(self, name: str) -> StackMatrices:
        view = self.stack(name)
        batch = view.here.batch
        return StackMatrices(
            name=name,
            tokens=view.tokens,
            key_tokens=view.key_tokens if batch.cross else None,
            sentences=view.sentences,
            counted=as_array(batch.counted[0]),
            first=as_array(batch.first[0]),
            layers=view._layer_matrices(),
            numbers=view._numbers,
            heads=view.heads,
        )

    @property
    def _numbers(self) -> int:
        """How many numbers all heads write."""
        return sum(layer.head_output.numel() for layer in self.here.layers)

    def _layer_matrices(self) -> Iterator[LayerMatrices]:
        with_pairs = SIMILARITY_VARIANTS if is_long(self._numbers) else ()
        for layer in self.here.layers:
            yield LayerMatrices(
                layer=layer.site.layer,
                head_output=as_array(layer.head_output[0]),
                attention=as_array(layer.attention[0]),
                column_mass=as_array(layer.column_mass[0]),
                similarity={
                    variant: as_array(self._matrices(layer, variant)[0])
                    for variant in SIMILARITY_VARIANTS
                },
                pairs={variant: self._pair_places(layer, variant) for variant in with_pairs},
            )

    def _pair_places(
        self, layer: LayerView, variant: SimilarityVariant
    ) -> Int[np.ndarray, "3 pair"]:
        """Head, i and j of the pairs of a layer, in any variant of C."""
        matrix = self._matrices(layer, variant)
        pairs = choose_pairs(matrix, self.here.batch.counted, self.settings.pairs)
        return np.stack([as_array(values) for values in (pairs.head, pairs.i, pairs.j)])

    def _matrices(
        self, layer: LayerView, variant: SimilarityVariant
    ) -> Float[Tensor, "1 head token token"]:
        return similarity(layer.head_output, variant, self.here.batch.counted)

    @cached_property
    def chosen(self) -> list[tuple[Pairs, NDArray[Any]]]:
        """The pairs of each layer, with their scores."""
        found = []
        for layer in self.here.layers:
            matrix = self._matrices(layer, self.settings.similarity)
            pairs = choose_pairs(matrix, self.here.batch.counted, self.settings.pairs)
            found.append((pairs, as_array(matrix[pairs.window, pairs.head, pairs.i, pairs.j])))
        return found
