"""A short form of `make attack` for hostile corpora."""

from tests.attack import corpora
from tests.attack.run import DEFECTS, attack


def test_hostile_corpora_are_refused_or_do_no_harm(tmp_path):
    found = list(attack(corpora.cases(7, 18, tmp_path / "cases"), tmp_path))
    assert [(case.name, said) for case, outcome, said in found if outcome in DEFECTS] == []
    assert len(found) == 18
