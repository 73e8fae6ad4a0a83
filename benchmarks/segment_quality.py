"""How good are segments of documents that the shipped weights were not learned from?

    python benchmarks/segment_quality.py EWT-TRAIN.conllu.gz SOTU.jsonl.gz [--topic-texts 20]

Every fifth document of each corpus was left out of training (tools/fit_demo_segmenter.py); these
are measured here. Sentences: the table of `segment-eval`, for all and for the better edited genres.
Topics: passages of different documents (Choi 2000), of one corpus and of edited prose of several,
and real documents with sections of their own, where the question is whether cutting is any better
than not cutting at all.
"""

import argparse
from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
import pandas as pd

import headscope as hs
from headscope.segment.evaluation.evaluate_sentences import evaluate_sentences
from headscope.segment.evaluation.evaluate_topics import (
    ConcatenatedText,
    concatenate_passages,
    evaluate_topics,
)
from headscope.segment.metrics import boundaries_at, pk
from headscope.text.corpus import read_corpus
from headscope.text.document import Document
from headscope.text.readers.columns import Columns
from headscope.text.sentences import sentence_spans

PASSAGES = ((3, 5), (6, 8), (9, 11), (3, 11), (5, 15))
SHOWN = ["headscope", "headscope (n)", "C99", "C99 (n)", "TextTiling", "even", "random", "none"]


def by_paragraph(document: Document) -> ConcatenatedText:
    """The sentences of a document, and those with which its paragraphs begin."""
    spans = sentence_spans(document)
    sentences = [document.text[start:end].strip() for start, end in spans]
    gaps = [
        document.text[start + len(document.text[start:end].rstrip()) : next_start]
        for (start, end), (next_start, _) in pairwise(spans)
    ]
    return ConcatenatedText(
        sentences, [place for place, gap in enumerate(gaps, 1) if "\n\n" in gap]
    )


def by_page(pages: Sequence[Document], together: int = 10) -> list[ConcatenatedText]:
    """Neighbouring pages of one manual as one document, with a section each."""
    sections = [[p.text[start:end].strip() for start, end in sentence_spans(p)] for p in pages]
    sections = [sentences for sentences in sections if 3 <= len(sentences) <= 40]
    made = []
    for first in range(0, len(sections) - together + 1, together):
        group = sections[first : first + together]
        starts = list(accumulate(map(len, group[:-1])))
        made.append(
            ConcatenatedText([sentence for section in group for sentence in section], starts)
        )
    return made


def evenly(documents: Sequence[Document], n: int) -> list[Document]:
    """N of the documents that are long enough for a passage, evenly spread."""
    long_enough = [d for d in documents if len(sentence_spans(d)) >= PASSAGES[-1][1]]
    return long_enough[:: len(long_enough) // n][:n]


def by_heading(document: Document) -> ConcatenatedText:
    """The sentences of an address, headings in capitals taken out, and those that follow one."""
    kept: list[str] = []
    starts: list[int] = []
    for start, end in sentence_spans(document):
        sentence = document.text[start:end].strip()
        letters = [letter for letter in sentence if letter.isalpha()]
        if len(letters) > 4 and all(letter.isupper() for letter in letters):
            if kept and (not starts or starts[-1] < len(kept)):
                starts.append(len(kept))
        else:
            kept.append(sentence)
    return ConcatenatedText(kept, starts)


def pk_minus_none(segmenter: hs.Segmenter, texts: Sequence[ConcatenatedText]) -> str:
    """Pk with the number unknown, and that minus the Pk of no cut, with intervals.

    95 % intervals by resampling texts. They share documents, so these are a little too narrow.
    """
    rows = []
    for text in texts:
        n, reference = len(text.sentences), boundaries_at(text.starts, len(text.sentences))
        found = pk(boundaries_at(segmenter.topics(text.sentences), n), reference)
        rows.append((found, found - pk(boundaries_at([], n), reference)))
    scores = np.array(rows)
    drawn = np.random.default_rng(0).integers(len(scores), size=(2000, len(scores)))
    low, high = np.quantile(scores[drawn].mean(1), [0.025, 0.975], axis=0)
    means = scores.mean(0)
    return "; ".join(
        f"{name} {means[i]:.3f} ({low[i]:.3f} to {high[i]:.3f})"
        for i, name in enumerate(("headscope", "minus none"))
    )


def show(title: str, table: pd.DataFrame) -> None:
    print(f"\n{title}\n{table.round(3).to_string()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("web")
    parser.add_argument("speeches")
    parser.add_argument("--topic-texts", type=int, default=20)
    parser.add_argument("--only", choices=["sentences", "topics"])
    args = parser.parse_args()
    web = list(read_corpus([args.web]))[::5]
    speeches = list(read_corpus([args.speeches], Columns(id="id")))[::5]
    manuals = list(read_corpus(["demo"]))  # topics were not chosen on any of them
    edited = [d for d in web if d.id.startswith(("weblog", "newsgroup"))]
    segmenter = hs.Segmenter("demo")
    if args.only != "topics":
        for title, documents in (("all genres", web), ("weblog and newsgroup", edited)):
            table = evaluate_sentences(segmenter, documents)
            wide = table.pivot(index="method", columns="condition", values="f1")
            show(f"F1, {len(documents)} documents of EWT train: {title}", wide)
    if args.only == "sentences":
        return
    mixed = [*edited, *evenly(manuals, len(edited)), *evenly(speeches, len(edited))]
    for name, documents in (("EWT", web), ("SOTU", speeches), ("edited prose", mixed)):
        rows = {}
        together = []
        for shortest, longest in PASSAGES:
            texts = concatenate_passages(
                documents, texts=args.topic_texts, shortest=shortest, longest=longest
            )
            together += texts
            table = evaluate_topics(segmenter, texts).set_index("method")
            rows[f"{shortest}-{longest}"] = table["pk"]
            rows[f"segments {shortest}-{longest}"] = table["segments"]
        show(f"Pk, 10 passages of {name}, {args.topic_texts} texts", pd.DataFrame(rows).loc[SHOWN])
        print(pk_minus_none(segmenter, together), flush=True)
    paragraphs = [by_paragraph(document) for document in web]
    headings = [by_heading(speech) for speech in read_corpus([args.speeches], Columns(id="id"))]
    for name, sections in (
        ("EWT paragraphs", paragraphs),
        ("SOTU headings", headings),
        ("demo corpus, pages", by_page(manuals)),
    ):
        long_enough = [one for one in sections if len(one.starts) > 2 and len(one.sentences) > 15]
        table = evaluate_topics(segmenter, long_enough).set_index("method")
        show(f"Pk, {len(long_enough)} real documents: {name}", table.loc[SHOWN])
        print(pk_minus_none(segmenter, long_enough), flush=True)


if __name__ == "__main__":
    main()
