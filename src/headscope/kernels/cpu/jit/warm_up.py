"""Compiles code by calling it, so that it is cached. Started by `kernels.cpu.compile_ahead`.

python -m headscope.kernels.cpu.jit.warm_up counts|windows|tiles
"""

import sys
from typing import Any

import numba
import numpy as np

from headscope.kernels.cpu.compile_ahead import Part, mark_as_compiled
from headscope.kernels.cpu.jit import count_pairs, finish_window, measure_heads, sum_rows
from headscope.kernels.cpu.jit.layout import (
    RULE_COLUMNS,
    Layer,
    Outputs,
    Products,
    Task,
    Tokens,
    Windows,
    new_scratch,
    padded,
)


def compile_part(part: Part) -> None:
    """Compile a part, mostly by calling it, and leave a mark that it is done.

    Args:
        part: What to compile.
    """
    task = tiny_task()
    tile = np.eye(task.windows.counted.shape[1], dtype=np.float32)
    if part == Part.COUNTS:
        _compile(count_pairs.count_rows, tile, 0, 0, 0, task)
        _compile(finish_window.finish_counts, 0, 0, task)
        _compile(count_pairs.count_candidates, 0, 0, task)
    elif part == Part.WINDOWS:
        measure_heads.measure_short_windows(tiny_products(), 0, task)
        vectors, mass = tile.reshape(1, 3, 1, 3), tile[:1, None]
        measure_heads.measure_tokens(vectors, mass, tiny_tokens(), task.layer, task.outputs)
        windows, groups = task.windows, task.windows.groups.astype(np.int64)
        count_pairs.count_by_distance(windows.counted, groups, windows.pair_counts, windows.rates)
        for dtype in (np.float32, np.float64):
            sum_rows.add_triangles(np.zeros((1, 2, 2), dtype), np.zeros((1, 3)))
    else:
        measure_heads.sum_tile(tile, 0, -np.inf, 0, 0, task)
        measure_heads.sift_tile(tile, 0, 0, 0, task)
        measure_heads.count_tile(tile, 0, 0, 0, task)
        measure_heads.begin_ordered(-np.inf, 0, 0, task)
        measure_heads.sift_ordered(tile, 0, 0, task.windows, task.scratch)
        measure_heads.finish_ordered(np.arange(len(tile)), 0, 0, task)
    mark_as_compiled(part)


def _compile(function: Any, *arguments: Any) -> None:
    """Compile what Python cannot call."""
    typeof: Any = numba.typeof
    function.compile(tuple(typeof(argument) for argument in arguments))


def tiny_task() -> Task:
    """The task of one window of three tokens and one head, with the types that kernels pass."""
    n, rules, kinds = 3, 1, 1
    zeros = np.zeros((1, n))
    windows = Windows(
        counted=np.ones((1, n), np.bool_),
        end_counted=np.full(1, n),
        has_holes=np.zeros(1, np.bool_),
        groups=np.zeros((4, 1, n), np.int32),
        rates=np.zeros((4, 1, n)),
        pair_counts=zeros,
        first=np.arange(n)[None],
        kinds=np.zeros((1, n), np.int64),
        starts=np.zeros((1, n), np.bool_),
        permuted_sentences=np.zeros((1, n, 0), np.int32),
        is_top=np.ones(rules, np.bool_),
        taken=np.ones((1, rules), np.int64),
    )
    layer = Layer(
        scales=np.ones((1, 1, n), np.float32),
        scale_by_length=False,
        sum_scaled=True,
        sum_own=True,
        profiles=True,
        scaled_mass=np.ones((1, 1, n), np.float32),
        thresholds=np.ones(1, np.float32),
        rule_values=np.ones(rules, np.float32),
    )
    by_distance, sums = np.zeros((1, n)), np.zeros((1, n, padded(n)), np.float32)
    outputs = Outputs(
        lengths=np.zeros((1, 1, 2)),
        attention=np.zeros((1, 1, 5)),
        high=np.zeros((1, 1, 1)),
        rules=np.zeros((1, 1, rules, RULE_COLUMNS)),
        groups=np.zeros((1, 1, 2, 2)),
        touched=np.zeros((1, 1, 1)),
        common=np.zeros((1, 1, 3)),
        half_distance=np.zeros((1, 1)),
        block_contrast=np.zeros((1, 1)),
        own_sums=sums,
        scaled_sums=sums,
        aligned_sums=np.zeros((1, 2, 2)),
        by_distance=by_distance,
        within_by_distance=by_distance,
        distances=by_distance,
        element_kinds=np.zeros((1, kinds)),
        permuted_sentences=np.zeros((1, 0), np.int32),
    )
    return Task(windows, layer, outputs, new_scratch(windows, layer))


def tiny_products() -> Products:
    """The products of that window."""
    numbers = np.eye(3, dtype=np.float32).ravel()
    return Products(numbers, windows=1, heads=1, tokens=3, band_rows=3, heads_first=False)


def tiny_tokens() -> Tokens:
    """The tokens of that window."""
    some = np.ones((1, 3), np.bool_)
    return Tokens(some, some, some, some, some, some, np.ones((1, 3), np.float32), some)


if __name__ == "__main__":
    compile_part(Part(sys.argv[1]))
