"""The page of one text in a real browser."""

from dataclasses import replace

import numpy as np
import pytest

import headscope as hs
from headscope.findings.roles import assign_roles
from headscope.pages.document import make_page
from headscope.pages.viewer import head_packing
from headscope.pages.viewer.matrices import LayerMatrices, StackMatrices, TextMatrices
from headscope.pages.viewer.page import viewer_page, viewer_payload
from headscope.settings import PairRule, Settings
from tests.browser import open_page, sideways
from tests.models.families import FAMILIES, Family, build
from tests.text.tiny_tokenizers import SAMPLE, wordpiece

TEXT = (
    "The cat sat on the mat. The dog saw the cat, and the cat ran away! Nobody knew why the dog "
    "ran, but dogs do what dogs do. When the cat came back, the mat was gone."
)
HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(2)> \u202ereversed\u202c "
    "</script><script>alert(3)</script> {{ 7 * 7 }} javascript:alert(4) end of it."
)


@pytest.fixture(scope="module")
def view(demo_model):
    return hs.look(demo_model, TEXT)


@pytest.fixture(scope="module")
def address(view, tmp_path_factory):
    return view.save(tmp_path_factory.mktemp("look") / "look.html").as_uri()


@pytest.fixture
def opened(browser, address):
    opened = open_page(browser, address)
    yield opened
    opened.page.close()
    assert opened.complaints == []
    assert opened.requests == [address]


def go(opened, fragment, turn):
    opened.page.evaluate("hash => { location.hash = hash; }", fragment)
    return opened.viewer_is_quiet(turn)


def pairs_of(view, layer, head):
    return view.pairs[(view.pairs["layer"] == layer) & (view.pairs["head"] == head)]


def with_settings(view, **changes):
    return replace(view, settings=replace(view.settings, **changes))


