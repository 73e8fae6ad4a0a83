"""The hand-out of shards, to workers that do whatever a plan of chance tells them."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.errors import WorkerError
from headscope.measuring.workers.dispatch import MAX_TRIES, WorkerLost, WorkerReady, dispatch
from headscope.measuring.workers.shard_worker import ShardDone
from headscope.system.progress import Progress


class ChancePool:
    """Workers that begin, finish and die in any order; shards are lost so many times."""

    def __init__(self, workers: int, losses: dict[int, int], seed: int) -> None:
        self.chance = random.Random(seed)
        self.losses = Counter(losses)
        self.beginning = workers
        self.free = 0
        self.busy: list[int] = []
        self.given: Counter[int] = Counter()
        self.most_busy = 0

    def give(self, number: int) -> None:
        assert self.free
        self.free -= 1
        self.busy.append(number)
        self.given[number] += 1
        self.most_busy = max(self.most_busy, len(self.busy))

    def next_event(self):
        if self.beginning and (not self.busy or self.chance.random() < 0.5):
            self.beginning -= 1
            self.free += 1
            return WorkerReady("worker")
        number = self.busy.pop(self.chance.randrange(len(self.busy)))
        if self.losses[number]:
            self.losses[number] -= 1
            self.beginning += 1
            return WorkerLost("worker", number, "killed")
        self.free += 1
        return ShardDone(number, 1.0, "worker")


@given(
    workers=st.integers(1, 5),
    losses=st.lists(st.integers(0, MAX_TRIES - 1), max_size=12),
    seed=st.integers(0, 2**32),
)
def test_every_shard_is_done_once_whatever_is_lost(workers, losses, seed):
    pool = ChancePool(workers, dict(enumerate(losses)), seed)
    done: list[int] = []
    dispatch(pool, range(len(losses)), lambda news: done.append(news.number), Progress())
    assert sorted(done) == list(range(len(losses)))
    assert pool.given == Counter({shard: lost + 1 for shard, lost in enumerate(losses)})
    assert pool.most_busy <= workers


def test_a_shard_that_takes_every_worker_down_is_named():
    pool = ChancePool(2, {3: MAX_TRIES}, seed=0)
    with pytest.raises(WorkerError, match=r"shard 3 was lost .* 4 times \(the last: killed\)"):
        dispatch(pool, range(6), lambda news: None, Progress())


def test_workers_that_never_begin_end_the_run():
    class Stillborn(ChancePool):
        def next_event(self):
            return WorkerLost("worker", None, "no module named headscope")

    with pytest.raises(WorkerError, match=r"no worker could start .*no module named headscope"):
        dispatch(Stillborn(2, {}, 0), range(6), lambda news: None, Progress())
