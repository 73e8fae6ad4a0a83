"""Simulated corpora: rows of a stack with known truth, documents unlike each other."""

import numpy as np
import xarray as xr

from headscope.findings.claims import Evidence
from headscope.findings.resampling.resampled_run import ResampledRun, resample_run
from headscope.findings.resampling.window_table import WindowTable
from headscope.measures import measured_columns

LAYERS, HEADS, PAIRS = 6, 4, 80
BLIND = 40.0


def simulated_table(
    rng: np.random.Generator,
    documents: int = 40,
    windows: int = 4,
    **means: float | np.ndarray,
) -> WindowTable:
    """A table with the rates of `means` (per layer and head, or one for all), others neutral.

    Rates are per pair, attention shares and the like per text. Documents differ in level.
    """
    document = np.repeat(np.arange(documents), windows)
    texts = len(document)
    shape = (texts, LAYERS, HEADS)

    def around(name: str, neutral: float, spread: float) -> np.ndarray:
        mean = np.broadcast_to(means.get(name, neutral), (LAYERS, HEADS))
        level = rng.normal(0, spread, documents)[document][:, None, None]
        return mean + level + rng.normal(0, spread, shape)

    ones = np.ones(shape)
    columns = {name: ones.copy() for name in measured_columns() if name.endswith("texts")}
    columns |= {
        "pairs": PAIRS * ones,
        "lemma_pairs": 0 * ones,
        "distance_sum": PAIRS * around("distance", BLIND, 2.0),
        "distance_expected": PAIRS * BLIND * ones,
        "same_sentence_pairs": PAIRS * around("same_sentence", 0.3, 0.02),
        "same_sentence_expected": PAIRS * 0.3 * ones,
        "repetition_pairs": PAIRS * around("repetition", 0.05, 0.02),
        "repetition_expected": PAIRS * 0.05 * ones,
        "focal_elements": 2 * PAIRS * around("focal", 0.15, 0.02),
        "focal_expected": 2 * PAIRS * 0.03 * ones,
        "focal_exclusiveness": around("exclusiveness", 0.8, 0.03),
        "separator_attention": around("separators", 0.05, 0.005),
        "mask_pairs": PAIRS * around("mask", 0.5, 0.02),
        "mask_expected": PAIRS * 0.5 * ones,
        "block_contrast": around("contrast", 0.0, 0.05),
    }
    for name in measured_columns():
        columns.setdefault(name, ones)
    return WindowTable(columns, document, tuple(range(1, LAYERS + 1)))


def resampled(table: WindowTable, seed: int, resamples: int = 300) -> ResampledRun:
    return resample_run(table, seed, resamples)


def simulated_evidence(seed: int, resamples: int = 300, **means) -> Evidence:
    """A stack with planted rates, and three untrained runs that are neutral throughout."""
    rng = np.random.default_rng(seed)
    results = xr.Dataset(
        {"mean_distance": (("layer", "head"), np.ones((LAYERS, HEADS)))},
        coords={"layer": np.arange(1, LAYERS + 1), "head": np.arange(1, HEADS + 1)},
    )
    return Evidence(
        stack="encoder",
        run=resampled(simulated_table(rng, **means), seed, resamples),
        untrained=tuple(
            resampled(simulated_table(rng, documents=20), seed + 1 + k, resamples) for k in range(3)
        ),
        results=results,
    )
