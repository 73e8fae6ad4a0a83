"""How long would a run take on many workers? A simulation with the real dispatch of shards.

    python benchmarks/simulate_scale.py [--text-s 0.2] [--stragglers 0.02] [--days-between-deaths 1]

Each worker has a speed of its own (some are stragglers), each shard a duration of its own, workers
die and are replaced, and the process that dispatches shards handles one event at a time. Before
that, one process cuts the windows; after it, the reduction adds up the shards one after the other.
All costs are arguments, so that measured ones can be used; the defaults
are those of docs/scale.md.
"""

import argparse
import heapq
import math
import random
from collections import deque
from dataclasses import dataclass, fields

from headscope.measuring.workers.dispatch import WorkerEvent, WorkerLost, WorkerReady, dispatch
from headscope.measuring.workers.shard_worker import ShardDone
from headscope.system.progress import Progress

SCALES = ((10**6, 100), (10**7, 1000), (10**8, 1000), (10**9, 10_000))
"""Windows and workers."""


@dataclass(frozen=True)
class Costs:
    """Seconds, on one core unless said otherwise."""

    text_s: float
    """To measure a window."""
    shard_s: float
    """Per shard, beside its windows: its arrays, its files."""
    start_s: float
    """Until a new worker has loaded the model."""
    hear_s: float
    """Per shard, in the process that dispatches them."""
    cut_s: float
    """To cut a window out of the corpus, before the first shard."""
    reduce_s: float
    """To add up a shard, after the last one."""
    shard_mb: float
    """What a shard takes on disk."""


class SimulatedPool:
    """Workers in simulated time."""

    def __init__(self, workers: int, costs: Costs, plan: argparse.Namespace) -> None:
        self.now = 0.0
        self.work_s = 0.0
        """Time that went into shards that were finished."""
        self.lost = 0
        self._costs = costs
        self._plan = plan
        self._chance = random.Random(plan.seed)
        self._free: deque[float] = deque()
        """The slowness of each worker that waits; 1 is the usual one."""
        self._events: list[tuple[float, int, float, int | None, bool]] = []
        self._count = 0
        for _ in range(workers):
            self._begin()

    @property
    def free(self) -> int:
        return len(self._free)

    def give(self, number: int) -> None:
        slowness = self._free.popleft()
        usual = self._plan.shard_windows * self._costs.text_s + self._costs.shard_s
        # Log-normal with mean 1: shards differ in the length of their windows.
        varied = math.exp(self._chance.gauss(-0.5 * self._plan.spread**2, self._plan.spread))
        duration = usual * slowness * varied
        death = self._chance.expovariate(1 / (86400 * self._plan.days_between_deaths))
        if death < duration:
            self._push(death, slowness, number, False)
        else:
            self.work_s += duration
            self._push(duration, slowness, number, True)

    def next_event(self) -> WorkerEvent:
        time, _, slowness, number, well = heapq.heappop(self._events)
        self.now = max(self.now, time) + self._costs.hear_s
        if not well:
            self.lost += 1
            self._begin()
            return WorkerLost("worker", number, "died")
        self._free.append(slowness)
        return WorkerReady("worker") if number is None else ShardDone(number, 0.0, "worker")

    def _begin(self) -> None:
        straggler = self._chance.random() < self._plan.stragglers
        self._push(self._costs.start_s, self._plan.slower if straggler else 1.0, None, True)

    def _push(self, after: float, slowness: float, number: int | None, well: bool) -> None:
        self._count += 1  # so that equal times keep their order
        heapq.heappush(self._events, (self.now + after, self._count, slowness, number, well))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text-s", type=float, default=0.2)
    parser.add_argument("--shard-s", type=float, default=1.0)
    parser.add_argument("--start-s", type=float, default=30.0)
    parser.add_argument("--hear-s", type=float, default=0.002)
    parser.add_argument("--cut-s", type=float, default=0.003)
    parser.add_argument("--reduce-s", type=float, default=0.1)
    parser.add_argument("--shard-mb", type=float, default=20.0)
    parser.add_argument("--shard-windows", type=int, default=512)
    parser.add_argument("--spread", type=float, default=0.3, help="of the durations of shards")
    parser.add_argument("--stragglers", type=float, default=0.02, help="share of slow workers")
    parser.add_argument("--slower", type=float, default=4.0, help="how much slower they are")
    parser.add_argument("--days-between-deaths", type=float, default=1.0, help="of a worker")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--largest", type=int, default=10**9, help="windows of the largest run simulated"
    )
    plan = parser.parse_args()
    costs = Costs(**{field.name: getattr(plan, field.name) for field in fields(Costs)})
    print("| windows | workers | shards | cutting | measuring | efficiency | lost | reducing |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for texts, workers in SCALES:
        if texts > plan.largest:
            continue
        shards = math.ceil(texts / plan.shard_windows)
        pool = SimulatedPool(workers, costs, plan)
        dispatch(pool, range(shards), lambda news: None, Progress())
        ideal = shards * (plan.shard_windows * costs.text_s + costs.shard_s) / workers
        cells = [
            f"10^{round(math.log10(texts))}",
            f"{workers:,}",
            f"{shards:,} ({shards * costs.shard_mb / 1e6:.2g} TB)",
            _hours(texts * costs.cut_s),
            _hours(pool.now),
            f"{ideal / pool.now:.2f}",
            f"{pool.lost:,}",
            _hours(shards * costs.reduce_s),
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds < 2 * 86400 else f"{seconds / 86400:.1f} days"


if __name__ == "__main__":
    main()
