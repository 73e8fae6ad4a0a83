"""Makes the network for topics that comes with headscope, for the demo model.

    python -m tools.fit_demo_topics EWT-TRAIN.conllu.gz EWT-DEV.conllu.gz SOTU.jsonl.gz

Learned from thousands of texts, each joined from passages of documents of
- UD English EWT, train and dev (web texts, CC BY-SA 4.0);
- State of the Union addresses (public domain).
Every fifth document of EWT train and of the addresses (the first, the sixth, ...) is left out, to
measure on. No label is needed: where a passage ends is known. Some texts are one passage, so that
it learns to leave a text whole.
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import headscope as hs
from headscope.models.loaded import LoadedModel
from headscope.segment.demo_weights import DEMO_WEIGHTS
from headscope.segment.reading.window_batches import text_tokenizer
from headscope.segment.topics.gap_features import similarity_channels
from headscope.segment.topics.sentence_similarity import sentence_vectors, word_overlap
from headscope.segment.topics.topic_net import TopicNetFacts
from headscope.segment.training.fit_boundary_net import TrainingSettings
from headscope.segment.training.fit_topic_net import TopicExample, fit_topic_net
from headscope.text.corpus import read_corpus
from headscope.text.document import Document
from headscope.text.encoding import Encoding
from headscope.text.readers.columns import Columns
from headscope.text.sentences import sentence_spans
from tools.fit_demo_segmenter import learned_from

MOST_SENTENCES = 130
"""Taken from one document, starting at a random sentence; also roughly those of a joined text."""

LENGTHS = ((3, 5), (6, 8), (9, 11), (3, 11), (5, 15), (5, 15), (4, 25), (10, 40))
"""Sentences in a passage, from and to: each text uses one of these ranges."""
LENGTHS_ALONE = (20, 90)

TRAINED_ON = (
    "passages of UD English EWT train and dev (CC BY-SA 4.0) and of State of the Union addresses "
    "(public domain), EWT train and the addresses without every fifth document"
)


@dataclass(frozen=True, eq=False)
class ReadDocument:
    """A document as the model reads it, sentence by sentence."""

    genre: str
    encodings: list[Encoding]
    vectors: np.ndarray

    def __len__(self) -> int:
        return len(self.encodings)


def read(model: LoadedModel, documents: Sequence[Document]) -> list[ReadDocument]:
    rng = random.Random(0)
    tokenizer = text_tokenizer(model)
    made = []
    for document in documents:
        spans = sentence_spans(document)
        first = rng.randrange(max(1, len(spans) - MOST_SENTENCES + 1))
        kept = spans[first : first + MOST_SENTENCES]
        encodings = [tokenizer.encode(document.text[start:end].strip()) for start, end in kept]
        genre = document.id.split("-")[0]
        made.append(ReadDocument(genre, encodings, sentence_vectors(model, encodings)))
    return made


def put_together(
    web: Sequence[ReadDocument], speeches: Sequence[ReadDocument], rng: random.Random
) -> TopicExample | None:
    """A text of 1 to 15 passages; None if too few documents are long enough."""
    documents = rng.choices([web, speeches, [*web, *rng.sample(speeches, 60)]], [45, 35, 20])[0]
    if documents is web and rng.random() < 0.3:
        genre = rng.choice(sorted({document.genre for document in web}))
        documents = [document for document in web if document.genre == genre]
    passages = rng.choices([1, rng.randint(2, 4), rng.randint(5, 15)], [8, 17, 75])[0]
    shortest, longest = LENGTHS_ALONE if passages == 1 else rng.choice(LENGTHS)
    needed = shortest if passages == 1 or rng.random() < 0.5 else longest
    usable = [document for document in documents if len(document) >= needed]
    vectors: list[np.ndarray] = []
    encodings: list[Encoding] = []
    starts: list[int] = []
    for document in rng.sample(usable, min(passages, len(usable))):
        length = min(rng.randint(shortest, longest), len(document))
        if encodings and len(encodings) + length > MOST_SENTENCES:
            break
        first = rng.randrange(len(document) - length + 1)
        starts.append(len(encodings))
        encodings += document.encodings[first : first + length]
        vectors.append(document.vectors[first : first + length])
    if len(encodings) < 6:
        return None
    alike = similarity_channels(np.concatenate(vectors), word_overlap(encodings))
    return TopicExample([matrix.astype(np.float32) for matrix in alike], tuple(starts[1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("web")
    parser.add_argument("development")
    parser.add_argument("speeches")
    parser.add_argument("--out", type=Path, default=DEMO_WEIGHTS)
    parser.add_argument("--texts", type=int, default=6_000)
    parser.add_argument("--epochs", type=int, default=8)
    args = parser.parse_args()
    model = hs.load_model("demo")
    web = read(
        model,
        [*learned_from(list(read_corpus([args.web]))), *read_corpus([args.development])],
    )
    speeches = read(model, learned_from(list(read_corpus([args.speeches], Columns(id="id")))))
    print(f"{len(web)} and {len(speeches)} documents read", flush=True)
    rng = random.Random(0)
    examples: list[TopicExample] = []
    while len(examples) < args.texts:
        example = put_together(web, speeches, rng)
        examples += [example] * (example is not None)
    print(f"{len(examples)} texts put together", flush=True)
    facts = TopicNetFacts(model.name, model.weights_hash, TRAINED_ON)
    settings = TrainingSettings(epochs=args.epochs, dropout=0.3)
    fit_topic_net(examples, facts, settings).save(args.out)


if __name__ == "__main__":
    main()
