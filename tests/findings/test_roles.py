"""Roles: the strongest trait, the others, and bars that do not move with the number of seeds."""

import numpy as np
import pandas as pd
import pytest

import headscope as hs
from headscope.findings.claims.evidence import relative_excess
from headscope.findings.claims.heads_beyond_bar import judge_heads_beyond_bar
from headscope.findings.roles import ROLES, assign_roles, bars_of
from headscope.measures import MEASURES
from tests.faults.seed_files import KEPT

PLAIN = {
    "stack": "encoder",
    "repetition": 0.05,
    "repetition_expected": 0.05,
    "same_sentence": 0.3,
    "same_sentence_expected": 0.3,
    "common_token": 0.1,
    "common_token_expected": 0.1,
    "separator_attention": 0.05,
    "special_separator_attention": 0.02,
    "mean_distance": 21.0,
    "mean_distance_expected": 30.0,
}
"""A head without any trait."""


def table_of(*heads: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame(
        [PLAIN | {"layer": 1, "head": place + 1} | head for place, head in enumerate(heads)]
    )


def repeating(strength: float) -> dict[str, object]:
    """A head of which a share of the possible excess are repetitions."""
    return {"repetition": 0.05 + 0.95 * strength}


def roles_and_others(table: pd.DataFrame, untrained=()) -> list[list[str]]:
    return assign_roles(table, untrained)[["role", "others"]].to_numpy().tolist()


def test_the_strongest_trait_is_the_one_farthest_beyond_its_bar():
    # Repetition 0.7 goes (0.7 - 0.25) / 0.75 = 0.6 of the way from its bar to 1, the common token
    # 0.75 goes (0.75 - 0.5) / 0.5 = 0.5: the larger strength is not the stronger trait.
    head = repeating(0.7) | {"common_token": 0.1 + 0.9 * 0.75, "special_separator_attention": 0.3}
    assert roles_and_others(table_of(head)) == [["repetition", "common-token, special-separator"]]


def test_the_two_kinds_of_separators_are_roles_of_their_own():
    table = table_of({"separator_attention": 0.4}, {"special_separator_attention": 0.5})
    assert roles_and_others(table) == [["separator", ""], ["special-separator", ""]]


@pytest.mark.parametrize(("distance", "role"), [(10.0, "local"), (29.0, "broad"), (21.0, "none")])
def test_a_head_without_a_trait_is_named_by_distance_or_has_no_clear_role(distance, role):
    assert roles_and_others(table_of({"mean_distance": distance})) == [[role, ""]]
    assert ROLES["none"].words == "no clear role"


def test_the_bar_is_the_mean_over_seeds_of_the_largest_head():
    seeds = [table_of(repeating(0.1), repeating(largest)) for largest in (0.3, 0.4, 0.8)]
    assert bars_of(seeds)["repetition"] == pytest.approx((0.3 + 0.4 + 0.8) / 3)
    weak = [table_of(repeating(largest)) for largest in (0.1, 0.4)]
    assert bars_of(weak)["repetition"] == 0.25, "their mean, 0.25, is not above the fixed bar"


def test_more_seeds_do_not_raise_the_bar():
    rng = np.random.default_rng(0)

    def seeds(number: int) -> list[pd.DataFrame]:
        return [
            table_of(*map(repeating, rng.normal(0.3, 0.1, 72).clip(0, 1))) for _ in range(number)
        ]

    few, many = (bars_of(seeds(number))["repetition"] for number in (10, 200))
    # The largest of all heads and seeds would rise by 0.06; the mean of ten maxima has a standard
    # error of 0.014.
    assert many == pytest.approx(few, abs=0.035)


def test_seeds_that_have_not_measured_a_trait_leave_its_bar_alone():
    old = table_of(repeating(0.6)).drop(columns=["common_token", "special_separator_attention"])
    assert bars_of([old])["common-token"] == 0.5
    assert roles_and_others(old) == [["repetition", ""]]


def test_runs_of_older_versions_have_roles_without_the_newer_traits():
    roles = hs.open_run(KEPT / "schema-1").roles
    assert list(roles) == ["stack", "layer", "head", "role", "others", "evidence"]
    named = set(roles["role"]) | {
        name for others in roles["others"] if others for name in others.split(", ")
    }
    assert not named & {"common-token", "special-separator"}


def test_claims_and_map_have_the_same_bar(verdict_run):
    run = verdict_run
    evidence = run.evidence()["encoder"].own
    seeds = [null.heads for null in run.untrained]
    for role, measure in (("repetition", "repetition"), ("common-token", "common_token")):
        finding = judge_heads_beyond_bar(
            evidence, lambda of, measure=measure: relative_excess(of, MEASURES[measure]), 0.0, role
        )
        naive = np.mean([ROLES[role].trait.strength(table).max() for table in seeds])
        assert finding.null.value == pytest.approx(naive, rel=1e-6)
        assert bars_of(seeds)[role] == pytest.approx(max(naive, ROLES[role].trait.bar))
