import subprocess
import sys

import pytest

from headscope.errors import RunError
from headscope.runs.lock import only_writer


def test_a_second_process_is_refused_while_the_first_writes(tmp_path):
    script = (
        "import sys; from pathlib import Path\n"
        "from headscope.runs.lock import only_writer\n"
        "with only_writer(Path(sys.argv[1])): pass\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with only_writer(tmp_path):
        second = subprocess.run(command, capture_output=True, text=True)
        assert "another process is writing" in second.stderr
    assert subprocess.run(command, capture_output=True).returncode == 0


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="file"), only_writer(tmp_path / "file" / "run"):
        pass
