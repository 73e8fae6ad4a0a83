"""Simulated studies at the bar of a claim: a 5 % test decides in 5 %, and 95 % intervals cover.

Short form; `tools/calibrate_claims.py` is the long one, with its table in
docs/claims-calibration.md. Bounds allow for the error of the simulation: 3.3 standard errors, which
one test in a thousand exceeds.
"""

import numpy as np
import pytest

from headscope.findings.claims.evidence import relative_excess
from headscope.measures.repetition import REPETITION
from tests.findings.claims.cases import CASES, Case
from tests.findings.claims.simulated import HEADS, LAYERS, Study, Truth, simulate

SIMULATIONS = 200
BY_NAME = {case.name: case for case in CASES}


def bounds(low: float, high: float, simulations: int) -> tuple[float, float]:
    """A range of shares, widened by the error of a share over some simulations."""
    errors = [3.3 * np.sqrt(share * (1 - share) / simulations) for share in (low, high)]
    return low - errors[0], high + errors[1]


def decided_and_covered(case: Case, study: Study) -> tuple[float, float]:
    decided = covered = 0
    for number in range(SIMULATIONS):
        finding = case.find(simulate(number, case.at_bar, study))
        interval = case.interval(finding)
        decided += finding.status != "undecided"
        covered += interval.low <= case.effect <= interval.high
    return decided / SIMULATIONS, covered / SIMULATIONS


@pytest.mark.parametrize(
    ("name", "documents", "seed_spread"),
    [
        ("separators: against the untrained model", 40, 1.0),
        ("same-sentence: beyond the untrained model", 20, 0.0),
        ("same-sentence: beyond the untrained model", 40, 1.0),
        ("same-sentence: beyond the untrained model", 40, 5.0),
        ("range: beyond the untrained model", 20, 5.0),
        ("repetition-heads: against untrained heads", 40, 1.0),
        ("focal-tokens: against independent heads", 20, 1.0),
    ],
)
def test_at_the_bar_a_claim_is_decided_one_time_in_twenty(name, documents, seed_spread):
    study = Study(documents=documents, seed_spread=seed_spread)
    decided, covered = decided_and_covered(BY_NAME[name], study)
    low, high = bounds(0.03, 0.07, SIMULATIONS)
    assert low <= decided <= high
    low, high = bounds(0.93, 0.97, SIMULATIONS)
    assert low <= covered <= high


def test_simulated_studies_with_a_bar_beside_the_truth_would_be_decided_more_often():
    """The calibration can fail: the same intervals, judged at another bar."""
    case = BY_NAME["same-sentence: beyond the untrained model"]
    beside = sum(
        case.find(simulate(number, case.planted)).status != "undecided" for number in range(50)
    )
    assert beside / 50 > bounds(0.03, 0.07, SIMULATIONS)[1]


@pytest.mark.parametrize(("sentences", "asymmetry"), [(0.0, 1.0), (0.06, 1.17)])
def test_a_kind_of_structure_that_clearly_falls_short_is_no_second_question(sentences, asymmetry):
    """Two candidates: lower ends are those for two questions, 2.47 instead of 2.12 errors."""
    truth = BY_NAME["beyond-attention: repetitions"].at_bar.but(sentence_alone=sentences)
    longer = []
    for number in range(60):
        repetitions, of_sentences = (
            BY_NAME["beyond-attention: repetitions"].find(simulate(number, truth)).tests
        )
        assert (of_sentences.status == "fails") == (sentences == 0)
        effect = repetitions.effect
        longer.append((effect.value - effect.low) / (effect.high - effect.value))
    assert np.mean(longer) == pytest.approx(asymmetry, abs=0.06)


def test_more_seeds_do_not_move_the_bar_of_heads():
    """Untrained heads that are all alike: the strongest is so by chance, in each seed anew."""
    truth = Truth({"repetition": 0.05}, {"repetition": 0.5 * np.ones((LAYERS, HEADS))})
    case = BY_NAME["repetition-heads: against untrained heads"]
    bars: dict[int, list[float]] = {}
    largest: dict[int, list[float]] = {}
    for seeds in (3, 10, 30):
        study = Study(documents=40, seeds=seeds, seed_spread=3.0, resamples=50)
        for number in range(100):
            evidence = simulate(number, truth, study)
            bars.setdefault(seeds, []).append(case.find(evidence).null.value)
            heads = [relative_excess(run, REPETITION)[0].max() for run in evidence.untrained]
            largest.setdefault(seeds, []).append(max(heads))

    def apart(values: dict[int, list[float]], few: int, many: int) -> float:
        """How far the means lie apart, in standard errors."""
        one, other = np.array(values[few]), np.array(values[many])
        return (other.mean() - one.mean()) / np.sqrt((one.var() + other.var()) / len(one))

    for few, many in ((3, 10), (10, 30), (3, 30)):
        assert abs(apart(bars, few, many)) < 3.3
        assert apart(largest, few, many) > 3.3
    # More seeds make it more exact instead.
    assert np.std(bars[30]) < np.std(bars[3])
