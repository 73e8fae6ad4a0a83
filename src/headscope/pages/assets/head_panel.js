// One head, large: its matrix with token labels, sentence blocks, the mask and the pairs.

import { gradient, PAIR_COLOURS } from "./colours.js";
import { element, number, sizeCanvas, themed, visible } from "./dom.js";
import { matrixImage } from "./matrix_canvas.js";

const FONT = "12px system-ui, sans-serif";
const READABLE = 13;
const MASK = "#d55e00";
const NAMES = {
  attention: "attention",
  raw: "similarity, raw",
  centred: "similarity, centred",
  cosine: "similarity, cosine",
};

/** The panel; `onPick(token)` is called with the row under the pointer, or null. */
export class HeadPanel {
  constructor(name, { onPick, onActivate, onZoom }) {
    this.name = name;
    this.onZoom = onZoom;
    this.spot = null;
    this.margin = 60;
    this.title = element("button", { type: "button", class: "panel-title", onclick: onActivate });
    this.count = element("output", { class: "pair-count" });
    this.canvas = element("canvas", { class: "matrix", role: "img" });
    this.about = element("p", { class: "about" });
    this.legend = element("p", { class: "scale" });
    this.readout = element("p", { class: "readout" });
    this.root = element(
      "section",
      { class: "head-panel", "data-panel": name },
      element("header", {}, this.title, this.count),
      this.about,
      this.canvas,
      this.legend,
      this.readout,
    );
    this.canvas.addEventListener("pointermove", (event) => {
      this.spot = this.cellAt(event);
      onPick(this.spot?.row ?? null);
      this.draw();
    });
    this.canvas.addEventListener("pointerleave", () => {
      this.spot = null;
      onPick(null);
      this.draw();
    });
    this.canvas.addEventListener("dblclick", (event) => {
      const spot = this.cellAt(event);
      if (spot) onZoom(event.shiftKey ? 0.5 : 2, spot.row / this.store.n);
    });
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  /** Show a head; `pairs`, `high` and `focal` follow from the sliders. */
  show(store, head, { layer, number: headNumber, shown, pairs, high, focal, zoom, about }) {
    Object.assign(this, { store, head, shown, pairs, high, focal, zoom });
    this.about.textContent = about;
    this.margin = labelRoom(this.canvas, shown === "attention" ? [...store.tokens, ...store.keyTokens] : store.tokens);
    this.canvas.dataset.margin = String(this.margin);
    this.title.textContent = `${this.name}: layer ${layer}, head ${headNumber}`;
    this.count.dataset.pairs = String(pairs.length);
    this.count.textContent = `${pairs.length} pair${pairs.length === 1 ? "" : "s"}`;
    const isAttention = shown === "attention";
    if (this.imageOf !== head || this.imageShown !== shown) {
      const columns = isAttention ? store.keys : store.n;
      const matrix = isAttention ? head.attention : head.similarity(shown).matrix;
      this.values = matrix;
      this.columns = columns;
      this.image = matrixImage(matrix, store.n, columns, { ...head.range(shown), blankDiagonal: !isAttention, root: isAttention });
      this.imageOf = head;
      this.imageShown = shown;
      this.describe(isAttention);
    }
    this.canvas.setAttribute(
      "aria-label",
      `${NAMES[shown]} of layer ${layer}, head ${headNumber}: ${store.n} tokens, ${pairs.length} pairs, ` +
        `${high.length} tokens with high attention` +
        (focal ? `, focal token ${visible(store.tokens[focal.place])}` : ""),
    );
    this.draw();
  }

  describe(isAttention) {
    const { scale } = this.image;
    const bar = element("span", { class: "bar", "aria-hidden": "true" });
    bar.style.background = gradient(scale.pixels);
    this.legend.replaceChildren(
      `${NAMES[this.shown]} `,
      element("span", { class: "end" }, number(scale.low)),
      bar,
      element("span", { class: "end" }, number(scale.high)),
      isAttention ? " and more (colours by square root)" : " (beyond these ends: the last colours)",
    );
  }

  /** The visible cells: first row and column, and how many. */
  get window() {
    const size = 1 / this.zoom.factor;
    const rows = Math.max(4, Math.round(this.store.n * size));
    const columns = Math.max(4, Math.round(this.columns * size));
    return {
      rows: Math.min(rows, this.store.n),
      columns: Math.min(columns, this.columns),
      row: Math.max(0, Math.min(this.store.n - rows, Math.round(this.zoom.from * this.store.n))),
      column: Math.max(0, Math.min(this.columns - columns, Math.round(this.zoom.from * this.columns))),
    };
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const side = box.width - this.margin;
    const { row, column, rows, columns } = this.window;
    const across = Math.floor(((event.clientX - box.left - this.margin) / side) * columns);
    const down = Math.floor(((event.clientY - box.top - this.margin) / side) * rows);
    if (across >= columns || down >= rows || down < 0) return null;
    return { row: row + down, column: across < 0 ? null : column + across };
  }

  draw() {
    if (!this.image) return;
    const width = Math.floor(Math.min(this.root.clientWidth, 760));
    if (width < this.margin + 20) return;
    const side = width - this.margin;
    const context = sizeCanvas(this.canvas, width, width);
    const view = this.window;
    const high = side / view.rows;
    const wide = side / view.columns;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image.canvas, view.column, view.row, view.columns, view.rows, this.margin, this.margin, side, side);
    context.save();
    context.beginPath();
    context.rect(this.margin, this.margin, side, side);
    context.clip();
    const x = (column) => this.margin + (column - view.column) * wide;
    const y = (row) => this.margin + (row - view.row) * high;
    this.drawSentences(context, x, y);
    if (!(this.store.cross && this.shown !== "attention")) this.drawMask(context, x, y, wide, high, side);
    if (this.shown !== "attention") this.drawPairs(context, x, y, wide, high);
    if (this.spot) {
      context.strokeStyle = this.image.scale.signed ? "#000" : "#fff";
      context.lineWidth = 1;
      context.strokeRect(this.margin, y(this.spot.row), side, high);
    }
    context.restore();
    this.drawLabels(context, x, y, wide, high);
    this.tell();
  }

