"""Signs of a broken measurement: each is seen where it was planted, and nowhere else."""

import numpy as np
import pytest

from headscope.findings.claims.evidence import Evidence
from headscope.findings.claims.sanity import sanity_signs
from headscope.findings.resampling.resampled_run import resample_columns

DOCUMENTS, LAYERS, HEADS = 30, 6, 4
PAIRS = 100.0
FAR = 40.0
"""The mean distance of random pairs."""
NEAR_BY_LAYER = np.array([0.9, 0.7, 0.5, 0.5, 0.7, 0.8])[:, None]


def evidence(
    *, near=NEAR_BY_LAYER, spread=0.1, repetition=0.2, focal=0.6, contrast=0.3, diagonal=0.1
) -> Evidence:
    """A stack whose documents differ a little, and whose heads differ by `spread`."""
    rng = np.random.default_rng(0)
    shape = (DOCUMENTS, LAYERS, HEADS)
    noise = 1 + 0.02 * rng.standard_normal((DOCUMENTS, 1, 1))
    heads = 1 + spread * np.linspace(-1, 1, HEADS)
    ones = np.ones(shape)
    columns = {
        "pairs": PAIRS * ones,
        "distance_sum": PAIRS * FAR * near * heads * noise * ones,
        "distance_expected": PAIRS * FAR * ones,
        "repetition_pairs": PAIRS * (0.05 + repetition) * noise * ones,
        "repetition_expected": PAIRS * 0.05 * ones,
        "focal_exclusiveness": focal * ones,
        "focal_texts": ones,
        "block_contrast": contrast * noise * ones,
        "block_contrast_texts": ones,
    }
    if diagonal is not None:
        columns |= {"diagonal_share": diagonal * ones, "diagonal_share_texts": ones}
    layers = tuple(range(1, LAYERS + 1))
    run = resample_columns(columns, layers, seed=0, resamples=100)
    return Evidence(stack="encoder", run=run, untrained=(), deepest=LAYERS)


def seen(of: Evidence) -> set[str]:
    return {sign.name for sign in sanity_signs(of) if sign.seen}


def test_a_sound_measurement_shows_no_sign():
    assert seen(evidence()) == set()


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        ({"diagonal": 0.7}, {"diagonal dominates"}),
        (
            {"near": np.ones((LAYERS, 1)), "repetition": 0.0},
            {"uniform or noisy C", "no short range in the middle"},
        ),
        ({"spread": 0.0}, {"heads alike"}),
        ({"focal": 1 / HEADS}, {"one focal token"}),
        (
            {"near": np.array([0.9, 0.9, 0.95, 0.95, 0.6, 0.6])[:, None]},
            {"no short range in the middle"},
        ),
        ({"contrast": 0.0}, {"no sentence structure"}),
    ],
    ids=["diagonal", "noise", "alike", "focal", "middle", "sentences"],
)
def test_each_sign_is_seen_where_it_was_planted(planted, expected):
    assert seen(evidence(**planted)) == expected


def test_every_sign_says_what_was_found_and_what_it_means():
    for sign in sanity_signs(evidence()):
        assert sign.evidence
        assert sign.cause
    diagonal = next(s for s in sanity_signs(evidence(diagonal=0.7)) if s.seen)
    assert "70%" in diagonal.evidence
    assert f"{LAYERS * HEADS} of {LAYERS * HEADS} heads" in diagonal.evidence


def test_what_a_run_has_not_measured_is_no_sign():
    old = sanity_signs(evidence(diagonal=None))
    (diagonal,) = (sign for sign in old if sign.name == "diagonal dominates")
    assert not diagonal.seen
    assert "not measured" in diagonal.evidence
