"""Figures as files."""

import json
import shutil
import subprocess
import sys

import pytest

from headscope.errors import SettingsError
from headscope.pages.figures.write import write_figures
from headscope.run import open_run


def test_figures_are_written_in_all_formats_into_the_run(small_run, tmp_path):
    run = open_run(shutil.copytree(small_run.folder, tmp_path / "run"))
    written = run.figures(only=["separators", "roles"])
    assert written.left_out == {}
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    folder = run.folder / "figures"
    assert {path.name for path in folder.iterdir()} == {path.name for path in written.files}
    assert {path.name for path in written.files} == {
        f"{name}.{kind}" for name in ("separators", "roles") for kind in starts
    }
    for path in written.files:
        assert path.read_bytes().startswith(starts[path.suffix[1:]])


def test_files_of_several_stacks_are_told_apart(findings, tmp_path):
    stacks = {"encoder": findings, "cross": findings}
    written = write_figures(stacks, tmp_path, formats=["svg"], only=["separators"], suffixed=True)
    assert [p.name for p in written.files] == ["separators-encoder.svg", "separators-cross.svg"]


def test_what_cannot_be_drawn_is_left_out_with_its_reason(findings, tmp_path):
    from dataclasses import replace

    written = write_figures(
        {"encoder": replace(findings, roles=None)}, tmp_path, formats=["svg"], only=["roles"]
    )
    assert written.files == ()
    assert written.left_out == {"roles": "the roles of the heads are not known"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formats": ["gif"]}, "format: 'gif' is unknown; choose from png, svg, pdf"),
        ({"only": ["histogram"]}, "figure: 'histogram' is unknown"),
        ({"stack": "decoder"}, "stack: 'decoder' is unknown; this run has encoder"),
    ],
)
def test_mistakes_write_nothing(small_run, tmp_path, options, message):
    with pytest.raises(SettingsError, match=message):
        small_run.figures(tmp_path / "new", **options)
    assert not (tmp_path / "new").exists()


def test_the_command_lists_what_it_wrote_and_needs_no_torch(small_run, tmp_path):
    script = (
        "import sys; sys.argv = ['headscope', 'figures', *sys.argv[1:]]\n"
        "from headscope.cli.app import build_app\n"
        "build_app()(sys.argv[1:], standalone_mode=False)\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, small_run.folder, "--out", tmp_path, "--json",
         "--format", "svg", "--only", "separators", "--only", "focal"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    files = [str(tmp_path / "separators.svg"), str(tmp_path / "focal.svg")]
    assert json.loads(done.stdout) == {"files": files, "left_out": {}}
    # Another process, the same bytes.
    here = small_run.figures(tmp_path / "here", formats=["svg"], only=["separators", "focal"])
    for path in here.files:
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()
