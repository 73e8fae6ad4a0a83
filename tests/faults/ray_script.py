"""A run on a Ray cluster of several nodes on this machine, one of which, or a worker, is killed.

    python ray_script.py MODEL CORPUS OUT NODES node|worker

A process of its own: Ray leaves threads and handlers behind.
"""

import os
import signal
import sys
import time
from pathlib import Path

# Before Ray is imported: nodes are on loopback.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

from ray.cluster_utils import Cluster

from tests.measuring.workers.subject import Workload, worker_processes


def hold_all_workers(folder: Path, number: int) -> list[int]:
    """The processes of so many workers, each stopped as soon as it had begun.

    Otherwise the run, which is a small one, could be over before its last worker has begun.
    """
    held: list[int] = []
    while len(held) < number:
        for process in worker_processes(folder)[len(held) :]:
            os.kill(process, signal.SIGSTOP)
            held.append(process)
        time.sleep(0.005)
    return held


def main(model: str, corpus: str, out: str, nodes: str, fault: str) -> None:
    node = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "node_ip_address": "127.0.0.1"}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    others = [cluster.add_node(**node) for _ in range(int(nodes) - 1)]

    def harm(folder: Path) -> None:
        held = hold_all_workers(folder, int(nodes))
        if fault == "worker":
            os.kill(held.pop(), signal.SIGKILL)
        else:
            cluster.remove_node(others[0], allow_graceful=False)
        for process in held:
            os.kill(process, signal.SIGCONT)

    try:
        Workload(Path(model), Path(corpus)).analyse(
            Path(out), harm, on="ray", address=cluster.address, workers=int(nodes)
        )
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
