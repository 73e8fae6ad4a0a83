"""Shards through stores of fsspec."""

import shutil

import pytest

from headscope.errors import RunError, SettingsError
from headscope.measuring.workers.exchange import ShardExchange
from headscope.runs.folder import RunFolder


@pytest.mark.parametrize("protocol", ["file", "memory"])
def test_shards_travel_through_a_store_and_leave_nothing_but_the_manifest(
    single, tmp_path, protocol
):
    url = f"{protocol}://{tmp_path}/store"
    home, worker = tmp_path / "home", tmp_path / "worker"
    shutil.copytree(single.folder / "windows", home / "windows")
    shutil.copy(single.folder / "manifest.json", home)
    worker.mkdir()
    here, there = ShardExchange(url), ShardExchange(url + "/")
    here.put_run(home, [0, 1])
    there.fetch_manifest(worker)
    there.fetch_windows(worker, 1)
    assert not here.has_shard(1)
    shutil.copytree(single.folder / "shards", worker / "shards")  # stands for its being measured
    there.put_shard(worker, 1)
    assert here.has_shard(1)
    here.take_shard(home, 1)
    run = RunFolder(home, single.manifest)
    assert run.shards.is_whole(1)
    assert run.shards.read(1).rows.equals(single.shards.read(1).rows)
    assert not here.has_shard(1)
    with pytest.raises(RunError, match=r"cannot read .*windows/00001.parquet"):
        there.fetch_windows(worker, 1)


def test_an_unknown_protocol_is_refused():
    with pytest.raises(SettingsError, match=r"via: .*nonsense"):
        ShardExchange("nonsense://bucket/run")
