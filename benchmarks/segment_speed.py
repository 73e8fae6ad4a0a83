"""How fast are texts segmented, and does memory grow with the file?

    python benchmarks/segment_speed.py [--characters 300000] [--megabytes 10]

Speed: the demo corpus, with punctuation and without, into sentences and into topics, and the rules
of nupunkt beside it. Both wall-clock and processor time are shown: on a shared machine only the
second means anything. Memory: some megabytes through `Segmenter.stream`, with the peak of the
process after each.
"""

import argparse
import resource
import time
from collections.abc import Iterator
from itertools import cycle

import torch

import headscope as hs
from headscope.segment.training.bare_text import bare_text
from headscope.text.demo import read_demo
from headscope.text.sentences import split_sentences


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def pieces(text: str, characters: int, size: int = 1 << 16) -> Iterator[str]:
    left = characters
    for first in cycle(range(0, len(text) - size, size)):
        if left <= 0:
            return
        yield text[first : first + min(size, left)]
        left -= size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--characters", type=int, default=300_000)
    parser.add_argument("--megabytes", type=float, default=0, help="streamed; 0 leaves it out")
    args = parser.parse_args()
    text = " ".join(document.text for document in read_demo())
    bare = bare_text(text, []).text
    segmenter = hs.Segmenter("demo")
    by_topic = hs.Segmenter(segmenter.model, "topic")
    print(f"{torch.get_num_threads()} threads; characters per second of the clock, of one core")
    for name, whole, chosen in (
        ("sentences, punctuated", text, segmenter),
        ("sentences, unpunctuated", bare, segmenter),
        ("topics, punctuated", text, by_topic),
        ("topics, unpunctuated", bare, by_topic),
    ):
        cut = (whole * (args.characters // len(whole) + 1))[: args.characters]
        chosen.split(cut[:5_000])
        began, used = time.perf_counter(), time.process_time()
        chosen.split(cut)
        clock, core = time.perf_counter() - began, time.process_time() - used
        print(f"{name:24} {len(cut) / clock:8,.0f} {len(cut) / core:8,.0f}")
    cut = (text * (args.characters // len(text) + 1))[: args.characters]
    began = time.perf_counter()
    list(split_sentences(cut))
    print(f"{'rules (nupunkt)':24} {len(cut) / (time.perf_counter() - began):8,.0f}")
    if args.megabytes:
        stream(segmenter, text, int(args.megabytes * 1e6))


def stream(segmenter: hs.Segmenter, text: str, characters: int) -> None:
    done, shown, began = 0, 0, time.perf_counter()
    for segment in segmenter.stream(pieces(text, characters)):
        done += len(segment)
        if done // 1_000_000 > shown:
            shown = done // 1_000_000
            speed = done / (time.perf_counter() - began)
            print(
                f"{shown} MB: peak {peak_megabytes():,.0f} MB, {speed:,.0f} characters/s",
                flush=True,
            )
    assert done == characters, "a stream loses nothing"
    print(f"all {characters / 1e6:g} MB: peak {peak_megabytes():,.0f} MB")


if __name__ == "__main__":
    main()