@pytest.mark.parametrize(("device", "width"), [("desktop", 1280), ("phone", 390)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_whole_without_a_network(browser, address, device, width, scheme):
    opened = open_page(browser, f"{address}#head=2.2&pairs=top:0.05", width=width, scheme=scheme)
    opened.viewer_is_quiet()
    opened.picture(f"look-{device}-{scheme}")
    assert opened.complaints == []
    assert len(opened.requests) == 1
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert sideways(opened.page) == []
    assert opened.page.locator(".head-cell").count() == 72
    opened.page.close()


def test_the_page_says_what_it_shows_and_opens_on_a_striking_head(opened, view):
    turn = opened.viewer_is_quiet()
    assert opened.page.inner_text(".lead").startswith(
        "Each small map is one attention head: how sim"
    )
    # Independently: the repetition head with the largest excess over all pairs at its distances.
    table = view.pairs
    tokens, sentences = np.array([t.lower() for t in view.tokens]), view.sentences
    rates = {}
    for distance in range(1, len(tokens)):
        i = np.arange(len(tokens) - distance)
        both = (sentences[i] >= 0) & (sentences[i + distance] >= 0)
        rates[distance] = (tokens[i] == tokens[i + distance])[both].mean() if both.any() else 0
    table = table.assign(expected=table["distance"].map(rates))
    means = table.groupby(["layer", "head"])[["same_token", "expected"]].mean()
    excess = (means["same_token"] - means["expected"]) / (1 - means["expected"])
    layer, head = excess.idxmax()
    assert opened.page.inner_text(".panel-title") == f"A: layer {layer}, head {head}"
    about = opened.page.inner_text(".about")
    assert about.startswith("The page opens on this head as the clearest repetition head")
    assert f"strength {excess.max():.2f}" in about
    opened.page.click(".help summary")
    assert "focal token" in opened.page.inner_text(".help dl")
    opened.page.check("input[value=attention]")
    opened.viewer_is_quiet(turn)
    assert "attends to" in opened.page.inner_text(".lead")


def test_heads_are_found_by_role_and_in_the_order_of_a_measure(opened, view):
    turn = opened.viewer_is_quiet()
    roles = assign_roles(view.heads)
    opened.page.select_option(".find-role", "repetition")
    turn = opened.viewer_is_quiet(turn)
    wanted = roles[roles["role"] == "repetition"]
    assert opened.page.locator(".head-cell:not(.faint)").count() == len(wanted) > 0
    assert f"{len(wanted)} of 72 heads" in opened.page.inner_text(".finder")
    assert "repetition" in opened.page.inner_text(".about")
    opened.page.select_option(".find-role", "")
    opened.page.select_option(".find-sort", "mean_distance")
    turn = opened.viewer_is_quiet(turn)
    values = view.heads.sort_values("mean_distance", ascending=False)["mean_distance"].to_numpy()
    shown = [float(text) for text in opened.page.locator(".ranked-cell b").all_inner_texts()]
    np.testing.assert_allclose(shown, values, rtol=0.006)
    opened.picture("look-ranked")
    opened.page.click(".find-rising")
    opened.viewer_is_quiet(turn)
    shown = [float(text) for text in opened.page.locator(".ranked-cell b").all_inner_texts()]
    np.testing.assert_allclose(shown, values[::-1], rtol=0.006)


def test_small_maps_have_the_colours_of_the_large_matrix(opened):
    """46 tokens in 40 cells: the cells of single tokens must have the same colour in both."""
    turn = opened.viewer_is_quiet()
    for shown, fragment in [("raw", "head=3.1"), ("raw", "head=2.3"), ("attention", "head=2.2")]:
        turn = go(opened, f"{fragment}&show={shown}&mask=1", turn)
        opened.page.wait_for_timeout(300)
        same = opened.page.evaluate(COLOURS_OF_BOTH)
        assert same["cells"] > 300
        assert same["equal"] >= 0.9 * same["cells"], (fragment, shown, same)
    assert opened.page.locator(".grid-place .scale .bar").count() >= 1


COLOURS_OF_BOTH = """() => {
    const small = document.querySelector(".head-cell.chosen canvas");
    const large = document.querySelector(".head-panel canvas.matrix");
    const n = 46, side = small.width;
    const start = (cell) => Math.floor((cell * n) / side);
    const single = [...Array(side).keys()].filter((cell) => start(cell + 1) - start(cell) === 1);
    const ratio = window.devicePixelRatio || 1;
    // The matrix takes what is right of its labels: the square that ends at the lower right corner.
    const labels = Number(large.dataset.margin) * ratio;
    const cellSize = (large.width - labels) / n;
    const pixels = (canvas) => {
        const copy = Object.assign(
            document.createElement("canvas"), { width: canvas.width, height: canvas.height });
        const context = copy.getContext("2d", { willReadFrequently: true });
        context.drawImage(canvas, 0, 0);
        return context.getImageData(0, 0, copy.width, copy.height).data;
    };
    const [few, many] = [pixels(small), pixels(large)];
    let cells = 0, equal = 0;
    for (const row of single) for (const column of single) {
        // Below the diagonal: pairs are framed above it; and not where sentences are outlined.
        if (column >= row) continue;
        const x = Math.floor(labels + (start(column) + 0.5) * cellSize);
        const y = Math.floor(labels + (start(row) + 0.5) * cellSize);
        const [one, other] = [4 * (row * side + column), 4 * (y * large.width + x)];
        cells++;
        const off = [0, 1, 2].map((k) => Math.abs(few[one + k] - many[other + k]));
        if (Math.max(...off) <= 12) equal++;
    }
    return { cells, equal };
}"""


def test_the_text_is_beside_the_matrix_whatever_the_number_of_layers(browser, tmp_path):
    payload = viewer_payload(large_text(tokens=300, heads=9, d_head=16))
    (stack,) = payload["stacks"]
    stack["layers"] = [stack["layers"][0] | {"layer": layer} for layer in range(1, 31)]
    opened = open_page(browser, written(payload, tmp_path))
    opened.viewer_is_quiet()
    matrix = opened.page.locator("canvas.matrix").bounding_box()
    text = opened.page.locator(".text-box").bounding_box()
    grid = opened.page.locator(".grid-box").bounding_box()
    assert text["x"] >= matrix["x"] + matrix["width"]
    assert abs(text["y"] - matrix["y"]) < 200
    assert text["y"] + text["height"] <= 900 + 250, "it scrolls by itself"
    assert grid["height"] < 900
    opened.page.click('.head-cell[data-layer="30"][data-head="9"]')
    assert opened.page.evaluate("window.scrollY") < 200, "the grid scrolls by itself"
    opened.page.close()


def test_long_texts_show_the_strongest_arcs_and_all_of_a_token_under_the_pointer(browser, tmp_path):
    opened = open_page(browser, written(viewer_payload(large_text(200, 2, 16)), tmp_path))
    turn = opened.viewer_is_quiet()
    turn = go(opened, "pairs=top:0.03", turn)
    pairs = int(opened.page.locator(".pair-count").get_attribute("data-pairs"))
    assert pairs == 597
    assert f"120 most similar of {pairs}" in opened.page.inner_text(".text-arcs .more")
    assert opened.page.locator(".text-arcs").get_attribute("data-arcs") == "120"
    opened.page.hover('.token[data-place="3"]')
    assert int(opened.page.locator(".text-arcs").get_attribute("data-arcs")) > 120
    opened.page.close()


@pytest.mark.parametrize("rule", ["top:0.01", "max:0.6"])
def test_a_compact_page_has_the_exact_pairs_of_its_own_rule(
    browser, demo_model, tmp_path, monkeypatch, rule
):
    whole = hs.look(demo_model, TEXT, pairs=rule)
    exact = len(viewer_page(whole.matrices()).encode())
    monkeypatch.setattr(head_packing, "MOST_PLAIN", 1000)
    compact = whole.save(tmp_path / "look.html")
    assert compact.stat().st_size < 0.75 * exact
    opened = open_page(browser, compact.as_uri())
    turn = opened.viewer_is_quiet()
    for variant in ("raw", "centred", "cosine"):
        same = with_settings(whole, similarity=variant)
        for layer, head in [(1, 1), (2, 2), (3, 7), (6, 12)]:
            turn = go(opened, f"head={layer}.{head}&show={variant}&pairs={rule}&mask=0.3", turn)
            drawn = opened.page.locator(".pair-count").get_attribute("data-pairs")
            assert int(drawn) == len(pairs_of(same, layer, head))
            place = int(pairs_of(same, layer, head).iloc[0]["i"])
            opened.page.hover(f'.token[data-place="{place}"]')
            row = same.similarity[layer - 1, head - 1, place]
            said = opened.page.locator(".row-readout").inner_text().split(": ", 2)[2].split()
            assert abs(float(said[1]) - row.max()) < 0.15 * row.std()
    turn = go(opened, "head=2.2&show=attention", turn)
    place = whole.tokens.index("dog")
    opened.page.hover(f'.token[data-place="{place}"]')
    row = whole.attention[1, 1, place]
    said = opened.page.locator(".row-readout").inner_text().split(": ", 2)[2].split()
    assert said[0] == whole.tokens[int(row.argmax())]
    assert abs(np.sqrt(float(said[1])) - np.sqrt(row.max())) < np.sqrt(row.max()) / 15
    assert "are exact" in opened.page.locator(".help").inner_html()
    assert opened.complaints == []
    opened.page.close()


def test_the_threshold_slider_shows_as_many_pairs_as_the_library_computes(opened, view):
    turn = opened.viewer_is_quiet()
    opened.page.click('.head-cell[data-layer="2"][data-head="2"]')
    turn = opened.viewer_is_quiet(turn)
    seen = set()
    for kind in ("top", "max"):
        opened.page.select_option(".rule-kind", kind)
        turn = opened.viewer_is_quiet(turn)
        slider = opened.page.locator(".rule-value")
        for step in range(0, int(slider.get_attribute("max")) + 1, 5):
            slider.fill(str(step))
            turn = opened.viewer_is_quiet(turn)
            rule = PairRule.parse(slider.get_attribute("aria-valuetext"))
            shown = int(opened.page.locator(".pair-count").get_attribute("data-pairs"))
            assert shown == len(pairs_of(with_settings(view, pairs=rule), 2, 2)), rule
            seen.add(shown)
    assert len(seen) > 10, "the slider moves something"


def test_every_head_and_variant_has_the_pairs_and_the_focal_token_of_the_library(opened, view):
    turn = opened.viewer_is_quiet()
    for variant in ("raw", "centred", "cosine"):
        same = with_settings(view, similarity=variant, pairs=PairRule("top", 0.03))
        focal = same.focal.set_index(["layer", "head"])
        for layer, head in [(1, 1), (1, 12), (2, 2), (3, 7), (4, 4), (5, 9), (6, 6), (6, 12)]:
            fragment = f"#head={layer}.{head}&show={variant}&pairs=top:0.03&mask=0.3"
            opened.page.evaluate("hash => { location.hash = hash; }", fragment)
            turn = opened.viewer_is_quiet(turn)
            count = int(opened.page.locator(".pair-count").get_attribute("data-pairs"))
            assert count == len(pairs_of(same, layer, head))
            row = focal.loc[layer, head]
            said = opened.page.locator(".readout").inner_text()
            assert said.startswith(f"focal token {row['token']} ({row['count']} of {2 * count})")
            many = int(same.high_attention[layer - 1, head - 1].sum())
            assert f"{many} token" in said


def test_the_mask_slider_marks_the_tokens_of_high_attention(opened, view):
    turn = go(opened, "head=3.1", opened.viewer_is_quiet())
    for threshold in (0.1, 0.3, 0.55, 1.0):
        opened.page.locator(".mask-value").fill(str(threshold))
        turn = opened.viewer_is_quiet(turn)
        high = with_settings(view, attention_threshold=threshold).high_attention[2, 0]
        marked = opened.page.locator(".token[data-place].high").evaluate_all(
            "spans => spans.map(span => Number(span.dataset.place))"
        )
        assert marked == np.flatnonzero(high).tolist()


def test_the_address_holds_the_state_and_brings_it_back(browser, opened, address):
    turn = go(opened, "head=3.1", opened.viewer_is_quiet())
    opened.page.check("input[value=cosine]")
    turn = opened.viewer_is_quiet(turn)
    opened.page.check("input[type=checkbox]")
    turn = opened.viewer_is_quiet(turn)
    opened.page.click('.head-cell[data-layer="5"][data-head="3"]')
    opened.viewer_is_quiet(turn)
    opened.page.wait_for_function("() => location.hash.includes('with=5.3')")
    again = open_page(browser, opened.page.url)
    again.viewer_is_quiet()
    titles = again.page.locator(".panel-title").all_inner_texts()
    assert titles == ["A: layer 3, head 1", "B: layer 5, head 3"]
    assert again.page.is_checked("input[value=cosine]")
    again.picture("look-compare")
    again.page.close()


def test_an_address_given_while_the_last_one_is_being_kept_is_followed(browser, address):
    opened = open_page(browser, "about:blank")
    # The page keeps its address after a pause. Here the pause ends at the worst moment: the
    # reader has set another address, and the browser has not yet told the page so.
    opened.page.add_init_script(
        """const later = window.setTimeout;
        window.setTimeout = (action, wait, ...rest) =>
            wait === 250 ? ((window.keep = action), 0) : later(action, wait, ...rest);"""
    )
    opened.page.goto(address)
    turn = opened.viewer_is_quiet()
    opened.page.evaluate("() => { location.hash = 'head=3.1'; window.keep(); }")
    turn = opened.viewer_is_quiet(turn)
    assert opened.page.inner_text(".panel-title") == "A: layer 3, head 1"
    opened.page.evaluate("() => window.keep()")
    assert "head=3.1&show=" in opened.page.url
    opened.page.close()


def test_a_token_under_the_pointer_shows_its_row(opened, view):
    go(opened, "head=3.1", opened.viewer_is_quiet())
    place = view.tokens.index("dog")
    opened.page.hover(f'.token[data-place="{place}"]')
    told = opened.page.locator(".row-readout").inner_text()
    row = view.similarity[2, 0, place]
    best = view.tokens[int(np.argmax(row))]
    assert told.startswith(f"A: row of dog ({place}): {best}")
    assert f"{row.max():.3g}" in told
    opened.picture("look-hover")


def test_attention_is_shown_to_a_step_of_its_root(opened, view):
    turn = go(opened, "head=3.1", opened.viewer_is_quiet())
    opened.page.check("input[value=attention]")
    opened.viewer_is_quiet(turn)
    place = view.tokens.index("dog")
    opened.page.hover(f'.token[data-place="{place}"]')
    row = view.attention[2, 0, place]
    best = view.tokens[int(np.argmax(row))]
    words = opened.page.locator(".row-readout").inner_text().split(": ", 2)[2].split()
    assert words[0] == best
    step = np.sqrt(view.attention[2, 0].max()) / 63
    assert abs(np.sqrt(float(words[1])) - np.sqrt(row.max())) < step
    opened.picture("look-attention")


def test_heads_can_be_chosen_with_the_keyboard(opened):
    turn = go(opened, "head=3.1", opened.viewer_is_quiet())
    opened.page.focus('.head-cell[data-layer="3"][data-head="1"]')
    opened.page.keyboard.press("ArrowDown")
    turn = opened.viewer_is_quiet(turn)
    opened.page.keyboard.press("ArrowRight")
    opened.viewer_is_quiet(turn)
    assert opened.page.inner_text(".panel-title") == "A: layer 4, head 2"


def test_hostile_texts_are_shown_and_do_not_run(browser, demo_model, tmp_path):
    view = hs.look(demo_model, HOSTILE)
    tokens = (*view.tokens[:-2], "\u202eevil", "<b>bold</b>")
    stack = replace(view._stacks["encoder"], tokens=tokens, key_tokens=tokens)
    odd = replace(view, model="<script>alert(5)</script>\u202e", _stacks={"encoder": stack})
    opened = open_page(browser, odd.save(tmp_path / "look.html").as_uri())
    opened.viewer_is_quiet()
    assert opened.dialogs == []
    assert opened.complaints == []
    shown = opened.page.inner_text("body")
    assert "⟨U+202E⟩evil" in shown
    assert "<b>bold</b>" in shown
    assert "<script>alert(5)</script>⟨U+202E⟩" in shown
    assert "\u202e" not in shown
    assert opened.page.locator("script").count() == 2, "the data and the page's own"
    opened.picture("look-hostile")
    opened.page.close()


def test_an_encoder_decoder_shows_all_its_stacks(browser, tmp_path):
    tokenizer = wordpiece()
    family = next(family for family in FAMILIES if family.title == "BART")
    settings = {**family.settings, "vocab_size": len(tokenizer)}
    larger = Family("BART", family.config, settings, family.projection)
    model = hs.load_model(build(larger, dtype="float64"), tokenizer=tokenizer)
    view = hs.look(model, SAMPLE[1], pairs="top:0.05")
    opened = open_page(browser, view.save(tmp_path / "look.html").as_uri())
    turn = opened.viewer_is_quiet()
    for stack in ("decoder", "cross"):
        opened.page.select_option(".controls select >> nth=0", stack)
        turn = opened.viewer_is_quiet(turn)
        same = pairs_of(view.stack(stack), 1, 1)
        assert int(opened.page.locator(".pair-count").get_attribute("data-pairs")) == len(same)
    opened.page.check("input[value=attention]")
    opened.viewer_is_quiet(turn)
    assert opened.complaints == []
    opened.page.close()


def test_512_tokens_of_144_heads_switch_at_once(browser, tmp_path):
    """In the page's own clock, from the click until the new frame is there: 300 ms at the most.

    Beside two other busy processes on two cores it took 123 to 151.
    """
    payload = viewer_payload(large_text(tokens=512, heads=12, d_head=64))
    (stack,) = payload["stacks"]
    stack["layers"] = [stack["layers"][0] | {"layer": layer} for layer in range(1, 13)]
    opened = open_page(browser, written(payload, tmp_path))
    turn = opened.viewer_is_quiet()
    medians = []
    # The machine may be busy with something else: a quiet round is enough.
    while len(medians) < 3 and min(medians, default=300) >= 300:
        times = []
        for layer, head in [(1, 2), (3, 4), (5, 6), (7, 7), (8, 8), (9, 1), (12, 12)]:
            other = (head + len(medians)) % 12 + 1
            opened.page.click(f'.head-cell[data-layer="{layer}"][data-head="{other}"]')
            turn = opened.viewer_is_quiet(turn)
            times.append(float(opened.page.locator("#hs-viewer").get_attribute("data-switch-ms")))
        medians.append(np.median(times))
    opened.picture("look-512")
    opened.page.close()
    assert min(medians) < 300, medians


def written(payload, folder):
    page = make_page(
        "look.html.jinja",
        title="large",
        styles=("base", "viewer"),
        script="page_viewer",
        data=payload,
    )
    (folder / "large.html").write_bytes(page.encode())
    return (folder / "large.html").as_uri()


def large_text(tokens: int, heads: int, d_head: int) -> TextMatrices:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(heads, tokens, d_head)).astype(np.float32)
    attention = rng.dirichlet(np.full(tokens, 0.05), size=(heads, tokens)).astype(np.float32)
    similar = z @ z.swapaxes(1, 2)
    similar[:, np.arange(tokens), np.arange(tokens)] = 0
    mass = attention.sum(1)
    layer = LayerMatrices(
        layer=1,
        head_output=z,
        attention=attention,
        column_mass=mass / mass.max(-1, keepdims=True),
        similarity=dict.fromkeys(("raw", "centred", "cosine"), similar),
    )
    stack = StackMatrices(
        name="encoder",
        tokens=[f"word{place % 97}" for place in range(tokens)],
        key_tokens=None,
        sentences=np.arange(tokens) // 20,
        counted=np.ones(tokens, dtype=bool),
        first=np.arange(tokens) % 97,
        layers=[layer],
    )
    return TextMatrices("a long text", "random", Settings(), [stack])
