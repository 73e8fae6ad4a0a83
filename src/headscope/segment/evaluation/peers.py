"""Peers: sentence splitters of other packages, where they are installed."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise

from headscope.text.sentences import split_sentences

Splitter = Callable[[str], list[str]]
"""A text in, its sentences out."""


def installed_peers() -> Iterator[tuple[str, Splitter]]:
    """The name and the splitter of each peer that is installed (extra `peers`)."""
    yield "nupunkt", _nupunkt
    for name, make in (
        ("pysbd", _pysbd),
        ("punkt", _punkt),
        ("sentencizer", _sentencizer),
        ("blingfire", _blingfire),
        ("syntok", _syntok),
    ):
        package = {"punkt": "nltk", "sentencizer": "spacy"}.get(name, name)
        if find_spec(package) is not None:
            yield name, make()


def _nupunkt(text: str) -> list[str]:
    """The splitter that headscope uses without gold sentences; blank lines end sentences."""
    return [text[start:end] for start, end in split_sentences(text)]


def _pysbd() -> Splitter:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has invalid escapes in its source
        import pysbd
    segmenter = pysbd.Segmenter(language="en", clean=False)

    def split(text: str) -> list[str]:
        return [str(sentence) for sentence in segmenter.segment(text)]

    return split


def _punkt() -> Splitter:
    """Punkt from nltk, trained on the text itself: its trained models would be a download."""
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    def split(text: str) -> list[str]:
        return [str(sentence) for sentence in PunktSentenceTokenizer(text).tokenize(text)]

    return split


def _sentencizer() -> Splitter:
    import spacy

    language = spacy.blank("en")
    language.add_pipe("sentencizer")

    def split(text: str) -> list[str]:
        return [str(sentence) for sentence in language(text).sents]

    return split


def _blingfire() -> Splitter:
    import blingfire

    def split(text: str) -> list[str]:
        one_line = " ".join(text.split())
        return str(blingfire.text_to_sentences(one_line)).split("\n")

    return split


def _syntok() -> Splitter:
    """Paragraph by paragraph: its offsets start again with each."""
    import re

    from syntok import segmenter

    def split(text: str) -> list[str]:
        pieces = []
        for paragraph in re.split(r"\n\s*\n", text):
            found = segmenter.process(" ".join(paragraph.split()))
            line = " ".join(paragraph.split())
            starts = [sentence[0].offset for part in found for sentence in part]
            edges = [0, *starts[1:], len(line)]
            pieces += [line[start:end] for start, end in pairwise(edges)]
        return pieces

    return split
