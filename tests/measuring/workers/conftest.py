"""The run that workers are compared with: by a single process, on one thread."""

import pytest

import headscope as hs
from tests.measuring.workers.subject import SCRIPT, Workload


@pytest.fixture(scope="session")
def workload(kept) -> Workload:
    folder = kept("workload", Workload.make)
    return Workload(folder / "model", folder / "texts.jsonl")


@pytest.fixture(scope="session")
def single(workload, nursery, kept):
    """Only to be read."""

    def analyse(out):
        ended = nursery.run(SCRIPT, workload.arguments(out, threads=1))
        assert ended.code == 0, ended.err

    return hs.open_run(kept("single", analyse))
