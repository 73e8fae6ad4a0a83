"""Models side by side on one page, in a real browser."""

import pytest

import headscope as hs
from headscope.findings.roles import ROLES
from headscope.findings.striking import striking_heads
from headscope.pages.side_by_side import SIGNS
from tests.browser import open_page, sideways


@pytest.fixture(scope="module")
def address(verdict_run, tmp_path_factory):
    comparison = hs.compare([verdict_run, verdict_run])
    return comparison.save(tmp_path_factory.mktemp("side") / "models.html").as_uri()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_shows_of_each_model_what_its_run_found(
    browser, address, verdict_run, width, scheme
):
    opened = open_page(browser, address, width=width, scheme=scheme)
    page = opened.page
    opened.picture(f"side-by-side-{width}")
    assert sideways(page) == []
    rows = page.locator(".strip tbody tr").all()
    assert len(rows) == 2
    statuses = [SIGNS[verdict.status] for verdict in verdict_run.claims()]
    for row in rows:
        assert row.locator("td").all_inner_texts() == statuses
    letters = [ROLES[role].letter for role in verdict_run.roles["role"]]
    sections = page.locator("section").all()
    assert len(sections) == 2
    untrained = [null.heads for null in verdict_run.findings.untrained]
    striking = striking_heads(verdict_run.heads, untrained)
    for section in sections:
        assert section.locator(".role").all_inner_texts() == letters
        told = section.locator(".striking li").all_inner_texts()
        assert told == [f"layer {one.layer}, head {one.head}: {one.why}" for one in striking]
    assert (opened.complaints, opened.requests) == ([], [address])
    page.close()
