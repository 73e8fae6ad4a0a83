"""Each claim finds what was planted, fails on data against it, and says what it cannot answer."""

from dataclasses import replace

import numpy as np
import pytest

from headscope.findings.claims import CLAIMS, Evidence, Finding, find
from headscope.findings.claims.claim import MIN_DOCUMENTS
from headscope.findings.claims.evidence import relative_excess
from headscope.findings.claims.heads_beyond_bar import judge_heads_beyond_bar
from headscope.findings.resampling.resampled_run import ResampledRun
from headscope.measures.mean_distance import MEAN_DISTANCE
from headscope.measures.repetition import REPETITION
from tests.findings.claims.cases import CASES
from tests.findings.claims.simulated import HEADS, LAYERS, USUAL, Study, Truth, by_third, simulate

NAMES = [claim.name for claim in CLAIMS]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
every_claim = pytest.mark.parametrize("name", NAMES)


def found(name: str, evidence: Evidence) -> Finding:
    return find(CLAIMS[name], evidence)


def planted(name: str, study: Study = USUAL) -> Evidence:
    case = next(case for case in CASES if case.claim == name)
    return simulate(1, case.planted, study)


def with_columns(evidence: Evidence, **columns: np.ndarray | float) -> Evidence:
    """The same evidence with other columns, in the run and in the untrained models."""

    def changed(run: ResampledRun) -> ResampledRun:
        shape = run.columns["pairs"].shape
        new = {
            name: np.broadcast_to(np.asarray(values, np.float64), shape)
            for name, values in columns.items()
        }
        return ResampledRun({**run.columns, **new}, run.draws, run.layers, run.windows)

    return replace(
        evidence,
        run=changed(evidence.run),
        untrained=tuple(changed(run) for run in evidence.untrained),
    )


def test_every_claim_has_a_case():
    assert {case.claim for case in CASES} == set(NAMES)


@every_case
def test_a_planted_effect_holds(case):
    assert case.find(simulate(1, case.planted)).status == "holds"


@every_case
def test_data_against_a_claim_fail_it(case):
    assert case.find(simulate(1, case.against)).status == "fails"


@every_claim
def test_fewer_than_twenty_documents_answer_nothing_and_are_counted(name):
    for documents in (2, 19):
        finding = found(name, planted(name, Study(documents=documents)))
        assert finding.status == "cannot answer"
        assert finding.summary.startswith(f"{documents} documents are too few")
    assert MIN_DOCUMENTS == 20
    assert found(name, planted(name, Study(documents=20))).status == "holds"


def test_a_single_document_has_values_and_neither_intervals_nor_verdicts():
    evidence = planted("range", Study(documents=1))
    finding = found("range", evidence)
    assert finding.summary == (
        "1 document is too few, copies of a text counted once; analyse at least 20"
    )
    null = evidence.null(lambda run: run.pooled(MEAN_DISTANCE))
    assert null[0] > 0
    assert np.isnan(evidence.interval(null).low)


def test_a_sample_that_is_too_small_is_told_from_a_run_that_is():
    small = planted("beyond-attention", Study(documents=10))
    run = replace(planted("beyond-attention"), is_sample=False).with_sample(small)
    finding = found("beyond-attention", run)
    assert finding.summary.startswith("10 documents are too few in the sample")
    assert "--robustness" in finding.summary


@every_claim
def test_without_untrained_models_claims_say_so(name):
    finding = found(name, replace(planted(name), untrained=()))
    assert finding.status == "cannot answer"
    assert "--nulls" in finding.summary


OF_THIRDS = {
    "separators": "last",
    "special-separators": "last",
    "sentence-end": "last",
    "same-sentence": "last",
}


@every_claim
def test_the_first_half_of_the_layers_says_nothing_about_the_final_third(name):
    finding = found(name, planted(name, Study(layers=(1, 2, 3))))
    if name in OF_THIRDS:
        assert finding.status == "cannot answer"
        assert "no layer of the last third of 6 was measured" in finding.summary
        assert "--layers" in finding.summary
    else:
        assert finding.status == "holds"
        assert "3 of 6 layers" in finding.summary


def test_range_needs_the_first_layer():
    finding = found("range", planted("range", Study(layers=(3, 4, 5))))
    assert finding.status == "cannot answer"
    assert "layer 1 was not measured" in finding.summary


@pytest.mark.parametrize("name", ["range", "sentence-end"])
def test_two_layers_have_no_middle_third(name):
    finding = found(name, planted(name, Study(layers=(1, 2), deepest=2)))
    assert finding.status == "cannot answer"
    assert "2 layers have no middle third" in finding.summary


def test_two_layers_have_a_first_and_a_last():
    truth = Truth({"separators": np.linspace(0.02, 0.5, LAYERS)[:, None]}, {"separators": 0.05})
    evidence = simulate(1, truth, Study(layers=(1, 6), deepest=2))
    named = replace(evidence, run=_renumbered(evidence.run), untrained=_all(evidence.untrained))
    assert found("separators", named).status == "holds"


