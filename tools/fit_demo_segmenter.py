"""Makes the sentence weights that come with headscope, for the demo model.

    python -m tools.fit_demo_segmenter EWT-TRAIN.conllu.gz EWT-DEV.conllu.gz SOTU.jsonl.gz

Learned from
- UD English EWT, train (web texts, CC BY-SA 4.0): gold sentences;
- State of the Union addresses (public domain) and the demo corpus (the Python reference, PSF
  licence): sentences found by rules while the punctuation is there.
Of each, every fifth document (the first, the sixth, ...) is left out, to measure on. Calibration,
threshold and length prior are chosen on UD English EWT, dev.
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import headscope as hs
from headscope.segment.demo_weights import DEMO_WEIGHTS
from headscope.segment.reading.read_heads import read_sites
from headscope.segment.sentences.familiarity import Familiarity
from headscope.segment.sentences.mode import MODES
from headscope.segment.sentences.weights import SegmenterWeights, load_weights
from headscope.segment.training.bare_text import bare_text
from headscope.segment.training.fit_boundary_net import TrainingSettings
from headscope.segment.training.fit_weights import fit_mode
from headscope.segment.training.training_texts import TrainingText, noisy_text, permuted_sentences
from headscope.text.corpus import read_corpus
from headscope.text.document import Document
from headscope.text.readers.columns import Columns
from headscope.text.sentences import sentence_spans

LAYERS = (1, 2, 3, 4)
"""Layers 5 and 6 add nothing on the development texts, and cost a third of the time."""

LEFT_OUT = 5
"""Every fifth document is not learned from."""

TRAINED_ON = (
    "UD English EWT train (CC BY-SA 4.0; gold sentences), State of the Union addresses (public "
    "domain) and the demo corpus (sentences by rules), each without every fifth document; "
    "calibration and threshold by UD English EWT dev"
)

Item = TypeVar("Item")


def learned_from(items: Sequence[Item]) -> list[Item]:
    return [item for number, item in enumerate(items) if number % LEFT_OUT]


def excerpt(document: Document, characters: int, rng: random.Random) -> Document:
    first = rng.randrange(max(1, len(document.text) - characters))
    first = document.text.find(" ", first) + 1
    return Document(document.id, document.text[first : first + characters])


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


def bare(documents: Sequence[Document]) -> list[TrainingText]:
    """The documents without punctuation and case; every second keeps its apostrophes."""
    stripped = []
    for number, document in enumerate(documents):
        text = flat(document)
        stripped.append(bare_text(text.text, text.starts, keep_apostrophes=number % 2 == 0))
    return [TrainingText(text.text, text.starts) for text in stripped]


def both_ways(documents: Sequence[Document]) -> list[TrainingText]:
    """Every second document on one line, the others as they are written."""
    return [
        flat(document) if number % 2 else as_written(document)
        for number, document in enumerate(documents)
    ]


def unpunctuated_texts(
    web: Sequence[Document], speeches: Sequence[Document], manuals: Sequence[Document]
) -> list[TrainingText]:
    rng = random.Random(0)
    recent = [speech for speech in speeches if int(speech.id[:4]) >= 1930]
    excerpts = [
        excerpt(speech, 8_000 if int(speech.id[:4]) >= 1945 else 2_000, rng) for speech in speeches
    ]
    # Short sentences of speeches in random order: boundaries as in lists and chat.
    shuffled = permuted_sentences(recent, rng)
    return bare([*web, *excerpts, *manuals, *shuffled[: len(shuffled) // 3]])


def punctuated_texts(
    web: Sequence[Document], speeches: Sequence[Document], manuals: Sequence[Document]
) -> list[TrainingText]:
    rng = random.Random(0)
    recent = [speech for speech in speeches if int(speech.id[:4]) >= 1930]
    return [
        *both_ways(web),
        *both_ways([excerpt(speech, 3_000, rng) for speech in recent]),
        *both_ways([Document(manual.id, manual.text[:4_000]) for manual in manuals]),
        *(noisy_text(excerpt(speech, 2_000, rng), rng) for speech in recent),
        *(noisy_text(excerpt(manual, 3_000, rng), rng) for manual in manuals),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("web")
    parser.add_argument("development")
    parser.add_argument("speeches")
    parser.add_argument("--out", type=Path, default=DEMO_WEIGHTS)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--mode", choices=MODES, help="only this one, the other stays as it is")
    args = parser.parse_args()
    model = hs.load_model("demo")
    sites = read_sites(model, LAYERS)
    web = learned_from(list(read_corpus([args.web])))
    speeches = learned_from(list(read_corpus([args.speeches], Columns(id="id"))))
    manuals = learned_from(list(read_corpus(["demo"])))
    development = list(read_corpus([args.development]))
    modes = dict(load_weights(args.out).modes) if args.mode else {}
    for mode in [args.mode] if args.mode else MODES:
        if mode == "punctuated":
            texts = punctuated_texts(web, speeches, manuals)
            chosen_by = [*map(as_written, development), *map(flat, development)]
        else:
            texts = unpunctuated_texts(web, speeches, manuals)
            chosen_by = bare(development)
        settings = TrainingSettings(epochs=args.epochs)
        modes[mode] = fit_mode(model, sites, texts, chosen_by, mode, settings)
        print(mode, modes[mode].calibration, modes[mode].threshold, modes[mode].prior, flush=True)
    familiarity = Familiarity.of(model, (document.text for document in web))
    SegmenterWeights(model.name, model.weights_hash, LAYERS, modes, TRAINED_ON, familiarity).save(
        args.out
    )


if __name__ == "__main__":
    main()
