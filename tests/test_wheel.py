"""The wheel alone, without the source tree, makes reports and views."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = """
import sys
from pathlib import Path
import headscope as hs
assert Path(hs.__file__).is_relative_to(sys.argv[1]), hs.__file__
report = hs.open_run(sys.argv[2]).report("report.html")
assert "torch" not in sys.modules, "a report is made without torch"
assert "<style>" in report.path.read_text()
view = hs.look("demo", "The cat sat on the mat. The dog saw the cat.")
assert "mountViewer" in view.save("look.html").read_text()
print("made")
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


def test_the_wheel_alone_makes_report_and_viewer(installed, demo_run, tmp_path):
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT, installed, demo_run.folder],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "made", done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["look.html", "report.html"]
