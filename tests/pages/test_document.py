"""Pages as files: modules in one script, data that stays data, signs that are seen."""

import json
import re
from importlib.resources import files

import pytest

from headscope.pages.bundle_assets import script_of, style_of, widget_of
from headscope.pages.document import as_script_data, make_page, visible

ASSETS = files("headscope.pages").joinpath("assets")
PAGES = ("page_report", "page_serve", "page_side_by_side", "page_viewer")
WIDGETS = ("widget_report", "widget_viewer")


def test_a_bundle_holds_each_module_once_behind_those_it_needs():
    parts = script_of("page_viewer").split("\nconst _")
    names = [part.split(" = ")[0].removeprefix("const _") for part in parts]
    assert len(names) == len(set(names))
    assert names[-1] == "page_viewer"
    for place, part in enumerate(parts):
        needed = re.findall(r"^const \{[^}]*\} = _(\w+);$", part, re.MULTILINE)
        assert set(needed) <= set(names[:place])


def test_no_asset_is_left_over():
    used = "".join([*map(script_of, PAGES), *map(widget_of, WIDGETS)])
    for asset in ASSETS.iterdir():
        if asset.name.endswith(".js"):
            assert f"const _{asset.name.removesuffix('.js')} = " in used, asset.name


def test_a_widget_is_a_module_with_a_default_export():
    assert widget_of("widget_viewer").endswith("export default _widget_viewer.widget;\n")


def test_styles_of_pages_stay_below_their_own_class():
    """A notebook's own elements must not change when a widget is shown."""
    bare = re.sub(r"/\*.*?\*/|@media[^{]*\{|\{[^{}]*\}", "", style_of("base", "viewer"), flags=re.S)
    selectors = [part.strip() for part in re.split(r"[,}\n]", bare) if part.strip()]
    assert len(selectors) > 30
    for selector in selectors:
        assert re.match(r"(body)?\.hs\b", selector), selector


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "<!--", "&lt;", "\ud800"])
def test_data_can_hold_anything_and_stays_data(text):
    data = as_script_data({"text": text})
    assert not re.search("[<>&]", data)
    assert data.isascii()
    assert json.loads(data) == {"text": text}


def test_the_policy_lets_this_very_script_run_and_nothing_else():
    page = make_page("look.html.jinja", title="t", styles=["base"], script="page_viewer", data=[])
    assert "default-src 'none'" in page.policy
    assert re.search(r"script-src 'sha256-[\w+/=]{44}';", page.policy)
    assert "unsafe" not in page.policy
    assert "connect-src" not in page.policy


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("bell\a", "bell⟨U+0007⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("漢字 é", "漢字 é"),
    ],
)
def test_signs_that_cannot_be_seen_are_named(text, shown):
    assert visible(text) == shown
