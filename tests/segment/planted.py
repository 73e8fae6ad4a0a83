"""Documents whose sentences end with words that stand nowhere else."""

import random

from headscope.text.document import Document

WORDS = ("the", "a", "man", "dog", "house", "tree", "sees", "knows", "has", "with", "of", "old")
LAST_WORDS = ("banana", "orange", "pepper")


def planted_documents(count: int, seed: int) -> list[Document]:
    rng = random.Random(seed)
    documents = []
    for number in range(count):
        text, spans = "", []
        for _ in range(12):
            words = [*rng.choices(WORDS, k=rng.randint(3, 9)), rng.choice(LAST_WORDS)]
            spans.append((len(text), len(text) + len(" ".join(words))))
            text += " ".join(words) + " "
        documents.append(Document(str(number), text, tuple(spans)))
    return documents
