"""The site builds strictly, offline, and loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOADED = (
    r'<(?:script|img|iframe|source)[^>]* src="?([^" >]+)',
    r'<link[^>]* rel="?(?:stylesheet|preconnect|icon)"?[^>]* href="?([^" >]+)',
)


def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path):
    """Strictly: a link or an anchor that leads nowhere, on any page, is an error."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text()
        loaded = [address for pattern in LOADED for address in re.findall(pattern, text)]
        assert loaded
        assert [one for one in loaded if re.match("https?:|//", one)] == [], page.name
    scripts = "".join(path.read_text() for path in tmp_path.rglob("bundle.*.js"))
    assert "unpkg.com" not in scripts, "the theme's own script loads nothing either"
