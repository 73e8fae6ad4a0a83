"""A short form of the attack on runs, and the attacks that once succeeded, by name."""

import pytest

from headscope.errors import HeadscopeError
from tests.attack.runs import cases
from tests.nursery import compile_once

NUMBER = 63
"""Of hostile runs: nine of each of the seven kinds."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    compile_once()
    return tmp_path_factory.mktemp("attack")


def test_hostile_runs_are_refused_in_one_line_or_do_no_harm(folder):
    outcomes = []
    for case in cases(seed=1, number=NUMBER, folder=folder):
        try:
            case.attack()
            outcomes.append("harmless")
        except HeadscopeError:
            outcomes.append("refused")
        except Exception as error:
            raise AssertionError(f"{case.name}: {type(error).__name__}: {error}") from error
    assert len(outcomes) == NUMBER
    assert {"harmless", "refused"} == set(outcomes), (
        "a suite in which all is the same shows nothing"
    )
