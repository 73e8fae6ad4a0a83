"""The runner notices what it is there for: planted defects of each kind."""

import os
import pickle
import stat
import sys
import threading
import time
from pathlib import Path

import pytest

from headscope.errors import CorpusError
from tests.attack import run, victim
from tests.attack.case import Case


def outcome(attack, home: Path, limit_s: float = run.LIMIT_S) -> str:
    ((_, found, _),) = run.attack(iter([Case("planted", attack)]), home, limit_s)
    return found


def refuse():
    raise CorpusError("no such corpus; name another")


def refuse_in_many_lines():
    raise CorpusError("no\nsuch\ncorpus")


def fail():
    raise ValueError("planted")


def fail_in_a_thread():
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()


def leave():
    sys.exit(3)


def crash():
    os.abort()


def wait_for_ever():
    time.sleep(60)


def compute_for_ever():
    while True:
        pass


@pytest.mark.parametrize(
    ("attack", "expected"),
    [
        (lambda: None, "harmless"),
        (refuse, "refused"),
        (refuse_in_many_lines, "traceback"),
        (fail, "traceback"),
        (fail_in_a_thread, "traceback"),
        (leave, "traceback"),
        (crash, "traceback"),
    ],
)
def test_outcomes_are_what_they_are(tmp_path, attack, expected):
    assert outcome(attack, tmp_path) == expected


@pytest.mark.parametrize("attack", [wait_for_ever, compute_for_ever])
def test_a_case_that_does_not_end_is_a_hang(tmp_path, attack):
    assert outcome(attack, tmp_path, limit_s=0.3) == "hang"


@pytest.mark.parametrize(
    "touch",
    [
        lambda victim: (victim / "thesis.txt").write_text("other"),
        lambda victim: (victim / "thesis.txt").unlink(),
        lambda victim: (victim / "new").touch(),
        lambda victim: (victim / "thesis.txt").touch(),
        lambda victim: (victim / "untrained-0").rename(victim / "moved"),
    ],
)
def test_a_touched_victim_is_noticed_and_restored(tmp_path, touch):
    victim = tmp_path / "victim"
    assert outcome(lambda: touch(victim), tmp_path) == "touched"
    assert (victim / "untrained-0" / "thesis.txt").read_bytes().startswith(b"What a link")
    assert outcome(lambda: None, tmp_path) == "harmless"


def test_a_replaced_device_is_noticed(tmp_path, monkeypatch):
    pipe = tmp_path / "dev" / "pipe"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    monkeypatch.setattr(victim, "DEVICES", pipe.parent)

    def replace():
        (tmp_path / "file").touch()
        (tmp_path / "file").rename(pipe)

    assert outcome(lambda: None, tmp_path) == "harmless"
    assert outcome(replace, tmp_path) == "touched"


def test_devices_are_told_from_files():
    kind, number = run.devices()["/dev/null"]
    assert stat.S_ISCHR(kind)
    assert number == os.makedev(1, 3)


def unpickle_in_the_way_of_a_library():
    from _pickle import loads  # not the name that is patched

    loads(pickle.dumps(Path("x")))


def load_with_torch():
    import torch

    torch.load("model.bin")


def load_an_array_of_objects():
    import numpy as np

    np.load("array.npy", allow_pickle=True)


@pytest.mark.parametrize(
    "attack",
    [
        lambda: pickle.loads(pickle.dumps(1)),
        unpickle_in_the_way_of_a_library,
        load_with_torch,
        load_an_array_of_objects,
    ],
)
def test_an_opened_pickle_is_noticed(tmp_path, attack):
    assert outcome(attack, tmp_path) == "pickle"


def test_all_categories_are_found_and_the_table_adds_up():
    found = run.categories()
    assert {"corpora", "server", "environment", "numerics"} <= set(found)
    counts = {"a": run.Counter(refused=2, hang=1), "b": run.Counter(harmless=3)}
    assert run.table(counts).splitlines()[-1] == "| all | 6 | 2 | 3 | 0 | 1 | 0 | 0 |"


def test_cases_are_shared_out_and_evenly_mixed():
    assert run.shares(["runs=3", "models"], 6) == {"runs": 3, "models": 6}
    assert set(run.shares([], 12).values()) == {-(-12 // len(run.categories()))}
    order = list(run.in_turn({"runs": 3, "models": 6}))
    assert len(order) == 9
    for end in range(1, 10):
        assert abs(order[:end].count("runs") - end / 3) <= 1
