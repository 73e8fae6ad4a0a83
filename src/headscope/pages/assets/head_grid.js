// All heads as small maps: a row per layer, or in the order of a measure. Click, or use the arrow keys.

import { DIVERGING, gradient, SEQUENTIAL } from "./colours.js";
import { element, number } from "./dom.js";
import { drawMap } from "./packed_maps.js";

/** The grid; `onChoose(layer, head)` is called when a head is chosen. */
export class HeadGrid {
  constructor(store, onChoose) {
    this.store = store;
    this.onChoose = onChoose;
    this.cells = new Map();
    this.widest = Math.max(...store.layers.map((layer) => store.headsOf(layer)));
    for (const layer of store.layers)
      for (let head = 1; head <= store.headsOf(layer); head++) this.cells.set(`${layer}.${head}`, this.cell(layer, head));
    this.maps = element("div", { class: "head-grid", role: "group", "aria-label": `heads of ${store.name}` });
    this.legend = element("p", { class: "scale" });
    this.box = element("div", { class: "grid-box" }, this.maps);
    this.root = element("div", {}, this.box, this.legend);
    this.maps.addEventListener("keydown", (event) => this.move(event));
    this.byLayer();
  }

  cell(layer, head) {
    const role = this.store.fact(layer, head)?.role;
    const words = this.store.roles.find(({ name }) => name === role)?.words;
    const name = `layer ${layer}, head ${head}${words ? `: ${words}` : ""}`;
    return element(
      "button",
      {
        type: "button",
        tabindex: -1,
        class: "head-cell",
        "data-layer": layer,
        "data-head": head,
        "aria-label": name,
        title: name,
        onclick: () => this.onChoose(layer, head),
      },
      element("canvas", { "aria-hidden": "true" }),
    );
  }

  /** A row per layer. `wanted` are the facts of the heads to show; others are faint. */
  byLayer(wanted = null) {
    this.ordered = null;
    this.maps.classList.remove("ranked");
    this.maps.style.setProperty("--heads", this.widest);
    const keys = wanted && new Set(wanted.map(({ layer, head }) => `${layer}.${head}`));
    const children = [element("span", { class: "axis corner" }, "layer \\ head")];
    for (let head = 1; head <= this.widest; head++) children.push(element("span", { class: "axis" }, String(head)));
    for (const layer of this.store.layers) {
      children.push(element("span", { class: "axis" }, String(layer)));
      for (let head = 1; head <= this.widest; head++) {
        const cell = this.cells.get(`${layer}.${head}`);
        cell?.classList.toggle("faint", keys !== null && !keys.has(`${layer}.${head}`));
        children.push(cell ?? element("span"));
      }
    }
    this.maps.replaceChildren(...children);
  }

  /** The heads of these facts in their order, each with its place and the value of a measure. */
  ranked(facts, measureAt) {
    this.ordered = facts.map(({ layer, head }) => this.cells.get(`${layer}.${head}`));
    this.maps.classList.add("ranked");
    this.maps.replaceChildren(
      ...facts.map(({ layer, head, values }, at) => {
        this.ordered[at].classList.remove("faint");
        const said = element("span", { class: "axis" }, `${layer}.${head}`, element("b", {}, number(values[measureAt][0])));
        return element("div", { class: "ranked-cell" }, this.ordered[at], said);
      }),
    );
  }

  move(event) {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const cell = event.target.closest(".head-cell");
    if (!step || !cell) return;
    event.preventDefault();
    const next = this.ordered ? this.ordered[this.ordered.indexOf(cell) + step[0] + step[1]] : this.beside(cell, step);
    if (next) {
      next.focus();
      next.click();
    }
  }

  beside(cell, step) {
    const row = this.store.layers.indexOf(Number(cell.dataset.layer)) + step[0];
    return this.cells.get(`${this.store.layers[row]}.${Number(cell.dataset.head) + step[1]}`);
  }

  /** Draw the maps of what is shown: attention, raw, centred or cosine. */
  async draw(shown) {
    this.shown = shown;
    const signed = new Set();
    for (const layer of this.store.layers) {
      const maps = await this.store.thumbnails(layer, shown);
      if (this.shown !== shown) return; // something else is shown by now
      for (let head = 1; head <= this.store.headsOf(layer); head++)
        signed.add(drawMap(this.cells.get(`${layer}.${head}`).firstChild, maps, head - 1).signed);
    }
    this.describe(signed);
  }

  describe(signed) {
    const bar = (pixels) => {
      const made = element("span", { class: "bar", "aria-hidden": "true" });
      made.style.background = gradient(pixels);
      return made;
    };
    const parts = [];
    if (signed.has(false)) parts.push(element("span", {}, "low ", bar(SEQUENTIAL), " high"));
    if (signed.has(true)) parts.push(element("span", {}, "negative ", bar(DIVERGING), " positive"));
    this.legend.replaceChildren(...parts, element("span", {}, "each head on its own scale, the same in its large matrix"));
  }

  /** Mark the chosen heads, `{A: {layer, head}, B: ...}`, and bring A into view. */
  mark(chosen) {
    const names = new Map(
      Object.entries(chosen)
        .filter(([, place]) => place)
        .map(([name, { layer, head }]) => [`${layer}.${head}`, name]),
    );
    for (const [key, cell] of this.cells) {
      const name = names.get(key);
      cell.classList.toggle("chosen", name !== undefined);
      if (name === undefined) delete cell.dataset.panel;
      else cell.dataset.panel = name;
      cell.setAttribute("aria-pressed", String(name !== undefined));
      cell.tabIndex = name === "A" ? 0 : -1;
      if (name === "A") this.reveal(cell);
    }
  }

  /** Scroll the box of the grid, and nothing else, so that a cell is inside. */
  reveal(cell) {
    const [box, spot] = [this.box.getBoundingClientRect(), cell.getBoundingClientRect()];
    if (spot.height === 0) return;
    if (spot.top < box.top) this.box.scrollTop -= box.top - spot.top + 8;
    else if (spot.bottom > box.bottom) this.box.scrollTop += spot.bottom - box.bottom + 8;
  }
}
