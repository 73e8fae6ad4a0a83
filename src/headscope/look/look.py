"""One text at a time: the model reads it once, and every matrix is kept.

The kernels are those of a run; the text is short enough to keep all of Z, A and C.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from headscope.errors import CorpusError, MeasurementError, SettingsError, option, shortened
from headscope.kernels.token_rows import all_finite, column_mass, scaled_mass
from headscope.look.stack_view import LayerView, StackView
from headscope.look.view import View
from headscope.measuring.batch import stack_reading
from headscope.measuring.labels import label_tokens
from headscope.models.given import tokenizer_of
from headscope.models.load import LoadOptions, ModelLike, as_loaded
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite, LayerCapture
from headscope.settings import (
    ColumnMass,
    SettingOptions,
    Settings,
    SimilarityVariant,
    refuse_unknown_options,
    take_options,
)
from headscope.system.option_types import whole_number
from headscope.text.document import Document
from headscope.text.in_memory import checked_text
from headscope.text.windows import Window, cut_windows

MOST_BYTES = 4 * 2**30
"""Texts whose attention maps are larger than this are refused, before memory runs out."""


class LookOptions(LoadOptions, total=False):
    """The keywords of `look` beyond those of its signature."""

    layers: Sequence[int] | None
    similarity: SimilarityVariant
    pairs: str
    attention_threshold: float
    special_tokens: bool
    column_mass: ColumnMass


def look(
    model: ModelLike,
    text: str,
    *,
    window: int | None = None,
    **options: Unpack[LookOptions],
) -> View:
    """One text with every matrix of every head.

    Numbers equal those of `hs.analyze` for the same window.

    Args:
        model: `demo`, a hub id, a local folder, a transformers model (with its `tokenizer`), or
            what `hs.load_model` returned (quicker for several texts).
        text: What the model reads. A text that is too long for the model is refused.
        window: Look only at the first tokens: this many, special tokens included.
        **options: What is looked at: `layers`, `similarity`, `pairs`, `attention_threshold`,
            `special_tokens`, `column_mass`, with the defaults of `headscope.settings.Settings`.
            How the model is loaded: `dtype`, `device`, `allow_pickle`, `trust_remote_code`,
            `tokenizer`.
    """
    refuse_unknown_options("look", options, LookOptions)
    text = checked_text(text)
    window = None if window is None else whole_number("window", window)
    asked = Settings.of(permutations=0, **take_options(options, SettingOptions))
    loading = take_options(options, LoadOptions)
    loaded = as_loaded(model, **loading)
    cut = _window(loaded, text, window)
    settings = replace(asked, window_tokens=cut.n_tokens)
    sites = loaded.sites_of(settings.layers)
    _refuse_too_large(sites, cut.n_tokens)
    stacks = _read(loaded, cut, settings, sites)
    return View(text, loaded.name, settings, next(iter(stacks)), stacks)


def _window(model: LoadedModel, text: str, window: int | None) -> Window:
    """The text, or its first tokens, as the model reads it."""
    tokenizer = tokenizer_of(model)
    if not text.strip():
        raise CorpusError("the text is empty; give at least two words")
    body = len(tokenizer.encode(text).token_ids)
    if body < 2:
        raise CorpusError(f"the text {shortened(text)!r} is one token; a pair needs two")
    whole = body + len(tokenizer.prefix_ids) + len(tokenizer.suffix_ids)
    if window is None and tokenizer.max_tokens is not None and whole > tokenizer.max_tokens:
        raise SettingsError(
            f"the text has {whole} tokens, {model.name} takes at most {tokenizer.max_tokens}; "
            f"shorten it, pass {option('window', tokenizer.max_tokens)} to look at its start, or "
            "cut it into windows with analyze"
        )
    size = whole if window is None else min(window, whole)
    return next(cut_windows(Document("text", text), tokenizer, window_tokens=size, min_tokens=2))


def _read(
    model: LoadedModel, window: Window, settings: Settings, sites: Sequence[AttentionSite]
) -> dict[str, StackView]:
    labels = label_tokens([window], model.device)
    stacks: dict[str, StackView] = {}
    for name in dict.fromkeys(site.stack for site in sites):
        batch = stack_reading(model, name, labels, settings, np.zeros(1, dtype=np.int64))
        stacks[name] = StackView(
            batch,
            tokens=_names(model, window, shifted=batch.queries is not labels),
            key_tokens=_names(model, window, shifted=batch.keys is not labels),
        )

    def on_layer(capture: LayerCapture) -> None:
        batch = stacks[capture.site.stack].batch
        if not bool(all_finite(capture.head_output, batch)):
            raise MeasurementError(
                f"layer {capture.site.layer} ({capture.site.stack}) writes NaN or infinity for "
                f"this text; try {option('dtype', 'float32')}, or another text"
            )
        mass = column_mass(capture.attention, batch.queries.real)
        scaled = scaled_mass(mass, batch, capture.site.causal, settings)
        stacks[capture.site.stack].layers.append(
            # Copies: the model may reuse the memory of a capture.
            LayerView(capture.site, capture.head_output.clone(), capture.attention.clone(), scaled)
        )

    model.forward(labels.token_ids, labels.real, on_layer, sites=sites)
    return stacks


def _names(model: LoadedModel, window: Window, *, shifted: bool) -> tuple[str, ...]:
    """The tokens as people read them; a decoder's come after its start token."""
    if not shifted or model.tokenizer is None:
        return window.tokens
    start = model.tokenizer.special_names.get(model.start_token_id, "<start>")
    return (start, *window.tokens[:-1])


def _refuse_too_large(sites: Sequence[AttentionSite], tokens: int) -> None:
    size = sum(site.heads for site in sites) * tokens**2 * 4
    if size > MOST_BYTES:
        raise SettingsError(
            f"the attention maps of {tokens} tokens take {size / 2**30:.0f} GB; pass "
            f"{option('layers')} to look at some of the layers, or {option('window')} to look at "
            "the start of the text"
        )
