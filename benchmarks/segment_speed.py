"""How fast texts are segmented, and that memory does not grow with the file.

    python benchmarks/segment_speed.py [--characters 300000] [--megabytes 10]

Speed: the demo corpus, with punctuation and without, into sentences and into topics. The time of
the clock and that of the processor are both shown: where others compute too, only the second tells.
Memory: a file of so many megabytes through `Segmenter.stream`, with the peak of the process after
its first megabyte and at the end.
"""

import argparse
import resource
import time
from collections.abc import Iterator
from itertools import cycle

import torch

import headscope as hs
from headscope.segment.bare_text import bare_text
from headscope.text.demo import read_demo


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
    if not args.megabytes:
        return
    total = int(args.megabytes * 1e6)
    done, early, began = 0, 0.0, time.perf_counter()
    for segment in segmenter.stream(pieces(text, total)):
        done += len(segment)
        if not early and done > 1e6:
            early = peak_megabytes()
    assert done == total, "a stream loses nothing"
    elapsed = time.perf_counter() - began
    print(f"stream         {total / elapsed:,.0f} characters/s over {args.megabytes:g} MB")
    print(f"peak memory    {early:,.0f} MB after 1 MB, {peak_megabytes():,.0f} MB at the end")


if __name__ == "__main__":
    main()
