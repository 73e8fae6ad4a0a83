"""The subject of all faults, and a table at the end: what was tried, how often, and what was lost.

make test-faults
"""

from collections import Counter
from functools import partial

import pytest

import headscope as hs
from tests.faults.subject import Subject, save_model, write_corpus

TRIED: Counter[str] = Counter()
LOST: Counter[str] = Counter()


@pytest.fixture(scope="session")
def subject(nursery, kept):
    def make(folder):
        save_model(folder / "model")
        write_corpus(folder / "texts.jsonl")

    folder = kept("subject", make)
    return Subject(folder / "model", folder / "texts.jsonl", nursery)


@pytest.fixture(scope="session")
def undisturbed(subject, kept):
    """The run of the subject to which nothing happened. Only to be read."""
    return hs.open_run(kept("undisturbed", subject.analyse))


@pytest.fixture(scope="session")
def undisturbed_with_nulls(subject, kept):
    """The same with untrained models."""
    return hs.open_run(kept("undisturbed-with-nulls", partial(subject.analyse, nulls=4)))


@pytest.fixture(scope="session")
def work_s(undisturbed) -> float:
    """How long that took, from its first file to its last."""
    files = [path for path in undisturbed.folder.rglob("*") if path.is_file()]
    times = [path.stat().st_mtime for path in files]
    return max(times) - min(times)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    marker = item.get_closest_marker("fault")
    if marker is not None and call.when == "call" and not report.skipped:
        TRIED[marker.args[0]] += 1
        LOST[marker.args[0]] += report.failed


def pytest_terminal_summary(terminalreporter):
    if TRIED:
        terminalreporter.section("faults")
        terminalreporter.write_line("| fault | runs | losses |\n| --- | --- | --- |")
        for fault, runs in TRIED.items():
            terminalreporter.write_line(f"| {fault} | {runs} | {LOST[fault]} |")
