"""The wheel alone, without the source tree, makes reports and views."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.demo_texts import demo_model_folder
from tests.faults.seed_files import KEPT
from tests.nursery import FRESH

ROOT = Path(__file__).parents[1]
IMPORT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import headscope as hs
assert Path(hs.__file__).is_relative_to(sys.argv[1]), hs.__file__
"""
REPORT = """
report = hs.open_run(sys.argv[2]).report("report.html")
assert "torch" not in sys.modules, "a report is made without torch"
assert "<style>" in report.path.read_text()
"""
LOOK = """
view = hs.look("demo", "The cat sat on the mat. The dog saw the cat.")
assert "mountViewer" in view.save("look.html").read_text()
paths = [str(module.__file__) for name, module in sys.modules.items() if "headscope" in name]
assert all(path.startswith(sys.argv[1]) for path in paths), paths
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with what the wheel holds, and nothing of the source tree."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_alone_makes_a_report_without_torch(installed, tmp_path):
    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORT + REPORT, installed, KEPT / "schema-2"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_the_wheel_alone_makes_a_viewer(nursery, installed, tmp_path):
    demo_model_folder()  # or this is left out
    ended = nursery.run(FRESH + IMPORT + LOOK, [installed], cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["look.html"]
