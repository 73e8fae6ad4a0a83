"""The pages say what there is: every column, array and measure, and links that lead somewhere."""

import re
from pathlib import Path

import pytest

from headscope.measures import MEASURES
from tests.measures.write_page import page

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


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


def test_the_page_on_measures_is_what_the_measures_say():
    assert (ROOT / "docs" / "measures.md").read_text() == page(), (
        "run: python tests/measures/write_page.py"
    )


@pytest.mark.parametrize("path", PAGES, ids=[path.name for path in PAGES])
def test_links_between_pages_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text()):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target
