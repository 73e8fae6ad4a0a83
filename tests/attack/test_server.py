"""A short form of `make attack` for hostile clients of the server."""

from tests.attack import server
from tests.attack.run import DEFECTS, attack


def test_hostile_server_are_refused_or_do_no_harm(tmp_path):
    found = list(attack(server.cases(7, 9, tmp_path / "cases"), tmp_path))
    assert [(case.name, said) for case, outcome, said in found if outcome in DEFECTS] == []
    assert len(found) == 9
