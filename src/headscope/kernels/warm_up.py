"""Compiled code made ready while something else is waited for."""

import threading

import torch

from headscope.kernels.fused import fused_statistics
from headscope.kernels.labels import GROUPS, TokenLabels
from headscope.kernels.text_batch import TextBatch, first_occurrence, pair_baseline
from headscope.settings import Settings


def compile_in_background() -> threading.Thread:
    """A thread that compiles the kernels, or loads what was compiled before.

    The first run on a machine compiles for some seconds: loading a model takes as long.
    """
    thread = threading.Thread(target=_measure_a_tiny_text, name="headscope-compile", daemon=True)
    thread.start()
    return thread


def _measure_a_tiny_text() -> None:
    n = 4
    ids = torch.arange(n)[None]
    yes, no = torch.ones(1, n, dtype=torch.bool), torch.zeros(1, n, dtype=torch.bool)
    labels = TokenLabels(
        real=yes,
        special=no,
        separator=no,
        token_ids=ids,
        kinds=torch.zeros_like(ids),
        groups=torch.zeros(len(GROUPS), 1, n, dtype=torch.int64),
    )
    nothing = torch.zeros(1, n, 0, dtype=torch.int32)
    batch = TextBatch(
        queries=labels,
        keys=labels,
        counted=yes,
        baseline=pair_baseline(labels, yes),
        first=first_occurrence(ids),
        permuted_sentences=nothing,
        permuted_tokens=nothing,
    )
    settings = Settings(minimal=True)
    vectors = torch.eye(n).reshape(1, 1, n, n)
    fused_statistics(vectors, vectors[:, :, 0], batch, causal=False, settings=settings)
