"""Workers that are killed: their shards are done again, and the results are the same."""

import os
import signal

import pytest

from headscope.errors import WorkerError
from tests.measuring.workers.conftest import single, workload
from tests.measuring.workers.subject import (
    assert_same_results,
    log_lines,
    wait_for_shards,
    worker_processes,
)

__all__ = ["single", "workload"]  # fixtures

POISON = """
import sys
if "headscope.measuring.workers.processes" in sys.orig_argv:
    import os, headscope.runs.folder
    read = headscope.runs.folder.read_windows
    def read_or_die(folder, manifest, number, *rest, **options):
        if number == 1:
            os.kill(os.getpid(), 9)
        return read(folder, manifest, number, *rest, **options)
    headscope.runs.folder.read_windows = read_or_die
"""


@pytest.mark.fault("a worker process killed mid-shard")
@pytest.mark.parametrize(
    "after", [1, *(pytest.param(shards, marks=pytest.mark.long) for shards in (3, 6, 12, 18))]
)
def test_a_killed_worker_costs_its_shard_and_no_more(workload, single, tmp_path, after):
    def harm(out):
        wait_for_shards(out, after)
        os.kill(worker_processes(out)[0], signal.SIGKILL)

    run = workload.analyse(tmp_path / "run", harm, workers=2, threads=1)
    assert_same_results(run, single)
    [lost] = log_lines(run.folder, "said")
    assert lost["kind"] == "worker lost"
    assert "killed by SIGKILL" in lost["message"]


@pytest.mark.long
@pytest.mark.fault("a shard that kills every worker that takes it")
def test_a_shard_that_kills_its_workers_ends_the_run_by_its_name(
    workload, single, tmp_path, monkeypatch
):
    (tmp_path / "sitecustomize.py").write_text(POISON)
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    with pytest.raises(WorkerError, match=r"shard 1 was lost .* 4 times .*killed by SIGKILL"):
        workload.analyse(tmp_path / "run", workers=1, threads=1)
    (tmp_path / "sitecustomize.py").unlink()
    assert_same_results(workload.analyse(tmp_path / "run", workers=1, threads=1), single)
