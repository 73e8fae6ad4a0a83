"""A short form of `make attack` for hostile environments."""

from tests.attack import environment
from tests.attack.run import DEFECTS, attack


def test_hostile_environment_are_refused_or_do_no_harm(tmp_path):
    found = list(attack(environment.cases(7, 8, tmp_path / "cases"), tmp_path))
    assert [(case.name, said) for case, outcome, said in found if outcome in DEFECTS] == []
    assert len(found) == 8
