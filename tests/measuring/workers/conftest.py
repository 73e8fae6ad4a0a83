"""The run that workers are compared with: by a single process, on one thread."""

import pytest

from tests.measuring.workers.subject import Workload


@pytest.fixture(scope="session")
def workload(tmp_path_factory) -> Workload:
    return Workload.make(tmp_path_factory.mktemp("workload"))


@pytest.fixture(scope="session")
def single(workload, tmp_path_factory):
    """Only to be read."""
    return workload.analyse_apart(tmp_path_factory.mktemp("single") / "run", threads=1)
