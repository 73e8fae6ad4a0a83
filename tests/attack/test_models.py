"""The short form of the attack by models: forty of them, each refused in one line or harmless."""

import pickle
import socket
from collections import Counter

import pytest
import torch

from headscope.errors import HeadscopeError
from tests.attack.models import Touched, cases, nothing_else_touched


def test_hostile_models_are_refused_in_one_line_or_harmless(tmp_path):
    ended = Counter()
    for case in cases(seed=0, number=40, folder=tmp_path):
        try:
            case.attack()
            ended["harmless"] += 1
        except HeadscopeError:
            ended["refused"] += 1
    assert ended["refused"] > 15, "otherwise the mutations do too little"
    assert ended["harmless"] > 3, "otherwise a good model would be refused as well"


def test_a_seed_gives_the_same_models_again(tmp_path):
    names = [[case.name for case in cases(seed, 20, tmp_path)] for seed in (1, 1, 2)]
    assert names[0] == names[1] != names[2]


def test_the_guard_notices_pickles_and_the_network(tmp_path):
    torch.save({}, tmp_path / "weights.bin")
    with nothing_else_touched():
        with pytest.raises(Touched, match="load"):
            torch.load(tmp_path / "weights.bin")
        with pytest.raises(Touched):
            pickle.loads(b"")
        with pytest.raises(Touched), socket.socket() as connection:
            connection.connect(("127.0.0.1", 9))
