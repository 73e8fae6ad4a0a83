"""spaCy: sentence starts of a document, set by the segmenter.

`nlp.add_pipe("headscope_sentences")` finds this file by its entry point; where headscope is not
installed as a package, import it first.
"""

from bisect import bisect_left
from collections.abc import Callable

from spacy.language import Language
from spacy.tokens import Doc

from headscope.segment.segmenter import Segmenter


@Language.factory(
    "headscope_sentences",
    assigns=["token.is_sent_start", "doc.sents"],
    default_config={"model": "demo", "weights": None, "mode": "auto"},
)
def headscope_sentences(
    nlp: Language, name: str, model: str, weights: str | None, mode: str
) -> Callable[[Doc], Doc]:
    """A component that sets `is_sent_start` of every token.

    A sentence that begins inside a token begins with the next one.

    Args:
        nlp: The pipeline.
        name: Of the component in it.
        model: `demo`, a folder or a hub id.
        weights: A folder written by `Segmenter.save`.
        mode: `auto`, `punctuated` or `unpunctuated`.
    """
    segmenter = Segmenter(model, weights=weights, mode=mode)

    def set_sentences(doc: Doc) -> Doc:
        places = [token.idx for token in doc]
        firsts = {bisect_left(places, start) for start, _ in segmenter.spans(doc.text)}
        for token in doc:
            token.is_sent_start = token.i in firsts or token.i == 0
        return doc

    return set_sentences
