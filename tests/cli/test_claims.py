"""`headscope claims`: a table, an explanation, and JSON that other programs can read."""

import json
import re

import pytest

from headscope.findings.claims import CLAIMS

KEYS = {
    *("claim", "stack", "status", "effect", "null", "against", "documents", "robustness"),
    *("summary", "paper", "definition", "unit", "p_value", "tests", "heads"),
}


def strict(text: str):
    """JSON as other languages read it: without NaN."""

    def refuse(constant: str):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def verdicts(verdict_run):
    return {verdict.name: verdict for verdict in verdict_run.claims()}


def test_json_has_every_claim_with_its_choices(command, verdict_run, verdicts):
    found = strict(command("claims", verdict_run.folder, "--json").out)
    assert [claim["claim"] for claim in found["claims"]] == [claim.name for claim in CLAIMS]
    for claim in found["claims"]:
        assert set(claim) == KEYS
        verdict = verdicts[claim["claim"]]
        assert claim["status"] == verdict.status
        assert claim["against"] == verdict.claim.null
        assert claim["documents"] == verdict.documents >= 20
        if claim["status"] == "cannot answer":
            assert claim["effect"] is None
            assert claim["robustness"] is None
            continue
        assert set(claim["effect"]) == {"value", "low", "high"}
        tried = claim["robustness"]
        assert set(tried) == {"holds", "fails", "undecided", "cannot_answer", "choices"}
        by_status = dict.fromkeys(("holds", "fails", "undecided", "cannot_answer"), 0)
        for choice in tried["choices"]:
            fields = {"pairs", "similarity", "attention_threshold", "status", "effect"}
            assert set(choice) == fields
            by_status[choice["status"].replace(" ", "_")] += 1
        assert by_status == {name: tried[name] for name in by_status}
        by_attention = claim["claim"].endswith("separators")
        assert len(tried["choices"]) == (5 if by_attention else 30)
        assert all((choice["pairs"] is None) == by_attention for choice in tried["choices"])


def test_the_table_counts_the_choices_of_each_verdict(command, verdict_run, verdicts):
    out = command("claims", verdict_run.folder).out
    for name, verdict in verdicts.items():
        line = next(line for line in out.splitlines() if line.strip().startswith(f"{name} "))
        assert verdict.status in line
        if verdict.robustness is not None:
            counted = sum(int(number) for number in re.findall(r"(\d+)[HF?-](?= )", line))
            assert counted == len(verdict.robustness.choices)


def test_an_explanation_has_tests_documents_grid_and_stability(command, verdict_run, verdicts):
    verdict = verdicts["focal-tokens"]
    out = command("claims", verdict_run.folder, "--explain", "focal-tokens").out
    for test in verdict.finding.tests:
        assert f"{test.name}: {test.status}" in out
        assert f"{test.effect} {test.unit}; bar {test.bar:g}" in out
    assert re.search(rf"documents +{verdict.documents}\b", out)
    assert re.search(r"stability +focal tokens of a head", out)
    rows = [line.split() for line in out.splitlines() if line.strip()[:3] in ("raw", "cen", "cos")]
    assert [row[0] for row in rows] == ["raw", "centred", "cosine"]
    letters = {"holds": "H", "fails": "F", "undecided": "?", "cannot answer": "-"}
    expected = {
        (one.choice.similarity, one.choice.pairs): letters[one.status]
        for one in verdict.robustness.choices
    }
    rules = [f"top:{share}" for share in ("0.002", "0.005", "0.01", "0.02", "0.05")]
    rules += [f"max:0.{tenth}" for tenth in range(1, 6)]
    for similarity, *cells in rows:
        assert [cell.strip("*") for cell in cells] == [expected[similarity, rule] for rule in rules]
    assert [cell for row in rows for cell in row if cell.endswith("*")] == [rows[0][3]]


def test_a_run_without_a_sample_has_no_choices(command, demo_run):
    found = strict(command("claims", demo_run.folder, "--json").out)
    assert all(claim["robustness"] is None for claim in found["claims"])
    assert all(claim["effect"] is None for claim in found["claims"]), "12 documents answer nothing"
    assert "choices" not in command("claims", demo_run.folder).out