def _renumbered(run: ResampledRun) -> ResampledRun:
    return ResampledRun(run.columns, run.draws, (1, 2), run.windows)


def _all(runs: tuple[ResampledRun, ...]) -> tuple[ResampledRun, ...]:
    return tuple(map(_renumbered, runs))


@pytest.mark.parametrize("rate", [0, 1], ids=["no sentences", "one sentence a window"])
def test_a_corpus_without_sentences_cannot_say_anything_about_them(rate):
    for name in ("same-sentence", "sentence-end"):
        evidence = planted(name)
        pairs = evidence.run.columns["pairs"]
        same = dict.fromkeys(("same_sentence_pairs", "same_sentence_expected"), rate * pairs)
        finding = found(name, replace(evidence, run=_but(evidence.run, same)))
        assert finding.status == "cannot answer"
        assert "sentences" in finding.summary
    evidence = planted("beyond-attention")
    same = {"same_sentence_expected": rate * evidence.run.columns["pairs"]}
    finding = found("beyond-attention", replace(evidence, run=_but(evidence.run, same)))
    assert finding.status == "holds"
    assert [test.name for test in finding.tests] == ["repetitions"]


def _but(run: ResampledRun, columns: dict[str, np.ndarray]) -> ResampledRun:
    return ResampledRun({**run.columns, **columns}, run.draws, run.layers, run.windows)


def test_a_minimal_run_judges_the_sentence_by_pairs_alone():
    evidence = with_columns(planted("sentence-end"), block_contrast=0, block_contrast_texts=0)
    finding = found("sentence-end", evidence)
    assert finding.status == "holds"
    assert len(finding.tests) == 1
    assert "suppressed" not in finding.summary


def test_permuted_sentences_that_give_as_much_leave_the_claim_undecided():
    for p_value, status in ((0.001, "holds"), (0.3, "undecided")):
        evidence = replace(planted("same-sentence"), permutation_p=lambda layers, p=p_value: p)
        finding = found("same-sentence", evidence)
        assert (finding.status, finding.p_value) == (status, p_value)


def test_a_model_without_separators_in_its_windows_has_no_answer():
    evidence = with_columns(planted("separators"), separator_attention=0)
    finding = found("separators", evidence)
    assert finding.status == "cannot answer"
    assert "no sentence marks" in finding.summary


def test_separators_are_judged_by_threshold_where_columns_have_high_attention_tokens():
    evidence = planted("separators")

    def high(run: ResampledRun, final: float) -> ResampledRun:
        tokens = 10 * run.columns["texts"]
        share = by_third(0.05, 0.05, final)
        return _but(run, {"high_tokens": tokens, "high_separators": tokens * share})

    for final, status in ((0.3, "holds"), (0.05, "fails")):
        finding = found(
            "separators",
            replace(
                evidence,
                run=high(evidence.run, final),
                untrained=tuple(high(run, 0.05) for run in evidence.untrained),
            ),
        )
        assert finding.status == status
        assert "high-attention tokens" in finding.summary


def test_runs_of_older_versions_say_what_they_lack():
    evidence = planted("common-token-heads")
    without = {name: c for name, c in evidence.run.columns.items() if name != "common_pairs"}
    older = ResampledRun(without, evidence.run.draws, evidence.run.layers, evidence.run.windows)
    finding = found("common-token-heads", replace(evidence, run=older))
    assert finding.status == "cannot answer"
    assert "older version" in finding.summary


def test_beyond_attention_needs_the_sample():
    finding = found("beyond-attention", replace(planted("beyond-attention"), is_sample=False))
    assert finding.status == "cannot answer"
    assert "--robustness" in finding.summary


def test_the_planted_head_is_named():
    for name in ("repetition-heads", "common-token-heads"):
        assert found(name, planted(name)).heads == ("layer 3 head 2",)


def test_the_interval_of_a_bar_that_untrained_heads_set_is_around_it():
    """Untrained heads that are all alike: the strongest of each sample would be too strong."""
    alike = Truth({"repetition": 0.05}, {"repetition": 0.6 * np.ones((LAYERS, HEADS))})
    inside = 0
    for number in range(20):
        null = found("repetition-heads", simulate(number, alike)).null
        assert null.value > 0.25
        inside += null.low < null.value < null.high
        assert (null.value - null.low) / (null.high - null.low) == pytest.approx(0.5, abs=0.25)
    assert inside == 20


def test_a_trait_that_half_of_the_documents_lack_has_no_answer():
    evidence = simulate(0, CASES[0].planted)
    documents = evidence.run.documents

    def strength(run: ResampledRun) -> np.ndarray:
        samples = relative_excess(run, REPETITION)
        return samples if run.documents == documents else np.full_like(samples, np.nan)

    finding = judge_heads_beyond_bar(evidence, strength, 0.25, "repetition")
    assert finding.status == "cannot answer"
    assert "half of them" in finding.summary
