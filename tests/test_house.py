"""The house: what a shard worker imports, how large files are, how many parameters are taken."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import headscope

SOURCE = Path(headscope.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

MODULES_OF_A_WORKER = """
import json, sys
import transformers.modeling_utils  # brings its own jinja2
before = set(sys.modules)
import headscope.measuring.workers.processes
import headscope.kernels.cpu.fused
print(json.dumps(sorted(set(sys.modules) - before)))
"""
"""The last import is made by a worker when it measures its first batch."""


def modules_after(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_shard_worker_imports_no_pages_and_no_findings():
    modules = modules_after(MODULES_OF_A_WORKER)
    absent = ("matplotlib", "jinja2", "pandas", "xarray", "headscope.findings", "headscope.pages")
    for name in (*absent, "headscope.run"):
        assert name not in modules
    # A measure is a file of its own; there may be as many as there are things to measure.
    ours = [
        name
        for name in modules
        if name.partition(".")[0] == "headscope" and not name.startswith("headscope.measures.")
    ]
    assert 40 < len(ours) <= 130, "fewer than 40 would mean that this test looks at something else"


def test_opening_a_run_imports_neither_torch_nor_what_draws():
    modules = modules_after(
        "import json, sys, headscope.run; print(json.dumps(sorted(sys.modules)))"
    )
    for absent in ("torch", "transformers", "matplotlib", "jinja2", "xarray", "pandas"):
        assert absent not in modules


def test_the_root_holds_the_verbs_the_handle_settings_and_errors_alone():
    modules = {path.stem for path in SOURCE.glob("*.py")}
    assert len(modules) <= 8
    assert {"analyze", "run", "settings", "errors"} <= modules


def test_files_are_neither_crumbs_nor_bricks():
    lengths = {
        path.relative_to(SOURCE).as_posix(): len(path.read_text().splitlines()) for path in FILES
    }
    assert max(lengths.values()) <= 320
    # A measure is a file of its own, however short.
    rest = {name: n for name, n in lengths.items() if not name.startswith("measures/")}
    short = [name for name, n in rest.items() if n < 60 and not name.endswith("__init__.py")]
    assert len(short) < 50


def test_no_function_takes_more_than_twelve_parameters():
    many = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = node.args
                taken = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                if len(taken) > 12:
                    many[f"{path.name}:{node.name}"] = len(taken)
    assert not many


def test_the_walk_in_contributing_names_files_that_are_there_and_at_most_25():
    text = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text()
    walk = text.partition("## The walk of one window")[2].partition("\n## ")[0]
    files = re.findall(r"^\| \d+ \| `([\w/.]+)`", walk, flags=re.MULTILINE)
    assert 15 < len(files) <= 25
    assert all((SOURCE / file).is_file() for file in files)


def test_shapes_and_types_are_enforced_in_every_module_but_compiled_code_and_commands():
    settings = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())
    options = settings["tool"]["pytest"]["ini_options"]["addopts"]
    hooked = re.search(r"--jaxtyping-packages=(\S+)", options)[1].split(",")
    assert hooked.pop() == "beartype.beartype"
    modules = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in FILES
    }
    assert set(hooked) <= modules, "a module that is hooked is gone"
    exempt = ("headscope.cli", "headscope.kernels.cpu.jit", "headscope.kernels.cpu.compile_ahead")
    exempt += ("headscope.__main__", "headscope.errors")
    for module in modules - {"headscope", "headscope.kernels", "headscope.kernels.cpu"}:
        covered = any(module == name or module.startswith(f"{name}.") for name in hooked)
        assert covered or module.startswith(exempt), module
