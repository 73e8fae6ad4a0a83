"""Texts that are spliced, shuffled, replaced and planted: what stays where it was."""

import numpy as np

from headscope.reach.plan import ReachPlan
from headscope.reach.texts import (
    PHRASE_TOKENS,
    intact_texts,
    plant_echoes,
    replaced_around,
    replaced_before,
    shuffle_sentences,
    splice,
)
from tests.reach.built_models import random_windows, window_of


def pair(tokens=256):
    return intact_texts(random_windows(2, tokens))


def test_every_token_of_a_spliced_text_is_at_its_own_place():
    first, second = pair()
    spliced = splice(first, second, 100)
    assert (spliced.token_ids[:100] == first.token_ids[:100]).all()
    assert (spliced.token_ids[100:] == second.token_ids[100:]).all()
    assert (spliced.forms[100:] == second.forms[100:]).all()


def test_forms_are_the_same_in_both_documents_of_a_pair():
    first, second = intact_texts([window_of([5, 6, 7, 5, 9, 9]), window_of([7, 6, 5, 5, 8, 9])])
    assert first.forms[0] == first.forms[3] == second.forms[2] == second.forms[3]
    assert first.forms[2] == second.forms[0]
    assert len({*first.forms, *second.forms}) == 5
    assert first.sinks.tolist() == [True] * 4 + [False] * 2


def test_shuffled_sentences_are_the_same_sentences():
    text, _ = pair(60)
    shuffled = shuffle_sentences(text, np.random.default_rng(0))
    sentences = {tuple(text.token_ids[at : at + 10]) for at in range(0, 60, 10)}
    assert {tuple(shuffled.token_ids[at : at + 10]) for at in range(0, 60, 10)} == sentences
    assert (shuffled.token_ids != text.token_ids).any()


def test_all_beyond_the_distance_is_from_the_other_document_and_all_within_is_not():
    own, other = pair()
    for distance in ReachPlan(window_tokens=256).use_distances:
        replaced = replaced_around(own, other, distance)
        for place in replaced.scored:
            near = slice(place - distance, place + distance + 1)
            assert (replaced.text.token_ids[near] == own.token_ids[near]).all()
            far = np.abs(np.arange(256) - place) > distance * 1.25 + 1
            far &= ~own.sinks
            assert (replaced.text.token_ids[far] == other.token_ids[far]).all()
    assert replaced_around(own, other, 128) is None


def test_causal_models_are_scored_by_how_far_their_own_text_extends():
    own, other = pair()
    edges = ReachPlan(window_tokens=256).edges
    replaced = replaced_before(own, splice(other, own, 128), 128, edges)
    for place, distance in zip(replaced.scored, replaced.distances, strict=True):
        near = slice(place - distance, place + 1)
        assert (replaced.text.token_ids[near] == own.token_ids[near]).all()
        assert (replaced.text.token_ids[: place - distance] == other.token_ids[:128]).all()
    assert len(replaced.scored) < 128


def test_planted_phrases_come_back_and_their_control_differs_only_in_the_first_occurrences():
    own, other = pair()
    distances = ReachPlan(window_tokens=256).repeat_distances
    echo = plant_echoes(own, other, distances, np.random.default_rng(0))
    assert echo.distances == distances == (16, 64)
    changed = np.flatnonzero(echo.text.token_ids != echo.control.token_ids)
    for places, distance in zip(echo.again, distances, strict=True):
        assert (echo.text.token_ids[places] == echo.text.token_ids[places - distance]).all()
        assert np.isin(changed, places - distance).any()
    firsts = {
        place - distance - shift
        for places, distance in zip(echo.again, distances, strict=True)
        for place in places
        for shift in (0, 1)
    }
    assert set(changed) <= firsts
    scored = np.concatenate([echo.again.ravel(), echo.before.ravel()])
    assert not np.isin(scored, changed).any()
    assert echo.again.shape == (2, PHRASE_TOKENS - 1)
