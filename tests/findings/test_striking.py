"""Striking heads: the clearest of each trait, found by hand."""

import numpy as np
import pandas as pd

from headscope.findings.roles import assign_roles, role_order
from headscope.findings.striking import striking_heads


def table(**columns):
    """Four heads of one layer without any trait, but for what is given."""
    plain = {
        "stack": "encoder",
        "layer": 1,
        "head": np.arange(1, 5),
        "mean_distance": [30.0, 20.0, 25.0, 28.0],
        "mean_distance_expected": 40.0,
        "repetition": 0.0,
        "repetition_expected": 0.0,
        "same_sentence": 0.5,
        "same_sentence_expected": 0.5,
        "separator_attention": 0.05,
    }
    return pd.DataFrame(plain | columns)


def found(heads, **options):
    return [(head.head, head.role.name) for head in striking_heads(heads, **options)]


def test_the_clearest_head_of_each_trait_comes_by_how_far_it_is_beyond_its_bar():
    heads = table(repetition=[0.3, 0.6, 0.9, 0.1], separator_attention=[0.95, 0.3, 0.1, 0.1])
    # Beyond the bar of 0.25: repetition 0.65 / 0.75 of the way, separators 0.7 / 0.75.
    assert found(heads) == [(1, "separator"), (3, "repetition")]
    assert found(heads, most=1) == [(1, "separator")]
    assert "strength 0.95 of at most 1, bar 0.25" in striking_heads(heads)[0].why


def test_no_head_is_listed_twice():
    heads = table(repetition=[0.9, 0.5, 0, 0], separator_attention=[0.8, 0.3, 0, 0])
    assert found(heads) == [(1, "repetition"), (2, "separator")]


def test_untrained_heads_raise_the_bar():
    heads = table(repetition=[0.9, 0.3, 0.0, 0.0], separator_attention=[0.5, 0.1, 0.1, 0.1])
    untrained = [table(repetition=0.95)]
    assert found(heads, untrained=untrained) == [(1, "separator")]


def test_without_any_trait_the_nearest_pairs_are_shown_and_without_pairs_nothing():
    (head,) = striking_heads(table())
    assert (head.head, head.role.name) == (2, "local")
    assert "0.50 of the mean distance of random pairs" in head.why
    assert striking_heads(table(mean_distance=np.nan)) == []


def test_heads_are_ordered_within_their_role():
    heads = table(repetition=[0.3, 0.9, 0.0, 0.0], mean_distance=[30.0, 20.0, 36.0, 39.0])
    roles = assign_roles(heads)
    assert roles["role"].tolist() == ["repetition", "repetition", "broad", "broad"]
    assert role_order(heads, roles) == [1, 0, 1, 0]
