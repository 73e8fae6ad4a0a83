"""The site builds strictly, offline, and loads nothing from elsewhere; its links lead somewhere."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import open_page

ROOT = Path(__file__).parents[1]
LOADED = (
    r'<(?:script|img|iframe|source)[^>]* src="?([^" >]+)',
    r'<link[^>]* rel="?(?:stylesheet|preconnect|icon)"?[^>]* href="?([^" >]+)',
)
OPENED = ("index", "paper", "atlas", "reference/api", "reference/commands")
"""Pages with wide tables, pictures or code; the tutorials are opened, too."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site. Strictly: what leads nowhere, on any page, is an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_the_site_loads_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text()
        loaded = [address for pattern in LOADED for address in re.findall(pattern, text)]
        assert loaded
        assert [one for one in loaded if re.match("https?:|//", one)] == [], page.name
    scripts = "".join(path.read_text() for path in site.rglob("bundle.*.js"))
    assert "unpkg.com" not in scripts, "the theme's own script loads nothing either"


class Links(HTMLParser):
    """What a page leads to, and what can be led to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src"):
                self.targets.add(value)


def test_every_link_and_anchor_of_the_built_pages_leads_somewhere(site):
    """Those of generated pages, too, which mkdocs does not look at."""
    pages = {path: Links(path) for path in site.rglob("*.html") if path.name != "404.html"}
    checked, lost = 0, []
    for path, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            checked += 1
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            if not there.exists() or (
                parts.fragment and unquote(parts.fragment) not in pages[there].anchors
            ):
                lost.append((path.name, target))
    assert lost == []
    assert checked > 1000


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_pages_fit_the_screen_and_complain_of_nothing(site, browser, width, scheme):
    names = [*OPENED, *(f"tutorials/{path.stem}" for path in (site / "tutorials").glob("*.html"))]
    assert len(names) == len(OPENED) + 5
    opened = open_page(browser, (site / "index.html").as_uri(), width=width, scheme=scheme)
    for name in names:
        opened.page.goto((site / f"{name}.html").as_uri())
        if name in OPENED:
            opened.picture(f"site-{Path(name).name}-{width}", full_page=False)
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width, name
    assert opened.complaints == []
    opened.page.close()
