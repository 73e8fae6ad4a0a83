"""A few documents for the lens."""

import json
from pathlib import Path

TEXTS = [
    "The cat sat on the mat. The dog, however, did not sit on it, and went away.",
    "Words repeat, words return, and the same words end a sentence about words.",
    "He said the same words to the dog. Did the dog sit? It did not sit on the mat.",
    "A sentence, and a sentence, and the end of a sentence, which is the last one.",
    "Unbelievably, cups, mats, cats and dogs in cafes sit there for a whole day?",
    "Yes, he said. The naive dog sat on the cup, however, and broke it in two.",
]
OPTIONS = {"window": 12, "min_tokens": 6, "texts": None, "progress": False, "batch_tokens": 48}


def write_texts(folder: Path) -> Path:
    """The documents as a corpus.

    Args:
        folder: Where to.
    """
    path = folder / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return path
