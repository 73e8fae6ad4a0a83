"""Processes that die: whatever the moment, the run started again equals an undisturbed one."""

import os
import random
import signal
import time

import pytest

from tests.faults.subject import (
    assert_nothing_half_written,
    assert_same_results,
    wait_for,
)


def moments(short: int, all_of_them: int):
    """Seeds of random moments, of which CI tries the first ones."""
    return [
        pytest.param(seed, marks=[] if seed < short else pytest.mark.long)
        for seed in range(all_of_them)
    ]


@pytest.mark.fault("kill -9 at a random moment")
@pytest.mark.parametrize("seed", moments(1, 20))
def test_killed_at_a_random_moment(subject, undisturbed, work_s, tmp_path, seed):
    """From the first file in the folder to the last: texts, shards, untrained models, results."""
    out = tmp_path / "run"
    process = subject.start(out)
    wait_for(process, out / "windows")
    time.sleep(random.Random(seed).uniform(0, work_s))
    process.signal(signal.SIGKILL)
    process.wait()
    run = subject.analyse(out)
    assert_same_results(run, undisturbed)
    assert_nothing_half_written(run)


@pytest.mark.fault("stopped and continued, then hung up")
def test_a_run_that_was_stopped_and_hung_up_is_completed(subject, undisturbed, work_s, tmp_path):
    """Ctrl-Z and fg, then the terminal is closed."""
    out = tmp_path / "run"
    process = subject.start(out)
    wait_for(process, out / "windows")
    for _ in range(3):
        process.signal(signal.SIGSTOP)
        time.sleep(0.05)
        process.signal(signal.SIGCONT)
        time.sleep(work_s / 10)
    process.signal(signal.SIGHUP)
    assert process.wait().code in (0, -signal.SIGHUP)
    run = subject.analyse(out)
    assert_same_results(run, undisturbed)
    assert_nothing_half_written(run)


@pytest.mark.long
@pytest.mark.fault("kill -9 again and again, five times in one run")
@pytest.mark.parametrize("seed", range(1))
def test_killed_again_and_again(subject, undisturbed, work_s, tmp_path, seed):
    chance = random.Random(100 + seed)
    out = tmp_path / "run"
    for _ in range(5):
        process = subject.start(out)
        wait_for(process, out / "manifest.json")
        time.sleep(chance.uniform(0, work_s / 3))
        process.signal(signal.SIGKILL)
        process.wait()
    assert_same_results(subject.analyse(out), undisturbed)


DYING = """
import os, pathlib
rename = pathlib.Path.replace
def replace(self, target):
    if str(target).endswith({moment!r}):
        os.kill(os.getpid(), 9)
    return rename(self, target)
pathlib.Path.replace = replace
"""


@pytest.mark.long
@pytest.mark.fault("death between writing a file and naming it")
@pytest.mark.parametrize(
    "moment",
    [
        "windows/00001.parquet",
        "run/manifest.json",
        "shards/00003.safetensors",
        "shards/00003.json",
        "run/results.nc",
        "run/results.json",
    ],
)
def test_dying_at_the_worst_moment_of_every_file(subject, undisturbed, tmp_path, moment):
    out = tmp_path / "run"
    said = subject.run(out, before=DYING.format(moment=moment))
    assert said.code == -signal.SIGKILL, said.err
    assert not (out.parent / moment).exists()
    run = subject.analyse(out)
    assert_same_results(run, undisturbed)
    assert_nothing_half_written(run)


@pytest.mark.long
@pytest.mark.fault("death while the untrained models are measured")
@pytest.mark.parametrize(
    "moment", ["nulls/untrained-1/shards/00000.json", "nulls/untrained-2/manifest.json"]
)
def test_dying_among_the_untrained_models(subject, undisturbed_with_nulls, tmp_path, moment):
    out = tmp_path / "run"
    said = subject.run(out, before=DYING.format(moment=moment), nulls=4)
    assert said.code == -signal.SIGKILL, said.err
    assert_same_results(subject.analyse(out, nulls=4), undisturbed_with_nulls)


CLOCK = """
import itertools, time
backwards = itertools.count(4e9, -1e6)
time.time = lambda: next(backwards)
time.time_ns = lambda: int(next(backwards) * 1e9)
"""


@pytest.mark.fault("clock set back while running, file times far in the past and the future")
def test_the_clock_does_not_matter(subject, undisturbed, tmp_path):
    """Time runs backwards in big steps in one process; then files seem older, or yet to come."""
    out = tmp_path / "run"
    process = subject.start(out, before=CLOCK)
    wait_for(process, out / "shards" / "00002.json")
    process.signal(signal.SIGKILL)
    process.wait()
    kept = {}
    for place, path in enumerate(sorted(out.rglob("*.*"))):
        os.utime(path, (0, 0) if place % 2 else (2**32, 2**32))
        kept[path] = path.stat().st_mtime_ns
    run = subject.analyse(out, before=CLOCK)
    assert_same_results(run, undisturbed)
    for number in range(3):
        path = out / "shards" / f"{number:05d}.parquet"
        assert path.stat().st_mtime_ns == kept[path], "a finished shard was done twice"
