"""How much faster are windows of uneven lengths than the same windows padded to 128 tokens?

    python benchmarks/uneven_lengths.py CORPUS.conllu.gz [--model demo] [--texts 256] [--repeats 3]

The windows are the paragraphs of a corpus. Both ways are the whole analysis, in turns in one run;
printed is the ratio of neighbouring turns.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from unittest.mock import patch

import torch
from torch.nn.functional import pad

from headscope.kernels.window_batch import TokenLabels
from headscope.measuring import batch as measure_batch
from headscope.measuring.labels import label_tokens
from headscope.measuring.shard import measure_windows
from headscope.models.load import load_model
from headscope.settings import Settings
from headscope.text.corpus import read_corpus
from headscope.text.document import Document
from headscope.text.windows import Window, iter_windows

WINDOW_TOKENS = 128


def paragraphs(documents: Iterator[Document]) -> Iterator[Document]:
    """The paragraphs of all documents, each a document of its own."""
    for document in documents:
        for number, text in enumerate(filter(str.strip, document.text.split("\n\n"))):
            yield Document(f"{document.id}-{number}", text)


def padded_labels(windows: Sequence[Window], device: torch.device) -> TokenLabels:
    """The usual labels, padded to the longest window allowed."""
    labels = label_tokens(windows, device)
    missing = WINDOW_TOKENS - labels.token_ids.shape[1]
    return replace(
        labels,
        **{
            field.name: pad(getattr(labels, field.name), (0, missing), value=fill_of(field.name))
            for field in fields(labels)
        },
    )


def fill_of(field: str) -> int:
    return -1 if field == "groups" else 0


@contextmanager
def everything_padded() -> Iterator[None]:
    with patch.object(measure_batch, "label_tokens", padded_labels):
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--model", default="demo")
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    model = load_model(args.model)
    texts = paragraphs(read_corpus([args.corpus]))
    windows = list(
        iter_windows(
            texts, model.tokenizer, window_tokens=WINDOW_TOKENS, min_tokens=4, limit=args.texts
        )
    )

    def analyse() -> float:
        begun = time.perf_counter()
        measure_windows(model, windows, Settings(), sites=model.sites)
        return time.perf_counter() - begun

    def analyse_padded() -> float:
        with everything_padded():
            return analyse()

    analyse(), analyse_padded()
    natural, padded = zip(
        *[(analyse(), analyse_padded()) for _ in range(args.repeats)], strict=True
    )
    lengths = sorted(window.n_tokens for window in windows)
    ratios = [slow / fast for slow, fast in zip(padded, natural, strict=True)]
    rate, padded_rate = (len(windows) / statistics.median(taken) for taken in (natural, padded))
    print(
        f"{len(windows)} paragraphs of {lengths[0]} to {lengths[-1]} tokens, median "
        f"{statistics.median(lengths):.0f}: {rate:.1f} windows/s, {padded_rate:.1f} padded; median "
        f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    )


if __name__ == "__main__":
    main()
