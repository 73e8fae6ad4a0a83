"""The pages say what there is: registries, columns, arrays, scripts, links that lead somewhere."""

import ast
import dataclasses
import doctest
import importlib
import re
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

import headscope
from headscope.cli.commands import COMMANDS
from headscope.cli.option_groups import flatten
from headscope.findings.claims import CLAIMS
from headscope.findings.roles import ROLES
from headscope.measures import MEASURES
from headscope.measures.columns import COLUMNS
from headscope.pages.figures import FIGURES
from headscope.text.readers import READERS
from tools import marks
from tools.site_pages import PROJECT, api_page, commands_page
from tools.write_families import PART as FAMILIES_PART
from tools.write_pages import PARTS, part

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for folder in (".", "docs", "docs/notes", "benchmarks", "tools")
    for path in (ROOT / folder).glob("*.md")
)
SCRIPTS = sorted(
    path for folder in ("benchmarks", "tools", "examples") for path in (ROOT / folder).rglob("*.py")
)
REGISTRIES = {
    "measures": MEASURES,
    "columns": COLUMNS,
    "figures": FIGURES,
    "readers": READERS,
    "claims": CLAIMS,
    "roles": ROLES,
}
"""By the name of the part of the docs that lists what is in them."""


@pytest.fixture(scope="module")
def format_page() -> str:
    return (ROOT / "docs" / "run-format.md").read_text()


def test_every_column_of_a_run_is_documented(demo_run, format_page):
    for dataset in (demo_run.rows(), demo_run.windows()):
        missing = [name for name in dataset.schema.names if f"`{name}`" not in format_page]
        assert missing == []


def test_every_array_of_a_run_is_documented(demo_run, format_page):
    measures = {name for m in MEASURES for name in (m.name, f"{m.name}_expected")}
    missing = [
        name
        for name in map(str, demo_run.arrays.data_vars)
        if name not in measures
        and f"`{name}`" not in format_page
        and not name.startswith("total_")
        and not re.search("_by_(pair_rule|attention_threshold)$", name)
    ]
    assert missing == []


@pytest.mark.parametrize("name", PARTS)
def test_a_generated_part_is_what_its_registry_says(name):
    on_page = marks.content(PARTS[name].page.read_text(), name)
    assert on_page == part(name).strip(), "run: python -m tools.write_pages"


@pytest.mark.parametrize("name", REGISTRIES)
def test_what_is_added_to_a_registry_is_in_its_part(name):
    registry = REGISTRIES[name]
    toy = dataclasses.replace(next(iter(registry)), name="toy-thing")
    assert "toy-thing" not in part(name)
    with registry.including(toy):
        assert "toy-thing" in part(name)
        assert part(name).strip() != marks.content(PARTS[name].page.read_text(), name)


def test_every_generated_part_of_a_page_is_written_by_a_tool():
    found = [name for path in PAGES for name in marks.marked_names(path.read_text())]
    assert sorted(found) == sorted([*PARTS, FAMILIES_PART])


def test_marks_do_as_their_examples_say():
    assert doctest.testmod(marks).failed == 0


def test_the_index_of_tools_names_every_script():
    index = (ROOT / "tools" / "README.md").read_text()
    scripts = [path.stem for path in (ROOT / "tools").glob("*.py") if not is_part(path)]
    assert sorted(re.findall(r"`python -m tools\.(\w+)", index)) == sorted(scripts)


def test_the_index_of_benchmarks_has_the_question_of_every_script():
    index = (ROOT / "benchmarks" / "README.md").read_text()
    rows = re.findall(r"^\| \[(\w+\.py)\]\(\1\) \| (.*) \|$", index, re.MULTILINE)
    scripts = (ROOT / "benchmarks").glob("*.py")
    assert dict(rows) == {path.name: docstring(path).partition("\n")[0] for path in scripts}


@pytest.mark.parametrize("path", SCRIPTS, ids=[str(path.relative_to(ROOT)) for path in SCRIPTS])
def test_a_script_imports_what_headscope_has(path):
    """Scripts that take hours are not run here; this finds what a move has left behind."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("headscope"):
            module = importlib.import_module(node.module)
            for name in node.names:
                if not hasattr(module, name.name):
                    importlib.import_module(f"{node.module}.{name.name}")


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text())) or ""


def is_part(path: Path) -> bool:
    return '__name__ == "__main__"' not in path.read_text()


@pytest.mark.parametrize("path", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_links_between_pages_lead_somewhere(path):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", path.read_text()):
        if re.match("[a-z]+:", target):
            continue
        page = path.parent / target if target else path
        # The site has pages that are made when it is built.
        if not target.startswith(("reference/", "../reference/", "tutorials/")):
            assert page.exists(), target
            if anchor and page.suffix == ".md":
                assert anchor in anchors(page), f"{target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as the site makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {slugify(re.sub(r"[`*]", "", title), "-") for title in titles}


def test_every_page_is_on_the_site():
    """A new page needs a line under nav in mkdocs.yml."""
    listed = set(re.findall(r": ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M))
    docs = ROOT / "docs"
    there = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    made = {"reference/api.md", "reference/commands.md", *PROJECT.values()}
    made |= {f"tutorials/{path.stem}.md" for path in (docs / "tutorials").glob("*.ipynb")}
    assert listed == there | made


def test_every_command_and_every_option_is_in_the_reference():
    page = commands_page()
    for command in COMMANDS:
        section = page.split(f"\n## {command.name}\n")[1].split("\n## ")[0]
        for parameter in flatten(command.run).__signature__.parameters.values():
            (told,) = parameter.annotation.__metadata__
            # typer takes the first name for the default.
            given = [str(name) for name in (told.default, *(told.param_decls or ()))]
            names = [part for name in given for part in name.split("/") if part.startswith("-")]
            names = names or [parameter.name.replace("_", "-"), *filter(None, [told.metavar])]
            assert any(name in section or name.upper() in section for name in names), names


def test_everything_that_headscope_offers_is_in_the_reference():
    page = api_page()
    for name in set(headscope.__all__) - {"__version__"}:
        assert re.search(rf"^::: [\w.]+\.{name}$", page, re.MULTILINE), name
