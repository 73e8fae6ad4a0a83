"""How far are the compiled kernels from the oracle, on the models and lengths of the benchmarks?

    python benchmarks/oracle_difference.py [--texts 4] [--tokens 128 ...] [--every 1] [NAME ...]

Every layer of every configuration is measured twice from the same head outputs: by the compiled
kernels, and by the vectorised ones in torch. Printed is, over all statistics, the largest norm of
the difference relative to the norm of the oracle's: with everything on, and minimal, which finds
the pairs of long windows in another way. The oracle is slow on long windows: `--every 10` measures
only every tenth layer.
"""

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from torch import Tensor

from common.configurations import CONFIGURATIONS
from common.models_and_windows import tapped_model, windows_of
from headscope.kernels.cpu.fused import fused_statistics
from headscope.kernels.statistics import LayerStatistics
from headscope.kernels.vectorised import vectorised_statistics
from headscope.kernels.window_batch import WindowBatch
from headscope.measuring.batch import stack_reading
from headscope.measuring.labels import label_tokens
from headscope.models.loaded import LoadedModel
from headscope.models.site import MassCapture
from headscope.settings import Settings
from headscope.text.windows import Window


def named(statistics: LayerStatistics) -> Iterator[tuple[str, Tensor]]:
    for part in (statistics.rows, statistics.sums, statistics.sweep):
        yield from part.items()


def difference(ours: Tensor, theirs: Tensor) -> float:
    """The norm of the difference, relative to theirs; NaN on both sides is no difference."""
    ours, theirs = ours.double().nan_to_num(), theirs.double().nan_to_num()
    return float((ours - theirs).norm() / theirs.norm().clamp_min(1e-30))


def largest_differences(
    model: LoadedModel, windows: list[Window], settings: Settings, every: int
) -> dict[str, float]:
    largest: dict[str, float] = {}
    for number, window in enumerate(windows):
        labels = label_tokens([window])
        reading = stack_reading(model, model.stacks[0], labels, settings, np.array([number]))

        def on_layer(capture: MassCapture, reading: WindowBatch = reading) -> None:
            if (capture.site.layer - 1) % every:
                return
            arguments = (capture.head_output, capture.mass, reading)
            causal = capture.site.causal
            ours = fused_statistics(*arguments, causal=causal, settings=settings)
            theirs = dict(
                named(vectorised_statistics(*arguments, causal=causal, settings=settings))
            )
            for name, values in named(ours):
                largest[name] = max(largest.get(name, 0.0), difference(values, theirs[name]))

        model.forward_mass(labels.token_ids, labels.real, on_layer)
    return largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["demo", "base"], metavar="NAME")
    parser.add_argument("--texts", type=int, default=4)
    parser.add_argument("--tokens", type=int, nargs="+", help="lengths, if not the usual one")
    parser.add_argument("--every", type=int, default=1, help="measure every Nth layer")
    parser.add_argument("--models", type=Path, default=Path(".cache/models"))
    args = parser.parse_args()
    for name in args.names:
        configuration = CONFIGURATIONS[name]
        model = tapped_model(configuration, args.models)
        lengths = args.tokens or [configuration.window_tokens]
        for tokens, minimal in itertools.product(lengths, (False, True)):
            windows = windows_of(model.tokenizer, tokens, args.texts)
            settings = Settings(window_tokens=tokens, minimal=minimal)
            found = largest_differences(model, windows, settings, args.every)
            print(
                f"{name}, {'minimal' if minimal else 'everything'}: {len(windows)} windows of "
                f"{tokens} tokens, {len(found)} statistics"
            )
            for statistic in sorted(found, key=found.__getitem__, reverse=True)[:3]:
                print(f"    {statistic:40} {found[statistic]:.1e}", flush=True)


if __name__ == "__main__":
    main()
