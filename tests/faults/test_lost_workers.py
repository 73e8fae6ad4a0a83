"""Workers that are killed: their shards are done again, and the results are the same."""

import os
import signal

import pytest

from headscope.scale.hand_out import MOST_TRIES
from tests.scale.conftest import single, workload  # noqa: F401  (fixtures)
from tests.scale.subject import assert_same_results, log_lines, wait_for, worker_processes


@pytest.mark.fault("a worker process killed mid-shard")
@pytest.mark.parametrize(
    "after", [1, *(pytest.param(shards, marks=pytest.mark.long) for shards in (3, 6, 12, 18))]
)
def test_a_killed_worker_costs_its_shard_and_no_more(workload, single, tmp_path, after):  # noqa: F811
    out = tmp_path / "run"
    process = workload.start(out, workers=2)
    wait_for(process, out, event="shard", times=after)
    os.kill(worker_processes(out)[0], signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    import headscope as hs

    run = hs.open_run(out)
    assert_same_results(run, single)
    [lost] = log_lines(out, "said")
    assert lost["kind"] == "worker lost"
    assert "killed by SIGKILL" in lost["message"]
    assert len(worker_processes(out)) == 3


@pytest.mark.fault("a shard that kills every worker that takes it")
def test_a_shard_that_kills_its_workers_ends_the_run_by_its_name(workload, single, tmp_path):  # noqa: F811
    out = tmp_path / "run"
    poisoned = f"""
import os, pathlib
folder = pathlib.Path({str(tmp_path)!r})
(folder / "sitecustomize.py").write_text('''
import sys
if "headscope.scale.process_worker" in " ".join(sys.orig_argv):
    import os, headscope.measure_run
    measure = headscope.measure_run.read_windows
    def read_windows(folder, number, expected):
        if number == 5:
            os.kill(os.getpid(), 9)
        return measure(folder, number, expected)
    headscope.measure_run.read_windows = read_windows
''')
os.environ["PYTHONPATH"] = str(folder) + ":" + os.environ.get("PYTHONPATH", "")
"""
    process = workload.start(out, before=poisoned, workers=2)
    _, err = process.communicate(timeout=200)
    assert process.returncode == 1
    last = err.splitlines()[-1]
    assert last.startswith(f"WorkerError: shard 5 was lost with its worker {MOST_TRIES} times")
    assert "killed by SIGKILL" in last
    assert_same_results(workload.analyse(out, workers=2), single)
