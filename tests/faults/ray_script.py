"""A run on a Ray cluster of several nodes on this machine, one of which is taken away, or killed.

    python ray_script.py MODEL CORPUS OUT NODES node|worker|none

A process of its own:
Ray leaves threads and handlers behind.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path

# Before Ray is imported: nodes are on loopback.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

from ray.cluster_utils import Cluster

import headscope as hs
from tests.scale.subject import log_lines, worker_processes

BEFORE_FAULT = 2
"""Shards that are written before something happens."""


def main(model: str, corpus: str, out: str, nodes: str, fault: str) -> None:
    node = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "node_ip_address": "127.0.0.1"}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    others = [cluster.add_node(**node) for _ in range(int(nodes) - 1)]

    def harm() -> None:
        while len(log_lines(Path(out), "shard")) < BEFORE_FAULT:
            time.sleep(0.01)
        if fault == "worker":
            os.kill(worker_processes(Path(out))[0], signal.SIGKILL)
        if fault == "node":
            cluster.remove_node(others[0], allow_graceful=False)

    threading.Thread(target=harm, daemon=True).start()
    try:
        hs.analyze(
            model,
            corpus,
            out=out,
            window=32,
            min_tokens=4,
            shard_windows=2,
            nulls=0,
            permutations=2,
            report=False,
            on="ray",
            address=cluster.address,
            workers=int(nodes),
        )
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
