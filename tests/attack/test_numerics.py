"""A short form of `make attack` for hostile numbers."""

from tests.attack import numerics
from tests.attack.run import DEFECTS, attack


def test_hostile_numerics_are_refused_or_do_no_harm(tmp_path):
    found = list(attack(numerics.cases(7, 4, tmp_path / "cases"), tmp_path))
    assert [(case.name, said) for case, outcome, said in found if outcome in DEFECTS] == []
    assert len(found) == 4
