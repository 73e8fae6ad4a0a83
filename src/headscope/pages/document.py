"""A page as one HTML file with style, script and data inside; it loads nothing else."""

import base64
import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

from headscope.pages.bundle_assets import script_of, style_of

_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def visible(text: str) -> str:
    """The text with control characters, direction overrides and the like written as ⟨U+202E⟩."""
    return "".join(
        f"⟨U+{ord(sign):04X}⟩" if unicodedata.category(sign) in _UNSEEN else sign for sign in text
    )


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page."""

    html: str
    policy: str
    """Its content security policy, which is also in the page itself."""

    def encode(self) -> bytes:
        """The bytes of the file. Half a surrogate pair, which a name may contain, is escaped."""
        return self.html.encode("utf-8", "backslashreplace")


def make_page(
    template: str,
    *,
    title: str,
    styles: Sequence[str],
    extra_style: str = "",
    script: str,
    data: object = None,
    values: Mapping[str, Any] | None = None,
    inline_styles: bool = False,
    connects: bool = False,
) -> Page:
    """The page of a template, with style sheets and a script inside.

    Its content security policy allows this one script, and no connections.

    Args:
        template: A file in `templates/`.
        title: The title of the page.
        styles: Style sheets of `assets/`, by name.
        extra_style: CSS that comes after them.
        script: The entry module in `assets/`, by name.
        data: JSON values for the script.
        values: What the template needs besides.
        inline_styles: Allow style attributes, which figures need.
        connects: Allow connections to the server that the page came from.
    """
    code, style = script_of(script), style_of(*styles) + extra_style
    assert "</script" not in code, "the script element would end there"
    allowed_style = "'unsafe-inline'" if inline_styles else f"'{_sha256(style)}'"
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_sha256(code)}'",
            f"style-src {allowed_style}",
            "img-src data:",
            *(["connect-src 'self'"] if connects else []),
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    html = (
        _environment()
        .get_template(template)
        .render(
            title=title,
            policy=policy,
            style=Markup(style),
            script=Markup(code),
            data=None if data is None else as_script_data(data),
            **(values or {}),
        )
    )
    return Page(html, policy)


def as_script_data(data: object) -> Markup:
    """JSON that is safe inside a script element: plain ASCII, without < > &."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _sha256(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("headscope.pages"),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["visible"] = visible
    return environment
