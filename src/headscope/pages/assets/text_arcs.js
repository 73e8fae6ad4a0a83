// A text, token by token, with the pairs of a head drawn as arcs over it.

import { element, sizeCanvas, themed, tokenElement } from "./dom.js";

// More arcs cannot be told apart; a token under the pointer shows all of its own.
const MOST_ARCS = 120;
// Dashes take the browser four times as long as solid lines: many arcs are drawn solid.
const MOST_DASHED = 150;

/** The text with space for arcs; call `show` to draw other pairs and marks. */
export class TextArcs {
  constructor(tokens, sentences, { onHover = () => {}, label = "the text" } = {}) {
    this.sentences = sentences;
    this.pairs = [];
    this.picked = null;
    this.canvas = element("canvas", { class: "arcs", "aria-hidden": "true" });
    this.spans = tokens.map((token, place) =>
      tokenElement(token, {
        tabindex: place === 0 ? 0 : -1,
        "data-place": place,
        class: sentences[place] < 0 ? "token special" : "token",
      }),
    );
    this.lines = element("p", { class: "tokens", role: "group", "aria-label": label });
    this.spans.forEach((span, place) => {
      const starts = place > 0 && sentences[place] !== sentences[place - 1] && sentences[place] > 0;
      this.lines.append(starts ? element("span", { class: "sentence-start", title: "sentence boundary" }) : "", span);
    });
    this.more = element("p", { class: "soft more" });
    this.root = element("div", { class: "text-arcs" }, this.canvas, this.lines, this.more);
    const pick = (event) => {
      const span = event.target.closest?.(".token");
      this.pick(span ? Number(span.dataset.place) : null);
      onHover(this.picked);
    };
    this.lines.addEventListener("pointerover", pick);
    this.lines.addEventListener("focusin", pick);
    this.root.addEventListener("pointerleave", () => {
      this.pick(null);
      onHover(null);
    });
    this.lines.addEventListener("keydown", (event) => this.move(event));
    new ResizeObserver(() => {
      this.places = null;
      this.draw();
    }).observe(this.root);
  }

  /** Where each token is. Cached, because measuring makes the browser lay out the page. */
  measure() {
    const box = this.root.getBoundingClientRect();
    this.places = this.spans.map((span) => {
      const spot = span.getBoundingClientRect();
      return { x: spot.left - box.left + spot.width / 2, y: spot.top - box.top + 2 };
    });
    this.places.width = box.width;
    this.places.height = box.height;
  }

  /** Move from token to token with the arrow keys. */
  move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const place = Number(event.target.dataset?.place);
    if (!step || Number.isNaN(place) || !this.spans[place + step]) return;
    event.preventDefault();
    this.spans[place].tabIndex = -1;
    this.spans[place + step].tabIndex = 0;
    this.spans[place + step].focus();
  }

  /** Show pairs {i, j}; `focal` and `high` are the places of focal and of high-attention tokens. */
  show(pairs, { focal = [], high = [] } = {}) {
    this.pairs = pairs;
    const marked = new Set(focal);
    const bright = new Set(high);
    this.spans.forEach((span, place) => {
      span.classList.toggle("focal", marked.has(place));
      span.classList.toggle("high", bright.has(place));
    });
    const many = pairs.length > MOST_ARCS;
    this.more.textContent = many
      ? `The ${MOST_ARCS} most similar of ${pairs.length} pairs are drawn; point at a token to see all of its own.`
      : "";
    this.draw();
  }

  /** Colour every token by a strength between 0 and 1; null takes the colours away. */
  shade(strengths) {
    this.spans.forEach((span, place) => {
      const strength = strengths === null ? 0 : strengths[place];
      span.style.setProperty("--strength", `${Math.round(100 * Math.max(0, Math.min(1, strength)))}%`);
    });
  }

  /** Highlight the pairs of one token. */
  pick(place) {
    if (place === this.picked) return;
    this.picked = place;
    this.spans.forEach((span, at) => span.classList.toggle("picked", at === place));
    this.draw();
  }

  draw() {
    if (!this.places) this.measure();
    const { places } = this;
    if (places.width === 0) return;
    const context = sizeCanvas(this.canvas, places.width, places.height);
    // The strongest are drawn last, on top.
    const strongest = this.pairs.slice(0, MOST_ARCS);
    const own = this.pairs.slice(MOST_ARCS).filter(({ i, j }) => this.picked === i || this.picked === j);
    const drawn = [...strongest, ...own].reverse();
    this.root.dataset.arcs = String(drawn.length);
    const faint = Math.max(0.12, Math.min(0.75, 40 / (drawn.length + 1)));
    const [inside, across] = ["--within", "--across"].map((name) => themed(this.root, name));
    for (const { i, j } of drawn) {
      const chosen = this.picked === i || this.picked === j;
      const within = this.sentences[i] === this.sentences[j];
      context.strokeStyle = within ? inside : across;
      context.globalAlpha = this.picked === null ? faint : chosen ? 0.95 : faint / 5;
      context.lineWidth = chosen ? 2 : 1.2;
      context.setLineDash(within || drawn.length > MOST_DASHED ? [] : [5, 3]);
      arc(context, places[i], places[j]);
    }
    context.globalAlpha = 1;
  }
}

function arc(context, from, to) {
  context.beginPath();
  context.moveTo(from.x, from.y);
  if (Math.abs(from.y - to.y) < 4) {
    const height = Math.min(26, 8 + Math.abs(to.x - from.x) / 12);
    context.bezierCurveTo(from.x, from.y - height, to.x, to.y - height, to.x, to.y);
  } else {
    context.bezierCurveTo(from.x, from.y - 24, to.x, to.y - 24, to.x, to.y);
  }
  context.stroke();
}

/** What the marks over a text mean. */
export function arcsLegend(parts = ["within", "across", "focal"]) {
  const entries = {
    within: ["arc-key within", "pair inside a sentence"],
    across: ["arc-key across", "pair across sentences"],
    focal: ["token focal", "focal token"],
    high: ["token high", "high attention"],
  };
  const keys = parts.map((part) => {
    const [name, words] = entries[part];
    const sample = name.startsWith("token") ? "a" : "";
    return element("span", {}, element("span", { class: name, "aria-hidden": "true" }, sample), ` ${words}`);
  });
  return element("p", { class: "legend" }, ...keys);
}
