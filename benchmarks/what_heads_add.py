"""What do attention heads add to surface features, and what do they know without any training?

    python benchmarks/what_heads_add.py EWT-TRAIN.conllu.gz EWT-DEV.conllu.gz [--documents 60]
        [--models demo .cache/models/mpnet] [--only learned|untrained]

Learned: the network of the segmenter is trained three times on the same documents of EWT train with
gold sentences: it sees the surface alone, the heads alone, or both. Calibration and threshold are
chosen on EWT dev. Measured on every fifth document of EWT train, which none of them is trained on.

Without training: boundaries where a signal of the heads in the final third of the layers has a
local maximum, the largest ones, as many as there are sentences. Signals: the attention that the
token before the gap receives from the text; the attention that it pays to the separator token at
the end of the window; how unlike the heads' outputs before and after the gap are (minus
`contrast`). All are means over heads.

95 % intervals of F1 by resampling documents.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

import headscope as hs
from headscope.models.loaded import LoadedModel
from headscope.models.site import LayerCapture
from headscope.segment.evaluation.baselines import even_starts
from headscope.segment.metrics import BoundaryCounts, count_boundaries
from headscope.segment.reading.head_signals import SIGNALS, head_signals
from headscope.segment.reading.read_heads import read_sites
from headscope.segment.reading.window_batches import PaddedBatch, for_each_batch
from headscope.segment.sentences.boundary_net import NetShape
from headscope.segment.sentences.candidates import find_candidates
from headscope.segment.sentences.decode import CutRules, LengthPrior, decode
from headscope.segment.sentences.mode_weights import Calibration, ModeWeights
from headscope.segment.training.bare_text import bare_text
from headscope.segment.training.fit_boundary_net import (
    TrainingSettings,
    fit_boundary_net,
    score_all,
)
from headscope.segment.training.fit_weights import ReadTexts, read_training_texts, tune
from headscope.segment.training.training_texts import TrainingText
from headscope.text.corpus import read_corpus
from headscope.text.document import Document
from headscope.text.sentences import sentence_spans

LAYERS = (1, 2, 3, 4)
"""Those of the shipped weights, of the demo model."""
CONDITIONS = ("as written", "bare")


def texts_of(documents: Sequence[Document], condition: str) -> list[TrainingText]:
    found = []
    for document in documents:
        starts = tuple(start for start, _ in sentence_spans(document)[1:])
        if condition == "bare":
            bare = bare_text(document.text, starts)
            found.append(TrainingText(bare.text, bare.starts))
        else:
            found.append(TrainingText(document.text, starts))
    return found


def seen(read: ReadTexts, what: str) -> ReadTexts:
    """The texts as a network sees them that is shown the surface alone, or the heads alone."""
    examples = read.examples
    if what == "surface":
        nothing = {"outputs": torch.zeros_like(examples.outputs)}
        nothing["signals"] = torch.zeros_like(examples.signals)
    else:
        nothing = {"surface": torch.zeros_like(examples.surface)} if what == "heads" else {}
    return replace(read, examples=replace(examples, **nothing))


def interval(counts: Sequence[BoundaryCounts]) -> str:
    numbers = np.array([(c.true_positives, c.found + c.wanted) for c in counts], dtype=float)
    drawn = np.random.default_rng(0).integers(len(numbers), size=(2000, len(numbers)))
    sums = numbers[drawn].sum(1)
    low, high = np.quantile(2 * sums[:, 0] / sums[:, 1], [0.025, 0.975])
    total = numbers.sum(0)
    return f"{2 * total[0] / total[1]:.3f} ({low:.3f} to {high:.3f})"


def learned(
    train: Sequence[Document], dev: Sequence[Document], test: Sequence[Document], epochs: int
) -> None:
    model = hs.load_model("demo")
    sites = read_sites(model, LAYERS)
    shape = NetShape(
        outputs=sum(site.heads * site.d_head for site in sites),
        signals=sum(site.heads for site in sites) * len(SIGNALS),
        surface=True,
    )
    for condition in CONDITIONS:
        # The mode says that surface features are wanted; here they are, without punctuation too.
        read = [
            read_training_texts(model, sites, texts_of(documents, condition), "punctuated")
            for documents in (train, dev, test)
        ]
        for what in ("surface", "heads", "both"):
            train_read, dev_read, test_read = (seen(one, what) for one in read)
            net = fit_boundary_net(train_read.examples, shape, TrainingSettings(epochs=epochs))
            prior = LengthPrior.of(dev_read.sentence_lengths(), 0.0)
            weights = tune(ModeWeights(net, Calibration(), 0.5, prior), dev_read)
            raw = score_all(net, test_read.examples).double().numpy()
            odds = test_read.per_text(weights.calibration.log_odds(raw))
            counts = []
            for text, candidates, its in zip(
                test_read.texts, test_read.candidates, odds, strict=True
            ):
                found = decode(
                    its,
                    candidates.characters,
                    len(text.text),
                    threshold=weights.threshold,
                    prior=weights.prior,
                    rules=CutRules(),
                )
                counts.append(count_boundaries(found, text.starts))
            print(f"| {condition} | {what} | {interval(counts)} |", flush=True)


def gap_signals(model: LoadedModel, texts: Sequence[TrainingText]) -> list[np.ndarray]:
    """For the gap before each token of each text: received, to the separator, minus contrast."""
    assert model.tokenizer is not None
    deepest = max(site.layer for site in model.sites)
    last_third = tuple(range(deepest - max(1, deepest // 3) + 1, deepest + 1))
    sites = read_sites(model, last_third)
    encodings = [model.tokenizer.encode(text.text) for text in texts]
    found = [np.zeros((len(encoding.token_ids), 3)) for encoding in encodings]

    def read(batch: PaddedBatch) -> None:
        ends = batch.real.sum(1) - 1  # the separator is the last token of a window

        def on_layer(capture: LayerCapture) -> None:
            signals = head_signals(capture.head_output, capture.attention, batch.counted)
            means = signals.mean(2).numpy()
            for row, window, kept in batch.kept():
                to_separator = capture.attention[row, :, :, int(ends[row])].mean(0).numpy()
                before = np.concatenate([[0.0], to_separator[:-1]])
                into = found[window.text][window.kept_start : window.kept_end]
                into[:, 0] += means[row, kept, SIGNALS.index("mass_before")]
                into[:, 1] += before[kept]
                into[:, 2] -= means[row, kept, SIGNALS.index("contrast")]

        model.forward(batch.token_ids, batch.real, on_layer, sites=sites)

    with torch.inference_mode():
        for_each_batch(model, encodings, read)
    return found


def untrained(name: str, test: Sequence[Document]) -> None:
    model = hs.load_model(name)
    assert model.tokenizer is not None
    for condition in CONDITIONS:
        texts = texts_of(test, condition)
        counts: dict[str, list[BoundaryCounts]] = {}
        for text, signals in zip(texts, gap_signals(model, texts), strict=True):
            candidates = find_candidates(text.text, model.tokenizer.encode(text.text))
            places = np.minimum(candidates.tokens, len(signals) - 1)
            number = len(text.starts)
            for column, signal in enumerate(("received", "to separator", "contrast")):
                values = signals[places, column]
                beyond = np.concatenate([[-np.inf], values, [-np.inf]])
                peak = (values >= beyond[:-2]) & (values >= beyond[2:])
                order = np.argsort(-np.where(peak, values, -np.inf), kind="stable")[:number]
                chosen = candidates.characters[order[peak[order]]].tolist()
                counts.setdefault(signal, []).append(count_boundaries(chosen, text.starts))
            even = even_starts(len(candidates) + 1, number + 1)
            chosen = candidates.characters[[place - 1 for place in even]].tolist()
            counts.setdefault("even", []).append(count_boundaries(chosen, text.starts))
        for signal, its in counts.items():
            print(f"| {model.name} | {condition} | {signal} | {interval(its)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train")
    parser.add_argument("development")
    parser.add_argument("--documents", type=int, default=1000, help="at most, to learn from")
    parser.add_argument("--tests", type=int, default=1000, help="at most, to measure on")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--models", nargs="*", default=["demo"], help="without training")
    parser.add_argument("--only", choices=["learned", "untrained"])
    args = parser.parse_args()
    documents = list(read_corpus([args.train]))
    train = [document for number, document in enumerate(documents) if number % 5]
    train = train[:: max(1, len(train) // args.documents)][: args.documents]
    test = documents[::5]
    test = test[:: max(1, len(test) // args.tests)][: args.tests]
    dev = list(read_corpus([args.development]))
    dev = dev[:: max(1, len(dev) // args.documents)][: args.documents]
    print(f"{len(train)} documents to learn from, {len(test)} to measure on", flush=True)
    if args.only != "untrained":
        learned(train, dev, test, args.epochs)
    if args.only != "learned":
        for name in args.models:
            untrained(name, test)


if __name__ == "__main__":
    main()