  drawSentences(context, x, y) {
    if (this.store.cross && this.shown === "attention") return;
    context.strokeStyle = this.image.scale.signed ? "#000" : "#fff";
    context.lineWidth = 1.5;
    const { sentences } = this.store;
    let start = 0;
    for (let place = 1; place <= sentences.length; place++) {
      if (sentences[place] === sentences[start]) continue;
      if (sentences[start] >= 0) context.strokeRect(x(start), y(start), x(place) - x(start), y(place) - y(start));
      start = place;
    }
  }

  /** Rows and columns of high-attention tokens: a bar at the edge, and faint lines through the map. */
  drawMask(context, x, y, wide, high, side) {
    const lines = (first, last, draw) => (last - first >= 6 ? [first, last] : [(first + last) / 2]).forEach(draw);
    // Where most tokens have high attention, lines would hide what they point at.
    const few = this.high.length <= this.columns / 3;
    for (const token of this.high) {
      context.fillStyle = MASK;
      context.fillRect(x(token), this.margin, Math.max(wide, 1), 4);
      if (this.shown !== "attention") context.fillRect(this.margin, y(token), 4, Math.max(high, 1));
      if (!few) continue;
      context.globalAlpha = 0.45;
      lines(x(token), x(token) + wide, (at) => context.fillRect(at - 0.5, this.margin, 1, side));
      if (this.shown !== "attention")
        lines(y(token), y(token) + high, (at) => context.fillRect(this.margin, at - 0.5, side, 1));
      context.globalAlpha = 1;
    }
  }

