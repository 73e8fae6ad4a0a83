"""What headscope may delete and write in a run folder: what it made, and nothing through a link."""

import os
import shutil

import pytest

import headscope as hs
from headscope.errors import HeadscopeError, RunError, StorageError
from headscope.runs.files import write_whole
from headscope.runs.lock import is_being_written, only_writer
from headscope.runs.manifest import SCHEMA
from headscope.runs.own_files import foreign_names, remove_run_folder
from tests.attack.run_forgery import change_json, put_receipts_right
from tools.keep_run import KEPT


@pytest.fixture
def run(tmp_path):
    return shutil.copytree(KEPT / f"schema-{SCHEMA}", tmp_path / "run")


def test_a_run_inside_a_run_is_deleted_whole(run):
    null = run / "nulls" / "untrained-0"
    shutil.copytree(KEPT / f"schema-{SCHEMA}", null)
    (null / "shards" / ".00001.json.0123456789abcdef.part").write_text("{")
    remove_run_folder(null, within=run)
    assert not null.exists()
    assert (run / "manifest.json").exists()


@pytest.mark.parametrize(
    "name", ["thesis.txt", "shards/thesis.txt", "shards/0.json", "new/x", ".git"]
)
def test_a_folder_with_anything_else_in_it_is_left_as_it_is(run, name):
    null = run / "nulls" / "untrained-0"
    shutil.copytree(KEPT / f"schema-{SCHEMA}", null)
    (null / name).parent.mkdir(exist_ok=True)
    (null / name).write_text("precious")
    there = sorted(null.rglob("*"))
    with pytest.raises(RunError, match="not deleted"):
        remove_run_folder(null, within=run)
    assert sorted(null.rglob("*")) == there


@pytest.mark.parametrize("linked", ["nulls", "nulls/untrained-0", "nulls/untrained-0/shards"])
def test_a_link_on_the_way_is_refused_and_its_target_untouched(run, tmp_path, linked):
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(KEPT / f"schema-{SCHEMA}", elsewhere / "untrained-0")
    (run / linked).parent.mkdir(parents=True, exist_ok=True)
    (run / linked).symlink_to(elsewhere, target_is_directory=True)
    with pytest.raises(HeadscopeError, match="is a link"):
        remove_run_folder(run / "nulls" / "untrained-0", within=run)
    assert (elsewhere / "untrained-0" / "results.nc").exists()


def test_nothing_is_written_into_a_folder_with_a_link_anywhere_in_it(run, tmp_path):
    (run / "figures").symlink_to(tmp_path)
    before = sorted(run.rglob("*"))
    with pytest.raises(HeadscopeError, match="figures is a link"), only_writer(run):
        pass
    with pytest.raises(HeadscopeError, match="figures is a link"):
        hs.open_run(run).report()
    assert sorted(run.rglob("*")) == before


def test_only_half_written_files_of_ours_are_removed(run):
    ours = run / "shards" / ".00000.json.0123456789abcdef.part"
    theirs = [run / "notes" / ".thesis.0123456789abcdef.part", run / ".thesis.part"]
    (run / "notes").mkdir()
    for path in (ours, *theirs):
        path.write_text("half")
    with only_writer(run):
        assert not ours.exists()
        assert all(path.exists() for path in theirs)


def test_a_folder_of_somebody_elses_windows_is_foreign(tmp_path):
    (tmp_path / "windows").mkdir()
    (tmp_path / "windows" / "00000.parquet").touch()
    (tmp_path / ".lock").touch()
    assert foreign_names(tmp_path) == []
    (tmp_path / "windows" / "system32").touch()
    assert foreign_names(tmp_path) == ["windows/system32"]


def test_a_run_folder_that_was_moved_is_not_made_again(tmp_path):
    with pytest.raises(StorageError, match=r"is gone.*new place"):
        write_whole(tmp_path / "gone" / "shards" / "x", b"", within=tmp_path / "gone")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_a_pipe_is_refused_without_waiting(run):
    os.mkfifo(run / ".lock")
    with pytest.raises(HeadscopeError, match="not a regular file"):
        is_being_written(run)


def test_a_folder_whose_windows_are_being_cut_says_so(tmp_path):
    with only_writer(tmp_path), pytest.raises(RunError, match="still being cut"):
        hs.open_run(tmp_path)
    with pytest.raises(RunError, match="is not a run"):
        hs.open_run(tmp_path)


def test_a_manifest_with_another_setting_does_not_get_the_shards_of_the_first(run):
    """The receipts, right in themselves, name another manifest."""
    change_json(run / "manifest.json", ("settings", "pairs"), "top:0.05")
    with pytest.raises(RunError, match="another run"):
        hs.open_run(run).rows()
    put_receipts_right(run)
    hs.open_run(run).rows()


def test_a_shard_in_the_place_of_another_is_refused(run):
    for ending in ("json", "parquet", "safetensors"):
        shutil.copy(run / "shards" / f"00001.{ending}", run / "shards" / f"00000.{ending}")
    opened = hs.open_run(run)
    assert not opened.shards.is_whole(0)
    with pytest.raises(RunError, match="another shard"):
        opened.shards.read(0)
