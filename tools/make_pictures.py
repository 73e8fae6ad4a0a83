"""Makes the pictures of the README, docs/pictures/*.png, from the real pages.

    python -m tools.make_pictures RUN

RUN is a finished run (`headscope analyze`). Needs the extras `demo` and `dev`, and chromium.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import headscope as hs

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
TEXT = (
    "The cat sat on the mat. The dog saw the cat, and the cat ran away! Nobody knew why the dog "
    "ran, but dogs do what dogs do. When the cat came back, the mat was gone."
)
COLOURS = 256
"""Enough for pages, at half the size."""


def main(run: str) -> None:
    """Make both pictures."""
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        report = hs.open_run(run).report(Path(scratch) / "report.html").path
        look = hs.look("demo", TEXT).save(Path(scratch) / "look.html")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{report.as_uri()}#head=encoder.2.2")
        page.wait_for_selector(".head-profile .text-arcs")
        picture(page, "section:has(.role-map)", "role-map.png", height=562)
        page.goto(f"{look.as_uri()}#head=2.2&pairs=top:0.02&mask=0.9")
        page.wait_for_selector("[data-turn]")
        picture(page, "#hs-viewer", "look.png")
        browser.close()


def picture(page: Page, selector: str, name: str, height: int | None = None) -> None:
    """Save a part of a page as a picture of few colours."""
    page.wait_for_timeout(500)
    page.locator(selector).screenshot(path=FOLDER / name)
    image = Image.open(FOLDER / name).convert("RGB")
    if height is not None:
        image = image.crop((0, 0, image.width, height))
    image.quantize(COLOURS).save(FOLDER / name, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
