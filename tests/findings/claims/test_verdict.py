"""What a verdict says of its choices: status, sentence, and the grid of all of them."""

import pytest

from headscope.findings.claims.claim import Claim, Finding, Status
from headscope.findings.claims.grid import count_signs, grid_of
from headscope.findings.claims.verdict import Choice, ChoiceVerdict, Robustness, Verdict
from headscope.findings.resampling.bootstrap import Interval

SIMILARITIES = ("raw", "centred", "cosine")
RULES = ("top:0.01", "top:0.002", "top:0.05", "max:0.1", "max:0.3", "max:0.5")
"""The run's own comes first, as in the files of a run."""
OWN = Choice(pairs="top:0.01", similarity="raw")
OWN_MAX = ("raw", "max:0.1")


def claim(varies_with="pairs") -> Claim:
    return Claim(
        name="made-up",
        title="made up",
        paper="",
        definition="",
        null="nothing",
        breaks="",
        figure="roles",
        judge=lambda evidence: found("holds"),
        varies_with=varies_with,
    )


def found(status: Status) -> Finding:
    effect = None if status == "cannot answer" else Interval(0.5, 0.4, 0.6)
    return Finding(status=status, effect=effect, unit="", null=None, summary="a half was found")


def under(status_of) -> Robustness:
    """The verdicts that a function of similarity and pair rule gives."""
    return Robustness(
        tuple(
            ChoiceVerdict(
                Choice(pairs=rule, similarity=similarity),
                status_of(similarity, rule),
                Interval(0.5, 0.4, 0.6),
            )
            for similarity in SIMILARITIES
            for rule in RULES
        )
    )


def verdict(own: Status, robustness: Robustness | None, varies_with="pairs") -> Verdict:
    return Verdict(claim(varies_with), "encoder", found(own), 40, robustness)


ALL_HOLD = under(lambda similarity, rule: "holds")
COSINE_FAILS = under(lambda similarity, rule: "fails" if similarity == "cosine" else "holds")


@pytest.mark.parametrize(
    ("own", "robustness", "status"),
    [
        ("holds", None, "holds"),
        ("holds", ALL_HOLD, "holds"),
        ("undecided", ALL_HOLD, "undecided"),
        ("holds", COSINE_FAILS, "depends"),
        ("undecided", COSINE_FAILS, "depends"),
        # The run itself is one of the choices: all others may agree with each other.
        ("fails", ALL_HOLD, "depends"),
        ("holds", under(lambda similarity, rule: "undecided"), "holds"),
        ("cannot answer", COSINE_FAILS, "cannot answer"),
    ],
)
def test_a_verdict_depends_when_choices_decide_it_both_ways(own, robustness, status):
    assert verdict(own, robustness).status == status


@pytest.mark.parametrize(
    ("robustness", "sentence"),
    [
        (ALL_HOLD, "holds under all 18 choices"),
        (COSINE_FAILS, "holds under 12 of 18 choices; fails under 6 (with cosine)"),
        (
            under(lambda s, rule: "fails" if rule in ("max:0.3", "max:0.5") else "holds"),
            "holds under 12 of 18 choices; fails under 6 (with max:0.3 and max:0.5)",
        ),
        (
            under(lambda s, rule: "undecided" if (s, rule) == ("raw", "max:0.1") else "fails"),
            "fails under 17 of 18 choices; is undecided under 1 (raw max:0.1)",
        ),
        (
            under(
                lambda s, rule: "fails" if rule[:3] == "max" and (s, rule) != OWN_MAX else "holds"
            ),
            "holds under 10 of 18 choices; fails under 8 (mostly with max rules)",
        ),
    ],
)
def test_the_sentence_counts_and_names_the_choices_that_disagree(robustness, sentence):
    assert robustness.sentence() == sentence


def test_thresholds_are_named_in_sentences():
    robustness = Robustness(
        tuple(
            ChoiceVerdict(Choice(attention_threshold=t), "fails" if t > 0.25 else "holds", None)
            for t in (0.1, 0.2, 0.3)
        )
    )
    expected = "holds under 2 of 3 choices; fails under 1 (with threshold 0.3)"
    assert robustness.sentence() == expected


def test_the_summary_adds_the_sentence_to_the_numbers():
    assert verdict("holds", None).summary == "a half was found"
    assert verdict("holds", ALL_HOLD).summary == "a half was found. Holds under all 18 choices"


def test_the_summary_says_so_where_the_run_and_every_choice_disagree():
    """Not `fails under all 18 choices` alone, beside a verdict that depends."""
    against = verdict("holds", under(lambda similarity, rule: "fails"))
    assert against.status == "depends"
    expected = "Holds on the whole run; on its sample, fails under all 18 choices"
    assert against.summary == f"a half was found. {expected}"
    assert verdict("undecided", ALL_HOLD).choices_sentence == "Holds under all 18 choices"
    assert verdict("holds", None).choices_sentence == ""


def test_the_grid_has_rules_in_order_and_marks_the_own_choice_once():
    grid = grid_of(verdict("holds", COSINE_FAILS), OWN)
    assert [row.title for row in grid.rows] == list(SIMILARITIES)
    titles = [(column.kind, column.title) for column in grid.columns]
    assert titles == [
        *(("top", "0.2%"), ("top", "1%"), ("top", "5%")),
        *(("max", "0.1"), ("max", "0.3"), ("max", "0.5")),
    ]
    assert [size for _, size in grid.groups] == [3, 3]
    for row in grid.rows:
        expected = "fails" if row.title == "cosine" else "holds"
        assert [cell.status for cell in row.cells] == [expected] * 6
    own = [(row.title, place) for row in grid.rows for place, c in enumerate(row.cells) if c.own]
    assert own == [("raw", 1)]
    assert grid.rows[2].cells[0].words == "cosine top:0.002: fails, 0.5 [0.4, 0.6]"


def test_a_run_of_another_rule_has_its_own_choice_nowhere_in_the_grid():
    grid = grid_of(verdict("holds", ALL_HOLD), Choice(pairs="top:0.03", similarity="raw"))
    assert not any(cell.own for row in grid.rows for cell in row.cells)


def test_attention_is_one_row_that_begins_with_the_verdict_on_all_attention():
    by_threshold = [ChoiceVerdict(Choice(attention_threshold=t), "fails", None) for t in (0.3, 0.1)]
    judged = verdict("holds", Robustness(tuple(by_threshold)), "attention_threshold")
    grid = grid_of(judged, OWN)
    assert [column.title for column in grid.columns] == ["all", "0.1", "0.3"]
    (row,) = grid.rows
    assert [(cell.status, cell.own) for cell in row.cells] == [
        ("holds", True),
        ("fails", False),
        ("fails", False),
    ]


def test_counts_are_given_as_signs():
    assert count_signs(verdict("holds", COSINE_FAILS)) == "12H 6F"
    assert count_signs(verdict("holds", None)) == ""
    assert grid_of(verdict("holds", None), OWN) is None
