"""The pictures of the README, made from the real pages: python docs/pictures/make_pictures.py RUN

RUN is a finished run (`headscope analyze`). Needs the extras `demo` and `dev`, and chromium.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import headscope as hs

FOLDER = Path(__file__).parent
TEXT = (
    "The cat sat on the mat. The dog saw the cat, and the cat ran away! Nobody knew why the dog "
    "ran, but dogs do what dogs do. When the cat came back, the mat was gone."
)
COLOURS = 128
"""Enough for pages, and a third of the bytes."""


def main(run: str) -> None:
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        report = hs.open_run(run).report(Path(scratch) / "report.html").path
        look = hs.look("demo", TEXT).save(Path(scratch) / "look.html")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto(f"{report.as_uri()}#head=encoder.2.2")
        page.wait_for_selector(".head-profile .text-arcs")
        picture(page, "section:has(.role-map)", "role-map.png", height=640)
        page.goto(f"{look.as_uri()}#head=2.2&pairs=top:0.02&mask=0.6")
        page.wait_for_selector("[data-turn]")
        picture(page, "#hs-viewer", "look.png")
        browser.close()


def picture(page: Page, selector: str, name: str, height: float | None = None) -> None:
    page.wait_for_timeout(500)
    box = page.locator(selector).bounding_box()
    assert box is not None, selector
    clip = {**box, "height": height or box["height"]}
    page.screenshot(path=FOLDER / name, clip=clip, full_page=True)
    image = Image.open(FOLDER / name).convert("RGB").quantize(COLOURS)
    image.save(FOLDER / name, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