  drawPairs(context, x, y, wide, high) {
    const { sentences } = this.store;
    for (const { i, j } of this.pairs) {
      const colour = sentences[i] === sentences[j] ? PAIR_COLOURS.within : PAIR_COLOURS.across;
      if (wide < 5) {
        // Too small for a frame: the cells above the diagonal become dots.
        context.fillStyle = colour;
        context.fillRect(x(j), y(i), Math.max(wide, 2), Math.max(high, 2));
      } else {
        // A white rim keeps the frame visible on cells of any colour.
        for (const [style, width] of [["#fff", 3.5], [colour, 1.5]]) {
          context.strokeStyle = style;
          context.lineWidth = width;
          context.strokeRect(x(j) + 1.5, y(i) + 1.5, wide - 3, high - 3);
        }
      }
    }
  }

  drawLabels(context, x, y, wide, high) {
    const [ink, accent] = ["--ink", "--accent"].map((name) => themed(this.root, name));
    const view = this.window;
    const columnTokens = this.shown === "attention" ? this.store.keyTokens : this.store.tokens;
    context.font = FONT;
    context.direction = "ltr";
    context.textBaseline = "middle";
    const marked = new Set(this.high);
    const markedRows = this.shown === "attention" && this.store.cross ? new Set() : marked;
    const rows = spaced(view.row, view.rows, high, markedRows, this.spot?.row);
    context.textAlign = "right";
    for (const row of rows) {
      context.fillStyle = row === this.spot?.row ? accent : ink;
      context.fillText(short(this.store.tokens[row]), this.margin - 5, y(row) + high / 2);
    }
    this.drawAxes(context);
    context.textAlign = "left";
    for (const column of spaced(view.column, view.columns, wide, marked, this.spot?.column)) {
      context.save();
      context.translate(x(column) + wide / 2, this.margin - 5);
      context.rotate(-Math.PI / 2);
      context.fillStyle = column === this.spot?.column ? accent : ink;
      context.fillText(short(columnTokens[column]), 0, 0);
      context.restore();
    }
  }

  /** What rows and columns are, in the corner. */
  drawAxes(context) {
    const isAttention = this.shown === "attention";
    context.save();
    context.fillStyle = themed(this.root, "--soft");
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "right";
    context.fillText(isAttention ? "attended ↗" : "token ↗", this.margin - 8, this.margin - 34);
    context.fillText(isAttention ? "attending ↓" : "token ↓", this.margin - 8, this.margin - 16);
    context.restore();
  }

  /** Write the value under the pointer below the matrix. */
  tell() {
    if (!this.spot || this.spot.column === null) {
      this.readout.textContent = `${this.focalWords()} · ${this.high.length} token${
        this.high.length === 1 ? "" : "s"
      } with high attention`;
      return;
    }
    const { row, column } = this.spot;
    const others = this.shown === "attention" ? this.store.keyTokens : this.store.tokens;
    const left = row === column && this.shown !== "attention";
    const value = left ? "diagonal, left out" : number(this.values[row * this.columns + column]);
    const from = `${visible(this.store.tokens[row])} (${row})`;
    this.readout.textContent = `${from} → ${visible(others[column])} (${column}): ${value}`;
  }

  focalWords() {
    if (!this.focal) return "no pairs, no focal token";
    const { place, count } = this.focal;
    return `focal token ${visible(this.store.tokens[place])} (${count} of ${2 * this.pairs.length})`;
  }
}

function short(token) {
  const named = visible(token);
  return named.length > 14 ? `${[...named].slice(0, 13).join("")}…` : named;
}

/** Room for the longest label, within reason. */
function labelRoom(canvas, tokens) {
  const context = canvas.getContext("2d");
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.font = FONT;
  const longest = Math.max(...tokens.map((token) => context.measureText(short(token)).width));
  context.restore();
  return Math.round(Math.min(104, Math.max(72, longest + 12)));
}

/** Which labels are written: the picked one, then those marked that fit, then as many others as fit. */
function spaced(start, count, pixels, marked, picked) {
  const room = Math.max(1, Math.ceil(READABLE / pixels));
  const taken = new Set();
  const put = (place) => {
    if (place < start || place >= start + count) return;
    for (let near = place - room + 1; near < place + room; near++) if (taken.has(near)) return;
    taken.add(place);
  };
  if (picked !== undefined && picked !== null) put(picked);
  for (const place of marked) put(place);
  for (let place = start; place < start + count; place++) put(place);
  return taken;
}
