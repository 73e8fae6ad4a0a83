"""Work shared out to threads."""

import threading

import pytest
import torch

from headscope.threads import in_threads


def test_results_come_in_the_order_of_the_shares():
    assert in_threads(sum, [[1, 2], [3], [4, 5, 6]]) == [3, 3, 15]


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
