"""A real browser for tests: what a page complained about, and what it asked for."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

SCREENSHOTS = Path(__file__).parents[1] / "screenshots"
"""Made by every test run, to be looked at; not committed."""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Opened:
    """A page in a browser."""

    page: object
    complaints: list = field(default_factory=list)
    requests: list = field(default_factory=list)
    dialogs: list = field(default_factory=list)

    def picture(self, name: str, *, full_page: bool = True) -> None:
        SCREENSHOTS.mkdir(exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=full_page)

    def viewer_is_quiet(self, after: int = 0) -> int:
        """Waits until the viewer has shown its state; gives the number of that turn."""
        self.page.wait_for_function(
            "turn => Number(document.getElementById('hs-viewer')?.dataset.turn ?? 0) > turn",
            arg=after,
        )
        return int(self.page.evaluate("document.getElementById('hs-viewer').dataset.turn"))


def open_page(browser, address: str, *, width: int = 1280, scheme: str = "light") -> Opened:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened = Opened(page)
    page.on("console", lambda message: opened.complaints.append(message.text))
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on("request", lambda request: opened.requests.append(request.url))

    def on_dialog(dialog):
        opened.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", on_dialog)
    page.goto(address)
    return opened


def sideways(page) -> list[str]:
    """What would have to be scrolled sideways: the page itself, or a part that hides its end."""
    return page.evaluate(
        """() => [...document.querySelectorAll('*')]
            .filter((part) => part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 0)
            .filter((part) => part === document.documentElement
                || ['auto', 'scroll'].includes(getComputedStyle(part).overflowX))
            .map((part) => part.className || part.tagName)"""
    )
