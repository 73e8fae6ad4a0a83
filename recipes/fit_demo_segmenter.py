"""Makes the segmenter weights that come with headscope, for the demo model.

    python recipes/fit_demo_segmenter.py SOTU.jsonl.gz EWT-DEV.conllu.gz [--out FOLDER]

Learned by self-supervision from the State of the Union addresses (public domain) and the demo
corpus (the Python reference, PSF licence): sentences are found by rules, then punctuation and case
are taken away. Calibration, threshold and length prior are chosen on the development part of a
treebank with gold sentences; nothing else of it goes into the weights.

The shipped weights come from two runs: --mode unpunctuated --share 0.8, and --mode punctuated
--share 0.25, both with the default settings.
"""

import argparse
import random
from pathlib import Path

import headscope as hs
from headscope.segment.bare_text import bare_text
from headscope.segment.fit import fit_mode
from headscope.segment.fit_net import TrainingSettings
from headscope.segment.mode import MODES, Mode
from headscope.segment.read_heads import read_sites
from headscope.segment.training_texts import (
    TrainingText,
    roughened,
    shuffled_documents,
)
from headscope.segment.weights import SHIPPED, SegmenterWeights, load_weights
from headscope.text.corpus import read_corpus
from headscope.text.document import Document
from headscope.text.sentences import sentence_spans

LAYERS = (1, 2, 3, 4)
"""Layers 5 and 6 add nothing on the development texts, and cost a third of the time."""


def excerpts(path: str, rng: random.Random, share: float) -> list[Document]:
    """A stretch of each address, longer ones of those since 1945, which sound more like today."""
    found = []
    for document in read_corpus([path], id_column="id"):
        wanted = int(share * (25_000 if int(document.id[:4]) >= 1945 else 6_000))
        first = rng.randrange(max(1, len(document.text) - wanted))
        first = document.text.find(" ", first) + 1
        found.append(Document(document.id, document.text[first : first + wanted]))
    return found


def short_sentences(path: str, rng: random.Random, share: float) -> list[Document]:
    """Short sentences of all addresses since 1930, in random order."""
    recent = [
        document for document in read_corpus([path], id_column="id") if int(document.id[:4]) >= 1930
    ]
    documents = shuffled_documents([*recent, *read_corpus(["demo"])], rng)
    return documents[: int(share * len(documents))]


def as_met(documents: list[Document], mode: Mode, rng: random.Random) -> list[TrainingText]:
    if mode == "punctuated":
        return [roughened(document, rng) for document in documents]
    return bare([flat(document) for document in documents])


def bare(texts: list[TrainingText]) -> list[TrainingText]:
    stripped = [
        bare_text(text.text, text.starts, keep_apostrophes=number % 2 == 0)
        for number, text in enumerate(texts)
    ]
    return [TrainingText(text.text, text.starts) for text in stripped]


def as_written(document: Document) -> TrainingText:
    return TrainingText(document.text, tuple(start for start, _ in sentence_spans(document)[1:]))


def flat(document: Document) -> TrainingText:
    """The document on one line, as it is written."""
    text, starts = "", []
    for start, end in sentence_spans(document):
        if text:
            text += " "
            starts.append(len(text))
        text += document.text[start:end].strip()
    return TrainingText(text, tuple(starts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sotu")
    parser.add_argument("development")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--mode", choices=MODES, help="only this one, the other stays as it is")
    parser.add_argument("--share", type=float, default=1.0, help="of the texts, for a quick try")
    args = parser.parse_args()
    model = hs.load_model("demo")
    sites = read_sites(model, LAYERS)
    development = list(read_corpus([args.development]))
    modes = dict(load_weights(args.out).modes) if args.mode else {}
    for mode in [args.mode] if args.mode else MODES:
        rng = random.Random(0)
        documents = [
            *excerpts(args.sotu, rng, args.share),
            *read_corpus(["demo"]),
            *short_sentences(args.sotu, rng, args.share),
        ]
        learned_from = as_met(documents, mode, rng)
        chosen_by = [flat(document) for document in development]
        if mode == "punctuated":
            chosen_by += [as_written(document) for document in development]
        else:
            chosen_by = bare(chosen_by)
        settings = TrainingSettings(epochs=args.epochs)
        modes[mode] = fit_mode(model, sites, learned_from, chosen_by, mode, settings)
        print(mode, modes[mode].calibration, modes[mode].threshold, modes[mode].prior, flush=True)
    SegmenterWeights(
        model.name,
        model.weights_hash,
        LAYERS,
        modes,
        "State of the Union addresses (public domain) and the demo corpus, without labels; "
        "calibration and threshold by UD English EWT dev",
    ).save(args.out)


if __name__ == "__main__":
    main()
