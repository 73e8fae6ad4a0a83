"""A view of one text: every matrix of every head, and the tables that follow from them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import SettingsError
from headscope.kernels.pairs import Pairs, choose_pairs, focal_tokens
from headscope.kernels.similarity import similarity
from headscope.kernels.window_batch import SENTENCE, TOKEN
from headscope.look.head_measures import head_measures
from headscope.look.stack_view import LayerView, StackView
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
        return self._here.tokens

    @property
    def key_tokens(self) -> tuple[str, ...]:
        """The tokens that heads read; they differ from `tokens` in cross attention only."""
        return self._here.key_tokens

    @property
    def sentences(self) -> NDArray[np.int64]:
        """The sentence of each token, from 0; -1 for special tokens."""
        return _array(self._here.batch.queries.groups[SENTENCE, 0])

    @property
    def layers(self) -> tuple[int, ...]:
        """The number of each layer, in the order of the first axis of the arrays."""
        return tuple(layer.site.layer for layer in self._here.layers)

    @cached_property
    def head_output(self) -> NDArray[np.floating]:
        """Z, what each head writes: layer, head, token, d_head."""
        return _stacked([layer.head_output for layer in self._here.layers])

    @cached_property
    def attention(self) -> NDArray[np.floating]:
        """A, the attention maps: layer, head, query token, key token."""
        return _stacked([layer.attention for layer in self._here.layers])

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
        return _stacked([self._matrices(layer, chosen) for layer in self._here.layers])

    @cached_property
    def column_mass(self) -> NDArray[np.floating]:
        """The attention that each token receives, scaled to a maximum of 1: layer, head, key token.

        It is averaged over the queries that can see the token. Special tokens, and the first token
        of causal models, are set to 0: otherwise they would push all others below any threshold.
        With `column_mass="paper"` it is the column sums of A relative to the largest one.
        """
        return _stacked([layer.column_mass for layer in self._here.layers])

    @property
    def high_attention(self) -> NDArray[np.bool_]:
        """Whether a token's column mass reaches the attention threshold: layer, head, key token.

        Special tokens are no high-attention tokens, unless they may form pairs.
        """
        may_be_high = self._here.batch.keys.counted(self.settings.special_tokens)[0]
        # Compared in the dtype of the mass, like the kernels do: 0.3 is another number in float32.
        high: NDArray[np.bool_] = self.column_mass >= self.settings.attention_threshold
        high &= _array(may_be_high)
        return high

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The high-similarity pairs, a row each, the most similar of a head first.

        `score` is C[i, j]; scores of different heads have no common scale. `same_token` is
        repetition; `high_attention` says whether i or j is a high-attention token (absent in cross
        attention, which reads other tokens).
        """
        tables = [self._pair_table(place) for place in range(len(self.layers))]
        return pd.concat(tables, ignore_index=True)

    @cached_property
    def focal(self) -> pd.DataFrame:
        """The focal token of each head: a row per layer and head.

        `count` is how many of the elements of the head's `pairs` (two a pair) are this token, and
        `place` where it first occurs. A head without pairs has no row.
        """
        tables = [self._focal_table(place) for place in range(len(self.layers))]
        return pd.concat(tables, ignore_index=True)

    @cached_property
    def heads(self) -> pd.DataFrame:
        """The measures of each head on this text: a row per layer and head, like `Run.heads`.

        Measures that take profiles by distance (half distance, block contrast) are NaN. One text is
        little evidence: what a head does in general, a run over many texts tells.
        """
        here = self._here
        return head_measures(here.layers, here.batch, self.settings, self.stack_name)

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
        heads = max(layer.site.heads for layer in self._here.layers)
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
    def _here(self) -> StackView:
        return self._stacks[self.stack_name]

    def _stack_matrices(self, name: str) -> StackMatrices:
        view = self.stack(name)
        batch = view._here.batch
        return StackMatrices(
            name=name,
            tokens=view.tokens,
            key_tokens=view.key_tokens if batch.cross else None,
            sentences=view.sentences,
            counted=_array(batch.counted[0]),
            first=_array(batch.first[0]),
            layers=view._layer_matrices(),
            numbers=view._numbers,
            heads=view.heads,
        )

    @property
    def _numbers(self) -> int:
        """How many numbers all heads write."""
        return sum(layer.head_output.numel() for layer in self._here.layers)

    def _layer_matrices(self) -> Iterator[LayerMatrices]:
        with_pairs = SIMILARITY_VARIANTS if is_long(self._numbers) else ()
        for layer in self._here.layers:
            yield LayerMatrices(
                layer=layer.site.layer,
                head_output=_array(layer.head_output[0]),
                attention=_array(layer.attention[0]),
                column_mass=_array(layer.column_mass[0]),
                similarity={
                    variant: _array(self._matrices(layer, variant)[0])
                    for variant in SIMILARITY_VARIANTS
                },
                pairs={variant: self._pair_places(layer, variant) for variant in with_pairs},
            )

    def _pair_places(
        self, layer: LayerView, variant: SimilarityVariant
    ) -> Int[np.ndarray, "3 pair"]:
        """Head, i and j of the pairs of a layer, in any variant of C."""
        matrix = self._matrices(layer, variant)
        pairs = choose_pairs(matrix, self._here.batch.counted, self.settings.pairs)
        return np.stack([_array(values) for values in (pairs.head, pairs.i, pairs.j)])

    def _matrices(
        self, layer: LayerView, variant: SimilarityVariant
    ) -> Float[Tensor, "1 head token token"]:
        return similarity(layer.head_output, variant, self._here.batch.counted)

    @cached_property
    def _chosen(self) -> list[tuple[Pairs, NDArray[Any]]]:
        """The pairs of each layer, with their scores."""
        found = []
        for layer in self._here.layers:
            matrix = self._matrices(layer, self.settings.similarity)
            pairs = choose_pairs(matrix, self._here.batch.counted, self.settings.pairs)
            found.append((pairs, _array(matrix[pairs.window, pairs.head, pairs.i, pairs.j])))
        return found

    def _pair_table(self, place: int) -> pd.DataFrame:
        pairs, score = self._chosen[place]
        batch = self._here.batch
        head, i, j = (_array(values) for values in (pairs.head, pairs.i, pairs.j))
        sentence, token = (_array(batch.queries.groups[group, 0]) for group in (SENTENCE, TOKEN))
        names = np.array(self.tokens, dtype=object)
        table = pd.DataFrame(
            {
                "stack": self.stack_name,
                "layer": self.layers[place],
                "head": head + 1,
                "i": i,
                "j": j,
                "distance": j - i,
                "score": score,
                "token_i": names[i],
                "token_j": names[j],
                "same_sentence": (sentence[i] == sentence[j]) & (sentence[i] >= 0),
                "same_token": token[i] == token[j],
            }
        )
        if not batch.cross:
            high = self.high_attention[place]
            table["high_attention"] = high[head, i] | high[head, j]
        by_score = ["head", "score"]
        return table.sort_values(by_score, ascending=[True, False], kind="stable")

    def _focal_table(self, place: int) -> pd.DataFrame:
        pairs, _ = self._chosen[place]
        batch = self._here.batch
        found = focal_tokens(pairs, batch.first)
        first = _array(found.place[0])
        head = np.flatnonzero(first >= 0)
        return pd.DataFrame(
            {
                "stack": self.stack_name,
                "layer": self.layers[place],
                "head": head + 1,
                "token": np.array(self.tokens, dtype=object)[first[head]],
                "token_id": _array(batch.queries.token_ids[0])[first[head]],
                "place": first[head],
                "count": _array(found.elements[0])[head].astype(np.int64),
                "pairs": _array(pairs.count()[0])[head].astype(np.int64),
            }
        )


def _array(values: Tensor) -> NDArray[Any]:
    wide = values.float() if values.dtype in (torch.float16, torch.bfloat16) else values
    return wide.cpu().numpy()


def _stacked(layers: Sequence[Tensor]) -> NDArray[np.floating]:
    """The layers stacked, without the batch axis; NaN for heads that a layer does not have."""
    arrays = [_array(values[0]) for values in layers]
    shape = np.max([array.shape for array in arrays], axis=0)
    whole = np.full((len(arrays), *shape), np.nan, dtype=arrays[0].dtype)
    for place, array in zip(whole, arrays, strict=True):
        place[tuple(slice(size) for size in array.shape)] = array
    return whole
