"""Runs that are killed, at any moment, and started again."""

import random
import signal
import time

import numpy as np
import pytest

import headscope as hs
from tests.demo_texts import QUICK, write_uneven_corpus
from tests.nursery import Child

SHARDS = 6
SCRIPT = """
import sys, headscope as hs
hs.analyze("demo", sys.argv[1], out=sys.argv[2], shard_windows=4, layers=[1, 6],
    nulls=0, permutations=2, report=False, progress=False)
"""

# The command as people type it, but for shards that are small enough to be interrupted.
COMMAND_LINE = """
import functools, importlib, signal, sys
from headscope.cli import main
# As in a terminal: what a shell starts in the background has Ctrl-C switched off.
signal.signal(signal.SIGINT, signal.default_int_handler)
home = importlib.import_module("headscope.analyze")
home.analyze = functools.partial(home.analyze, permutations=2)
corpus, out = sys.argv[1:]
sys.argv = ["headscope", "analyze", "--corpus", corpus, "--out", out, "--layers", "1,6",
            "--nulls", "0", "--shard-windows", "4"]
main()
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    words = tuple(random.Random(7).randrange(20, 90) for _ in range(4 * SHARDS))
    return write_uneven_corpus(tmp_path_factory.mktemp("corpus") / "texts.jsonl", words)


@pytest.fixture(scope="module")
def analyse(nursery, corpus):
    """Gives a run by a process of its own: equal bits are promised to those who start again."""

    def run(out) -> hs.Run:
        ended = nursery.run(SCRIPT, [corpus, out])
        assert ended.code == 0, ended.err
        return hs.open_run(out)

    return run


@pytest.fixture(scope="module")
def undisturbed(analyse, tmp_path_factory):
    return analyse(tmp_path_factory.mktemp("undisturbed") / "run")


def assert_same_results(run: hs.Run, other: hs.Run) -> None:
    assert list(run.arrays.variables) == list(other.arrays.variables)
    for name, array in run.arrays.variables.items():
        assert array.values.tobytes() == other.arrays[name].values.tobytes(), name
    assert run.rows().to_table().equals(other.rows().to_table())


def wait_for(process: Child, *, shards: int, out) -> None:
    """Until the process has written this number of shards, or ended."""
    while process.poll() is None and len(list(out.glob("shards/*.json"))) < shards:
        time.sleep(0.002)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_run_that_is_started_again_equals_an_undisturbed_one(
    nursery, corpus, analyse, undisturbed, tmp_path, seed
):
    """The moments are random, within the time in which shards are being written."""
    chance = random.Random(seed)
    out = tmp_path / "run"
    process = nursery.start(SCRIPT, [corpus, out])
    wait_for(process, shards=chance.randrange(SHARDS), out=out)
    time.sleep(chance.random() * 0.1)
    process.signal(signal.SIGKILL)
    process.wait()
    assert_same_results(analyse(out), undisturbed)


@pytest.mark.parametrize(
    "moment", ["shards/00002.json", pytest.param("results.nc", marks=pytest.mark.long)]
)
def test_dying_while_a_file_is_being_named_costs_no_more_than_its_shard(
    nursery, corpus, analyse, undisturbed, tmp_path, moment
):
    """Exactly between the temporary file and its final name: the worst moment there is."""
    out = tmp_path / "run"
    dying = f"""
import os, pathlib
rename = pathlib.Path.replace
def replace(self, target):
    if str(target).endswith({moment!r}):
        os.kill(os.getpid(), 9)
    return rename(self, target)
pathlib.Path.replace = replace
"""
    assert nursery.run(dying + SCRIPT, [corpus, out]).code == -signal.SIGKILL
    assert not (out / moment).exists()
    assert_same_results(analyse(out), undisturbed)


def test_ctrl_c_says_how_to_go_on_and_going_on_gives_the_same(
    nursery, corpus, analyse, undisturbed, tmp_path
):
    out = tmp_path / "run"
    process = nursery.start(COMMAND_LINE, [corpus, out])
    wait_for(process, shards=2, out=out)
    process.signal(signal.SIGINT)
    ended = process.wait()
    assert ended.code == 130
    assert ended.err.count("\n") == 1
    assert "run the same command again" in ended.err
    done = len(list(out.glob("shards/*.json")))
    assert 2 <= done < SHARDS
    assert_same_results(analyse(out), undisturbed)


@pytest.mark.long
def test_a_damaged_shard_is_done_again(analyse, undisturbed, tmp_path):
    run = analyse(tmp_path / "run")
    path = run.folder / "shards" / "00003.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    assert_same_results(analyse(run.folder), undisturbed)
    assert path.read_bytes() != content


@pytest.mark.long
def test_finished_shards_are_not_done_twice(analyse, undisturbed, tmp_path):
    run = analyse(tmp_path / "run")
    (run.folder / "shards" / "00001.json").unlink()
    (run.folder / "results.nc").unlink()
    times = {p.name: p.stat().st_mtime_ns for p in (run.folder / "shards").glob("*.parquet")}
    again = analyse(run.folder)
    changed = [
        name
        for name, time_ns in times.items()
        if (run.folder / "shards" / name).stat().st_mtime_ns != time_ns
    ]
    assert changed == ["00001.parquet"]
    assert_same_results(again, undisturbed)


def test_the_reduction_does_not_depend_on_the_number_of_windows_in_a_shard(
    demo_model, corpus, undisturbed, tmp_path
):
    """Streaming equals one-shot: sums over shards are the sums over all texts."""
    whole = hs.analyze(demo_model, corpus, out=tmp_path, shard_windows=1000, layers=[1, 6], **QUICK)
    assert whole.manifest.shards == 1
    for name, array in whole.arrays.data_vars.items():
        # Sums of a batch are in single precision: small ones have the rounding of the large ones.
        rounding = 1e-5 * np.max(np.nan_to_num(np.abs(array.values)), initial=1.0)
        np.testing.assert_allclose(
            array, undisturbed.arrays[name], rtol=1e-5, atol=rounding, err_msg=name
        )
