"""The number of threads changes no bit of a run, on the demo model and windows of all lengths."""

from pathlib import Path

import pytest

import headscope as hs
from headscope.system.threads import on_threads
from tests.measuring.workers.subject import assert_same_results

ASKED = {"texts": 30, "window": 48, "min_tokens": 8, "layers": [1, 6], "nulls": 0, "robustness": 0}


def analyse(model, out: Path, threads: int, **options) -> hs.Run:
    with on_threads(threads):
        return hs.analyze(model, out=out, report=False, progress=False, **ASKED | options)


def numbers(run: hs.Run) -> dict[str, bytes]:
    """Rows, sums and pairs of examples, as they are on disk."""
    files = [*run.folder.glob("shards/*.parquet"), *run.folder.glob("shards/*.safetensors")]
    return {path.name: path.read_bytes() for path in [*files, run.folder / "examples.parquet"]}


@pytest.fixture(scope="module")
def on_one(demo_model, tmp_path_factory) -> hs.Run:
    return analyse(demo_model, tmp_path_factory.mktemp("threads") / "run", threads=1)


@pytest.mark.parametrize("threads", [2, 4])
def test_the_number_of_threads_changes_no_bit(demo_model, on_one, tmp_path, threads):
    run = analyse(demo_model, tmp_path / "run", threads)
    assert run.manifest.threads == threads
    assert len({window.n_tokens for window in run.files.read_windows(0)}) > 5
    assert_same_results(run, on_one)
    assert numbers(run) == numbers(on_one)


def test_a_single_window_has_the_same_bits_as_well(demo_model, tmp_path):
    """It is a batch by itself, which other threads could help with."""
    asked = {"texts": 1, "minimal": True}
    one, four = (analyse(demo_model, tmp_path / str(n), n, **asked) for n in (1, 4))
    assert_same_results(one, four)
    assert numbers(one) == numbers(four)
