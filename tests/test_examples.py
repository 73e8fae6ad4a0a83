"""Examples run as they stand."""

from pathlib import Path

import pytest

from tests.demo_texts import demo_model_folder

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = {
    "01_first_run.py": ("4", "{out}"),
    "02_segment.py": (),
    "03_training_steps.py": (
        *("--out", "{out}", "--steps", "0", "2", "--texts", "3", "--width", "16"),
    ),
}
"""Arguments that keep each example small; {out} is a new folder."""
SHOWS = {
    "01_first_run.py": ("gathers around", "report.html"),
    "02_segment.py": ("topics begin at [4]", None),
    "03_training_steps.py": ("seed 0, step 2: loss", "training.png"),
}
"""What each example prints, and a file that it writes, if any."""
SCRIPT = """
import runpy, sys, warnings
warnings.simplefilter("error")
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_the_example_runs(path, nursery, tmp_path):
    demo_model_folder()  # or this is left out
    out = tmp_path / "run"
    arguments = [argument.format(out=out) for argument in SMALL[path.name]]
    ended = nursery.run(SCRIPT, [path, *arguments], cwd=tmp_path)
    assert ended.code == 0, ended.err
    printed, written = SHOWS[path.name]
    assert printed in ended.out
    assert written is None or (out / written).exists()
