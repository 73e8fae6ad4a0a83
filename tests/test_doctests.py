"""Examples in docstrings give what they say."""

import ast
import doctest
from importlib import import_module
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if ">>> " in path.read_text()]
WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_examples_give_what_they_say(path, tmp_path, monkeypatch):
    """Read from the source: doctest itself passes over functions that are decorated, as all are."""
    monkeypatch.chdir(tmp_path)
    name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    variables = vars(import_module(name))
    parser, runner, said = doctest.DocTestParser(), doctest.DocTestRunner(), []
    for node in ast.walk(ast.parse(path.read_text())):
        docstring = ast.get_docstring(node) if isinstance(node, WITH_DOCSTRING) else None
        if docstring and ">>> " in docstring:
            title = getattr(node, "name", name)
            line = node.body[0].lineno - 1
            test = parser.get_doctest(docstring, dict(variables), title, str(path), line)
            runner.run(test, out=said.append)
    assert runner.tries > 0
    assert runner.failures == 0, "".join(said)
