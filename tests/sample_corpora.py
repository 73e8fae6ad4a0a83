"""Small corpora to draw samples from, for the tiny model: labelled documents, and copies."""

import json

from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.runs.window_files import windows_from_table
from headscope.text.corpus import read_corpus
from headscope.text.readers.columns import Columns
from headscope.text.windows import cut_windows
from tests.compare.tiny_bert import TEXTS, tokenizer_of_all

DOCUMENTS = 30


def words(place: int) -> str:
    """A text like no other; every fifth is too short for a window."""
    if place % 5 == 4:
        return f"cat {place}"
    return f"{place} " + " ".join(TEXTS[(place + part) % len(TEXTS)] for part in range(place % 4))


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_labelled(path):
    """Documents d0, d1, ... of the genres a and b."""
    rows = [
        {"text": words(place) + " the end", "id": f"d{place}", "genre": "ab"[place % 2]}
        for place in range(DOCUMENTS)
    ]
    return write(path, rows)


def write_copied(path, copies):
    """One text many times, written differently, and two others."""
    forms = (TEXTS[2], TEXTS[2].upper(), TEXTS[2].replace(" ", "\n "), f"“{TEXTS[2]}”")
    rows = [{"text": forms[place % 4]} for place in range(copies)]
    rows += [{"text": TEXTS[1]}, {"text": TEXTS[2] + " The end of it all."}]
    return write(path, rows)


def places(run):
    """Document and first characters of each window of a run."""
    windows = windows_from_table(run.windows().to_table())
    return [(window.document, window.starts.tolist()) for window in windows]


def all_places(corpus):
    """The same for what cutting each document by itself gives."""
    tokenizer = HeadscopeTokenizer(tokenizer_of_all(), max_tokens=128)
    return [
        (document.id, window.starts.tolist())
        for document in read_corpus([corpus], Columns(id="id"))
        for window in cut_windows(document, tokenizer, window_tokens=16, min_tokens=4)
    ]
