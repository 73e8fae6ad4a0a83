"""Fitting: the weights that a segmenter learns from documents, for each mode."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64
from numpy.typing import NDArray
from scipy.optimize import minimize

from headscope.errors import CorpusError
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.segment.metrics import BoundaryCounts, count_boundaries
from headscope.segment.reading.head_signals import SIGNALS
from headscope.segment.reading.read_heads import identity_maps, read_heads, read_sites
from headscope.segment.reading.window_batches import text_tokenizer
from headscope.segment.sentences.boundary_net import NetShape
from headscope.segment.sentences.candidates import Candidates, find_candidates
from headscope.segment.sentences.decode import CutRules, LengthPrior, decode
from headscope.segment.sentences.familiarity import Familiarity
from headscope.segment.sentences.mode import Mode
from headscope.segment.sentences.mode_weights import Calibration, ModeWeights
from headscope.segment.sentences.surface import surface_features
from headscope.segment.sentences.weights import SegmenterWeights
from headscope.segment.training.fit_boundary_net import (
    Examples,
    TrainingSettings,
    fit_boundary_net,
    score_all,
)
from headscope.segment.training.training_texts import TrainingText, training_texts
from headscope.text.document import Document

_HELD_OUT = 8
"""Every eighth text is held out, to calibrate and to choose the threshold."""

_THRESHOLDS = np.arange(0.15, 0.66, 0.05)
_PRIOR_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, eq=False, slots=True)
class ReadTexts:
    """Training texts after the model has read them."""

    texts: tuple[TrainingText, ...]
    candidates: tuple[Candidates, ...]
    examples: Examples

    def per_text(self, values: Float64[np.ndarray, " candidate"]) -> list[NDArray[np.float64]]:
        """Values of all candidates, split by text.

        Args:
            values: A value per candidate, text after text.
        """
        ends = np.cumsum([len(candidates) for candidates in self.candidates])
        return np.split(values, ends[:-1])

    def sentence_lengths(self) -> list[int]:
        """The lengths of all sentences, in candidates."""
        lengths: list[int] = []
        for text, candidates in zip(self.texts, self.candidates, strict=True):
            starts = np.flatnonzero(np.isin(candidates.characters, text.starts)) + 1
            lengths += np.diff([0, *starts.tolist(), len(candidates) + 1]).tolist()
        return lengths


def fit_weights(
    model: LoadedModel,
    documents: Sequence[Document],
    *,
    layers: Sequence[int] | None,
    modes: Sequence[Mode],
    settings: TrainingSettings,
    trained_on: str,
) -> SegmenterWeights:
    """The weights that a segmenter learns from documents; see `Segmenter.fit`.

    Args:
        model: The model whose heads are read.
        documents: With gold sentences, or with punctuation.
        layers: The numbers of the layers that are read; None for the first two thirds.
        modes: The modes that are learned.
        settings: How the networks are trained.
        trained_on: The documents in words, kept with the weights.
    """
    deepest = max(site.layer for site in model.sites if site.stack == model.stacks[0])
    chosen = tuple(layers or range(1, max(1, round(deepest * 2 / 3)) + 1))
    sites = read_sites(model, chosen)
    learned = {}
    texts: list[str] = []
    for mode in modes:
        taught = training_texts(documents, mode, random.Random(settings.seed))
        texts += [text.text for text in taught]
        learned_from, chosen_by = split_held_out(taught)
        learned[mode] = fit_mode(model, sites, learned_from, chosen_by, mode, settings)
    familiarity = Familiarity.of(model, texts)
    return SegmenterWeights(
        model.name, model.weights_hash, chosen, learned, trained_on, familiarity
    )


def split_held_out(
    texts: Sequence[TrainingText],
) -> tuple[list[TrainingText], list[TrainingText]]:
    """The texts to train on, and every eighth to tune on; with few texts, all are used for both.

    Args:
        texts: All training texts.
    """
    if len(texts) < 2 * _HELD_OUT:
        return list(texts), list(texts)
    return (
        [text for number, text in enumerate(texts) if number % _HELD_OUT],
        list(texts[::_HELD_OUT]),
    )


def fit_mode(
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    learned_from: Sequence[TrainingText],
    chosen_by: Sequence[TrainingText],
    mode: Mode,
    settings: TrainingSettings,
) -> ModeWeights:
    """The weights for one mode.

    Args:
        model: The model whose heads are read.
        sites: The attention sites that are read.
        learned_from: Texts that the network is trained on.
        chosen_by: Texts that calibration, threshold and length prior are chosen on.
        mode: The mode.
        settings: How the network is trained.
    """
    read = read_training_texts(model, sites, learned_from, mode)
    if read.examples.labels.sum() < 2:
        raise CorpusError(
            f"the {len(learned_from)} texts hold fewer than three sentences to learn from; "
            "give more texts"
        )
    shape = NetShape(
        outputs=sum(site.heads * site.d_head for site in sites),
        signals=sum(site.heads for site in sites) * len(SIGNALS),
        surface=mode == "punctuated",
    )
    net = fit_boundary_net(read.examples, shape, settings)
    held_out = read_training_texts(model, sites, chosen_by, mode)
    prior = LengthPrior.of(held_out.sentence_lengths(), 0.0)
    return tune(ModeWeights(net, Calibration(), 0.5, prior), held_out)


def tune(weights: ModeWeights, held_out: ReadTexts) -> ModeWeights:
    """The weights after calibration, with the threshold and the prior that have the best F1.

    Args:
        weights: With a trained network.
        held_out: Texts that it was not trained on.
    """
    raw = score_all(weights.net, held_out.examples).double().numpy()
    calibration = _platt(raw, held_out.examples.labels.double().numpy())
    log_odds = held_out.per_text(calibration.log_odds(raw))
    best = (-1.0, 0.5, weights.prior)
    for weight in _PRIOR_WEIGHTS:
        prior = LengthPrior(weights.prior.mean_log, weights.prior.deviation_log, weight)
        for threshold in _THRESHOLDS:
            counts = _count(held_out, log_odds, float(threshold), prior)
            if counts.f1 > best[0]:
                best = (counts.f1, float(threshold), prior)
    return ModeWeights(weights.net, calibration, best[1], best[2])


def read_training_texts(
    model: LoadedModel, sites: Sequence[AttentionSite], texts: Sequence[TrainingText], mode: Mode
) -> ReadTexts:
    """The texts as examples: candidates, labels, and all that the heads wrote.

    Args:
        model: The model that reads the texts.
        sites: The attention sites that are read.
        texts: The texts.
        mode: Surface features are for the punctuated mode only.
    """
    tokenizer = text_tokenizer(model)
    encodings = [tokenizer.encode(text.text) for text in texts]
    readings = read_heads(model, encodings, sites, identity_maps(sites), dtype=torch.float16)
    candidates = [
        find_candidates(text.text, encoding)
        for text, encoding in zip(texts, encodings, strict=True)
    ]
    sizes = [len(encoding.token_ids) for encoding in encodings]
    firsts = np.cumsum([0, *sizes[:-1]])
    places = [
        torch.from_numpy(found.tokens).clamp(max=max(size - 1, 0))
        for found, size in zip(candidates, sizes, strict=True)
    ]
    surfaces = [
        surface_features(text.text, found.characters)
        if mode == "punctuated"
        else np.zeros((len(found), 0), dtype=np.float32)
        for text, found in zip(texts, candidates, strict=True)
    ]
    labels = [
        np.isin(found.characters, text.starts).astype(np.float32)
        for text, found in zip(texts, candidates, strict=True)
    ]
    return ReadTexts(
        tuple(texts),
        tuple(candidates),
        Examples(
            outputs=torch.cat([reading.columns for reading in readings]),
            signals=torch.cat(
                [reading.signals[its] for reading, its in zip(readings, places, strict=True)]
            ),
            surface=torch.from_numpy(np.concatenate(surfaces)),
            tokens=torch.cat([its + int(first) for its, first in zip(places, firsts, strict=True)]),
            labels=torch.from_numpy(np.concatenate(labels)),
            text_sizes=tuple(sizes),
        ),
    )


def _count(
    held_out: ReadTexts,
    log_odds: Sequence[NDArray[np.float64]],
    threshold: float,
    prior: LengthPrior,
) -> BoundaryCounts:
    counts = BoundaryCounts()
    for text, candidates, odds in zip(held_out.texts, held_out.candidates, log_odds, strict=True):
        found = decode(
            odds,
            candidates.characters,
            len(text.text),
            threshold=threshold,
            prior=prior,
            rules=CutRules(),
        )
        counts += count_boundaries(found, text.starts)
    return counts


def _platt(
    raw: Float64[np.ndarray, " candidate"], labels: Float64[np.ndarray, " candidate"]
) -> Calibration:
    """The scale and shift that make the labels most likely (Platt 1999).

    Targets are a little inside 0 and 1, as in his paper: otherwise labels that the network always
    gets right would need an infinite scale.
    """
    yes = labels.sum()
    no = len(labels) - yes
    targets = np.where(labels > 0, (yes + 1) / (yes + 2), 1 / (no + 2))

    def loss(parameters: np.ndarray) -> float:
        odds = parameters[0] * raw + parameters[1]
        return float(np.mean(np.logaddexp(0, odds) - targets * odds))

    scale, shift = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead").x
    return Calibration(float(scale), float(shift))
