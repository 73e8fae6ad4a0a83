"""Work shared out to threads."""

import os
import threading
import time

import pytest
import torch

from headscope.system import threads
from headscope.system.threads import in_order, in_threads


def test_results_come_in_the_order_of_the_shares():
    assert in_threads(sum, [[1, 2], [3], [4, 5, 6]]) == [3, 3, 15]


def test_threads_are_kept_for_the_next_call(monkeypatch):
    monkeypatch.setattr(threads, "_threads", None)

    def current(share):
        return threading.current_thread()

    used = set()
    for _ in range(20):
        here, other = in_threads(current, [[1], [2]])
        assert here is threading.current_thread()
        assert other.name.startswith("headscope")
        used.add(other)
    # A second one may be started while the first is not yet back in the pool.
    assert len(used) <= 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_process_has_threads_of_its_own():
    in_threads(sum, [[1], [2]])
    child = os.fork()
    if child == 0:
        os._exit(0 if in_threads(sum, [[1], [2]]) == [1, 2] else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_an_interrupt_here_stops_the_others():
    begun = threading.Event()
    taken = []

    def work(share):
        for item in share:
            if item == "interrupt":
                begun.wait()
                raise KeyboardInterrupt
            taken.append(item)
            begun.set()

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, [["interrupt"], range(10**8)])
    assert 0 < len(taken) < 10**8


def test_each_thread_computes_on_one_core_and_this_one_keeps_its_own():
    before = torch.get_num_threads()
    assert in_threads(lambda share: torch.get_num_threads(), [[1], [2]]) == [1, 1]
    assert torch.get_num_threads() == before


def test_a_failure_is_raised_here_and_stops_the_others():
    others_may_go_on = threading.Event()
    taken = []

    def work(share):
        for item in share:
            if item == "fail":
                others_may_go_on.set()
                raise ValueError("planted")
            others_may_go_on.wait()
            taken.append(item)

    with pytest.raises(ValueError, match="planted"):
        in_threads(work, [["fail"], list(range(10**6))])
    assert len(taken) < 10**6


@pytest.mark.parametrize("threads", [1, 2, 3, 20])
def test_what_follows_a_turn_is_done_in_order(threads):
    done, cores = [], set()

    def worker():
        def work(item, turn):
            cores.add(torch.get_num_threads())
            time.sleep(0.002 * (item % 3))
            turn()
            done.append(item)

        return work

    in_order(worker, range(13), threads)
    assert done == list(range(13))
    assert cores == {1}


@pytest.mark.parametrize("failing", [0, 1, 2, 7])
def test_a_failure_ends_those_that_wait_for_their_turn(failing):
    done = []

    def worker():
        def work(item, turn):
            if item == failing:
                time.sleep(0.02)  # so that the others wait for it
                raise ValueError("planted")
            turn()
            done.append(item)

        return work

    with pytest.raises(ValueError, match="planted"):
        in_order(worker, range(1000), 3)
    assert done == list(range(failing))


def test_an_item_that_needs_no_turn_is_waited_for_all_the_same():
    done = []

    def worker():
        def work(item, turn):
            if item == 0:
                time.sleep(0.02)
            else:
                turn()
            done.append(item)

        return work

    in_order(worker, range(4), 4)
    assert done == [0, 1, 2, 3]


def test_without_items_nothing_is_done():
    in_order(lambda: pytest.fail, [], 4)
