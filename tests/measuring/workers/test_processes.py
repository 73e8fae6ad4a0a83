"""`workers=N`: processes of this machine."""

import json
import os
import shutil
import signal
import time
from dataclasses import replace

import pytest

import headscope as hs
from headscope.errors import RunError, SettingsError, WorkerError
from headscope.measuring.workers.plan import WorkPlan
from headscope.measuring.workers.ray_actors import _Actor
from headscope.measuring.workers.shard_worker import ShardWorker, WorkerRecipe
from tests.compare.tiny_bert import tiny_bert, tokenizer_of_all
from tests.measuring.workers.subject import (
    SHARDS,
    assert_same_results,
    log_lines,
    wait_for_shards,
    worker_processes,
)


@pytest.mark.long
def test_workers_give_the_bits_and_the_manifest_of_one_process(workload, single, tmp_path):
    run = workload.analyse(tmp_path / "run", workers=2, threads=1)
    assert_same_results(run, single)
    assert replace(run.manifest, created="") == replace(single.manifest, created="")
    shards = log_lines(run.folder, "shard")
    assert sorted(line["number"] for line in shards) == list(range(SHARDS))
    assert len({line["worker"] for line in shards}) == 2


@pytest.mark.long
def test_another_number_of_threads_changes_no_bit(workload, single, tmp_path):
    run = workload.analyse_apart(tmp_path / "run", cores=2, workers=1)
    assert run.manifest.threads == 2
    assert_same_results(run, single)


@pytest.mark.long
def test_workers_end_with_the_process_that_started_them(workload, tmp_path):
    out = tmp_path / "run"
    process = workload.start(out, workers=2)
    wait_for_shards(out, 1, process)
    process.kill()
    process.communicate()
    assert_all_gone(worker_processes(out))


@pytest.mark.long
@pytest.mark.parametrize("on", ["local", "ray"])
def test_ctrl_c_ends_workers_at_once_and_going_on_gives_the_same(workload, single, tmp_path, on):
    out = tmp_path / "run"
    process = workload.start(out, workers=2, on=on)
    wait_for_shards(out, 1, process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert_all_gone(worker_processes(out))
    assert log_lines(out, "ended")[-1]["kind"] == "interrupted"
    assert_same_results(workload.analyse(out, workers=2), single)


def test_an_error_of_a_worker_is_told_as_if_it_had_happened_here(workload, single, tmp_path):
    """The file system fails it: where the shards should go, there is a file."""
    out = tmp_path / "run"
    for name in ("windows", "manifest.json"):
        copy = shutil.copytree if (single.folder / name).is_dir() else shutil.copy
        out.mkdir(exist_ok=True)
        copy(single.folder / name, out / name)
    (out / "shards").write_text("in the way")
    with pytest.raises(RunError, match=r"cannot write .*shards/00000.parquet"):
        workload.analyse(out, workers=1)


def test_a_worker_with_another_model_refuses(single, tmp_path):
    """As on a machine of a cluster that has other weights under the same name."""
    tiny_bert(seed=1).save_pretrained(tmp_path)
    tokenizer_of_all().save_pretrained(tmp_path)
    recipe = WorkerRecipe(str(single.folder), str(tmp_path), "float32", "cpu", threads=1)
    with pytest.raises(WorkerError, match=r"differs from the run .*model weights"):
        ShardWorker(recipe)


def test_a_ray_worker_of_another_version_refuses():
    with pytest.raises(WorkerError, match=r"this run is made with 0\.0\.1; install the same"):
        _Actor({"a recipe": "of another version"}, "0.0.1").name()


def test_a_worker_that_does_not_see_the_run_folder_says_so(workload, tmp_path):
    recipe = WorkerRecipe(str(tmp_path / "x"), str(workload.model), "float32", "cpu", threads=1)
    with pytest.raises(WorkerError, match=r"is not on .*; put the run folder on a file system"):
        ShardWorker(recipe)


def test_a_model_object_cannot_be_sent_to_workers(workload, tmp_path):
    model = hs.load_model(tiny_bert(), tokenizer=tokenizer_of_all())
    with pytest.raises(SettingsError, match="pass the folder"):
        hs.analyze(model, workload.corpus, out=tmp_path, min_tokens=4, workers=2, progress=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers: 0 is too few"),
        ({"threads": 0}, "threads: 0 is too few"),
        ({"address": "auto"}, "only with Ray"),
        ({"via": "s3://bucket"}, "only with Ray"),
        ({"on": "ray", "gpus_per_worker": -1.0}, "negative"),
    ],
)
def test_plans_that_mean_nothing_are_refused(options, message):
    with pytest.raises(SettingsError, match=message):
        WorkPlan(**options)


def test_cores_are_shared_out_over_no_more_workers_than_shards(monkeypatch):
    monkeypatch.setattr("torch.get_num_threads", lambda: 8)
    assert WorkPlan(workers=2).threads_for(shards=100) == 4
    assert WorkPlan(workers=3).threads_for(shards=100) == 2
    assert WorkPlan(workers=16).threads_for(shards=100) == 1
    assert WorkPlan(workers=8).threads_for(shards=2) == 4
    assert WorkPlan(on="ray").threads_for(shards=100) == 1
    assert WorkPlan().threads_for(shards=1) == 8


def test_the_log_goes_to_a_file_that_is_asked_for_too(workload, tmp_path):
    run = workload.analyse(tmp_path / "run", log=tmp_path / "log", texts=6)
    lines = (tmp_path / "log").read_text().splitlines()
    # The model is loaded before there is a run folder.
    assert (run.folder / "log.jsonl").read_text().splitlines() == lines[2:]
    assert json.loads(lines[-1])["kind"] == "finished"


def assert_all_gone(processes: list[int]) -> None:
    assert processes
    deadline = time.monotonic() + 10
    while any(map(is_alive, processes)):
        assert time.monotonic() < deadline, "workers live on"
        time.sleep(0.02)


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
