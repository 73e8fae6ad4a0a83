"""report.html in a real browser."""

import json
import re
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from headscope.findings.findings_table import finding_columns, finding_rows
from headscope.findings.roles import ROLES
from headscope.findings.striking import striking_heads
from headscope.pages.report.page import WORDS
from headscope.run import Run, open_run
from tests.browser import open_page, sideways
from tests.faults.seed_files import KEPT

LINES_OF = """cell => {
  const inside = document.createRange();
  inside.selectNodeContents(cell);
  return inside.getClientRects().length;
}"""


@pytest.fixture(scope="module")
def address(demo_run):
    return (demo_run.folder / "report.html").as_uri()


@pytest.fixture
def opened(browser, address):
    opened = open_page(browser, address)
    yield opened
    opened.page.close()
    assert opened.complaints == []
    assert opened.requests == [address]


def open_head(opened, layer, head):
    opened.page.click(f'.role-map button[data-layer="{layer}"][data-head="{head}"]')
    opened.page.wait_for_selector(f"h3:text('Layer {layer}, head {head}:')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("device", "width"), [("desktop", 1280), ("phone", 390)])
def test_the_page_opens_whole_without_a_network(browser, demo_run, scheme, device, width):
    address = (demo_run.folder / "report.html").as_uri()
    opened = open_page(browser, f"{address}#head=encoder.2.2", width=width, scheme=scheme)
    page = opened.page
    page.wait_for_selector(".head-profile .text-arcs")
    opened.picture(f"report-{device}-{scheme}")
    assert opened.complaints == []
    assert len(opened.requests) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert sideways(page) == []
    assert page.locator("figure svg").count() >= 8
    cells = page.locator("table.layers").locator("tbody tr").all_inner_texts()
    assert [cell.split("\t") for cell in cells] == finding_rows(demo_run.layers)
    page.close()


@pytest.mark.parametrize(("device", "width"), [("desktop", 1280), ("phone", 390)])
def test_each_verdict_has_a_grid_of_its_choices_that_needs_no_scrolling(
    browser, verdict_run, device, width
):
    address = (verdict_run.folder / "report.html").as_uri()
    opened = open_page(browser, address, width=width)
    page = opened.page
    opened.picture(f"report-verdicts-{device}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    signs = {"holds": "✓", "fails": "✗", "undecided": "?", "cannot answer": "-"}
    verdicts = verdict_run.claims()
    items = page.locator(".verdicts > li").all()
    assert len(items) == len(verdicts)
    titles = page.locator("table.choices th[scope=row]").all()
    assert {title.inner_text() for title in titles} == {"attention", "raw", "centred", "cosine"}
    assert {title.evaluate(LINES_OF) for title in titles} == {1}, "no title is broken"
    for verdict, item in zip(verdicts, items, strict=True):
        assert WORDS[verdict.status] in item.locator(".status").inner_text()
        if verdict.robustness is None:
            assert item.locator("table.choices").count() == 0
            continue
        assert item.locator("caption").inner_text() == f"{verdict.choices_sentence}."
        cells = {cell.get_attribute("title"): cell for cell in item.locator("td.choice").all()}
        for one in verdict.robustness.choices:
            effect = "" if one.effect is None else f", {one.effect}"
            words = f"{one.choice}: {one.status}{effect}"
            (title,) = (title for title in cells if title.startswith(words))
            assert cells[title].inner_text() == signs[one.status]
        assert item.locator("td.own").count() == 1
        # The grid is whole on the screen: it neither sticks out nor hides a column.
        box = item.locator("table.choices").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert opened.complaints == []
    page.close()


def test_the_role_map_marks_heads_with_more_than_one_trait(browser, verdict_run):
    opened = open_page(browser, (verdict_run.folder / "report.html").as_uri())
    roles = verdict_run.roles
    assert opened.page.locator(".role-map .more").count() == (roles["others"] != "").sum()
    for layer, head, role, others in roles[["layer", "head", "role", "others"]].to_numpy():
        cell = opened.page.locator(f'.role-map [data-layer="{layer}"][data-head="{head}"]')
        also = f"; also {others}" if others else ""
        words = f"layer {layer}, head {head}: {ROLES[role].words}{also}"
        assert cell.get_attribute("title") == words
        assert cell.inner_text() == ROLES[role].letter
    opened.page.close()


def test_a_click_on_a_head_opens_its_profile(opened, demo_run):
    open_head(opened, 3, 7)
    role = demo_run.roles.set_index(["layer", "head"]).loc[(3, 7), "role"]
    assert opened.page.inner_text(".head-profile h3") == f"Layer 3, head 7: {ROLES[role].words}"
    row = demo_run.heads.set_index(["layer", "head"]).loc[(3, 7)]
    lines = opened.page.locator(".measures tbody tr").all_inner_texts()
    shown = dict(line.split("\t")[:2] for line in lines)
    assert float(shown["mean distance"]) == pytest.approx(row["mean_distance"], rel=0.01)
    assert float(shown["repeated token"]) == pytest.approx(row["repetition"], rel=0.01)
    assert opened.page.locator(".maps canvas").count() == 4
    open_head(opened, 6, 12)
    assert opened.page.locator(".head-profile h3").count() == 1


def test_the_page_opens_on_its_most_striking_head_and_says_why(opened, demo_run):
    (head,) = striking_heads(demo_run.heads, most=1)
    opened.page.wait_for_selector(f"h3:text('Layer {head.layer}, head {head.head}:')")
    assert head.why in opened.page.inner_text(".head-profile .why")
    assert "#head" not in opened.page.url
    strengths = head.role.trait.strength(demo_run.heads)
    assert head.strength == strengths.max()
    open_head(opened, 6, 12)
    assert opened.page.locator(".head-profile .why").count() == 0


def test_heads_are_found_by_role_and_in_the_order_of_a_measure(opened, demo_run):
    roles = demo_run.roles
    role = roles["role"].value_counts().index[0]
    opened.page.select_option(".find-role", role)
    opened.page.wait_for_selector(f".finder output:text('of {len(roles)} heads')")
    bright = opened.page.locator(".role-map button:not(.faint)")
    assert bright.count() == (roles["role"] == role).sum()
    opened.page.select_option(".find-role", "")
    opened.page.select_option(".find-sort", "repetition")
    best = demo_run.heads.sort_values("repetition", ascending=False).head(20)
    opened.page.wait_for_selector(".ranked-heads li")
    shown = opened.page.locator(".ranked-heads li").all_inner_texts()
    assert len(shown) == 20
    values = [float(line.split()[1]) for line in shown]
    np.testing.assert_allclose(values, best["repetition"], rtol=0.01)
    row = best.iloc[3]
    place = f"{row['layer']}.{row['head']}"
    opened.page.click(f".ranked-heads a:text-is('{place}')")
    opened.page.wait_for_selector(f"h3:text('Layer {row['layer']}, head {row['head']}:')")
    opened.page.select_option(".find-sort", "")
    assert opened.page.is_hidden(".ranked-heads")


def test_verdicts_and_role_map_name_the_same_heads_and_lead_to_each_other(browser, verdict_run):
    opened = open_page(browser, (verdict_run.folder / "report.html").as_uri())
    page = opened.page
    named = 0
    for verdict in verdict_run.claims():
        heads = [tuple(map(int, re.findall(r"\d+", name))) for name in verdict.finding.heads]
        item = page.locator(f'.verdicts li[data-claim="{verdict.name}"]')
        links = item.locator(".named-heads a[href^='#head=']").all_inner_texts()
        assert [tuple(map(int, link.split("."))) for link in links] == heads[: len(links)]
        cells = page.locator(f'.role-map button[data-claims~="{verdict.name}"]')
        on_map = {
            (int(cell.get_attribute("data-layer")), int(cell.get_attribute("data-head")))
            for cell in cells.all()
        }
        beyond = set(heads) if verdict.finding.status == "holds" else set()
        assert on_map == beyond
        named += len(beyond)
    assert named > 0, "some verdict names heads"
    assert page.locator(".role-map .named").count() > 0
    page.click(".named-heads a >> nth=0")
    title = page.locator(".named-heads a >> nth=0").inner_text().split(".")
    page.wait_for_selector(f"h3:text('Layer {title[0]}, head {title[1]}:')")
    back = page.locator(".head-profile a[href*='-claim-'] >> nth=0")
    target = back.get_attribute("href").removeprefix("#")
    assert page.locator(f'[id="{target}"]').count() == 1
    for link in page.locator(".roles a").all():
        assert page.locator(f'[id="{link.get_attribute("href")[1:]}"]').count() == 1
    back.click()
    assert page.url.endswith(target)
    assert opened.complaints == []
    page.close()


def test_heads_can_be_reached_with_the_keyboard_alone(opened):
    opened.page.focus('.role-map button[data-layer="1"][data-head="1"]')
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        opened.page.keyboard.press(key)
    opened.page.wait_for_selector("h3:text('Layer 3, head 2:')")
    assert opened.page.url.endswith("#head=encoder.3.2")


def test_verdicts_lead_to_their_figures(opened, demo_run):
    for link in opened.page.locator(".verdicts a:not([href^='#head=']), nav a").all():
        target = link.get_attribute("href").removeprefix("#")
        assert opened.page.locator(f'[id="{target}"]').count() == 1, target
    assert opened.page.locator(".verdicts li").count() == 1, "12 windows are too few, said once"


def test_the_focal_tokens_of_a_head_are_those_of_its_rows(opened, demo_run):
    rows = demo_run.rows().to_table().to_pandas()
    windows = demo_run.windows().to_table().to_pylist()
    names = {}
    for window in windows:
        for number, token in zip(window["token_ids"], window["tokens"], strict=True):
            names.setdefault(number, token)
    for layer, head in [(1, 1), (2, 2), (6, 12)]:
        open_head(opened, layer, head)
        mine = rows[(rows["layer"] == layer) & (rows["head"] == head)]
        counts = Counter(names[int(token)] for token in mine["focal_token"])
        for line in opened.page.locator(".focal-list li").all_inner_texts():
            token, share, _ = line.split(" ", 2)
            assert float(share) == pytest.approx(100 * counts[token] / len(mine), rel=0.01)


def test_example_windows_show_the_pairs_that_were_counted(opened, demo_run):
    rows = demo_run.rows().to_table().to_pandas().set_index(["text", "layer", "head"])
    for layer, head in [(1, 1), (4, 5)]:
        open_head(opened, layer, head)
        for place, text in enumerate(np.linspace(0, 11, 4).round().astype(int)):
            opened.page.select_option(".head-profile select", str(place))
            pairs = int(rows.loc[(text, layer, head), "pairs"])
            opened.page.wait_for_selector(f"text={pairs} pairs in a window")
            tokens = demo_run.windows().take([int(text)], columns=["tokens"]).to_pylist()
            assert opened.page.locator(".tokens .token").count() == len(tokens[0]["tokens"])


def test_the_page_prints(opened):
    open_head(opened, 2, 2)
    opened.page.emulate_media(media="print")
    opened.picture("report-print")
    assert not opened.page.is_visible("nav")
    assert opened.page.is_visible(".role-map")
    assert len(opened.page.pdf()) > 10_000


def test_how_claims_were_judged_is_printed(browser, verdict_run):
    opened = open_page(browser, (verdict_run.folder / "report.html").as_uri())
    judged = opened.page.locator(".verdicts details p").first
    assert not judged.is_visible()
    opened.page.emulate_media(media="print")
    assert judged.is_visible(), "paper cannot be clicked"
    opened.page.close()


def test_the_page_names_every_setting_that_a_reader_needs(demo_run):
    page = (demo_run.folder / "report.html").read_text()
    manifest = demo_run.manifest
    for fact in (
        manifest.model.weights_hash,
        manifest.corpus.hash,
        str(manifest.settings.pairs),
        manifest.settings.similarity,
        manifest.packages["torch"],
    ):
        assert fact in page


def test_the_page_is_small_and_loads_nothing_from_elsewhere(demo_run):
    page = (demo_run.folder / "report.html").read_text()
    assert len(page) < 4_000_000, "72 heads; 144 must stay below 8 MB"
    assert not re.search(r"<(link|img|iframe)\b", page)
    assert not re.search(r"""(src|href)=["']https?:""", page)


def test_hostile_names_are_shown_and_do_not_run_and_examples_may_be_absent(
    browser, demo_run, tmp_path
):
    manifest = demo_run.manifest
    name = "<script>alert(1)</script>\u202e"
    hostile = replace(
        manifest,
        model=replace(manifest.model, name=name),
        corpus=replace(manifest.corpus, sources=("<img src=x onerror=alert(2)>",)),
    )
    folder = shutil.copytree(demo_run.folder, tmp_path / "run")
    (folder / "examples.parquet").unlink()
    path = Run(folder, hostile).report().path
    assert "<script>alert" not in path.read_text()
    opened = open_page(browser, f"{path.as_uri()}#head=encoder.1.1")
    assert opened.page.inner_text("h1 bdi") == "<script>alert(1)</script>⟨U+202E⟩"
    assert "<img src=x onerror=alert(2)>" in opened.page.inner_text("header")
    opened.page.wait_for_selector("text=This run has no example windows.")
    assert (opened.dialogs, opened.complaints) == ([], [])
    opened.page.close()


def test_numbers_that_are_absent_are_dashes(demo_run):
    layers = demo_run.layers.head(1).assign(same_sentence=float("nan"))
    column = [finding.column for finding in finding_columns()].index("same_sentence")
    assert finding_rows(layers)[0][column] == "-"


def test_a_minimal_run_has_a_report_with_the_maps_it_has(tmp_path):
    run = open_run(KEPT / "schema-2")
    assert run.manifest.settings.minimal
    page = run.report(tmp_path / "report.html").path.read_text()
    (stack,) = json.loads(page.split('id="hs-data">')[1].split("</script>")[0])["stacks"]
    assert set(stack["maps"]) == {"raw", "aligned"}
