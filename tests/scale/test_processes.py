"""`workers=N`: processes of this machine."""

import json
import os
import signal
import time
from dataclasses import replace

import numpy as np
import pytest

import headscope as hs
from headscope.errors import SettingsError, WorkerError
from tests.scale.subject import (
    SHARDS,
    assert_same_results,
    log_lines,
    wait_for,
    worker_processes,
)


def test_workers_give_the_bits_and_the_manifest_of_one_process_with_as_many_threads(
    workload, single, tmp_path
):
    run = workload.analyse(tmp_path / "run", cores=2, workers=2)
    assert_same_results(run, single)
    assert replace(run.manifest, created="") == replace(single.manifest, created="")
    assert run.manifest.threads == 1
    shards = log_lines(run.folder, "shard")
    assert sorted(line["number"] for line in shards) == list(range(SHARDS))
    assert len({line["worker"] for line in shards}) == 2


def test_another_number_of_threads_changes_nothing_beyond_1e_5(workload, single, tmp_path):
    run = workload.analyse(tmp_path / "run", cores=2, workers=1)
    assert run.manifest.threads == 2
    for name, array in run.arrays.data_vars.items():
        np.testing.assert_allclose(array, single.arrays[name], rtol=1e-5, atol=1e-5, err_msg=name)


def test_workers_end_with_the_process_that_started_them(workload, tmp_path):
    out = tmp_path / "run"
    process = workload.start(out, workers=2)
    wait_for(process, out, event="shard", times=1)
    process.kill()
    process.communicate()
    assert_all_gone(worker_processes(out))


def test_ctrl_c_ends_workers_at_once_and_going_on_gives_the_same(workload, single, tmp_path):
    out = tmp_path / "run"
    in_foreground = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    process = workload.start(out, before=in_foreground, workers=2)
    wait_for(process, out, event="shard", times=1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert_all_gone(worker_processes(out))
    assert log_lines(out, "ended")[-1]["kind"] == "interrupted"
    assert_same_results(workload.analyse(out, workers=2), single)


def test_an_error_of_a_worker_is_told_as_if_it_had_happened_here(workload, tmp_path):
    """The windows of a shard are damaged after the manifest was written."""
    out = tmp_path / "run"
    workload.analyse(out)
    (out / "shards" / "00003.json").unlink()
    (out / "windows" / "00003.parquet").write_bytes(b"damaged")
    process = workload.start(out, workers=1)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err.splitlines()[-1].startswith("RunError: ")
    assert "00003.parquet" in err


def test_a_worker_with_another_model_refuses(workload, tmp_path):
    """As on a machine of a cluster that has other weights under the same name."""
    from headscope.scale.shard_worker import ShardWorker, WorkerRecipe
    from tests.compare.tiny_bert import tiny_bert, tokenizer_of_all

    run = workload.analyse(tmp_path / "run")
    other = tmp_path / "other"
    tiny_bert(seed=1).save_pretrained(other)
    tokenizer_of_all().save_pretrained(other)
    recipe = WorkerRecipe(str(run.folder), str(other), "float32", "cpu", threads=1)
    with pytest.raises(WorkerError, match=r"differs from the run .*model weights"):
        ShardWorker(recipe)


def test_a_model_object_cannot_be_sent_to_workers(workload, tmp_path):
    from tests.compare.tiny_bert import tiny_bert, tokenizer_of_all

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
def test_plans_that_mean_nothing_are_refused(options, message, tmp_path):
    with pytest.raises(SettingsError, match=message):
        hs.analyze(out=tmp_path, **options)


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


def test_log_goes_to_a_file_that_is_asked_for_too(workload, tmp_path):
    run = workload.analyse(tmp_path / "run", log=str(tmp_path / "log"))
    lines = (tmp_path / "log").read_text().splitlines()
    # The model is loaded before there is a run folder.
    assert (run.folder / "log.jsonl").read_text().splitlines() == lines[2:]
    assert json.loads(lines[-1])["kind"] == "finished"
