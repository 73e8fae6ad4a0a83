"""Ray on this machine: a worker killed, a node removed, a store in between."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import headscope as hs
from tests.measuring.workers.conftest import single, workload
from tests.measuring.workers.subject import assert_same_results, log_lines

__all__ = ["single", "workload"]  # fixtures

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra scale)"
)
ROOT = Path(__file__).parents[2]


def on_cluster(workload, out, *, nodes: int, fault: str) -> hs.Run:
    script = Path(__file__).with_name("ray_script.py")
    arguments = [workload.model, workload.corpus, out, nodes, fault]
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    ended = subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    return hs.open_run(out)


@pytest.mark.fault("a node of a Ray cluster removed")
@pytest.mark.parametrize("nodes", [2, pytest.param(4, marks=pytest.mark.long)])
def test_a_cluster_that_loses_a_node_finishes_with_the_same_results(
    workload,
    single,
    tmp_path,
    nodes,
):
    run = on_cluster(workload, tmp_path / "run", nodes=nodes, fault="node")
    assert_same_results(run, single)
    said = log_lines(run.folder, "said")
    assert {line["kind"] for line in said} == {"worker lost"}
    # Ray may start the next worker on the node that is going, which is lost in its turn: before it
    # has a shard.
    assert len([line for line in said if "while measuring" in line["message"]]) == 1, said


@pytest.mark.long
@pytest.mark.fault("a Ray worker killed mid-shard")
@pytest.mark.parametrize("time", range(2))
def test_a_killed_ray_worker_costs_its_shard_and_no_more(workload, single, tmp_path, time):
    run = on_cluster(workload, tmp_path / "run", nodes=2, fault="worker")
    assert_same_results(run, single)
    assert [line["kind"] for line in log_lines(run.folder, "said")] == ["worker lost"]


@pytest.mark.long
def test_ray_started_here_with_shards_through_a_store_gives_the_same_bits(
    workload,
    single,
    tmp_path,
):
    out, store = tmp_path / "run", tmp_path / "store"
    run = workload.analyse_apart(out, cores=2, on="ray", workers=2, via=store.as_uri())
    assert_same_results(run, single)
    assert [path.name for path in store.rglob("*") if path.is_file()] == ["manifest.json"]
