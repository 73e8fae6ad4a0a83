"""The package as it is imported."""

import subprocess
import sys

import pytest

import headscope
from tests.nursery import FRESH

HEAVY = ("torch", "transformers", "pandas", "matplotlib", "xarray", "pyarrow", "numpy")


def test_every_public_name_is_there():
    for name in headscope.__all__:
        assert getattr(headscope, name) is not None
    assert set(headscope.__all__) <= set(dir(headscope))


def test_a_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        headscope.nonsense  # noqa: B018


@pytest.mark.parametrize(
    "statement", ["import headscope", "import headscope.cli", "from headscope.cli import app"]
)
def test_importing_brings_in_nothing_heavy(statement):
    script = f"{statement}; import sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert run_python(script) == "[]"


def test_help_brings_in_nothing_heavy():
    script = (
        "import sys; from headscope.cli import main\n"
        "sys.argv = ['headscope', 'analyze', '--help']\n"
        "try: main()\n"
        f"except SystemExit: print('heavy:', [m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert run_python(script).endswith("heavy: []")


@pytest.mark.parametrize("name", ["analyze", "compare", "look", "merge"])
def test_functions_are_not_hidden_by_the_modules_of_their_name(nursery, name):
    """Whichever is imported first."""
    script = (
        f"{FRESH}\n"
        f"from headscope.{name} import {name}\n"
        f"import headscope, sys\n"
        f"assert headscope.{name} is {name}\n"
        f"assert sys.modules['headscope.{name}'].{name} is {name}\n"
        "print('fine')"
    )
    ended = nursery.run(script, [])
    assert ended.out == "fine\n", ended.err


def run_python(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
